# bench/measured_by.py - the commit that a script of this folder writes into its JSON file.
# SPDX-License-Identifier: Apache-2.0
import re
import subprocess
from pathlib import Path

ROOT = Path(__file__).resolve().parents[1]


def git(program=None, checkout=ROOT):
    """The commit of `program`, as its --version says; without one of the checkout, with -dirty where tracked files differ; "unknown" where there is none."""
    command = [program, "--version"] if program else ["git", "-C", checkout, "describe", "--always", "--dirty", "--exclude=*", "--abbrev=12"]
    try:
        said = subprocess.run(command, capture_output=True, text=True, check=True).stdout.strip()
    except (OSError, subprocess.CalledProcessError):
        return "unknown"
    named = re.search(r"\(([0-9a-f]{7,40}(?:-dirty)?)\)" if program else r"^([0-9a-f]{7,40}(?:-dirty)?)$", said)
    return named[1] if named else "unknown"
