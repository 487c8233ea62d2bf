"""What is known of the machine and of the libraries that ran on it."""

from __future__ import annotations

import os
import platform
import sys
from collections.abc import Sequence
from importlib import import_module
from pathlib import Path
from typing import Any

import reducekit

from .. import _kernels
from .contenders import Contender

__all__ = ["describe", "free_memory", "load", "versions"]

_CACHES = Path("/sys/devices/system/cpu/cpu0/cache")
_UNITS = {"K": 1 << 10, "M": 1 << 20, "G": 1 << 30}


def describe() -> dict[str, Any]:
    """The processor, its caches in bytes where they are known, the memory, the system."""
    caches = _caches()
    return {
        "processor": _processor(),
        "system": f"{platform.system()} {platform.machine()}",
        "cpus": _cpus(),
        "caches": caches,
        "last_cache": max(caches.values(), default=None),
        "memory": (_sysconf("SC_PHYS_PAGES") or 0) * (_sysconf("SC_PAGE_SIZE") or 0) or None,
        "level": _kernels.LEVEL,
    }


def versions(contenders: Sequence[Contender]) -> dict[str, str]:
    """Of Python and of everything that took part."""
    found = {"python": platform.python_version()}
    for contender in contenders:
        for name in contender.modules:
            found[name] = str(getattr(import_module(name), "__version__", "unknown"))
    found["reducekit"] = reducekit.__version__
    return found


def load() -> float | None:
    """How many processes wanted to run in the last minute, where the system tells."""
    return round(os.getloadavg()[0], 2) if hasattr(os, "getloadavg") else None


def free_memory() -> int | None:
    """Bytes that can be had without swapping, where the system tells."""
    try:
        for line in Path("/proc/meminfo").read_text(encoding="ascii").splitlines():
            if line.startswith("MemAvailable:"):
                return int(line.split()[1]) * 1024
    except OSError:
        pass
    return None


def _caches() -> dict[str, int]:
    """The bytes of each level's cache for data, where the system tells."""
    found: dict[str, int] = {}
    for folder in sorted(_CACHES.glob("index*")):
        try:
            level, kind, size = (
                folder.joinpath(name).read_text(encoding="ascii").strip()
                for name in ("level", "type", "size")
            )
            if kind != "Instruction":
                found[f"L{level}"] = int(size.rstrip("KMG")) * _UNITS.get(size[-1], 1)
        except (OSError, ValueError):
            continue
    if not found:
        for level, name in (("L1", "1_DCACHE"), ("L2", "2_CACHE"), ("L3", "3_CACHE")):
            known = _sysconf(f"SC_LEVEL{name}_SIZE")
            if known:
                found[level] = known
    return found


def _cpus() -> int:
    if hasattr(os, "sched_getaffinity"):
        return len(os.sched_getaffinity(0))
    return os.cpu_count() or 1


def _sysconf(name: str) -> int | None:
    try:
        value = os.sysconf(name)
    except (AttributeError, ValueError, OSError):
        return None
    return value if value > 0 else None


def _processor() -> str:
    if sys.platform == "linux":
        try:
            for line in Path("/proc/cpuinfo").read_text(encoding="utf-8").splitlines():
                if line.startswith("model name"):
                    return line.partition(":")[2].strip()
        except OSError:
            pass
    return platform.processor() or platform.machine()
