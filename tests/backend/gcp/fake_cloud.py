# tests/backend/gcp/fake_cloud.py - stands in for Google Cloud: instances, disks and buckets in a folder, which can fail.
# SPDX-License-Identifier: Apache-2.0
"""A server in the process of a test; CLIENT is the program `gcloud`, which only passes its arguments on: hundreds of runs
start thousands of them. FAKE_CLOUD names the folder of a cloud:
  calls.txt    one line per call
  fault.json   {"at": N, "kind": K}: what goes wrong at the N-th call (from 1), see KINDS
  vm.json      {"results": DIR, "exit_code": N, "when": "at once" | "later" | "script", ...}: what a machine does
  instances/, disks/, operations/ hold a file per thing; buckets/ the objects.
"""
import json
import os
import re
import signal
import socketserver
import subprocess
import threading

CLIENT = r"""#!/bin/bash
exec 3<>/dev/tcp/127.0.0.1/PORT || exit 9
printf '%s\0' "$#" "$FAKE_CLOUD" "$PPID" "$PWD" "${FAKE_QUIET-}" "$@" >&3
read -r code <&3 || exit 9
while IFS= read -r line <&3; do
  case $line in O*) printf '%s\n' "${line#O}" ;; *) printf '%s\n' "${line#E}" >&2 ;; esac
done
exit "$code"
"""
KINDS = ("fail_before", "fail_after", "half", "late", "garbage", "twice", "hang", "hang_after", "kill_before", "kill_after",
         "interrupt_before", "interrupt_after", "outage")


class Refused(Exception):
    """The call ends with exit code 1 and this complaint."""


def write(where, text):
    os.makedirs(os.path.dirname(where), exist_ok=True)
    with open(where, "w") as file:
        file.write(text)


def read_json(where, default=None):
    try:
        with open(where) as file:
            return json.load(file)
    except FileNotFoundError:
        return default


def remove(where):
    try:
        os.remove(where)
    except FileNotFoundError:
        pass


def flag(arguments, name):
    return arguments[arguments.index(name) + 1]


def copy_tree(source, target, most=None):
    if not os.path.isdir(source):
        raise Refused(f"{source} matched no objects")
    files = sorted(os.path.join(folder, name) for folder, _, inside in os.walk(source) for name in inside)
    for file in files[:most]:
        to = os.path.join(target, os.path.relpath(file, source))
        os.makedirs(os.path.dirname(to), exist_ok=True)
        with open(file, "rb") as a, open(to, "wb") as b:
            b.write(a.read())


class Call:
    """One call of gcloud, by the process `parent`, from the folder `cwd`."""
    def __init__(self, root, parent, cwd, quiet, arguments):
        self.root, self.parent, self.cwd, self.quiet, self.arguments = root, parent, cwd, quiet, arguments
        self.printed = []

    def path(self, *parts):
        return os.path.join(self.root, *parts)

    def names(self, kind):
        try:
            return sorted(os.listdir(self.path(kind)))
        except FileNotFoundError:
            return []

    def place(self, name):
        """Of an object, or of a file beside the caller."""
        if name.startswith("gs://"):
            return self.path("buckets", name[len("gs://"):].rstrip("/"))
        return os.path.join(self.cwd, name)

    def make_instance(self, arguments, cwd, disk_only=False):
        name, zone = arguments[3], flag(arguments, "--zone")
        write(self.path("disks", name), json.dumps({"name": name, "zone": f"https://cloud/zones/{zone}"}))
        if disk_only:
            return
        labels = dict(part.split("=") for part in flag(arguments, "--labels").split(","))
        write(self.path("instances", name), json.dumps(
            {"name": name, "zone": f"https://cloud/zones/{zone}", "status": "RUNNING", "labels": labels}))
        with open(os.path.join(cwd, flag(arguments, "--metadata-from-file").partition("=")[2])) as file:
            script = file.read()
        write(self.path("scripts", name), script)
        if read_json(self.path("vm.json"), {}).get("when", "at once") != "later":
            self.run_machine(name)

    def run_machine(self, name):
        """What the start-up script leaves in the bucket, or the script itself."""
        vm = read_json(self.path("vm.json"), {})
        with open(self.path("scripts", name)) as file:
            script = file.read()
        os.remove(self.path("scripts", name))
        if vm.get("when") == "script":
            work = self.path("vm", name)
            script = re.sub(r"^work=.*$", f"work={work}", script, flags=re.M)
            script = re.sub(r"^program_folder=.*$", f"program_folder={work}/program", script, flags=re.M)
            write(self.path("vm", name + ".sh"), script)
            subprocess.run(["bash", self.path("vm", name + ".sh")],
                           env={"PATH": vm["path"], "HOME": self.root, "FAKE_CLOUD": self.root, "FAKE_QUIET": "1", "pause_s": "0"},
                           stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
            return
        prefix = self.place(re.search(r"^prefix=(.*)$", script, re.M)[1])
        copy_tree(vm["results"], os.path.join(prefix, "run"))
        code = vm.get("exit_code", 0)
        write(os.path.join(prefix, "exit_code.txt"), f"{code}\n")
        write(os.path.join(prefix, "vm.log"), "a log\n")
        write(os.path.join(prefix, "DONE" if code == 0 else "FAILED"), f"{code}\n")

    def listed(self, kind):
        wanted = flag(self.arguments, "--filter")
        found = [read_json(self.path(kind, name)) for name in self.names(kind)]
        key, _, value = wanted.partition("=")
        if key == "name":
            return [one for one in found if one["name"] == value]
        if key.startswith("labels."):
            return [one for one in found if one["labels"].get(key[len("labels."):]) == value]
        raise Refused(f"the fake knows no filter {wanted}")

    def late_effects(self):
        for name in self.names("operations"):
            pending = read_json(self.path("operations", name))
            pending["calls"] -= 1
            if pending["calls"] > 0:
                write(self.path("operations", name), json.dumps(pending))
                continue
            gone = not os.path.isdir(pending["folder"])  # the stage: its disk comes all the same
            self.make_instance(pending["arguments"], pending["folder"], disk_only=gone)
            os.remove(self.path("operations", name))

    def act(self, kind):
        """Does what is asked, or half of it."""
        half, arguments = kind == "half", self.arguments
        command = arguments[:3]
        if command == ["compute", "instances", "create"]:
            if kind == "late":
                write(self.path("operations", arguments[3]), json.dumps({"arguments": arguments, "calls": 4, "folder": self.cwd}))
            else:
                self.make_instance(arguments, self.cwd, disk_only=half)
        elif command == ["compute", "instances", "delete"]:
            if not os.path.exists(self.path("instances", arguments[3])):
                raise Refused(f"The resource {arguments[3]} was not found")
            remove(self.path("instances", arguments[3]))
            if not half:
                remove(self.path("disks", arguments[3]))
        elif command == ["compute", "disks", "delete"]:
            if os.path.exists(self.path("instances", arguments[3])):
                raise Refused("the disk is in use")
            remove(self.path("disks", arguments[3]))
        elif command == ["compute", "instances", "list"]:
            self.printed.append(json.dumps(self.listed("instances")))
        elif command == ["compute", "disks", "list"]:
            self.printed.append(json.dumps(self.listed("disks")))
        elif command == ["compute", "operations", "list"]:
            wanted = re.search(r"/instances/(.*)\$ ", flag(arguments, "--filter"))[1]
            self.printed.append(json.dumps([{"name": "operation", "status": "RUNNING"} for name in self.names("operations") if name == wanted]))
        elif arguments[:2] == ["storage", "rsync"]:
            source, target = map(self.place, arguments[-2:])
            copy_tree(source, target, 1 if half else None)
        elif arguments[:2] == ["storage", "cp"]:
            source, target = map(self.place, arguments[-2:])
            if not os.path.exists(source):
                raise Refused(f"{source} matched no objects")
            os.makedirs(os.path.dirname(target), exist_ok=True)
            with open(source, "rb") as a, open(target, "wb") as b:
                b.write(a.read())
        elif arguments[:2] == ["storage", "ls"]:
            where = self.place(arguments[-1])
            if os.path.isdir(where):
                for name in sorted(os.listdir(where)):
                    self.printed.append(arguments[-1].rstrip("/") + "/" + name + ("/" if os.path.isdir(os.path.join(where, name)) else ""))
            elif os.path.exists(where):
                self.printed.append(arguments[-1])
            else:
                raise Refused("One or more URLs matched no objects")
        else:
            raise Refused(f"the fake knows no {' '.join(arguments)}")

    def answer(self):
        """Acts. False: there is no answer, and the caller waits until it is ended. Refused: it failed."""
        number = 0
        if not self.quiet:  # calls from inside a machine are not counted
            with open(self.path("calls.txt"), "a+") as file:
                file.write(json.dumps(self.arguments) + "\n")
                file.seek(0)
                number = sum(1 for _ in file)
        self.late_effects()
        if os.path.exists(self.path("finish_now")):
            for name in self.names("scripts"):
                self.run_machine(name)
        creates = self.arguments[:3] == ["compute", "instances", "create"]
        if creates and flag(self.arguments, "--zone") in read_json(self.path("stock_out.json"), []):
            raise Refused("(gcloud.compute.instances.create) Could not fetch resource: code: ZONE_RESOURCE_POOL_EXHAUSTED")
        fault = read_json(self.path("fault.json"), {})
        kind, at = fault.get("kind", ""), fault.get("at", 0)
        last = {"outage": number, "twice": at + 1}.get(kind, at)  # the fault strikes from `at` to here
        if not at <= number <= last or at == 0:
            kind = ""
        if kind == "kill_before":
            os.kill(self.parent, signal.SIGKILL)
            return False
        if kind == "interrupt_before":
            os.kill(self.parent, signal.SIGINT)  # and go on
        if kind == "hang":
            return False
        if kind == "garbage":  # says that it worked, and did nothing
            self.printed.append('[{"name": "cut o')
            return True
        if kind in ("fail_before", "outage", "twice") or (kind == "late" and not creates):
            raise Refused("the cloud is out of order")
        self.act(kind)
        if kind == "kill_after":
            os.kill(self.parent, signal.SIGKILL)
            return False
        if kind == "interrupt_after":
            os.kill(self.parent, signal.SIGINT)
            threading.Event().wait(0.1)  # a call that may be ended is ended here; others end by themselves
        if kind in ("fail_after", "half", "late"):
            raise Refused("the cloud is out of order")
        return kind != "hang_after"


class Handler(socketserver.StreamRequestHandler):
    def word(self):
        text = b""
        while (byte := self.rfile.read(1)) not in (b"\0", b""):
            text += byte
        return text.decode()

    def handle(self):
        count, root, parent, cwd, quiet = (self.word() for _ in range(5))
        if not parent:
            return  # the caller was ended before it had spoken
        call = Call(root, int(parent), cwd, quiet, [self.word() for _ in range(int(count))])
        try:
            if not call.answer():
                self.rfile.read(1)  # until the caller is gone
                return
            text = "0\n" + "".join(f"O{line}\n" for line in call.printed)
        except Refused as refused:
            text = f"1\nEERROR: {refused}\n"
        try:
            self.wfile.write(text.encode())
        except OSError:
            pass  # the caller was ended meanwhile


class Server(socketserver.ThreadingTCPServer):
    daemon_threads = True

    def __init__(self):
        super().__init__(("127.0.0.1", 0), Handler)
        threading.Thread(target=self.serve_forever, daemon=True).start()

    def client(self):
        return CLIENT.replace("PORT", str(self.server_address[1]))
