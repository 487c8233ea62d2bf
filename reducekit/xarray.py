"""``import reducekit.xarray`` gives DataArray and Dataset the accessor ``reducekit``.

>>> import xarray as xr
>>> import reducekit.xarray
>>> xr.DataArray([[1, 5], [4, 2]], dims=("time", "place")).reducekit.reduce_max("time").values
array([4, 5])
"""

from .interop.xarray import ArrayReductions, DatasetReductions

__all__ = ["ArrayReductions", "DatasetReductions"]
