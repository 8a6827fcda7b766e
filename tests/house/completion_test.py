# tests/house/completion_test.py - the generated scripts work in the shells they are written for.
# SPDX-License-Identifier: Apache-2.0
import os
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

PROGRAM = Path(os.environ["SLUICE_BUILD_DIR"]) / "sluice"


def script(shell):
    return subprocess.run([PROGRAM, "completion", shell], check=True, capture_output=True, text=True).stdout


def bash_replies(*words):
    """What bash offers for the last of `words`."""
    line = " ".join(f"'{word}'" for word in words)
    ask = (f"{script('bash')}\nCOMP_WORDS=({line}); COMP_CWORD={len(words) - 1}; _sluice; "
           "printf '%s\\n' \"${COMPREPLY[@]}\"")
    answer = subprocess.run(["bash", "--norc", "-euc", ask], check=True, capture_output=True, text=True)
    return answer.stdout.split()


class BashTest(unittest.TestCase):
    def test_commands(self):
        self.assertEqual(bash_replies("sluice", "qu"), ["quick"])
        self.assertEqual(bash_replies("sluice", "data", "m"), ["make"])

    def test_flags_of_a_command(self):
        self.assertEqual(bash_replies("sluice", "completion", "--js"), ["--json"])
        self.assertIn("--resume", bash_replies("sluice", "quick", "--"))
        self.assertEqual(bash_replies("sluice", "--js"), [])

    def test_values_of_a_flag_and_of_a_positional(self):
        self.assertEqual(bash_replies("sluice", "completion", "--log-level", "de"), ["debug"])
        self.assertEqual(bash_replies("sluice", "completion", "z"), ["zsh"])

    def test_hidden_commands_are_not_offered(self):
        offered = bash_replies("sluice", "")
        self.assertIn("env", offered)
        self.assertFalse({"docs", "worker"} & set(offered), offered)

    def test_the_function_is_bound_to_the_program(self):
        bound = subprocess.run(["bash", "--norc", "-euc", script("bash") + "\ncomplete -p sluice"], check=True,
                               capture_output=True, text=True)
        self.assertIn("-F _sluice sluice", bound.stdout)


@unittest.skipUnless(shutil.which("zsh"), "zsh is not installed")
class ZshTest(unittest.TestCase):
    def test_the_script_parses(self):
        subprocess.run(["zsh", "-n"], input=script("zsh"), check=True, text=True)

    def test_sourcing_binds_the_function(self):
        ask = "autoload -Uz compinit; compinit -D -u; source $1; print -r -- $_comps[sluice]; whence -w _sluice"
        with tempfile.TemporaryDirectory() as folder:
            file = Path(folder) / "_sluice"
            file.write_text(script("zsh"))
            answer = subprocess.run(["zsh", "-fc", ask, "zsh", file], check=True, capture_output=True, text=True)
        self.assertEqual(answer.stdout.split("\n")[:2], ["_sluice", "_sluice: function"])


if __name__ == "__main__":
    unittest.main()
