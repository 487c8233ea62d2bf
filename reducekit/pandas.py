"""``import reducekit.pandas`` gives DataFrame and Series the accessor ``reducekit``.

>>> import pandas as pd
>>> import reducekit.pandas
>>> pd.DataFrame({"a": [1, 5], "b": [4, 2]}).reducekit.reduce_max(axes=0)
a    5
b    4
dtype: int64
"""

from .interop.pandas import FrameReductions, SeriesReductions

__all__ = ["FrameReductions", "SeriesReductions"]
