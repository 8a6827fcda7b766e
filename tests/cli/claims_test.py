#!/usr/bin/env python3
# tests/cli/claims_test.py - numbers that cannot be: of peers, of commands, of programs, of files changed by hand.
# SPDX-License-Identifier: Apache-2.0
"""usage: claims_test.py PROGRAM"""
import json
import os
import pathlib
import re
import shlex
import subprocess
import sys
import tempfile
import textwrap
import time
import unittest

ROOT = pathlib.Path(__file__).resolve().parents[2]
PROGRAM = None
ENV = {key: value for key, value in os.environ.items() if key not in {"SLUICE_MARKS", "PYTHONPATH"}}

# A worker of 5 ms that says what its argument asks for.
PEER = """
import json, os, subprocess, sys, time
how = sys.argv[1]
if how == "setsid":
    subprocess.Popen(["setsid", "sleep", "1000"])
if how == "bare":
    subprocess.Popen(["env", "-i", "/usr/bin/setsid", "/bin/sleep", "1000"])
def measure(m):
    start = time.monotonic_ns()
    while time.monotonic_ns() < start + 5_000_000:
        pass
    took = time.monotonic_ns() - start
    answer = {"start_ns": start, "samples_ns": [took], "items_per_sample": m["passes"], "cpu_ns": took}
    if how == "short": answer.update(samples_ns=[1], cpu_ns=1)
    if how == "quick": answer.update(samples_ns=[20], cpu_ns=20)
    if how == "long": answer.update(samples_ns=[took * 1000])
    if how == "ahead": answer["start_ns"] += 10**15
    if how == "before": answer["start_ns"] = 1
    if how == "busy": answer["cpu_ns"] = took * 10**6
    return answer
answers = {"hello": lambda m: {"protocol": 1, "name": "liar", "version": "1"}, "configure": lambda m: {"threads": 1},
           "load": lambda m: {}, "prepare": lambda m: {"items_per_pass": 1}, "check": lambda m: {"digest": "d"},
           "measure": measure, "preflight": lambda m: {"pass_ns": 40_000_000}, "bye": lambda m: {}}
requests = os.fdopen(int(os.environ["SLUICE_PEER_IN"]), encoding="utf-8")
replies = os.fdopen(int(os.environ["SLUICE_PEER_OUT"]), "w", encoding="utf-8")
for line in requests:
    m = json.loads(line)
    print(json.dumps({"type": m["type"], **answers[m["type"]](m), "id": m["id"]}), file=replies, flush=True)
    if m["type"] == "bye":
        break
"""

# A result file of one sample, measured when it says so: {"session", "start_ns"} may be given.
FRESH = """
import json, sys, time
stored, out, session, start = sys.argv[1:5]
document = json.load(open(stored, encoding="utf-8"))
begun = time.monotonic_ns()
while time.monotonic_ns() < begun + 1_000_000:
    pass
document["session_id"] = session if session != "new" else f"session-{begun}"
row = document["rows"][0]
run = row["runs"][0]
run.update(run_id=f"{document['session_id']}/{row['case']}/{row['library']}/0", block=0, start_ns=begun if start == "now" else int(start),
           samples_ns=[1_000_000], cpu_ns=1_000_000)
row.update(runs=[run], n_runs=1, n_samples=1, **{key: row["items_per_sample"] * 1e3 for key in ("median", "mean", "p50")})
row["thread_policy"]["cpu_per_wall"] = 1.0
document["rows"], document["canary"] = [row], []
json.dump(document, open(out + "/x.json", "w", encoding="utf-8"))
"""


def processes(marker):
    """Pids whose command line is `sleep 1000` and whose environment or parent say that they are of this test."""
    found = []
    for entry in pathlib.Path("/proc").iterdir():
        try:
            words = (entry / "cmdline").read_bytes().split(b"\0")
        except OSError:
            continue
        if entry.name.isdigit() and words[-2:-1] == [marker.encode()] and words[0].endswith(b"sleep"):
            found.append(int(entry.name))
    return found


class ClaimsTest(unittest.TestCase):
    def setUp(self):
        scratch = tempfile.TemporaryDirectory()
        self.addCleanup(scratch.cleanup)
        self.folder = pathlib.Path(scratch.name)

    def sluice(self, *words):
        return subprocess.run([PROGRAM, *map(str, words)], capture_output=True, text=True, cwd=self.folder, timeout=300,
                              env=dict(ENV, SLUICE_CACHE_DIR=str(self.folder / "cache")), check=False)

    def expect(self, code, *words):
        done = self.sluice(*words)
        self.assertEqual(done.returncode, code, done.stdout + done.stderr)
        return done

    def write(self, name, text):
        path = self.folder / name
        path.write_text(textwrap.dedent(text), encoding="utf-8")
        return path

    # Rows and files

    def quick(self):
        return json.loads((ROOT / "docs/results/quick.json").read_text(encoding="utf-8"))

    def test_rows_that_vanish_fail_unless_that_is_allowed(self):
        document = self.quick()
        base = self.write("base.json", json.dumps(document))
        self.expect(0, "compare", base, base)
        document["rows"] = document["rows"][:2]
        few = self.write("few.json", json.dumps(document))
        done = self.expect(1, "compare", base, few)
        self.assertIn("missing in candidate", done.stdout)
        self.assertIn("only in base; --allow-missing accepts that", done.stdout)
        self.expect(0, "compare", base, few, "--allow-missing")

    def test_unsound_files_are_refused_by_all_who_read_them(self):
        document = self.quick()
        base = self.write("base.json", json.dumps(document))
        document["rows"][0]["median"] *= 2
        bad = self.write("bad.json", json.dumps(document))
        self.expect(1, "validate", bad)
        for words in (["compare", base, bad], ["compare", bad, base], ["report", bad, "--format", "md"], ["report", bad, "--out", "o"],
                      ["ratio", bad, "--of", "sluice", "--over", "opencv"], ["report", bad, "--json"]):
            with self.subTest(words=words):
                done = self.expect(2, *words)
                self.assertEqual(done.stdout, "")
                self.assertIn("bad.json: is not sound: ", done.stderr)
                self.assertIn("its samples give", done.stderr)
                self.assertIn(f"see `sluice validate {bad}`", done.stderr)
                self.assertEqual(done.stderr.count("\n"), 1)
        self.assertFalse((self.folder / "o").exists())

    def test_metrics_are_computed_again_before_they_are_judged(self):
        tiny = ["--quick", "--dim", 32, "--heads", 2, "--layers", 1, "--seq-len", 16, "--batch-size", 2, "--warmup-steps", 1,
                "--measure-steps", 4, "--repeat", 1, "--seed", 3, "--quiet"]
        self.expect(4, "gate", "--bench", "--compare", *tiny, "--baseline-dir", "B", "--out", "R")
        compare = ["gate", "--compare", "--baseline-dir", "B", "--current", "R"]
        self.expect(4, *compare)
        path, raw = self.folder / "R/metrics.json", self.folder / "R/results/bench-training.json"
        honest, file = json.loads(path.read_text()), json.loads(raw.read_text())
        promote = ["baseline", "promote", "R", "--baseline-dir", "B", "--without-eval", "--maintainer", "--reason", "x"]

        def forge(metrics):
            metrics["throughput"]["tokens_per_sec_p50"] *= 2
            metrics["timing"]["step_time_p50_s"] /= 2

        forged = json.loads(json.dumps(honest))
        forge(forged)
        path.write_text(json.dumps(forged))
        for words in (compare, promote):
            done = self.expect(2, *words)
            self.assertIn("metrics.json: tokens_per_sec_p50 is ", done.stderr)
            self.assertIn("bench-training.json give ", done.stderr)
        forge(file["metrics"])  # also where the run itself keeps them
        raw.write_text(json.dumps(file))
        self.assertIn("give ", self.expect(2, *compare).stderr)
        forge(file["metrics"])
        file["metrics"] = honest
        raw.write_text(json.dumps(file))
        changed = json.loads(json.dumps(honest))
        changed["machine_profile"] = "another_machine"
        path.write_text(json.dumps(changed))
        self.assertIn("/machine_profile is not what", self.expect(2, *compare).stderr)
        path.write_text(json.dumps(honest))
        self.expect(4, *compare)

    # Watched programs

    def watch(self, code, *lines, out="R"):
        program = self.write("program.py", "\n".join(["import os, struct, sys, time", "import sluice_marks as marks", *lines]))
        return self.expect(code, "watch", "--quiet", "--warmup", 0, "--out", out, "--", sys.executable, "-B", program)

    def test_an_honest_program_is_sound_and_what_it_cannot_prove_is_said(self):
        done = self.watch(0, "for _ in range(10):", "    marks.step()", "    sum(range(20000))")
        self.assertRegex(done.stdout, r"marked steps cover \S+ % of the time that the program ran")
        checked = self.expect(0, "validate", "R")
        self.assertIn("1 row of a watched program: its output was not checked, and its times are its own marks", checked.stdout)

    def test_little_that_is_marked_is_remarked(self):
        done = self.watch(0, "end = time.monotonic() + 1", "while time.monotonic() < end: pass",
                          "for _ in range(10):", "    marks.step()", "marks.pause()")
        self.assertIn("what it did outside them is not measured", done.stdout)
        self.assertIn("cover less than a tenth", self.expect(0, "validate", "R").stdout)

    def test_marks_that_cannot_be(self):
        by_hand = ["def write(pid, first, name=None):",
                   "    steps = b''.join(struct.pack('=QQQII', first + i * 1000, first + i * 1000 + 900, i, 0, 2) for i in range(10))",
                   "    with open(f\"{os.environ['SLUICE_MARKS']}.{name or pid}\", 'wb') as file:",
                   "        file.write(struct.pack('=8sIIQ40x', b'SLUICEMK', 1, 32, pid) + steps)",
                   "now = time.monotonic_ns()"]
        for name, line, said in (
                ("future", "write(os.getpid(), now + 10**15)", "after the program had ended"),
                ("past", "write(os.getpid(), now - 10**11)", "before the program was started"),
                ("foreign", f"write({os.getpid()}, now)", "still runs, so it is none of the program's"),
                ("honest", "write(os.getpid(), now)", None)):
            with self.subTest(name):
                done = self.watch(5 if said else 0, *by_hand, line, out=name)
                self.assertIn(said or "10 steps", done.stderr + done.stdout)
        done = self.watch(2, *by_hand, "write(os.getpid(), now, name=1)")
        self.assertIn("it says that it is of process", done.stderr)

    def test_a_file_with_a_foreign_number_kills_nobody(self):
        victim = subprocess.Popen(["sleep", "1000"], start_new_session=True)
        self.addCleanup(victim.wait)
        self.addCleanup(victim.kill)
        program = self.write("endless.py", f"""
            import os, struct, time
            now = time.monotonic_ns()
            with open(f"{{os.environ['SLUICE_MARKS']}}.{victim.pid}", "wb") as file:
                file.write(struct.pack("=8sIIQ40x", b"SLUICEMK", 1, 32, {victim.pid}))
                for i in range(100):
                    file.write(struct.pack("=QQQII", now + i * 10, now + i * 10 + 9, i, 0, 2))
            while True:
                time.sleep(0.1)
            """)
        self.expect(5, "watch", "--quiet", "--steps", 5, "--limit", 60, "--out", "R", "--", sys.executable, "-B", program)
        self.assertIsNone(victim.poll(), "the group of a stranger was ended")

    # Commands

    def test_a_command_that_leaves_something_behind(self):
        for left in ("sleep 1000 &", "setsid sleep 1000 &", "env -i /usr/bin/setsid /bin/sleep 1000 &",
                     "setsid sh -c 'sleep 1000 & sleep 1000' &", "(setsid sleep 1000 &) &"):
            with self.subTest(left):
                done = self.expect(5, "ab", "--pairs", 2, "--a", "true", "--b", left + " true")
                self.assertRegex(done.stderr, r"B \(.*\): ended while \w+ \(pid \d+\).* it had started still ran: killed")
                self.assertEqual([pid for pid in processes("1000") if self.is_ours(pid)], [])

    def is_ours(self, pid):
        """Not the victim of another test beside this one: of this folder."""
        try:
            return os.readlink(f"/proc/{pid}/cwd") == str(self.folder)
        except OSError:
            return False

    def test_what_ends_soon_after_its_command_counts_as_its_time(self):
        done = self.expect(0, "ab", "--pairs", 2, "--json", "--a", "true", "--b", "sleep 0.3 & true")
        self.assertGreater(json.loads(done.stdout)["lines"][0]["current"], 0.29)

    def test_a_printed_time_cannot_be_longer_than_the_run(self):
        for printed in ("1000 s", "took 1000000ms", "9e12 ns/step", "30 min"):
            done = self.expect(5, "ab", "--pairs", 2, "--metric", "stdout", "--a", f"echo {printed}", "--b", "echo 1 ms")
            self.assertRegex(done.stderr, r"printed \S+ s, but ran for")
        for printed in ("1000", "1000 img/s", "1000 steps", "1 us"):
            self.expect(0, "ab", "--pairs", 2, "--metric", "stdout", "--a", f"echo {printed}", "--b", f"echo {printed}")

    def test_a_result_file_is_of_its_own_run(self):
        stored = ROOT / "docs/results/bench-harness.json"
        case = json.loads(stored.read_text(encoding="utf-8"))["rows"][0]["case"]
        script = self.write("fresh.py", FRESH)

        def command(session="new", start="now"):
            return " ".join(map(shlex.quote, [sys.executable, "-B", str(script), str(stored)])) + f" {{out}} {session} {start}"

        ab = ["ab", "--pairs", 2, "--metric", case]
        self.expect(0, *ab, "--a", command(), "--b", command())
        copy = f"cp '{stored}' {{out}}/x.json"
        old = self.expect(5, *ab, "--a", copy, "--b", copy)
        self.assertIn("but the command ran from", old.stderr)
        same = self.expect(5, *ab, "--a", command(session="same"), "--b", command(session="same"))
        self.assertIn("session same was there before", same.stderr)
        ahead = self.expect(5, *ab, "--a", command(start=time.monotonic_ns() + 10**15), "--b", command())
        self.assertIn("must measure anew", ahead.stderr)

    # Peers

    def peer(self, how):
        peer = self.write("peer.py", PEER)
        done = self.sluice("bench", "harness", "--runs", 1, "--samples", 1, "--sample-ms", 1, "--warmup-ms", 1, "--images", 1,
                           "--quiet", "--peer", f"liar={sys.executable} {peer} {how}", "--out", how)
        file = json.loads(next((self.folder / how / "results").glob("*.json")).read_text(encoding="utf-8"))
        row, = (row for row in file["rows"] if row["library"] == "liar")
        return done, row

    def test_an_honest_peer_is_believed(self):
        done, row = self.peer("honest")
        self.assertEqual(row["status"], "ok", (row, done.stderr))

    def test_times_of_a_peer_that_cannot_be(self):
        for how, said in (("short", "reading the clock takes longer"), ("quick", "its own preflight makes that about"),
                          ("long", "samples_ns add up to"), ("ahead", "between question and answer"),
                          ("before", "between question and answer"), ("busy", "cpu_ns is")):
            with self.subTest(how):
                done, row = self.peer(how)
                self.assertEqual(row["status"], "failed")
                self.assertIn(said, row["reason"])
                self.assertEqual(done.returncode, 5, done.stderr)

    def test_what_a_peer_leaves_is_killed_and_named(self):
        for how in ("setsid", "bare"):
            with self.subTest(how):
                done, _ = self.peer(how)
                self.assertRegex(done.stderr, r"left running, killed: \w+ \(pid \d+\)")
                self.assertEqual([pid for pid in processes("1000") if self.is_ours(pid)], [])

    # Reports

    def test_no_argument_becomes_markup(self):
        program = self.write("program.py", "import sluice_marks as marks\nfor _ in range(9): marks.step()")
        self.expect(0, "watch", "--quiet", "--warmup", 0, "--out", "R", "--", sys.executable, "-B", program, "<img src=x onerror=alert(1)>",
                    "\n```\n<script>alert(2)</script>", "```")
        for text in ((self.folder / "R/report.md").read_text(encoding="utf-8"),
                     self.expect(0, "report", "R", "--format", "github-summary").stdout):
            bare = re.sub(r"^(`{3,})\w*\n.*?^\1\n", "", text, flags=re.M | re.S)  # in a fence nothing is markup
            self.assertIn("<img src=x onerror=alert(1)>", text)
            self.assertNotIn("<img", bare)
            self.assertNotIn("<script", bare)
            self.assertNotIn("```", bare)


if __name__ == "__main__":
    PROGRAM = pathlib.Path(sys.argv.pop(1)).resolve()
    unittest.main()
