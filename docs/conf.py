"""How Sphinx builds the documentation: `make docs`."""

from importlib.metadata import version as installed

project = "reducekit"
author = "reducekit developers"
copyright = "2026, reducekit developers"  # noqa: A001 - Sphinx reads this name
version = release = installed("reducekit")

extensions = ["myst_nb", "numpydoc", "sphinx.ext.autodoc", "sphinx.ext.autosummary"]
exclude_patterns = ["_build"]
nb_execution_mode = "off"
myst_heading_anchors = 3

autodoc_typehints = "none"  # the docstrings say the types in words
autosummary_generate = True
numpydoc_show_class_members = False

html_theme = "pydata_sphinx_theme"
html_title = "reducekit"
html_show_sourcelink = False
html_theme_options = {"show_prev_next": False, "secondary_sidebar_items": ["page-toc"]}
