"""The colours of groups: Okabe and Ito's, which colour-blind readers tell apart."""

HUES = ("#56b4e9", "#e69f00", "#009e73", "#cc79a7", "#f0e442", "#999999")
BLUE = "#0072b2"
RED = "#d55e00"
