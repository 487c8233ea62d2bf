"""Figures for slides and papers: what collapses, how an operator changed, how fast it is.

Only matplotlib is needed (the ``notebook`` or ``demo`` extra). Each function draws
on the Axes that it is given, or on a new one, and returns it; none shows anything.
The colours are Okabe and Ito's; letters, brackets and words say the same as they do.
"""

from ._canvas import HUES, to_tensor
from ._charts import bench, timeline
from ._collapse import collapse

__all__ = ["HUES", "bench", "collapse", "timeline", "to_tensor"]
