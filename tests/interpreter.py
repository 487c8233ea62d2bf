"""Code in an interpreter of its own, which has imported nothing yet."""

import os
import subprocess
import sys


def fresh(code, *options, **environment):
    """What the code prints; it must end well, and a warning is an error."""
    done = subprocess.run(
        [sys.executable, "-W", "error", *options, "-c", code],
        env={**os.environ, **environment},
        capture_output=True,
        text=True,
        timeout=120,
        check=False,
    )
    assert done.returncode == 0, done.stderr
    return done.stdout.strip()


def loaded_by(statement):
    """The modules that a fresh interpreter has after a statement."""
    return set(fresh(f"{statement}\nimport sys; print(*sorted(sys.modules), sep='\\n')").split())
