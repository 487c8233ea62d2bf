"""Objects of other packages are known by their class."""

from importlib import import_module

import numpy as np
import pytest

import reducekit as rk
from reducekit import _foreign, interop

CLASSES = [(package, name) for package, names in interop._CLASSES.items() for name in names]


@pytest.mark.parametrize(("package", "name"), CLASSES)
def test_each_class_is_found_where_the_table_says(package, name):
    pytest.importorskip(package)
    home = {"dask": "dask.array", "pandas": "pandas.api.extensions"}.get(package, package)
    if name == "FrameBase":  # of dask's DataFrame and Series
        home = "dask.dataframe.dask_expr._collection"
        pytest.importorskip(home)
    kind = getattr(import_module(package), name, None) or getattr(import_module(home), name)
    derived = type("Derived", (kind,), {"__slots__": ()})
    for each in (kind, derived):
        try:
            made = object.__new__(each)
        except TypeError:  # a class of C has a way of its own
            made = each.__new__(each)
        assert _foreign.home_of(made).__name__ == f"reducekit.interop.{package}"
    assert _foreign.home(package).__name__ == f"reducekit.interop.{package}"


def test_who_only_has_the_name_of_such_a_class_is_not_taken_for_one():
    class DataFrame:
        def __array__(self, dtype=None, copy=None):
            return np.array([1, 5])

    assert _foreign.home_of(DataFrame()) is None
    assert rk.reduce_max(DataFrame()).tolist() == [5]


def test_a_class_without_a_hash_or_a_module_is_read_like_any_other():
    class NoHash(type):
        __hash__ = None

    class Given(metaclass=NoHash):
        def __array__(self, dtype=None, copy=None):
            return np.array([1, 5])

    try:
        np.asarray(Given())
    except TypeError:  # as NumPy without the GIL has it
        with pytest.raises(TypeError, match="unhashable"):
            rk.reduce_max(Given())
    else:
        assert rk.reduce_max(Given()).tolist() == [5]
        assert rk.reduce_max([[0, 0], Given()]).tolist() == [[5]]
    nowhere = type("Nowhere", (list,), {"__module__": None})
    assert rk.reduce_max(nowhere([1, 5])).tolist() == [5]


def test_a_later_entry_holds_for_classes_that_were_asked_about_before(monkeypatch):
    class Table:
        pass

    monkeypatch.setattr(_foreign, "_homes", dict(_foreign._homes))
    monkeypatch.setattr(_foreign, "_classes", dict(_foreign._classes))
    assert _foreign.home_of(Table()) is None
    _foreign.register(Table.__module__.partition(".")[0], ["Table"], "reducekit._names")
    assert _foreign.home_of(Table()).__name__ == "reducekit._names"
