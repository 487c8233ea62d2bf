"""Reductions of what other packages hold. Nothing is imported before it is needed."""
