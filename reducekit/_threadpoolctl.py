"""threadpoolctl's limits hold here too, without importing it before the user does.

The base classes of importlib.abc are left out on purpose: they take 7 ms to import.
"""

from __future__ import annotations

import sys
from _thread import get_ident
from importlib.machinery import ModuleSpec
from types import ModuleType
from typing import Any, cast

from . import _threads

__all__ = ["follow"]

NAME = "threadpoolctl"


def follow() -> None:
    """Register with threadpoolctl now, or as soon as it is imported."""
    module = sys.modules.get(NAME)
    if module is not None:
        _register(module)
    elif not any(isinstance(finder, _Watcher) for finder in sys.meta_path):
        sys.meta_path.insert(0, cast(Any, _Watcher()))


def _register(module: Any) -> None:
    class ReducekitController(module.LibController):  # type: ignore[misc]
        user_api = "reducekit"
        internal_api = "reducekit"
        filename_prefixes = (_threads.__name__.rpartition(".")[2] + ".",)
        # Another package may have a library of that name.
        check_symbols = ("reducekit_threads",)

        def get_num_threads(self) -> int:
            return _threads.get_num_threads()

        def set_num_threads(self, num_threads: int) -> None:
            _threads.set_num_threads(num_threads)

        def get_version(self) -> None:
            return None

    module.register(ReducekitController)


class _Watcher:
    """Waits for the import of one module; who only asks where it is does not end the wait."""

    def __init__(self) -> None:
        self.asking: set[int] = set()

    def find_spec(
        self, fullname: str, path: Any = None, target: ModuleType | None = None
    ) -> ModuleSpec | None:
        thread = get_ident()
        if fullname != NAME or thread in self.asking:
            return None
        from importlib.util import find_spec

        self.asking.add(thread)
        try:
            spec = find_spec(fullname)
        finally:
            self.asking.discard(thread)
        if spec is not None and spec.loader is not None:
            spec.loader = cast(Any, _RegisterAfter(spec.loader))
        return spec


class _RegisterAfter:
    """The module's own loader, and our registration after it."""

    def __init__(self, loader: Any) -> None:
        self.loader = loader

    def create_module(self, spec: ModuleSpec) -> ModuleType | None:
        module: ModuleType | None = self.loader.create_module(spec)
        return module

    def exec_module(self, module: ModuleType) -> None:
        self.loader.exec_module(module)
        sys.meta_path[:] = [f for f in sys.meta_path if not isinstance(f, _Watcher)]
        _register(module)

    def __getattr__(self, name: str) -> Any:
        return getattr(self.loader, name)
