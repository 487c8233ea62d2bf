"""Reductions of what other packages hold. Nothing is imported before it is needed."""

import sys
from contextlib import suppress
from importlib import import_module

from .. import _foreign

__all__ = ["register_accessors"]

# Each package, the classes whose objects the module of its name here is asked about.
_CLASSES = {
    "dask": ("Array", "FrameBase"),
    "pandas": ("DataFrame", "Series", "Index", "ExtensionArray"),
    "polars": ("DataFrame", "Series"),
    "pyarrow": ("Array", "ChunkedArray", "RecordBatch", "Table"),
    "xarray": ("DataArray",),
    "zarr": ("Array",),
}

for _package, _names in _CLASSES.items():
    _foreign.register(_package, _names, f"{__name__}.{_package}")


def register_accessors() -> None:
    """Give pandas, xarray and dask their accessor if the program has imported them already."""
    for package, kind, module in (
        ("pandas", "DataFrame", "pandas"),
        ("xarray", "DataArray", "xarray"),
        ("dask.dataframe", "DataFrame", "dask_frames"),
    ):
        # One that is just being imported, or a module of another make, has not all of it yet.
        if hasattr(sys.modules.get(package), kind):
            with suppress(ImportError, AttributeError):
                import_module(f"{__name__}.{module}")
