"""The operator table: what each version of each operator allows.

One row is one version of one ONNX operator. Checks, error texts, ``explain``,
the command line and the documentation read these rows; nothing else in the
package knows what an opset changed.

The rows were written from the ONNX operator pages and are held against
``onnx.defs.get_all_schemas_with_history()`` by ``tests/test_schema.py``.
"""

from __future__ import annotations

from operator import index
from typing import Any, NamedTuple

import numpy as np

from .dtypes import ELEMENT_TYPES, ElementType, by_name
from .errors import OpsetError, short, show_int

__all__ = [
    "NEWEST_OPSET",
    "OPERATORS",
    "Operator",
    "OperatorVersion",
    "history",
    "operator",
    "resolve",
]

NEWEST_OPSET = 28
"""The newest opset of the ONNX standard that the table knows."""


class OperatorVersion(NamedTuple):
    """One version of one operator: a row of the table.

    Attributes
    ----------
    name : str
        The ONNX name, such as ``"ReduceMax"``.
    since_version : int
        The opset that brought this version.
    dtypes : tuple of str
        The element types that it takes, by NumPy's full names. The result has
        the type of the data.
    axes : str
        ``"attribute"`` or ``"input"``: where a node of this version keeps its axes.
    noop_with_empty_axes : bool
        Whether this version has that attribute.
    negative_axes : bool
        Whether an axis may count from the end.
    empty : str
        The value of an empty set: ``"lowest"``, ``"highest"`` or ``"zero"``, an
        attribute of :class:`reducekit.dtypes.ElementType`.
    """

    name: str
    since_version: int
    dtypes: tuple[str, ...]
    axes: str
    noop_with_empty_axes: bool
    negative_axes: bool
    empty: str

    def allows(self, dtype: str) -> bool:
        """Whether this version takes elements of a type.

        Parameters
        ----------
        dtype : str
            NumPy's full name of the type.

        Returns
        -------
        bool

        Examples
        --------
        >>> resolve("ReduceMax", 18).allows("bool")
        False
        """
        return dtype in self.dtypes

    def empty_value(self, dtype: str) -> Any:
        """The reduction of an empty set of elements of a type.

        Parameters
        ----------
        dtype : str
            NumPy's full name of the type.

        Returns
        -------
        NumPy scalar
            Of that type.

        Raises
        ------
        KeyError
            If there is no such type.

        Examples
        --------
        >>> resolve("ReduceMax", 18).empty_value("float32")
        np.float32(-inf)
        """
        return getattr(by_name(dtype), self.empty)

    def __str__(self) -> str:
        return f"{self.name}-{self.since_version}"


class Operator(NamedTuple):
    """One operator: its names here and elsewhere, and its versions.

    Attributes
    ----------
    name : str
        The ONNX name, ``"ReduceMax"``.
    short : str
        The name on the command line and in ``explain``, ``"max"``.
    function : str
        The public function and method, ``"reduce_max"``.
    verb : str
        What it takes of the reduced elements, for sentences: ``"maximum"``.
    atb : str
        The name of the ``reduceType`` in Ascend ATB, ``"REDUCE_MAX"``.
    atb_number : int
        The number of that ``reduceType``.
    versions : tuple of OperatorVersion
        Oldest first.
    idempotent : bool
        Whether an element that comes twice changes nothing, so that one element wins.
    never : tuple of str
        Element types that it has no meaning for: refused even with ``strict=False``.
        All others need a kernel.
    """

    name: str
    short: str
    function: str
    verb: str
    atb: str
    atb_number: int
    versions: tuple[OperatorVersion, ...]
    idempotent: bool
    never: tuple[str, ...] = ()


_WIDE = ("uint32", "uint64", "int32", "int64", "float16", "float32", "float64")
_BYTES = ("uint8", "int8")


def _extremum(name: str, empty: str) -> tuple[OperatorVersion, ...]:
    """ReduceMax and ReduceMin have the same history."""
    row = OperatorVersion
    return (
        #   since  element types                            axes         noop   negative
        row(name, 1, _WIDE, "attribute", False, False, empty),
        row(name, 11, _WIDE, "attribute", False, True, empty),
        row(name, 12, _WIDE + _BYTES, "attribute", False, True, empty),
        row(name, 13, _WIDE + _BYTES + ("bfloat16",), "attribute", False, True, empty),
        row(name, 18, _WIDE + _BYTES + ("bfloat16",), "input", True, True, empty),
        row(name, 20, _WIDE + _BYTES + ("bfloat16", "bool"), "input", True, True, empty),
    )


# fmt: off
OPERATORS: tuple[Operator, ...] = (
    Operator(
        "ReduceMax", "max", "reduce_max", "maximum", "REDUCE_MAX", 1,
        _extremum("ReduceMax", "lowest"), idempotent=True,
    ),
    Operator(
        "ReduceMin", "min", "reduce_min", "minimum", "REDUCE_MIN", 2,
        _extremum("ReduceMin", "highest"), idempotent=True,
    ),
    Operator(
        "ReduceSum", "sum", "reduce_sum", "sum", "REDUCE_SUM", 3,
        (
            OperatorVersion("ReduceSum", 1, _WIDE, "attribute", False, False, "zero"),
            OperatorVersion("ReduceSum", 11, _WIDE, "attribute", False, True, "zero"),
            OperatorVersion("ReduceSum", 13, (*_WIDE, "bfloat16"), "input", True, True, "zero"),
        ),
        idempotent=False,
        never=("bool",),
    ),
)
# fmt: on

# Their positions, which are their numbers in C.
MAX, MIN, SUM = 0, 1, 2

_ANY_NAME = {
    key: op for op in OPERATORS for key in (op.name, op.short, op.function, op.name.lower())
}


def operator(name: str) -> Operator:
    """The operator with this name.

    Parameters
    ----------
    name : str
        Any of its names: ``"ReduceMax"``, ``"max"`` or ``"reduce_max"``.

    Returns
    -------
    Operator

    Raises
    ------
    OpsetError
        If there is no such operator; the error lists those that there are.
    TypeError
        If the name is no str.

    Examples
    --------
    >>> operator("max").function
    'reduce_max'
    """
    if not isinstance(name, str):
        raise TypeError(
            f"operator {short(name)} has type {type(name).__name__}; "
            f"use a name, such as {OPERATORS[0].name!r}"
        )
    try:
        return _ANY_NAME[name]
    except KeyError:
        known = ", ".join(op.name for op in OPERATORS)
        raise OpsetError(f"operator {short(name)} is unknown; use one of {known}") from None


def history(name: str) -> tuple[OperatorVersion, ...]:
    """All versions of an operator, oldest first.

    Parameters
    ----------
    name : str
        The operator, under any of its names.

    Returns
    -------
    tuple of OperatorVersion

    Raises
    ------
    OpsetError
        If there is no such operator.

    Examples
    --------
    >>> [v.since_version for v in history("ReduceSum")]
    [1, 11, 13]
    """
    return operator(name).versions


def resolve(name: str, opset: int | str | None = None) -> OperatorVersion:
    """The version of an operator that an opset means: the newest not above it.

    Parameters
    ----------
    name : str
        The operator, under any of its names.
    opset : int or "latest", optional
        From 1 to :data:`NEWEST_OPSET`; omitted means the latest.

    Returns
    -------
    OperatorVersion

    Raises
    ------
    OpsetError
        If the operator or the opset is unknown.
    TypeError
        If the opset is not an integer.

    Examples
    --------
    >>> resolve("ReduceMax", 19).since_version
    18
    """
    op = operator(name)
    if opset is None or (isinstance(opset, str) and opset == "latest"):
        return op.versions[-1]
    number = check_opset(op.function, opset)
    return [v for v in op.versions if v.since_version <= number][-1]


def check_opset(who: str, opset: Any) -> int:
    """The opset as an int from 1 to :data:`NEWEST_OPSET`; an error in the name of ``who``."""
    if isinstance(opset, str) and opset == "latest":
        return NEWEST_OPSET
    try:
        # Before NumPy 2.3 its bool passes for an index. The int is of the plain class, for
        # a subclass may compare as it likes.
        number = None if isinstance(opset, (bool, np.bool_, str)) else int(index(opset))
    except TypeError:
        number = None
    if number is None:
        raise TypeError(
            f"{who}: opset={short(opset)} is a {type(opset).__name__}; "
            f"use an int from 1 to {NEWEST_OPSET} or 'latest'"
        )
    if not 1 <= number <= NEWEST_OPSET:
        raise OpsetError(
            f"{who}: opset {show_int(number)} is unknown; use 1 to {NEWEST_OPSET} or 'latest'"
        )
    return number


def first_opset(name: str, dtype: str) -> int | None:
    """The first opset at which the operator takes this type, or None if none does.

    >>> first_opset("ReduceMax", "bool")
    20
    """
    for version in history(name):
        if version.allows(dtype):
            return version.since_version
    return None


def first_opset_with(name: str, attribute: str) -> int | None:
    """The first opset whose version has ``noop_with_empty_axes`` or ``negative_axes``.

    >>> first_opset_with("ReduceSum", "noop_with_empty_axes")
    13
    """
    for version in history(name):
        if getattr(version, attribute):
            return version.since_version
    return None


def element_types(version: OperatorVersion) -> tuple[ElementType, ...]:
    """The rows of the element types that a version takes, in the table's order."""
    return tuple(row for row in ELEMENT_TYPES if version.allows(row.name))
