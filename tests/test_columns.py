"""Columns that are arrays of their own give what they give in one array, bit for bit."""

import numpy as np
import pytest
from arrays import FLOATS, NAMES, awkward
from oracles import OPS, assert_same

import reducekit as rk
from reducekit import _engine, schema

ROWS = [0, 1, 3, 15, 16, 17, 31, 33, 64, 127, 129, 255, 1000, 4099]
COUNTS = [1, 2, 3, 10, 16, 17, 31, 40]


def columns_of(values):
    """Each at an address of its own, not all alike in their pages."""
    columns = []
    for i, column in enumerate(values):
        room = np.empty(column.size + 70, column.dtype)
        room[i % 70 : i % 70 + column.size] = column
        columns.append(room[i % 70 : i % 70 + column.size])
    return columns


CASES = [(op, name) for op in OPS for name in NAMES if (op, name) != ("sum", "bool")]


@pytest.mark.parametrize(("op", "name"), CASES)
def test_columns_give_what_one_array_gives(op, name):
    rng = np.random.default_rng(7)
    known = name != "bool" and not (op == "sum" and name in FLOATS)
    for rows in ROWS:
        for count in COUNTS:
            values = awkward(name, (count, rows), rng, nan=True)
            out = np.full(rows, 77).astype(values.dtype)
            before = out.copy()
            done = _engine.reduce_columns(OPS.index(op), columns_of(values), out)
            assert done == known
            if not done:
                assert_same(out, before)
                continue
            want = getattr(rk, f"reduce_{op}")(values, 0, keepdims=False, strict=False)
            assert_same(out, want, hint=(rows, count))


@pytest.mark.parametrize("threads", [1, 4])
def test_columns_are_shared_among_threads(threads):
    values = np.random.default_rng(1).standard_normal((19, 70_001))
    values[3, 65_000] = np.nan
    before = rk.get_num_threads()
    rk.set_num_threads(threads)
    try:
        out = np.empty(70_001)
        assert _engine.reduce_columns(0, columns_of(values), out)
        assert_same(out, rk.reduce_max(values, 0, keepdims=False))
    finally:
        rk.set_num_threads(before)


def test_columns_that_kernels_cannot_read_are_left_alone():
    out = np.zeros(4)
    good = np.ones(4)
    backwards, strided = np.ones(4)[::-1], np.ones(8)[::2]
    foreign = np.ones(4, np.dtype("f8").newbyteorder())
    unaligned = np.zeros(33, np.uint8)[1:].view("f8")
    readonly = np.ones(4)
    readonly.flags.writeable = False
    for wrong in (
        backwards, strided, foreign, unaligned, np.ones(4, "f4"), np.ones(5), np.ones((4, 1)),
        np.ones(4).view(np.recarray), np.ones(4, object),
    ):  # fmt: skip
        assert not _engine.reduce_columns(0, [good, wrong], out)
    assert not _engine.reduce_columns(0, [], out)
    assert not _engine.reduce_columns(3, [good], out)
    assert not _engine.reduce_columns(-1, [good], out)
    assert out.tolist() == [0] * 4
    assert _engine.reduce_columns(0, [good, readonly], out)
    assert out.tolist() == [1] * 4


def test_operators_are_counted_as_the_schema_counts_them():
    assert [f"reduce_{op}" for op in OPS] == [operator.function for operator in schema.OPERATORS]
