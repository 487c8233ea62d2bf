"""How Sphinx builds the documentation: `make docs`."""

import sys
from importlib.metadata import version as installed
from pathlib import Path

HERE = Path(__file__).parent
sys.path.insert(0, str(HERE))

import make_pages  # noqa: E402

from reducekit import Explanation, schema  # noqa: E402

make_pages.write(HERE / "generated")

# The docstrings of the classes describe their fields. Python's own say which number they have.
for each in (Explanation, schema.Operator, schema.OperatorVersion):
    for name in each._fields:
        getattr(each, name).__doc__ = ""

project = "reducekit"
author = "reducekit developers"
copyright = "2026, reducekit developers"  # noqa: A001 - Sphinx reads this name
version = release = installed("reducekit")

extensions = [
    "myst_nb",
    "numpydoc",
    "sphinx.ext.autodoc",
    "sphinx.ext.autosummary",
    "sphinx_copybutton",
    "sphinx_design",
]
exclude_patterns = ["_build", "generated/others.md", "generated/types.md"]
suppress_warnings = ["mystnb.mime_priority"]  # a widget's live view is left out: its HTML is there

myst_enable_extensions = ["colon_fence"]
myst_heading_anchors = 3

nb_execution_mode = "cache"
nb_execution_raise_on_error = True
nb_execution_timeout = 300
nb_merge_streams = True
nb_ipywidgets_js = {}  # widgets stand in as HTML of their own, which needs no other host
nb_mime_priority_overrides = [("html", "application/vnd.jupyter.widget-view+json", None)]

autodoc_typehints = "none"  # the docstrings say the types in words
autosummary_generate = True
templates_path = ["templates"]
numpydoc_show_class_members = False

copybutton_prompt_text = r">>> |\.\.\. |\$ "
copybutton_prompt_is_regexp = True

html_theme = "pydata_sphinx_theme"
html_title = "reducekit"
html_show_sourcelink = False
html_static_path = ["static"]
html_css_files = ["site.css"]
html_sidebars = {"index": [], "tour": []}
html_theme_options = {
    "show_prev_next": False,
    "secondary_sidebar_items": ["page-toc"],
    "navigation_with_keys": False,
}
