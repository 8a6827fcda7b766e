# tests/backend/gcp/fake_gcloud.py - stands in for gcloud: a cloud of instances, disks and buckets in a folder, which can fail.
# SPDX-License-Identifier: Apache-2.0
"""Run as `gcloud ARGUMENTS`: cloud_case.py puts it into PATH under that name. FAKE_CLOUD names the folder:
  calls.txt    one line per call
  fault.json   {"at": N, "kind": K}: what goes wrong at the N-th call (from 1), see KINDS
  vm.json      {"results": DIR, "exit_code": N, "when": "at once" | "later" | "script", ...}: what a machine does
  instances/, disks/, operations/ hold a file per thing; buckets/ the objects.
"""
import json
import os
import re
import select
import signal
import sys

KINDS = ("fail_before", "fail_after", "half", "late", "garbage", "twice", "hang", "hang_after", "kill_before", "kill_after",
         "interrupt_before", "interrupt_after", "outage")
ROOT = os.environ["FAKE_CLOUD"]


def path(*parts):
    return os.path.join(ROOT, *parts)


def object_path(uri):
    assert uri.startswith("gs://"), uri
    return path("buckets", uri[len("gs://"):].rstrip("/"))


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


def names(kind):
    try:
        return sorted(os.listdir(path(kind)))
    except FileNotFoundError:
        return []


def remove(where):
    try:
        os.remove(where)
    except FileNotFoundError:
        pass


def flag(arguments, name):
    return arguments[arguments.index(name) + 1]


def copy_tree(source, target, most=None):
    if not os.path.isdir(source):
        sys.exit(f"ERROR: {source} matched no objects")
    files = sorted(os.path.join(folder, name) for folder, _, inside in os.walk(source) for name in inside)
    for file in files[:most]:
        to = os.path.join(target, os.path.relpath(file, source))
        os.makedirs(os.path.dirname(to), exist_ok=True)
        with open(file, "rb") as a, open(to, "wb") as b:
            b.write(a.read())


def make_instance(arguments, disk_only=False):
    name, zone = arguments[3], flag(arguments, "--zone")
    write(path("disks", name), json.dumps({"name": name, "zone": f"https://cloud/zones/{zone}"}))
    if disk_only:
        return
    labels = dict(part.split("=") for part in flag(arguments, "--labels").split(","))
    write(path("instances", name), json.dumps(
        {"name": name, "zone": f"https://cloud/zones/{zone}", "status": "RUNNING", "labels": labels}))
    with open(flag(arguments, "--metadata-from-file").partition("=")[2]) as file:
        script = file.read()
    write(path("scripts", name), script)
    if read_json(path("vm.json"), {}).get("when", "at once") != "later":
        run_machine(name)


def run_machine(name):
    """What the start-up script leaves in the bucket, or the script itself."""
    vm = read_json(path("vm.json"), {})
    with open(path("scripts", name)) as file:
        script = file.read()
    os.remove(path("scripts", name))
    if vm.get("when") == "script":
        import subprocess  # slow, and seldom needed
        work = path("vm", name)
        script = re.sub(r"^work=.*$", f"work={work}", script, flags=re.M)
        script = re.sub(r"^program_folder=.*$", f"program_folder={work}/program", script, flags=re.M)
        write(path("vm", name + ".sh"), script)
        subprocess.run(["bash", path("vm", name + ".sh")], env={**os.environ, "PATH": vm["path"], "pause_s": "0", "FAKE_QUIET": "1"},
                       stdin=subprocess.DEVNULL, stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL, check=False)
        return
    prefix = object_path(re.search(r"^prefix=(.*)$", script, re.M)[1])
    copy_tree(vm["results"], os.path.join(prefix, "run"))
    code = vm.get("exit_code", 0)
    write(os.path.join(prefix, "exit_code.txt"), f"{code}\n")
    write(os.path.join(prefix, "vm.log"), "a log\n")
    write(os.path.join(prefix, "DONE" if code == 0 else "FAILED"), f"{code}\n")


def listed(kind, arguments):
    wanted = flag(arguments, "--filter")
    found = [read_json(path(kind, name)) for name in names(kind)]
    key, _, value = wanted.partition("=")
    if key == "name":
        return [one for one in found if one["name"] == value]
    if key.startswith("labels."):
        return [one for one in found if one["labels"].get(key[len("labels."):]) == value]
    raise SystemExit(f"ERROR: the fake knows no filter {wanted}")


def late_effects():
    for name in names("operations"):
        pending = read_json(path("operations", name))
        pending["calls"] -= 1
        if pending["calls"] > 0:
            write(path("operations", name), json.dumps(pending))
            continue
        os.chdir(pending["folder"] if os.path.isdir(pending["folder"]) else ROOT)
        if os.path.exists(flag(pending["arguments"], "--metadata-from-file").partition("=")[2]):
            make_instance(pending["arguments"])
        else:  # its stage is gone: the machine is there all the same
            make_instance(pending["arguments"], disk_only=True)
        os.remove(path("operations", name))


def act(arguments, kind):
    """Does what is asked, or half of it."""
    half = kind == "half"
    command = arguments[:3]
    if command == ["compute", "instances", "create"]:
        if kind == "late":
            write(path("operations", arguments[3]), json.dumps({"arguments": arguments, "calls": 4, "folder": os.getcwd()}))
        else:
            make_instance(arguments, disk_only=half)
    elif command == ["compute", "instances", "delete"]:
        if not os.path.exists(path("instances", arguments[3])):
            sys.exit(f"ERROR: The resource {arguments[3]} was not found")
        remove(path("instances", arguments[3]))
        if not half:
            remove(path("disks", arguments[3]))
    elif command == ["compute", "disks", "delete"]:
        if os.path.exists(path("instances", arguments[3])):
            sys.exit("ERROR: the disk is in use")
        remove(path("disks", arguments[3]))
    elif command == ["compute", "instances", "list"]:
        print(json.dumps(listed("instances", arguments)))
    elif command == ["compute", "disks", "list"]:
        print(json.dumps(listed("disks", arguments)))
    elif command == ["compute", "operations", "list"]:
        wanted = re.search(r"/instances/(.*)\$ ", flag(arguments, "--filter"))[1]
        print(json.dumps([{"name": "operation", "status": "RUNNING"} for name in names("operations") if name == wanted]))
    elif arguments[:2] == ["storage", "rsync"]:
        source, target = arguments[-2:]
        source = object_path(source) if source.startswith("gs://") else source
        target = object_path(target) if target.startswith("gs://") else target
        copy_tree(source, target, 1 if half else None)
    elif arguments[:2] == ["storage", "cp"]:
        source, target = arguments[-2:]
        source = object_path(source) if source.startswith("gs://") else source
        target = object_path(target) if target.startswith("gs://") else target
        if not os.path.exists(source):
            sys.exit(f"ERROR: {source} matched no objects")
        os.makedirs(os.path.dirname(target), exist_ok=True)
        with open(source, "rb") as a, open(target, "wb") as b:
            b.write(a.read())
    elif arguments[:2] == ["storage", "ls"]:
        where = object_path(arguments[-1])
        if os.path.isdir(where):
            for name in sorted(os.listdir(where)):
                print(arguments[-1].rstrip("/") + "/" + name + ("/" if os.path.isdir(os.path.join(where, name)) else ""))
        elif os.path.exists(where):
            print(arguments[-1])
        else:
            sys.exit("ERROR: One or more URLs matched no objects")
    else:
        sys.exit(f"ERROR: the fake knows no {' '.join(arguments)}")


def main(arguments):
    if "FAKE_QUIET" not in os.environ:  # calls from inside a machine are not counted
        with open(path("calls.txt"), "a") as file:
            file.write(json.dumps(arguments) + "\n")
        with open(path("calls.txt")) as file:
            number = sum(1 for _ in file)
    else:
        number = 0
    late_effects()
    if os.path.exists(path("finish_now")):
        for name in names("scripts"):
            run_machine(name)
    zones = read_json(path("stock_out.json"), [])
    if arguments[:3] == ["compute", "instances", "create"] and flag(arguments, "--zone") in zones:
        sys.exit("ERROR: (gcloud.compute.instances.create) Could not fetch resource: code: ZONE_RESOURCE_POOL_EXHAUSTED")
    fault = read_json(path("fault.json"), {})
    kind, at = fault.get("kind", ""), fault.get("at", 0)
    last = {"outage": number, "twice": at + 1}.get(kind, at)  # the fault strikes from `at` to here
    if not at <= number <= last or at == 0:
        kind = ""
    if kind == "kill_before":
        os.kill(os.getppid(), signal.SIGKILL)
        signal.pause()  # we are killed with it
    if kind == "interrupt_before":
        os.kill(os.getppid(), signal.SIGINT)  # and go on, as long as we are let
    if kind == "hang":
        signal.pause()
    creates = arguments[:3] == ["compute", "instances", "create"]
    if kind == "garbage":  # says that it worked, and did nothing
        print('[{"name": "cut o')
        return
    if kind in ("fail_before", "outage", "twice") or (kind == "late" and not creates):
        sys.exit("ERROR: the cloud is out of order")
    act(arguments, kind)
    sys.stdout.flush()
    if kind == "kill_after":
        os.kill(os.getppid(), signal.SIGKILL)
        signal.pause()
    if kind == "interrupt_after":
        os.kill(os.getppid(), signal.SIGINT)
        select.select([], [], [], 0.1)  # a call that may be ended is ended here; others end by themselves
    if kind == "hang_after":
        signal.pause()
    if kind in ("fail_after", "half", "late"):
        sys.exit("ERROR: the cloud is out of order")


main(sys.argv[1:])
