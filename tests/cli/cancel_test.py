# tests/cli/cancel_test.py - Ctrl-C and SIGTERM end every command soon, in whatever it waits, and leave no temporary file.
# SPDX-License-Identifier: Apache-2.0
"""usage: cancel_test.py PROGRAM FAULT_SERVER. How long each took is printed, not judged: a signal that is not seen
leaves a command waiting for minutes, and LIMIT_S is far below that. bench/cancel_times.py measures it."""
import sys
import unittest

import cancelling


class Cancel(unittest.TestCase):
    def test_every_command_in_every_phase(self):
        for case in self.world.cases():
            for number in cancelling.SIGNALS:
                with self.subTest(phase=case.phase, command=case.command, number=number.name):
                    seconds = self.world.cancelled(case, number)
                    print(f"{seconds * 1000:7.0f} ms  {case.phase}: {case.command}, {number.name}", flush=True)


if __name__ == "__main__":
    Cancel.world = cancelling.World(sys.argv.pop(1), sys.argv.pop(1))
    try:
        unittest.main()
    finally:
        Cancel.world.close()
