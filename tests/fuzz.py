"""Every search, one after another, for a time: `make fuzz`.

python tests/fuzz.py --seconds 180
python tests/fuzz.py --seconds 3600 --atheris   # files, models and JSON guided by coverage
"""

import argparse
import importlib.util
import re
import subprocess
import sys
import time
from pathlib import Path

HERE = Path(__file__).parent
# The engine reads raw memory, so it has half of the time.
SHARES = {"engine": 0.5, "npy": 0.12, "npz": 0.08, "check": 0.1, "run": 0.1, "atb": 0.1}
COUNT = re.compile(r"([\d,]+) inputs, 0 findings|Done (\d+) runs")


def command(target, seconds, seed, guided):
    if target == "engine":
        return [sys.executable, str(HERE / "fuzz_engine.py"), f"--seconds={seconds}",
                f"--seed={seed}"]  # fmt: skip
    words = [sys.executable, str(HERE / "fuzz_files.py"), target, f"--seconds={seconds}",
             f"--seed={seed}"]  # fmt: skip
    return [*words, "--atheris"] if guided else words


def main():
    parser = argparse.ArgumentParser(description=__doc__.partition("\n")[0])
    parser.add_argument("--seconds", type=float, default=180)
    parser.add_argument("--seed", type=int, default=int(time.time()))
    parser.add_argument(
        "--atheris", action="store_true", help="be guided by coverage, if it is there"
    )
    given = parser.parse_args()
    if given.atheris and importlib.util.find_spec("atheris") is None:
        sys.exit("fuzz: atheris is not installed; leave out --atheris")
    failed = False
    for target, share in SHARES.items():
        start = time.monotonic()
        done = subprocess.run(
            command(target, share * given.seconds, given.seed, given.atheris),
            capture_output=True,
            text=True,
            check=False,
        )
        said = done.stdout + done.stderr
        found = COUNT.search(said)
        count = next((group for group in found.groups() if group), "?") if found else "?"
        number = int(count.replace(",", "")) if found else 0
        verdict = "0 findings" if done.returncode == 0 else "a finding"
        sys.stdout.write(
            f"{target:7} {number:9,} inputs in {time.monotonic() - start:5.0f} s, {verdict}\n"
        )
        sys.stdout.flush()
        if done.returncode:
            failed = True
            sys.stdout.write(f"{said[-4000:]}\n")
    sys.exit(failed)


if __name__ == "__main__":
    main()
