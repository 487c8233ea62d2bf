"""What results are held against, and the one comparison of all tests."""

import numpy as np

import reducekit as rk
from reducekit import reference, schema
from reducekit.dtypes import by_name

FUNCTIONS = {op.short: getattr(rk, op.function) for op in schema.OPERATORS}
REFERENCE = {op.short: getattr(reference, op.function) for op in schema.OPERATORS}
OPS = list(FUNCTIONS)


def never(op, name):
    """Whether an operator has no meaning for an element type, such as a sum in bool."""
    return name in schema.operator(op).never


def outcome(function, *args, **kwargs):
    """What a call gives: its result, or the exception that it raises."""
    try:
        return function(*args, **kwargs)
    except Exception as error:
        return error


def assert_same(got, want, hint="", slack=None):
    """Assert that two outcomes are the same.

    Arrays: same shape, same dtype in native byte order, and same bits, where any
    NaN is as good as another and zeros have signs. Exceptions: same class and text.

    ``slack`` is for sums of floats alone: how far each finite element may be from
    the right one besides one unit in its last place.
    """
    __tracebackhide__ = True
    if isinstance(want, Exception) or isinstance(got, Exception):
        assert type(got) is type(want), f"{hint}: got {got!r}, want {want!r}"
        assert str(got) == str(want), hint
        return
    assert type(got) is np.ndarray, f"{hint}: got a {type(got).__name__}, want an ndarray"
    assert got.shape == want.shape, f"{hint}: got shape {got.shape}, want {want.shape}"
    assert got.dtype == want.dtype, f"{hint}: got dtype {got.dtype}, want {want.dtype}"
    assert got.dtype.isnative, f"{hint}: got dtype {got.dtype}, not in native byte order"
    if got.tobytes() == want.tobytes():
        return
    right = _agree(got, want) if slack is None else _close(got, want, slack)
    if not right.all():
        first = tuple(int(i) for i in np.argwhere(~right)[0])
        raise AssertionError(
            f"{hint}: {np.count_nonzero(~right)} of {right.size} elements differ, first at "
            f"{first}: got {got[first]!r}, want {want[first]!r}"
        )


def _agree(got, want):
    bits = f"u{got.itemsize}"
    same = np.ascontiguousarray(got).view(bits) == np.ascontiguousarray(want).view(bits)
    same = same.reshape(got.shape)
    if got.dtype.kind in "biu":
        return same
    return same | (_isnan(got) & _isnan(want))


def _isnan(array):
    with np.errstate(invalid="ignore"):  # signalling NaN
        return np.asarray(array != array)


def _close(got, want, slack):
    got64, want64 = got.astype(np.float64), want.astype(np.float64)
    finite = np.isfinite(want64)
    with np.errstate(invalid="ignore", over="ignore"):
        unit = np.spacing(np.abs(want)).astype(np.float64)
        near = np.abs(got64 - want64) <= unit + slack
    return np.where(finite, near, _agree(got, want))


def slack_of_sums(data, axes):
    """How far a compensated sum of doubles may be from the true one: n**2 * 2**-106 * sum |x|.

    It is far below a unit in the last place unless the sum cancels almost wholly.
    """
    axes = tuple(range(data.ndim)) if axes is None else axes
    finite = np.where(np.isfinite(data), data, 0)
    weight = np.abs(finite * 2.0**-106).sum(axis=axes, keepdims=True)
    count = max(1, data.size // max(1, weight.size))
    return weight * count**2


def check(op, data, axes=None, hint="", plain=None, want=None, exact=None, **kwargs):
    """Assert that a function gives for ``data`` what the reference gives for its plain copy.

    ``exact`` is an argument of the function under test alone: the reference is always exact.
    """
    __tracebackhide__ = True
    if plain is None:
        plain = np.array(data, dtype=np.asarray(data).dtype.newbyteorder("="), subok=False)
    if want is None:
        want = outcome(REFERENCE[op], plain, axes, **kwargs)
    if exact is not None:
        kwargs["exact"] = exact
    got = outcome(FUNCTIONS[op], data, axes, **kwargs)
    slack = None
    if op == "sum" and plain.dtype == np.float64 and not exact and not isinstance(want, Exception):
        slack = _as_shape(slack_of_sums(plain, _positions(axes, plain.ndim)), want.shape)
    assert_same(got, want, f"{op} of {plain.dtype} {plain.shape} {axes} {hint}", slack)
    return got


def _positions(axes, rank):
    if axes is None or (not isinstance(axes, int) and not len(axes)):
        return tuple(range(rank))
    return (axes,) if isinstance(axes, int) else tuple(axes)


def _as_shape(slack, shape):
    return slack.reshape(shape) if slack.size == np.prod(shape, dtype=int) else 0.0


def empty_value(op, name):
    """The reduction of nothing, from the words of the standard and not from the table."""
    if op == "sum":
        return by_name(name).numpy_dtype.type(0)
    kind = by_name(name)
    if kind.kind == "bool":
        return np.bool_(op == "min")
    if kind.kind == "float":
        return kind.numpy_dtype.type(-np.inf if op == "max" else np.inf)
    info = np.iinfo(kind.numpy_dtype)
    return kind.numpy_dtype.type(info.min if op == "max" else info.max)
