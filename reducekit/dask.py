"""``import reducekit.dask`` gives dask's DataFrame and Series the accessor ``reducekit``.

>>> import dask.dataframe as dd
>>> import pandas as pd
>>> import reducekit.dask
>>> df = pd.DataFrame({"a": [1, 5, 4], "b": [4, 2, 9]})
>>> dd.from_pandas(df, npartitions=2).reducekit.reduce_max(axes=0).compute()
a    5
b    9
dtype: int64
"""

from .interop.dask_frames import LazyFrameReductions, LazySeriesReductions

__all__ = ["LazyFrameReductions", "LazySeriesReductions"]
