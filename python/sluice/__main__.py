# python/sluice/__main__.py - the `sluice` command of the wheel: the program itself takes over.
# SPDX-License-Identifier: Apache-2.0
"""`sluice ...` and `python -m sluice ...`: both run the program that lies in the package."""
import os
import sys
from pathlib import Path


def main() -> None:
    program = Path(__file__).resolve().parent / "bin" / "sluice"
    try:
        os.execv(program, ["sluice", *sys.argv[1:]])
    except OSError as error:
        sys.exit(f"sluice: {program}: {error.strerror}; install the wheel again")


if __name__ == "__main__":
    main()
