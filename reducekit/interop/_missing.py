"""What to say when an optional package is not there."""

from __future__ import annotations

from importlib import import_module
from types import ModuleType

__all__ = ["need"]


def need(package: str, extra: str, purpose: str) -> ModuleType:
    """The package, or an error that names the extra.

    Raises
    ------
    ImportError
        If it is not installed.

    Examples
    --------
    >>> need("no_such_package", "pandas", "reducing DataFrames")
    Traceback (most recent call last):
        ...
    ImportError: reducing DataFrames needs no_such_package; pip install "reducekit[pandas]"
    """
    try:
        return import_module(package)
    except ImportError as error:
        # A package that is there but broken says itself what is wrong with it.
        if error.name is None or error.name.partition(".")[0] != package.partition(".")[0]:
            raise
        raise ImportError(
            f'{purpose} needs {package}; pip install "reducekit[{extra}]"', name=package
        ) from error
