"""``python -m reducekit.bench`` is ``reducekit bench``."""

import sys

from reducekit.cli import main

if __name__ == "__main__":
    sys.exit(main(["bench", *sys.argv[1:]]))
