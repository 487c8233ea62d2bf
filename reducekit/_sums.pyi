# Nothing for Python: its functions are C, in _sums.pxd.
