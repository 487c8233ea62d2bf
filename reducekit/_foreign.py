"""Which module here knows the objects of another package: a table that those modules fill.

What stands below `interop` meets a DataFrame or a dask array without knowing what it is. It
looks here, by the package that the object's class comes from, and the module that knows is
imported then and not before: who has such an object has imported its package already.

Each module may have any of these functions; what it lacks goes the way of all other objects.

``deferred(data)``
    The data and the function that reduces it, if the elements are not in memory, else None.
``missing(data)``
    How many elements are missing.
``elements(who, data)``
    The elements as an array, or None to read them as NumPy does.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import lru_cache
from importlib import import_module
from typing import Any

__all__ = ["home", "home_of", "register"]

_homes: dict[str, str] = {}
_classes: dict[tuple[str, str], str] = {}


def register(package: str, classes: Iterable[str], module: str) -> None:
    """Say which module knows a package, and the classes whose objects are brought to it.

    >>> register("no_such_package", ["Table"], "reducekit._names")
    >>> home("no_such_package").__name__
    'reducekit._names'
    """
    _homes[package] = module
    for name in classes:
        _classes[package, name] = module
    _module_for.cache_clear()


def home(package: str) -> Any:
    """The module that knows a package.

    Raises
    ------
    ImportError
        If the package is not installed; the error names the extra that brings it.
    """
    return import_module(_homes[package])


def home_of(data: object) -> Any:
    """The module that knows objects of this class, or of one that it is derived from; or None.

    >>> home_of([1, 2]) is None
    True
    """
    kind: Any = type(data)
    try:
        module = _module_for(kind)
    except TypeError:  # a class that has no hash, which is none of those in the table
        return None
    return None if module is None else sys.modules.get(module) or import_module(module)


# A call on a list or a tensor of another library asks three times: 0.9 us without memory.
@lru_cache(maxsize=256)
def _module_for(kind: type) -> str | None:
    for each in kind.__mro__:
        module = _classes.get((str(each.__module__).partition(".")[0], each.__name__))
        if module is not None:
            return module
    return None
