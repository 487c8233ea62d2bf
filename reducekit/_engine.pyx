# cython: language_level=3, boundscheck=False, wraparound=False, cdivision=True
# cython: freethreading_compatible=True
"""The public functions.

Each is the compiled function itself: a Python frame in front would cost more than
the reduction of ten elements. A call is read into a C struct (`_rules.check`), gets a
result, a plan on the stack (`_plan.build`) and is walked without the GIL
(`_walk.walk`).
"""

cimport numpy as cnp
from cpython.exc cimport PyErr_Occurred
from cpython.mem cimport PyMem_Free, PyMem_Malloc
from cpython.object cimport PyObject
from cpython.ref cimport Py_INCREF

from ._plan cimport build, plan_t
from ._rules cimport call_t, check, read_flag, type_index
from ._walk cimport walk, walk_apart

from sys import intern

from . import _inputs, _progress, _refusals
from .dtypes import ELEMENT_TYPES

cnp.import_array()

cdef extern from *:
    """
    #define RK_BYTEORDER(descr) ((descr)->byteorder)
    #if PY_BIG_ENDIAN
    #define RK_FOREIGN '<'
    #else
    #define RK_FOREIGN '>'
    #endif
    """
    char RK_BYTEORDER(cnp.dtype descr)
    char RK_FOREIGN

cdef extern from *:
    """
    /* The function that calls an object is kept in the object itself. */
    static vectorcallfunc rk_exchange(PyObject *object, vectorcallfunc entry) {
        vectorcallfunc old = PyVectorcall_Function(object);
        if (old != NULL)
            *(vectorcallfunc *)((char *)object + Py_TYPE(object)->tp_vectorcall_offset) = entry;
        return old;
    }
    """
    ctypedef PyObject* (*vectorcallfunc)(PyObject* function, PyObject* const* args,
                                         size_t count, PyObject* names) noexcept
    vectorcallfunc rk_exchange(object function, vectorcallfunc entry)
    Py_ssize_t PyVectorcall_NARGS(size_t count)
    # Borrowed, and no check of the type.
    Py_ssize_t PyTuple_GET_SIZE(object names)
    PyObject* PyTuple_GET_ITEM(object names, Py_ssize_t i)
    # A cast of True to a pointer is 1.
    PyObject* Py_None
    PyObject* Py_True
    PyObject* Py_False

cdef extern from "numpy/arrayobject.h":
    # Takes over a reference to the descr. What PyArray_Empty adds is for other dtypes.
    cnp.ndarray PyArray_NewFromDescr(void* subtype, cnp.dtype descr, int nd, cnp.npy_intp* dims,
                                     cnp.npy_intp* strides, void* data, int flags, void* base)
    void* ARRAY "&PyArray_Type"

cdef enum:
    MAX = 0
    MIN = 1
    SUM = 2
    # Below this many elements the GIL is kept: giving it up and taking it back is a
    # quarter of a tiny call.
    KEEP_GIL = 4096
    # Bytes that a slow disk reads in two seconds, after which a bar is wanted.
    MAY_LAST = 1 << 26

cdef list NAMES = ["reduce_max", "reduce_min", "reduce_sum"]
cdef list DTYPES = [kind.numpy_dtype for kind in ELEMENT_TYPES]


cdef cnp.ndarray new_result(int kind, int ndim, cnp.npy_intp* shape):
    cdef cnp.dtype descr = DTYPES[kind]
    Py_INCREF(descr)
    return PyArray_NewFromDescr(ARRAY, descr, ndim, shape, NULL, NULL, 0, NULL)


cdef bint fits(cnp.ndarray array, int ndim, const cnp.npy_intp* shape):
    cdef int i
    if cnp.PyArray_NDIM(array) != ndim:
        return False
    for i in range(ndim):
        if cnp.PyArray_DIM(array, i) != shape[i]:
            return False
    return True


cdef cnp.ndarray check_out(int op, object out, int kind, int ndim, cnp.npy_intp* shape,
                           cnp.ndarray data):
    """The array to write into: `out` itself, or a fresh one where that cannot be."""
    cdef cnp.ndarray array
    if not isinstance(out, cnp.ndarray):
        raise _refusals.out_type(NAMES[op], out)
    # A subclass may tell any story of its shape, dtype and flags.
    array = out if type(out) is cnp.ndarray else _inputs.base_view(out)
    if not fits(array, ndim, shape):
        raise _refusals.out_shape(NAMES[op], (<object>array).shape,
                                  tuple([shape[i] for i in range(ndim)]))
    if array.descr != DTYPES[kind]:
        raise _refusals.out_dtype(NAMES[op], array.descr, DTYPES[kind])
    if not cnp.PyArray_ISWRITEABLE(array):
        raise _refusals.out_readonly(NAMES[op])
    # Written through strides, element by element, after everything was read: but tiles
    # are written while later ones are still unread, so shared memory needs a copy, and
    # so do unaligned elements.
    if array is not out or not cnp.PyArray_ISALIGNED(array) or _inputs.may_share(array, data):
        return new_result(kind, ndim, shape)
    return array


cdef object reduce(int op, object data, object axes, object keepdims, object noop,
                   object opset, object strict, object out, object exact, object progress):
    cdef cnp.ndarray x, result
    cdef cnp.dtype descr
    cdef call_t call
    cdef plan_t plan
    cdef cnp.npy_intp dims[64]
    cdef cnp.npy_intp shape[64]
    cdef Py_ssize_t out_strides[64]
    cdef int i, j, ndim, out_ndim
    cdef bint awkward, swapped
    cdef bint exactly = exact is not False and read_flag(exact, "exact", op)
    cdef bint seen = progress is True or read_flag(progress, "progress", op)
    cdef const char* source
    cdef char* target

    if type(data) is cnp.ndarray:
        x = data
    else:
        elsewhere = _inputs.deferred(data)
        if elsewhere is not None:
            data, function = elsewhere
            return function(op, data, axes, keepdims, noop, opset, strict, out, exact, progress)
        x = _inputs.as_array(NAMES[op], data)
    descr = x.descr
    ndim = cnp.PyArray_NDIM(x)
    call.op = op
    call.ndim = ndim
    call.type_index = type_index(descr, descr.type_num)
    for i in range(ndim):
        dims[i] = cnp.PyArray_DIM(x, i)
    check(&call, descr, axes, keepdims, noop, opset, strict)

    out_ndim = 0
    for i in range(ndim):
        if not call.reduced[i]:
            shape[out_ndim] = dims[i]
            out_ndim += 1
        elif call.keepdims:
            shape[out_ndim] = 1
            out_ndim += 1
    if out is None:
        result = new_result(call.type_index, out_ndim, shape)
    else:
        result = check_out(op, out, call.type_index, out_ndim, shape, x)
    # An axis' own __index__, or another thread meanwhile, may have given either another
    # shape or dtype. From here on no Python runs before memory has been read.
    if (x.descr is not descr or not fits(x, ndim, dims)
            or not fits(result, out_ndim, shape)
            or cnp.PyArray_ITEMSIZE(result) != cnp.PyArray_ITEMSIZE(x)):
        raise _refusals.changed_meanwhile(NAMES[op])

    if call.identity:
        # The reduction is no step at all: the bits of each element come through.
        _inputs.copy_into(result, x)
    else:
        j = 0
        for i in range(ndim):
            out_strides[i] = 0
            if not call.reduced[i]:
                out_strides[i] = cnp.PyArray_STRIDE(result, j)
                j += 1
            elif call.keepdims:
                j += 1
        swapped = RK_BYTEORDER(descr) == RK_FOREIGN
        awkward = swapped or not cnp.PyArray_ISALIGNED(x)
        build(&plan, ndim, <const Py_ssize_t*>dims, <const Py_ssize_t*>cnp.PyArray_STRIDES(x),
              out_strides, call.reduced,
              cnp.PyArray_ITEMSIZE(x), op != SUM, awkward, swapped)
        source = cnp.PyArray_BYTES(x)
        target = cnp.PyArray_BYTES(result)
        if plan.outputs * plan.terms < KEEP_GIL:
            walk(&plan, op, call.type_index, exactly, source, target, NULL)
        elif seen and plan.outputs * plan.terms >= MAY_LAST // cnp.PyArray_ITEMSIZE(x):
            report = _progress.Report(plan.outputs * plan.terms, cnp.PyArray_ITEMSIZE(x))
            try:
                with nogil:
                    walk(&plan, op, call.type_index, exactly, source, target, <PyObject*>report)
            finally:
                report.close()
        else:
            with nogil:
                walk(&plan, op, call.type_index, exactly, source, target, NULL)

    if out is not None:
        if result is not out:
            _inputs.copy_into(out, result)
        return out
    return result


def reduce_columns(int op, list columns, cnp.ndarray out):
    """Reduce arrays of rank 1 element by element into ``out``, without putting them together.

    Parameters
    ----------
    op : int
        The position of the operator in ``schema.OPERATORS``.
    columns : list of numpy.ndarray
        Of the size and the dtype of ``out``.
    out : numpy.ndarray
        Of rank 1 and of the native dtype of an element type, contiguous; it overlaps none.

    Returns
    -------
    bool
        False if nothing was done: columns are not contiguous, or the kernels that the
        reduction takes need them in one array, as those of float sums do.
    """
    cdef cnp.ndarray column
    cdef Py_ssize_t count = len(columns), i
    cdef int kind = type_index(out.descr, out.descr.type_num)
    cdef const char** at
    cdef bint done
    if kind < 0 or not 0 <= op <= SUM or not fits_column(out, out):
        return False
    for column in columns:
        if not fits_column(column, out):
            return False
    at = <const char**>PyMem_Malloc(max(1, count) * sizeof(char*))
    if at == NULL:
        raise MemoryError
    try:
        for i in range(count):
            column = columns[i]
            at[i] = cnp.PyArray_BYTES(column)
        with nogil:
            done = walk_apart(op, kind, at, count, cnp.PyArray_SIZE(out),
                              cnp.PyArray_ITEMSIZE(out), cnp.PyArray_BYTES(out))
    finally:
        PyMem_Free(at)
    return done


cdef bint fits_column(cnp.ndarray column, cnp.ndarray out):
    return (type(column) is cnp.ndarray and cnp.PyArray_NDIM(column) == 1
            and cnp.PyArray_DIM(column, 0) == cnp.PyArray_DIM(out, 0)
            and cnp.PyArray_ISCARRAY_RO(column) and column.descr == out.descr)


def reduce_max(data, axes=None, *, keepdims=True, noop_with_empty_axes=False,
               opset=None, strict=True, out=None, progress=True):
    """The maximum of the elements along axes, as ONNX ReduceMax defines it.

    NaN wins wherever it stands. +0 is above -0. An empty set gives -inf, the least integer or
    False.

    Parameters
    ----------
    data : array_like
        Elements of any shape and layout: an array of any strides, byte order or
        alignment, nested lists, a number, or an object with ``__array__``,
        ``__dlpack__`` or the buffer protocol. It is never changed.
    axes : int, sequence of int, or None
        The axes to reduce, from -rank to rank - 1 (0 to rank - 1 below opset 11).
        None or an empty sequence means all of them.
    keepdims : bool, default True
        Keep reduced axes with size 1, as ONNX does by default, unlike NumPy.
    noop_with_empty_axes : bool, default False
        Let None or empty ``axes`` mean no axis at all: the result is a copy of the
        data. The attribute exists from opset 18.
    opset : int or "latest", optional
        The ONNX opset whose rules apply. The default is that of
        :func:`reducekit.opset` or :func:`reducekit.set_default_opset`.
    strict : bool, default True
        False lifts the opset's list of element types and the ban on negative axes
        below opset 11. It changes no arithmetic.
    out : numpy.ndarray, optional
        Where to put the result, of exactly its shape and dtype. It may overlap
        ``data``. Nothing is written if an error is raised.
    progress : bool, default True
        Show a bar if it takes more than two seconds, in a terminal or notebook, where
        tqdm is installed.

    Returns
    -------
    numpy.ndarray
        Of the dtype of ``data`` in native byte order; an array even at rank 0. It
        shares no memory with ``data``. ``out``, if that was given.

    Raises
    ------
    OpsetError
        The opset is unknown, or its version lacks ``noop_with_empty_axes``.
    DTypeError
        The version does not take the elements of ``data``.
    AxesError
        An axis is out of range, given twice, or negative below opset 11.
    ArgumentError
        A flag is neither True nor False, or ``out`` has another shape.
    TypeError
        An argument has a wrong Python type.

    Notes
    -----
    ReduceMax has the versions 1, 11, 12, 13, 18 and 20;
    ``reducekit.schema.history("ReduceMax")`` lists what each allows.

    Examples
    --------
    >>> import numpy as np
    >>> import reducekit as rk
    >>> x = np.array([[1.0, 5.0], [np.nan, 3.0]], dtype=np.float32)
    >>> rk.reduce_max(x, 1)
    array([[ 5.],
           [nan]], dtype=float32)
    >>> rk.reduce_max(np.zeros((2, 0), np.int8), -1, keepdims=False)
    array([-128, -128], dtype=int8)
    """
    return reduce(MAX, data, axes, keepdims, noop_with_empty_axes, opset, strict, out, False,
                  progress)


def reduce_min(data, axes=None, *, keepdims=True, noop_with_empty_axes=False,
               opset=None, strict=True, out=None, progress=True):
    """The minimum of the elements along axes, as ONNX ReduceMin defines it.

    NaN wins wherever it stands. -0 is below +0. An empty set gives +inf, the greatest integer
    or True.

    Parameters
    ----------
    data : array_like
        Elements of any shape and layout: an array of any strides, byte order or
        alignment, nested lists, a number, or an object with ``__array__``,
        ``__dlpack__`` or the buffer protocol. It is never changed.
    axes : int, sequence of int, or None
        The axes to reduce, from -rank to rank - 1 (0 to rank - 1 below opset 11).
        None or an empty sequence means all of them.
    keepdims : bool, default True
        Keep reduced axes with size 1, as ONNX does by default, unlike NumPy.
    noop_with_empty_axes : bool, default False
        Let None or empty ``axes`` mean no axis at all: the result is a copy of the
        data. The attribute exists from opset 18.
    opset : int or "latest", optional
        The ONNX opset whose rules apply. The default is that of
        :func:`reducekit.opset` or :func:`reducekit.set_default_opset`.
    strict : bool, default True
        False lifts the opset's list of element types and the ban on negative axes
        below opset 11. It changes no arithmetic.
    out : numpy.ndarray, optional
        Where to put the result, of exactly its shape and dtype. It may overlap
        ``data``. Nothing is written if an error is raised.
    progress : bool, default True
        Show a bar if it takes more than two seconds, in a terminal or notebook, where
        tqdm is installed.

    Returns
    -------
    numpy.ndarray
        Of the dtype of ``data`` in native byte order; an array even at rank 0. It
        shares no memory with ``data``. ``out``, if that was given.

    Raises
    ------
    OpsetError
        The opset is unknown, or its version lacks ``noop_with_empty_axes``.
    DTypeError
        The version does not take the elements of ``data``.
    AxesError
        An axis is out of range, given twice, or negative below opset 11.
    ArgumentError
        A flag is neither True nor False, or ``out`` has another shape.
    TypeError
        An argument has a wrong Python type.

    Notes
    -----
    ReduceMin has the versions 1, 11, 12, 13, 18 and 20;
    ``reducekit.schema.history("ReduceMin")`` lists what each allows.

    Examples
    --------
    >>> import numpy as np
    >>> import reducekit as rk
    >>> x = np.array([[1.0, 5.0], [np.nan, 3.0]], dtype=np.float32)
    >>> rk.reduce_min(x, 1)
    array([[ 1.],
           [nan]], dtype=float32)
    >>> rk.reduce_min(np.zeros((2, 0), np.int8), -1, keepdims=False)
    array([127, 127], dtype=int8)
    """
    return reduce(MIN, data, axes, keepdims, noop_with_empty_axes, opset, strict, out, False,
                  progress)


def reduce_sum(data, axes=None, *, keepdims=True, noop_with_empty_axes=False,
               opset=None, strict=True, out=None, exact=False, progress=True):
    """The sum of the elements along axes, as ONNX ReduceSum defines it.

    Integers wrap in their own type. Sums of float16, bfloat16 and float32 are the
    true sum, rounded once. float64 is summed in twice its precision; ``exact=True``
    rounds the true sum there as well. Infinities and NaN follow IEEE 754. An empty
    set gives 0.

    Parameters
    ----------
    data : array_like
        Elements of any shape and layout: an array of any strides, byte order or
        alignment, nested lists, a number, or an object with ``__array__``,
        ``__dlpack__`` or the buffer protocol. It is never changed.
    axes : int, sequence of int, or None
        The axes to reduce, from -rank to rank - 1 (0 to rank - 1 below opset 11).
        None or an empty sequence means all of them.
    keepdims : bool, default True
        Keep reduced axes with size 1, as ONNX does by default, unlike NumPy.
    noop_with_empty_axes : bool, default False
        Let None or empty ``axes`` mean no axis at all: the result is a copy of the
        data. The attribute exists from opset 13.
    opset : int or "latest", optional
        The ONNX opset whose rules apply. The default is that of
        :func:`reducekit.opset` or :func:`reducekit.set_default_opset`.
    strict : bool, default True
        False lifts the opset's list of element types and the ban on negative axes
        below opset 11. It changes no arithmetic.
    out : numpy.ndarray, optional
        Where to put the result, of exactly its shape and dtype. It may overlap
        ``data``. Nothing is written if an error is raised.
    exact : bool, default False
        For float64: return the true sum rounded once, whatever the data. Other types
        are exact always.
    progress : bool, default True
        Show a bar if it takes more than two seconds, in a terminal or notebook, where
        tqdm is installed.

    Returns
    -------
    numpy.ndarray
        Of the dtype of ``data`` in native byte order; an array even at rank 0. It
        shares no memory with ``data``. ``out``, if that was given.

    Raises
    ------
    OpsetError
        The opset is unknown, or its version lacks ``noop_with_empty_axes``.
    DTypeError
        The version does not take the elements of ``data``.
    AxesError
        An axis is out of range, given twice, or negative below opset 11.
    ArgumentError
        A flag is neither True nor False, or ``out`` has another shape.
    TypeError
        An argument has a wrong Python type.

    Notes
    -----
    ReduceSum has the versions 1, 11 and 13; ``reducekit.schema.history("ReduceSum")``
    lists what each allows.

    Examples
    --------
    >>> import numpy as np
    >>> import reducekit as rk
    >>> rk.reduce_sum(np.array([1e8, 1.0, -1e8], dtype=np.float32))
    array([1.], dtype=float32)
    >>> rk.reduce_sum(np.array([2**31 - 1, 1], dtype=np.int32), 0, keepdims=False)
    array(-2147483648, dtype=int32)
    """
    return reduce(SUM, data, axes, keepdims, noop_with_empty_axes, opset, strict, out,
                  exact, progress)


# Design: Cython writes the code that reads the arguments, and its error for an unknown keyword
# knows no way out. A ** parameter would catch the keyword, and make a dict for every call. So
# calls enter here. Most have their data and axes in place and keywords that are known and
# interned: those are read here, in a third of the time, 20 ns of a tiny call. Whatever else
# there is goes the way that Cython wrote, and is looked at again if it failed.
cdef vectorcallfunc ENTRY
cdef enum:
    AXES = 1                    # the positions of parameters
    KEEPDIMS = 2
    NOOP = 3
    OPSET = 4
    STRICT = 5
    OUT = 6
    PROGRESS = 7
    EXACT = 8                   # of reduce_sum alone
    PARAMETERS = 9

cdef list _KEYS = [
    intern(name) for name in ("data", "axes", "keepdims", "noop_with_empty_axes", "opset",
                              "strict", "out", "progress", "exact")
]
cdef PyObject* KEYS[PARAMETERS]
for position in range(PARAMETERS):
    KEYS[position] = <PyObject*>_KEYS[position]
del position


cdef inline PyObject* enter(int op, PyObject* function, PyObject* const* args, size_t count,
                            PyObject* names) except NULL:
    cdef PyObject* values[PARAMETERS]
    cdef Py_ssize_t given = PyVectorcall_NARGS(count), i, j
    cdef int known = PARAMETERS if op == SUM else EXACT
    if not 1 <= given <= 2:
        return enter_slowly(function, args, count, names)
    values[AXES] = args[1] if given == 2 else Py_None
    values[KEEPDIMS] = Py_True
    values[NOOP] = Py_False
    values[OPSET] = Py_None
    values[STRICT] = Py_True
    values[OUT] = Py_None
    values[PROGRESS] = Py_True
    values[EXACT] = Py_False
    if names is not NULL:
        for i in range(PyTuple_GET_SIZE(<object>names)):
            for j in range(given, known):
                if KEYS[j] is PyTuple_GET_ITEM(<object>names, i):
                    values[j] = args[given + i]
                    break
            else:
                return enter_slowly(function, args, count, names)
    result = reduce(
        op, <object>args[0], <object>values[AXES], <object>values[KEEPDIMS],
        <object>values[NOOP], <object>values[OPSET], <object>values[STRICT],
        <object>values[OUT], <object>values[EXACT], <object>values[PROGRESS],
    )
    Py_INCREF(result)
    return <PyObject*>result


cdef PyObject* enter_max(PyObject* function, PyObject* const* args, size_t count,
                         PyObject* names) except NULL:
    return enter(MAX, function, args, count, names)


cdef PyObject* enter_min(PyObject* function, PyObject* const* args, size_t count,
                         PyObject* names) except NULL:
    return enter(MIN, function, args, count, names)


cdef PyObject* enter_sum(PyObject* function, PyObject* const* args, size_t count,
                         PyObject* names) except NULL:
    return enter(SUM, function, args, count, names)


cdef PyObject* enter_slowly(PyObject* function, PyObject* const* args, size_t count,
                            PyObject* names) except NULL:
    cdef PyObject* result = ENTRY(function, args, count, names)
    if result is NULL and names is not NULL and PyErr_Occurred() is <PyObject*>TypeError:
        explain_failure(<object>function, <object>names)
    return result


cdef int explain_failure(object function, object names) except -1:
    try:
        raise_what_is_set()
    except TypeError:
        _refusals.check_keywords(function, names)
        raise


cdef int raise_what_is_set() except -1:
    return -1


ENTRY = rk_exchange(reduce_max, <vectorcallfunc>enter_max)
rk_exchange(reduce_min, <vectorcallfunc>enter_min)
rk_exchange(reduce_sum, <vectorcallfunc>enter_sum)
