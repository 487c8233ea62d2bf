# cython: language_level=3, boundscheck=False, wraparound=False, initializedcheck=False
# cython: freethreading_compatible=True
"""The rules of a call: opset, element type, flags and axes.

One function, ``check``, decides for the engine and for ``explain`` alike. It
reads C arrays that are filled from :mod:`reducekit.schema` at import, so the
table stays the only source and a legal call never touches a Python dict. All
texts are in :mod:`reducekit._refusals`, reached only when something is wrong.
"""

from contextvars import ContextVar
from itertools import islice
from operator import index

from cpython.contextvars cimport PyContextVar_Get
from cpython.object cimport PyObject
from cpython.long cimport PyLong_AsLongAndOverflow, PyLong_CheckExact
from cpython.ref cimport Py_XDECREF

import numpy as np

from . import _refusals, schema
from .dtypes import ELEMENT_TYPES, element_type

cdef extern from "_threads.h":
    ctypedef long long rk_atomic
    long long rk_load(rk_atomic*) noexcept nogil
    void rk_store(rk_atomic*, long long) noexcept nogil

cdef enum:
    MAX_ROWS = 64
    MAX_OPSET = 64
    MAX_OPS = 16

cdef int ROW[MAX_OPS][MAX_OPSET]           # (operator, opset) -> row
cdef unsigned int ROW_TYPES[MAX_ROWS]      # bit i: the row takes ELEMENT_TYPES[i]
cdef bint ROW_NOOP[MAX_ROWS]
cdef bint ROW_NEGATIVE[MAX_ROWS]
cdef int NEWEST = schema.NEWEST_OPSET
cdef int TYPE_OF_NUM[64]                   # NumPy's built-in type numbers
cdef enum:
    MAX_OTHERS = 8
cdef int OTHERS = 0                        # types of ml_dtypes; NumPy numbers them at import
cdef int OTHER_NUM[MAX_OTHERS]
cdef int OTHER_INDEX[MAX_OTHERS]

cdef list VERSIONS = []                    # row -> OperatorVersion
cdef list NAMES = []                       # operator -> name of the public function
cdef unsigned int NEVER[MAX_OPS]            # bit i: no kernel for ELEMENT_TYPES[i]


cdef void fill() except *:
    global OTHERS
    cdef int i, opset, row
    for i in range(64):
        TYPE_OF_NUM[i] = -1
    for i, kind in enumerate(ELEMENT_TYPES):
        num = kind.numpy_dtype.num
        if num < 64:
            TYPE_OF_NUM[num] = i
        else:
            OTHER_NUM[OTHERS], OTHER_INDEX[OTHERS] = num, i
            OTHERS += 1
    # long and long long are two numbers for one type of 64 bits (or of 32, on Windows).
    for code in "bhilqBHILQ":
        dtype = np.dtype(code)
        TYPE_OF_NUM[dtype.num] = ELEMENT_TYPES.index(element_type(dtype))
    for i, op in enumerate(schema.OPERATORS):
        NAMES.append(op.function)
        NEVER[i] = 0
        for row, kind in enumerate(ELEMENT_TYPES):
            if kind.name in op.never:
                NEVER[i] |= <unsigned int>1 << row
        for opset in range(1, NEWEST + 1):
            version = schema.resolve(op.name, opset)
            if version not in VERSIONS:
                VERSIONS.append(version)
            ROW[i][opset] = VERSIONS.index(version)
    for row, version in enumerate(VERSIONS):
        ROW_NOOP[row] = version.noop_with_empty_axes
        ROW_NEGATIVE[row] = version.negative_axes
        ROW_TYPES[row] = 0
        for i, kind in enumerate(ELEMENT_TYPES):
            if version.allows(kind.name):
                ROW_TYPES[row] |= <unsigned int>1 << i


fill()

# ---------------------------------------------------------------- the opset in force

cdef rk_atomic DEFAULT_OPSET = NEWEST
cdef rk_atomic CONTEXT_USED = False        # spares the look-up until opset() is first used
CURRENT = ContextVar("reducekit.opset")


def set_default_opset(opset):
    """Set the opset of calls that do not name one, for the whole process.

    Parameters
    ----------
    opset : int or "latest"
        From 1 to :data:`reducekit.schema.NEWEST_OPSET`.

    Raises
    ------
    OpsetError
        If the opset is unknown.
    TypeError
        If it is not an int.

    Examples
    --------
    >>> import reducekit as rk
    >>> rk.set_default_opset(18)
    >>> rk.get_default_opset()
    18
    >>> rk.set_default_opset("latest")
    """
    rk_store(&DEFAULT_OPSET, schema.check_opset("set_default_opset", opset))


def get_default_opset():
    """The opset of calls that do not name one: the context's, else the process default.

    Returns
    -------
    int

    Examples
    --------
    >>> import reducekit as rk
    >>> with rk.opset(13):
    ...     rk.get_default_opset()
    13
    """
    return current_opset()


def look_for_opsets():
    """Look from now on at each call whether :data:`CURRENT` is set."""
    rk_store(&CONTEXT_USED, True)


cdef int current_opset() except -1:
    cdef PyObject* value = NULL
    cdef int number
    if rk_load(&CONTEXT_USED):
        PyContextVar_Get(CURRENT, NULL, &value)
        if value is not NULL:
            number = <object>value
            Py_XDECREF(value)
            return number
    return <int>rk_load(&DEFAULT_OPSET)


# ---------------------------------------------------------------- the checks

cdef int type_index(object dtype, int type_num) except -2:
    """Position in ELEMENT_TYPES, or -1 where nothing reduces such elements."""
    if 0 <= type_num < 64:
        return TYPE_OF_NUM[type_num]
    cdef int i
    for i in range(OTHERS):
        if OTHER_NUM[i] == type_num:
            return OTHER_INDEX[i]
    return -1


cdef int read_flag(object value, str name, int op) except -1:
    if value is True:
        return 1
    if value is False:
        return 0
    return _refusals.read_flag(NAMES[op], name, value)


cdef int add_axis(call_t* call, object axis, bint negative_allowed) except -1:
    cdef int overflow = 0
    cdef long long wide
    cdef int position
    if PyLong_CheckExact(axis):
        number = axis
    elif isinstance(axis, (bool, np.bool_)) or not hasattr(axis, "__index__"):
        raise _refusals.axis_type(NAMES[call.op], axis)
    else:
        try:
            # Of the plain class, for a subclass may compare as it likes.
            number = int(index(axis))
        except TypeError:
            raise _refusals.axis_type(NAMES[call.op], axis) from None
    wide = PyLong_AsLongAndOverflow(number, &overflow)
    if overflow != 0 or wide >= call.ndim or wide < -call.ndim:
        if not negative_allowed and number < 0:
            raise _refusals.negative_axis(NAMES[call.op], VERSIONS[call.row], number, call.ndim)
        raise _refusals.axis_out_of_range(NAMES[call.op], number, call.ndim, negative_allowed)
    if wide < 0:
        if not negative_allowed:
            raise _refusals.negative_axis(NAMES[call.op], VERSIONS[call.row], number, call.ndim)
        wide += call.ndim
    position = <int>wide
    if call.reduced[position]:
        raise _refusals.duplicate_axis(NAMES[call.op], position, call.ndim)
    call.reduced[position] = 1
    return 0


cdef object axes_as_sequence(object axes, int op, int ndim):
    """A tuple of what may be axes, from anything that is neither None, tuple, list nor int.

    One more than there are axes at most: of so many, one is wrong. Some iterators never end.
    """
    if isinstance(axes, (str, bytes, bytearray, dict)):
        raise _refusals.axes_type(NAMES[op], axes)
    rank = getattr(axes, "ndim", None)
    if isinstance(rank, int):
        if rank > 1:
            raise _refusals.axes_rank(NAMES[op], rank)
        if hasattr(axes, "dtype") and not (isinstance(axes, np.ndarray) and axes.size == 0):
            array = np.asarray(axes)
            if array.dtype.kind not in "iu":
                raise _refusals.axis_type(NAMES[op], array.flat[0] if array.size else axes)
            axes = array
            return tuple(axes.tolist()) if rank else (axes.item(),)
    if hasattr(axes, "__index__") and not isinstance(axes, np.ndarray):
        return (axes,)
    try:
        return tuple(islice(axes, ndim + 1))
    except TypeError:
        raise _refusals.axes_type(NAMES[op], axes) from None


cdef extern from *:
    """
    /* Borrowed, from a list of one item; NULL from others, and where the GIL keeps nobody from
       changing them. */
    static inline PyObject *rk_only_item(PyObject *list) {
    #ifdef Py_GIL_DISABLED
        (void)list;
        return NULL;
    #else
        return PyList_GET_SIZE(list) == 1 ? PyList_GET_ITEM(list, 0) : NULL;
    #endif
    }
    """
    PyObject* only_item "rk_only_item"(object list)


cdef int check(call_t* call, object dtype, object axes, object keepdims,
               object noop, object opset, object strict) except -1:
    """Fill ``call``, whose ndim, op and type_index are set, or raise.

    The order is that of reading a node: version, element type, attributes, axes.
    """
    cdef int number = 0, i, given, overflow = 0
    cdef long long wide
    cdef bint is_strict, has_noop
    cdef bint negative_allowed
    if opset is None:
        number = current_opset()
    elif PyLong_CheckExact(opset):
        # Compared as a Python object it takes a tenth of a tiny call.
        wide = PyLong_AsLongAndOverflow(opset, &overflow)
        if overflow == 0 and 1 <= wide <= NEWEST:
            number = <int>wide
    if number == 0:
        number = schema.check_opset(NAMES[call.op], opset)
    call.row = ROW[call.op][number]
    is_strict = read_flag(strict, "strict", call.op)
    if call.type_index < 0:
        raise _refusals.dtype_never(NAMES[call.op], dtype)
    if not ROW_TYPES[call.row] >> call.type_index & 1:
        if is_strict:
            raise _refusals.dtype_not_allowed(
                NAMES[call.op], VERSIONS[call.row], ELEMENT_TYPES[call.type_index].name)
        if NEVER[call.op] >> call.type_index & 1:
            raise _refusals.bool_sum(NAMES[call.op])
    call.keepdims = read_flag(keepdims, "keepdims", call.op)
    has_noop = read_flag(noop, "noop_with_empty_axes", call.op)
    if has_noop and not ROW_NOOP[call.row]:
        raise _refusals.no_noop(NAMES[call.op], VERSIONS[call.row])
    call.identity = False

    for i in range(call.ndim):
        call.reduced[i] = 0
    given = 0
    if axes is not None:
        negative_allowed = not is_strict or ROW_NEGATIVE[call.row]
        if PyLong_CheckExact(axes):
            add_axis(call, axes, negative_allowed)
            given = 1
        elif type(axes) is tuple:
            for item in <tuple>axes:
                add_axis(call, item, negative_allowed)
                given += 1
        elif type(axes) is list and only_item(axes) != NULL:
            item = <object>only_item(axes)      # a fifth of a tiny call less than a tuple
            add_axis(call, item, negative_allowed)
            given = 1
        else:
            # A list may be changed by another thread, or by an axis' own __index__.
            items = tuple(<list>axes) if type(axes) is list else axes_as_sequence(
                axes, call.op, call.ndim)
            for item in items:
                add_axis(call, item, negative_allowed)
                given += 1
    if given == 0:
        if has_noop:
            call.identity = True
        else:
            for i in range(call.ndim):
                call.reduced[i] = 1
    return 0


def resolve_call(int op, int ndim, dtype, axes, keepdims, noop_with_empty_axes, opset, strict):
    """The same checks for callers without data.

    Returns
    -------
    tuple
        ``(version, reduced, identity, keepdims)``: the OperatorVersion, the
        reduced axes in order, whether the call is the identity, the flag.
    """
    cdef call_t call
    cdef int i
    if not 0 <= op < len(NAMES):
        raise IndexError(f"operator {op} is none of 0 to {len(NAMES) - 1}")
    if not 0 <= ndim <= MAX_RANK:
        raise _refusals.ArgumentError(
            f"{NAMES[op]}: a tensor of rank {ndim} is beyond NumPy's limit; use at most {MAX_RANK}")
    call.ndim = ndim
    call.op = op
    kind = element_type(dtype)
    call.type_index = -1 if kind is None else ELEMENT_TYPES.index(kind)
    check(&call, dtype, axes, keepdims, noop_with_empty_axes, opset, strict)
    reduced = tuple([i for i in range(ndim) if call.reduced[i]])
    return VERSIONS[call.row], reduced, bool(call.identity), bool(call.keepdims)
