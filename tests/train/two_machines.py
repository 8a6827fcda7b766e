# tests/train/two_machines.py - two network namespaces with a cable between them, as a stand-in for two machines.
# SPDX-License-Identifier: Apache-2.0
"""usage: two_machines.py [--cut] NAME COMMAND...

Runs COMMAND on both, as rank 0 and rank 1 of torchrun (RANK, WORLD_SIZE, LOCAL_RANK), and prints [[exit code, stderr], ...]. NAME
is that of the first machine: the second knows it as 10.77.0.1, the first itself as 127.0.1.1, as Debian sets it up.
--cut: when rank 0 has printed a line the cable is cut; rank 0 is killed when rank 1 has ended.
Started by itself in namespaces of its own; nothing outside them is touched. Exit code 77: this machine does not permit it.
"""
import json
import os
import subprocess
import sys
import tempfile
from pathlib import Path

ADDRESSES = ("10.77.0.1", "10.77.0.2")
ALONE = ["unshare", "--map-root-user", "--net", "--mount"]


def ip(where, *words):
    subprocess.run([*where, "ip", *words], check=True, capture_output=True, text=True)


def connect(other):
    """`other` is the process id of the second machine."""
    there = ["nsenter", f"--target={other}", "--net", "--mount"]
    ip([], "link", "add", "cable0", "type", "veth", "peer", "name", "cable1", "netns", str(other))
    for where, cable, address in (([], "cable0", ADDRESSES[0]), (there, "cable1", ADDRESSES[1])):
        ip(where, "address", "add", f"{address}/24", "dev", cable)
        ip(where, "link", "set", cable, "up")
        ip(where, "link", "set", "lo", "up")
    return [[], there]


def inside(name, command, cut):
    with tempfile.TemporaryDirectory() as folder:
        with subprocess.Popen(["unshare", "--net", "--mount", "sh", "-c", "echo ready; exec cat"], stdin=subprocess.PIPE,
                              stdout=subprocess.PIPE, text=True) as other:
            other.stdout.readline()
            running = []
            for rank, where in enumerate(connect(other.pid)):
                hosts = Path(folder) / f"hosts{rank}"
                hosts.write_text(f"127.0.0.1 localhost\n{'127.0.1.1' if rank == 0 else ADDRESSES[0]} {name}\n")
                subprocess.run([*where, "mount", "--bind", hosts, "/etc/hosts"], check=True)
                variables = {"RANK": str(rank), "WORLD_SIZE": "2", "LOCAL_RANK": "0"}
                running.append(subprocess.Popen([*where, *command], env={**os.environ, **variables}, stderr=subprocess.PIPE, text=True,
                                                stdout=subprocess.PIPE if cut and rank == 0 else subprocess.DEVNULL))
            if cut:
                running[0].stdout.readline()
                ip([], "link", "set", "cable0", "down")
                running[1].wait()
                running[0].kill()
            ends = [(one.communicate()[1], one.returncode) for one in running]
            other.stdin.close()
    print(json.dumps([[code, text] for text, code in ends]))


def permitted():
    try:
        done = subprocess.run([*ALONE, "ip", "link", "add", "cable0", "type", "veth", "peer", "name", "cable1"], capture_output=True, check=False)
    except FileNotFoundError:
        return False
    return done.returncode == 0


if __name__ == "__main__":
    if os.environ.get("TWO_MACHINES") == "inside":
        cut = sys.argv[1] == "--cut"
        inside(sys.argv[1 + cut], sys.argv[2 + cut:], cut)
    elif not permitted():
        sys.exit(77)
    else:
        os.environ["TWO_MACHINES"] = "inside"
        os.execvp(ALONE[0], [*ALONE, sys.executable, "-B", *sys.argv])
