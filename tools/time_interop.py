"""Time what reducekit does with frames, with dask and at import, against what does the same.

usage: python tools/time_interop.py [frames] [dask] [import] [--repeats N] [--dtypes NAME ...]
       [--scheduler NAME]

Rivals take turns, their answers are compared first, and the best times make the ratios: how many
times as fast reducekit is. Frames are 1e6 x 10 float64; dask has 8 chunks of 64 MiB.
"""

import argparse
import subprocess
import sys
import time

import numpy as np


def best(calls, repeats):
    """The shortest time of each call, in milliseconds."""
    times = dict.fromkeys(calls, float("inf"))
    for _ in range(repeats):
        for name, call in calls.items():
            start = time.perf_counter()
            call()
            times[name] = min(times[name], 1e3 * (time.perf_counter() - start))
    return times


def report(title, times):
    (ours, own), *others = times.items()
    ratios = "".join(f"  {name} {each:8.1f} ms, ratio {each / own:5.2f}" for name, each in others)
    print(f"{title:<34}{ours} {own:8.1f} ms{ratios}", flush=True)


def frames(options):
    import pandas as pd
    import polars as pl

    import reducekit.pandas  # noqa: F401

    values = np.random.default_rng(0).standard_normal((1_000_000, 10))
    labels = list("abcdefghij")
    columns = {label: values[:, i].copy() for i, label in enumerate(labels)}
    other = pl.DataFrame(columns)
    for title, frame in {
        "max over columns, one array": pd.DataFrame(values, columns=labels),
        "max over columns, ten arrays": pd.DataFrame(columns, copy=False),
    }.items():
        calls = {
            "reducekit": lambda frame=frame: frame.reducekit.reduce_max(axes=1),
            "pandas": lambda frame=frame: frame.max(axis=1, skipna=False),
            "polars": lambda: other.select(pl.max_horizontal(pl.all())),
        }
        want = values.max(axis=1)
        for call in calls.values():
            assert np.array_equal(np.ravel(np.asarray(call())), want)
        report(title, best(calls, options.repeats))


def lazy(options):
    import dask.array as da

    import reducekit as rk

    for name in options.dtypes:
        columns = (64 << 20) // np.dtype(name).itemsize // 4096
        rng = np.random.default_rng(0)
        values = (rng.standard_normal((8 * 4096, columns), np.float32) * 100).astype(name)
        x = da.from_array(values, chunks=(4096, -1), name=False)
        for op in ("max", "min", "sum"):
            for axis in (None, 0, 1):
                calls = {
                    "reducekit": lambda op=op, axis=axis, x=x: getattr(rk, f"reduce_{op}")(
                        x, axis, keepdims=False
                    ).compute(scheduler=options.scheduler),
                    "dask": lambda op=op, axis=axis, x=x: getattr(da, op)(x, axis=axis).compute(
                        scheduler=options.scheduler
                    ),
                }
                got, want = (call() for call in calls.values())
                if op != "sum" or name == "int64":
                    assert np.array_equal(got, want)
                elif name in ("float32", "float64"):  # NumPy widens int32, and float16 overflows
                    assert np.allclose(got, want, rtol=1e-2, atol=64)
                report(f"{op} of {name}, axis {axis}", best(calls, options.repeats))


def imports(options):
    calls = {
        name: lambda name=name: subprocess.run([sys.executable, "-c", f"import {name}"], check=True)
        for name in ("reducekit", "numpy")
    }
    times = best(calls, 4 * options.repeats)
    ratio = times["reducekit"] / times["numpy"]
    print(f"import reducekit takes {ratio:.2f} times as long as import numpy")


PARTS = {"frames": frames, "dask": lazy, "import": imports}


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("parts", nargs="*", metavar="PART", help="frames, dask, import; or all")
    parser.add_argument("--repeats", type=int, default=5)
    parser.add_argument(
        "--dtypes", nargs="+", default=["float16", "float32", "float64", "int64"], help="of dask"
    )
    parser.add_argument("--scheduler", default="synchronous", help="of dask")
    options = parser.parse_args()
    for part in options.parts or PARTS:
        if part not in PARTS:
            parser.error(f"there is no part {part!r}; use {', '.join(PARTS)}")
        PARTS[part](options)


if __name__ == "__main__":
    main()
