# tests/house/setup_test.py - tools/setup on machines that lack something: one line says what, and the next try continues.
# SPDX-License-Identifier: Apache-2.0
import os
import pty
import shutil
import subprocess
import tempfile
import unittest
from pathlib import Path

SETUP = Path(__file__).resolve().parents[2] / "tools" / "setup"
TOOLS = ["awk", "bash", "cat", "env", "grep", "mktemp", "rm", "sed", "sh", "tr", "uname"]
NO_NETWORK = """E: Failed to fetch http://deb.debian.org/debian/pool/main/x.deb  Temporary failure resolving 'deb.debian.org'
E: Unable to fetch some archives, maybe run apt-get update or try with --fix-missing?"""


class Machine:
    """A PATH of its own: real text tools, and stubs of whatever asks or changes the system."""

    def __init__(self, folder):
        self.folder = Path(folder)
        self.bin = self.folder / "bin"
        self.bin.mkdir()
        (self.folder / "tmp").mkdir()
        for name in TOOLS:
            (self.bin / name).symlink_to(shutil.which(name))
        self.release("debian", "12")
        self.stub("id", "echo 0")
        self.stub("dpkg-query", 'case " $(cat "$HERE/installed" 2>/dev/null) " in *" $3 "*|*" all "*) printf installed ;; esac')
        self.stub("apt-cache", "echo '  Candidate: 1.0'")
        self.apt("")

    def stub(self, name, text):
        file = self.bin / name
        file.write_text(f"#!/bin/sh\nHERE='{self.folder}'\n{text}\n")
        file.chmod(0o755)

    def apt(self, install, code=0):
        """An apt-get that notes how it was called; `install` is what that command does."""
        self.stub("apt-get", f'echo "$*" >>"$HERE/calls"\ncase "$*" in\n  *--print-uris*) echo "\'http://x/a.deb\' a.deb 2000000 MD5Sum:0" ;;\n'
                             f"  *' install '*)\n{install}\nexit {code} ;;\nesac")

    def release(self, name, version):
        (self.folder / "os-release").write_text(f'ID={name}\nVERSION_ID="{version}"\n')

    def installed(self, names):
        (self.folder / "installed").write_text(names)

    def calls(self):
        file = self.folder / "calls"
        return file.read_text() if file.exists() else ""

    def environment(self):
        return {"PATH": str(self.bin), "SLUICE_OS_RELEASE": str(self.folder / "os-release"), "TMPDIR": str(self.folder / "tmp")}

    def setup(self, *arguments):
        return subprocess.run([SETUP, *arguments], env=self.environment(), stdin=subprocess.DEVNULL, capture_output=True, text=True)


class SetupTest(unittest.TestCase):
    def setUp(self):
        folder = tempfile.TemporaryDirectory()
        self.addCleanup(folder.cleanup)
        self.machine = Machine(folder.name)

    def refused(self, done, *words):
        self.assertEqual(done.returncode, 2, done)
        self.assertEqual(done.stderr.count("\n"), 1, done.stderr)
        for word in words:
            self.assertIn(word, done.stderr)

    def test_with_everything_present_nothing_is_asked(self):
        self.machine.installed("all")
        done = self.machine.setup("--with", "test")
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertRegex(done.stdout, r"^tools/setup: all \d+ packages are present\n$")
        self.assertEqual(self.machine.calls(), "")

    def test_another_distribution_is_told_what_to_do(self):
        self.machine.release("fedora", "41")
        self.refused(self.machine.setup(), "'fedora 41'", "tools/setup --list", "SETUP=true")
        (self.machine.folder / "os-release").unlink()
        self.refused(self.machine.setup(), "'unknown'")
        self.assertEqual(self.machine.calls(), "")

    def test_without_root_and_sudo_the_command_is_named(self):
        self.machine.stub("id", "echo 1000")
        self.refused(self.machine.setup(), "neither root nor sudo", "apt-get install g++ make")
        self.machine.stub("sudo", '[ "$1" != -n ]')
        self.refused(self.machine.setup(), "sudo asks for a password")
        self.assertEqual(self.machine.calls(), "")

    def test_sudo_installs_where_it_is_at_hand(self):
        self.machine.stub("id", "echo 1000")
        self.machine.stub("sudo", '[ "$1" = -n ] && exit 0\necho sudo >>"$HERE/calls"\nexec "$@"')
        done = self.machine.setup()
        self.assertEqual((done.returncode, done.stderr), (0, ""))
        self.assertEqual(self.machine.calls().count("sudo\n"), 2)  # the lists, the packages

    def test_no_network_is_one_line_and_the_next_try_continues(self):
        self.machine.apt(f'cat >&2 <<"END"\n{NO_NETWORK}\nEND', code=100)
        self.refused(self.machine.setup(), "Temporary failure resolving 'deb.debian.org'", "is there a network", "kept")
        self.assertEqual(list((self.machine.folder / "tmp").iterdir()), [])
        self.machine.apt('echo all >"$HERE/installed"')
        self.assertEqual(self.machine.setup().returncode, 0)
        self.assertIn("are present", self.machine.setup().stdout)

    def test_a_full_disk_and_a_package_that_is_not_known_are_told_apart(self):
        self.machine.apt("echo \"E: You don't have enough free space in /var/cache/apt/archives/.\"", code=100)
        self.refused(self.machine.setup(), "/var/cache/apt/archives", "the disk is full")
        self.machine.apt("echo 'E: Unable to locate package libhwy-dev'", code=100)
        self.refused(self.machine.setup(), "libhwy-dev", "universe")

    def test_what_is_not_understood_leaves_its_output(self):
        self.machine.apt("echo before; echo 'E: dpkg was interrupted'; echo after", code=100)
        done = self.machine.setup()
        self.refused(done, "dpkg was interrupted")
        log = Path(done.stderr.split()[-1])
        self.assertIn("before\nE: dpkg was interrupted\nafter\n", log.read_text())

    def test_a_release_without_some_of_the_checks_goes_without_them(self):
        self.machine.release("debian", "13")
        self.machine.stub("apt-cache", "[ \"$2\" = clang-14 ] || echo '  Candidate: 1.0'")
        self.assertEqual(self.machine.setup("--with", "test").returncode, 0)
        packages = self.machine.calls().split()
        self.assertNotIn("clang-14", packages)
        self.assertIn("llvm-14", packages)
        self.assertIn("libavdevice61", packages)

    def test_progress_is_one_line_that_rewrites_itself(self):
        self.machine.apt('echo noise; for p in 0 50 100; do echo "dlstatus:1:$p.5:Retrieving" >&3; done\n'
                         'for p in 0 50; do echo "pmstatus:dpkg-exec:$p.0:Unpacking" >&3; done')
        done = self.machine.setup()
        self.assertEqual(done.stdout.count("\n"), 2, done.stdout)
        self.assertRegex(done.stdout, r"installing \d+ packages \(with what they need 1 packages, 2 MB\): g\+\+ make")
        here, there = pty.openpty()
        child = subprocess.Popen([SETUP], env=self.machine.environment() | {"TERM": "xterm"}, stdin=subprocess.DEVNULL, stdout=there)
        os.close(there)
        shown = b""
        try:
            while chunk := os.read(here, 4096):
                shown += chunk
        except OSError:  # the other end is closed
            pass
        os.close(here)
        self.assertEqual(child.wait(), 0)
        lines = shown.decode().replace("\r\n", "\n").splitlines()
        self.assertNotIn("noise", shown.decode())
        for words in (": 10 %", ": 60 %"):
            self.assertIn(words, shown.decode())
        self.assertEqual(shown.count(b"\n"), 2, lines)


if __name__ == "__main__":
    unittest.main()
