#!/usr/bin/env python3
# tests/slurm/loopback.py - a Slurm cluster of this machine alone: munged, slurmctld and one slurmd per node, as ordinary
# processes in a folder of their own. No service is installed or left running.
# SPDX-License-Identifier: Apache-2.0
"""usage: loopback.py [--types small,large] -- COMMAND...

Starts the cluster, runs COMMAND with SLURM_CONF set, ends the cluster, and exits as COMMAND did. Exit code 2: no Slurm here.
"""

import argparse
import contextlib
import os
import secrets
import shutil
import signal
import socket
import subprocess
import sys
import tempfile
import time
from pathlib import Path

PROGRAMS = ("munged", "slurmctld", "slurmd", "salloc", "sbatch", "scancel", "scontrol", "sinfo", "squeue", "srun")
START_S = 60  # a cluster that is not ready by then never will be


def which(program: str) -> str | None:
    """Also where Debian puts daemons, which is not in everybody's PATH."""
    return shutil.which(program) or shutil.which(program, path="/usr/sbin:/usr/local/sbin:/sbin")


def missing_programs() -> list[str]:
    return [name for name in PROGRAMS if which(name) is None]


def free_ports(count: int) -> list[int]:
    held = [socket.socket() for _ in range(count)]
    try:
        for one in held:
            one.bind(("127.0.0.1", 0))
        return [one.getsockname()[1] for one in held]
    finally:
        for one in held:
            one.close()


class Cluster:
    """One node per name in `types`, which is also its feature; `cpus` each. `conf` is what SLURM_CONF names."""

    def __init__(self, folder: Path, types=("small",), cpus: int = 2):
        self.folder = folder
        self.types = tuple(types)
        self.cpus = cpus
        self.conf = folder / "slurm.conf"
        self.daemons: list[subprocess.Popen] = []

    @property
    def environment(self) -> dict[str, str]:
        return {**os.environ, "SLURM_CONF": str(self.conf)}

    def write_conf(self) -> None:
        for name in ("state", "spool", "log"):
            (self.folder / name).mkdir(mode=0o755, exist_ok=True)
        key = self.folder / "munge.key"
        key.write_bytes(secrets.token_bytes(128))
        key.chmod(0o600)
        controller, *ports = free_ports(1 + len(self.types))
        user = subprocess.run(["id", "-un"], capture_output=True, text=True, check=True).stdout.strip()
        nodes = "\n".join(
            f"NodeName={name} NodeHostname=localhost NodeAddr=127.0.0.1 Port={port} CPUs={self.cpus} Feature={name} State=UNKNOWN"
            for name, port in zip(self.types, ports))
        self.conf.write_text(f"""\
ClusterName=loopback
SlurmctldHost=localhost(127.0.0.1)
SlurmUser={user}
SlurmdUser={user}
SlurmctldPort={controller}
AuthType=auth/munge
CredType=cred/munge
AuthInfo=socket={self.folder}/munge.socket
StateSaveLocation={self.folder}/state
SlurmdSpoolDir={self.folder}/spool/%n
SlurmctldPidFile={self.folder}/slurmctld.pid
SlurmdPidFile={self.folder}/slurmd-%n.pid
SlurmctldLogFile={self.folder}/log/slurmctld.log
SlurmdLogFile={self.folder}/log/slurmd-%n.log
ProctrackType=proctrack/linuxproc
TaskPlugin=task/none
JobAcctGatherType=jobacct_gather/none
AccountingStorageType=accounting_storage/none
SwitchType=switch/none
MpiDefault=none
SelectType=select/cons_tres
SelectTypeParameters=CR_CPU
SchedulerType=sched/backfill
SchedulerParameters=bf_interval=1,sched_min_interval=1,batch_sched_delay=0
MinJobAge=5
KillWait=2
UnkillableStepTimeout=60
JobRequeue=1
ReturnToService=2
SlurmdParameters=config_overrides
{nodes}
PartitionName=all Nodes=ALL Default=YES MaxTime=INFINITE State=UP OverSubscribe=NO
""")

    def start(self) -> None:
        self.write_conf()
        at = self.folder
        self._daemon("munged", "--foreground", "--force", "--num-threads=2", f"--key-file={at}/munge.key",
                     f"--socket={at}/munge.socket", f"--pid-file={at}/munged.pid", f"--log-file={at}/log/munged.log",
                     f"--seed-file={at}/munged.seed")
        self._until(lambda: (at / "munge.socket").exists(), "munged")
        self._daemon("slurmctld", "-D", "-i")
        for name in self.types:
            self._daemon("slurmd", "-D", "-N", name)
        self._until(lambda: self.states() == {name: "idle" for name in self.types}, "the nodes")

    def states(self) -> dict[str, str]:
        said = subprocess.run([which("sinfo"), "--noheader", "-N", "-o", "%N %t"], env=self.environment,
                              capture_output=True, text=True)
        return dict(line.split() for line in said.stdout.splitlines() if len(line.split()) == 2)

    def stop(self) -> None:
        with contextlib.suppress(Exception):
            subprocess.run([which("scancel"), "--state=PENDING"], env=self.environment, capture_output=True, timeout=10)
            subprocess.run([which("scancel"), "--signal=KILL", "--full", "--state=RUNNING"], env=self.environment,
                           capture_output=True, timeout=10)
        for daemon in reversed(self.daemons):
            daemon.send_signal(signal.SIGTERM)
            try:
                daemon.wait(10)
            except subprocess.TimeoutExpired:
                daemon.kill()
                daemon.wait()
        self.daemons = []

    def _daemon(self, program: str, *arguments: str) -> None:
        with open(self.folder / "log" / f"{program}.out", "ab") as out:
            self.daemons.append(subprocess.Popen([which(program), *arguments], env=self.environment, stdin=subprocess.DEVNULL,
                                                 stdout=out, stderr=out, start_new_session=True))

    def _until(self, done, what: str) -> None:
        end = time.monotonic() + START_S
        while not done():
            dead = [one.args[0] for one in self.daemons if one.poll() is not None]
            if dead or time.monotonic() > end:
                said = "\n".join(path.read_text(errors="replace")[-2000:] for path in (self.folder / "log").iterdir())
                raise RuntimeError(f"{what}: not ready; ended: {dead or 'none'}\n{said}")
            time.sleep(0.1)


@contextlib.contextmanager
def cluster(types=("small",), cpus: int = 2):
    # A short path: that of the socket may have 107 characters.
    with tempfile.TemporaryDirectory(prefix="slurm", dir="/tmp") as folder:
        Path(folder).chmod(0o755)
        here = Cluster(Path(folder), types, cpus)
        try:
            here.start()
            yield here
        finally:
            here.stop()


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--types", default="small", help="node types, one node each")
    parser.add_argument("--cpus", type=int, default=2)
    parser.add_argument("command", nargs="+")
    arguments = parser.parse_args()
    if absent := missing_programs():
        print(f"loopback.py: {absent[0]}: not in PATH; tools/setup --with slurm installs it", file=sys.stderr)
        return 2
    with cluster(arguments.types.split(","), arguments.cpus) as here:
        return subprocess.run(arguments.command, env=here.environment).returncode


if __name__ == "__main__":
    sys.exit(main())
