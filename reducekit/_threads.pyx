# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: freethreading_compatible=True
"""The one module that owns threads.

Design. A pool of Python threads takes 40 to 90 microseconds for a round trip, and
GCC's OpenMP, which takes 4, hangs in a forked child. This team is made of plain
threads that never touch Python. Work is a function and a number of parts; whoever is
free takes the next part from a counter. A member that finds nothing to do looks out
for more for some microseconds, then sleeps on a lock.

* One caller at a time has the team. Another that comes meanwhile (a dask worker, a
  thread pool) does its work alone, so threads never multiply.
* A forked child has no members. It notices by its process number, and starts anew.
* The parts are chosen without regard to the number of threads, so neither are results.
"""

import os
from operator import index

from cpython.mem cimport PyMem_RawMalloc
from libc.string cimport memset

from . import _refusals
from .errors import short, show_int

cdef extern from "_threads.h":
    long long rk_add(rk_atomic*, long long) noexcept nogil
    void rk_pause() noexcept nogil
    long long CLOSED "RK_CLOSED"

cdef extern from "pythread.h":
    ctypedef void* PyThread_type_lock
    PyThread_type_lock PyThread_allocate_lock() noexcept nogil
    int PyThread_acquire_lock(PyThread_type_lock, int) noexcept nogil
    void PyThread_release_lock(PyThread_type_lock) noexcept nogil
    void PyThread_free_lock(PyThread_type_lock) noexcept nogil
    unsigned long PyThread_start_new_thread(void (*)(void*) noexcept nogil, void*) noexcept nogil
    unsigned long PYTHREAD_INVALID_THREAD_ID

cdef enum:
    MOST_THREADS = 256
    PATIENCE = 4000             # looks before a member sleeps: some tens of microseconds

cdef struct member_t:
    team_t* team
    PyThread_type_lock lock     # held by the member, awake or asleep; released to wake it
    rk_atomic asleep
    int number

cdef struct team_t:
    work_t work
    void* context
    long long parts
    rk_atomic next              # the next part; CLOSED and more between jobs
    rk_atomic active            # members that may be looking at the job
    rk_atomic job               # counts jobs
    rk_atomic wanted        # members below this number may take part
    int members
    member_t member[256]

cdef team_t* TEAM = NULL        # of the process TEAM_OF; a forked child makes its own
cdef rk_atomic TEAM_OF = 0
cdef rk_atomic BUSY = 0
cdef rk_atomic THREADS = 1


cdef void take_parts(team_t* team, bint caller) noexcept nogil:
    cdef long long part
    while True:
        part = rk_add(&team.next, 1)
        # A latecomer must not read what the next caller is writing.
        if part >= CLOSED or part >= team.parts:
            return
        team.work(team.context, part, caller)


cdef void serve(void* argument) noexcept nogil:
    """The life of a member."""
    cdef member_t* me = <member_t*>argument
    cdef team_t* team = me.team
    cdef long long seen = 0
    cdef int looks = 0
    while True:
        if rk_load(&team.job) == seen:
            looks += 1
            if looks < PATIENCE:
                rk_pause()
                continue
            rk_store(&me.asleep, 1)
            if rk_load(&team.job) == seen:
                PyThread_acquire_lock(me.lock, 1)
            elif not rk_swap(&me.asleep, 1, 0):
                # The caller has seen us asleep, and has released the lock.
                PyThread_acquire_lock(me.lock, 1)
            continue
        looks = 0
        seen = rk_load(&team.job)
        # Counted before the job is looked at: the caller waits for the count to be zero
        # before it returns, and closes the job (`next`) before it waits.
        rk_add(&team.active, 1)
        if me.number < rk_load(&team.wanted):
            take_parts(team, False)
        rk_add(&team.active, -1)


cdef int recruit(team_t* team, int wanted) noexcept nogil:
    """Bring the team to `wanted` members, or to as many as can be had."""
    cdef member_t* new
    while team.members < wanted:
        new = &team.member[team.members]
        new.team = team
        new.number = team.members
        new.lock = PyThread_allocate_lock()
        if new.lock == NULL:
            break
        PyThread_acquire_lock(new.lock, 1)
        if PyThread_start_new_thread(serve, new) == PYTHREAD_INVALID_THREAD_ID:
            # The lock cannot wait for the next try: under a limit of threads there is one
            # for each reduction.
            PyThread_release_lock(new.lock)
            PyThread_free_lock(new.lock)
            break
        team.members += 1
    return team.members


cdef void run_parts(work_t work, void* context, Py_ssize_t parts) noexcept nogil:
    global TEAM
    cdef Py_ssize_t i
    cdef long long process, owner
    cdef int wanted = <int>rk_load(&THREADS) - 1, helpers, m, looks
    cdef team_t* team
    if wanted > parts - 1:
        wanted = parts - 1
    if wanted > 0:
        process = rk_process()
        owner = rk_load(&TEAM_OF)
        if owner != process:
            # The first call, or the first in a forked child: whatever the parent's team
            # was doing, none of its members is here. Whoever comes while the team is made
            # works alone.
            if owner == -process or not rk_swap(&TEAM_OF, owner, -process):
                wanted = 0
            else:
                team = <team_t*>PyMem_RawMalloc(sizeof(team_t))
                if team != NULL:
                    memset(team, 0, sizeof(team_t))
                    rk_store(&team.next, CLOSED)
                TEAM = team
                rk_store(&BUSY, 0)
                rk_store(&TEAM_OF, process)
    if wanted <= 0 or TEAM == NULL or not rk_swap(&BUSY, 0, 1):
        for i in range(parts):
            work(context, i, True)
        return
    team = TEAM
    helpers = recruit(team, wanted)
    team.work = work
    team.context = context
    team.parts = parts
    rk_store(&team.wanted, wanted)
    rk_store(&team.next, 0)
    rk_add(&team.job, 1)
    for m in range(helpers if helpers < wanted else wanted):
        if rk_swap(&team.member[m].asleep, 1, 0):
            PyThread_release_lock(team.member[m].lock)
    take_parts(team, True)
    rk_store(&team.next, CLOSED)
    looks = 0
    while rk_load(&team.active) != 0:
        looks += 1
        if looks < PATIENCE:
            rk_pause()
        else:
            rk_yield()
    rk_store(&BUSY, 0)


cdef int threads_in_use() noexcept nogil:
    return <int>rk_load(&THREADS)


def set_num_threads(n):
    """Set how many threads a large reduction may use.

    Results do not depend on it. Small reductions use one thread whatever it says.

    Parameters
    ----------
    n : int
        At least 1; 1 keeps all work on the calling thread, and more than 256 count as 256.

    Raises
    ------
    ArgumentError
        If n is below 1.
    TypeError
        If n is not an int.

    Examples
    --------
    >>> import reducekit as rk
    >>> before = rk.get_num_threads()
    >>> rk.set_num_threads(1)
    >>> rk.get_num_threads()
    1
    >>> rk.set_num_threads(before)
    """
    if isinstance(n, bool) or not hasattr(n, "__index__"):
        raise TypeError(f"set_num_threads: n={short(n)} has type {type(n).__name__}; use an int")
    number = int(index(n))
    if number < 1:
        raise _refusals.ArgumentError(
            f"set_num_threads: n={show_int(number)} is below 1; use 1 to {MOST_THREADS}")
    rk_store(&THREADS, min(number, MOST_THREADS))


def get_num_threads():
    """How many threads a large reduction may use.

    At the start this is ``OMP_NUM_THREADS``, if that is set, or the number of
    processors that this process may run on.

    Returns
    -------
    int

    Examples
    --------
    >>> import reducekit as rk
    >>> rk.get_num_threads() >= 1
    True
    """
    return rk_load(&THREADS)


def _from_environment():
    # OMP_NUM_THREADS may be a list, one number a nesting level: the first is ours.
    first = os.environ.get("OMP_NUM_THREADS", "").split(",")[0].strip()
    if first.isdigit() and int(first) > 0:
        return int(first)
    try:
        return len(os.sched_getaffinity(0))
    except AttributeError:
        return os.cpu_count() or 1


set_num_threads(_from_environment())
