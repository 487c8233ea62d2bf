"""Which opset is in force: the call's, else the context's, else the default of the process."""

import asyncio
import contextvars
import threading
from concurrent.futures import ThreadPoolExecutor

import numpy as np
import pytest
from oracles import FUNCTIONS, OPS, assert_same, outcome

import reducekit as rk
from reducekit import schema

flags = np.array([True, False])


def in_force():
    """What get_default_opset says, and what a call obeys: bool needs opset 20."""
    said = rk.get_default_opset()
    obeyed = not isinstance(outcome(rk.reduce_max, flags), rk.DTypeError)
    assert obeyed == (said >= 20)
    return said


def test_latest_is_the_default():
    assert in_force() == schema.NEWEST_OPSET
    rk.set_default_opset("latest")
    assert in_force() == schema.NEWEST_OPSET


def test_the_default_of_the_process_holds_in_every_thread():
    rk.set_default_opset(13)
    assert in_force() == 13
    with ThreadPoolExecutor(2) as pool:
        assert pool.submit(in_force).result() == 13
    rk.set_default_opset(np.int64(20))
    assert in_force() == 20
    assert type(rk.get_default_opset()) is int


@pytest.mark.parametrize("wrong", [0, 29, -1])
def test_a_wrong_default_changes_nothing(wrong):
    rk.set_default_opset(12)
    for call in (rk.set_default_opset, lambda opset: rk.opset(opset).__enter__()):
        with pytest.raises(rk.OpsetError):
            call(wrong)
    for value in (None, 13.0, "13", True):
        for call in (rk.set_default_opset, lambda opset: rk.opset(opset).__enter__()):
            with pytest.raises(TypeError):
                call(value)
    assert in_force() == 12


def test_the_most_specific_wins():
    rk.set_default_opset(11)
    with rk.opset(13):
        assert in_force() == 13
        for opset in range(1, schema.NEWEST_OPSET + 1):
            error = outcome(rk.reduce_max, flags, opset=opset)
            assert isinstance(error, rk.DTypeError) == (opset < 20)
            if opset < 20:
                assert str(schema.resolve("max", opset)) in str(error)
        assert_same(rk.reduce_max(flags, opset="latest"), np.array([True]))
    assert in_force() == 11


@pytest.mark.parametrize("op", OPS)
def test_every_function_obeys(op):
    data = np.ones((2, 3), np.float32)
    for opset in range(1, schema.NEWEST_OPSET + 1):
        with rk.opset(opset):
            for args, kwargs in [(([-1],), {}), ((), {"noop_with_empty_axes": True})]:
                implied = outcome(FUNCTIONS[op], data, *args, **kwargs)
                named = outcome(FUNCTIONS[op], data, *args, opset=opset, **kwargs)
                assert_same(implied, named, (op, opset))


def test_blocks_nest_and_give_back():
    with rk.opset(13) as outer:
        assert outer == in_force() == 13
        with rk.opset("latest") as inner:
            assert inner == in_force() == schema.NEWEST_OPSET
            with rk.opset(1):
                assert in_force() == 1
            assert in_force() == schema.NEWEST_OPSET
        assert in_force() == 13
    assert in_force() == schema.NEWEST_OPSET


def test_a_block_that_fails_gives_back():
    with pytest.raises(KeyError), rk.opset(13):
        raise KeyError
    assert in_force() == schema.NEWEST_OPSET


def test_a_block_may_be_a_decorator():
    @rk.opset(13)
    def decorated():
        return in_force()

    assert decorated() == 13
    assert decorated() == 13
    assert in_force() == schema.NEWEST_OPSET


def test_the_default_changed_within_a_block_waits_outside():
    with rk.opset(13):
        rk.set_default_opset(18)
        assert in_force() == 13
    assert in_force() == 18


def test_threads_do_not_see_each_others_blocks():
    """Ten threads in blocks of their own, all inside at the same time."""
    opsets = [1, 11, 12, 13, 18, 19, 20, 21, 27, 28]
    barrier = threading.Barrier(len(opsets) + 1)
    seen = {}

    def work(opset):
        before = in_force()
        with rk.opset(opset):
            barrier.wait()
            seen[opset] = (before, {in_force() for _ in range(200)})
            barrier.wait()

    threads = [threading.Thread(target=work, args=(opset,)) for opset in opsets]
    for thread in threads:
        thread.start()
    barrier.wait()
    assert in_force() == schema.NEWEST_OPSET
    barrier.wait()
    for thread in threads:
        thread.join()
    assert seen == {opset: (schema.NEWEST_OPSET, {opset}) for opset in opsets}


def test_a_thread_that_copies_the_context_is_in_the_block():
    with rk.opset(13):
        context = contextvars.copy_context()
    results = []
    thread = threading.Thread(target=context.run, args=(lambda: results.append(in_force()),))
    thread.start()
    thread.join()
    assert results == [13]
    assert in_force() == schema.NEWEST_OPSET


def test_tasks_do_not_see_each_others_blocks():
    async def work(opset, pause):
        seen = set()
        with rk.opset(opset):
            for _ in range(20):
                await asyncio.sleep(pause)
                seen.add(in_force())
        return seen, in_force()

    async def main():
        with rk.opset(12):
            opsets = [1, 11, 13, 18, 20, 28]
            tasks = [asyncio.create_task(work(opset, 0.0)) for opset in opsets]
            results = await asyncio.gather(*tasks)
            assert in_force() == 12
            assert results == [({opset}, 12) for opset in opsets]
            assert await asyncio.to_thread(in_force) == 12

    asyncio.run(main())
    assert in_force() == schema.NEWEST_OPSET


def test_a_generator_that_is_left_inside_a_block_gives_back_when_it_ends():
    def numbers():
        with rk.opset(13):
            yield in_force()

    generator = numbers()
    assert next(generator) == 13
    generator.close()
    assert in_force() == schema.NEWEST_OPSET
