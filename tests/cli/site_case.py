# tests/cli/site_case.py - stored runs made by hand, and what the page of them holds.
# SPDX-License-Identifier: Apache-2.0
import base64
import json
import re
import shutil
import struct

BROWSER = shutil.which("chromium") or shutil.which("chromium-browser") or shutil.which("google-chrome")
HOSTILE = "</script><img src=x onerror=alert(1)>&\"'"
PROFILE = "cpu-test_sluice1"


def row(case, value, half_width=None, unit="img/s", **more):
    interval = None if half_width is None else {"low": value - half_width, "high": value + half_width, "method": "t", "over": "run"}
    return {"case": case, "params": {}, "library": "sluice", "library_version": "0", "status": "ok", "reason": "", "unit": unit,
            "thread_policy": {"asked": 1, "in_force": 1, "cpu_per_wall": 1.0}, "better": "higher", "items_per_sample": 1,
            "bytes_per_item": 0, "runs": [], "median": value, "mean": value, "sd": 0, "cv": 0, "p10": value, "p50": value, "p90": value,
            "p99": value, "ci95": interval, "ci95_reason": "one run", "n_runs": 5, "n_samples": 5, "unstable": False, "peak_rss_bytes": 1,
            "gpu_memory": None, "gpu_memory_reason": "no GPU was used", "output_digest": "0", **more}


def result(rows, timestamp, commit, dirty=False, profile=PROFILE):
    return {"schema_version": 1, "tool": {"version": "0.1.0", "git": "unknown"}, "machine_profile": profile, "run_config": {},
            "environment": {"timestamp": timestamp, "git": {"sha": commit, "dirty": dirty}}, "dataset": {"hash": "", "count": 0, "bytes": 0},
            "timing": {"clock": "CLOCK_MONOTONIC", "scope": "kernel", "data_source": "memory", "includes_decode": False,
                       "includes_collate": False, "includes_transfer": False},
            "argv": ["sluice", "quick"], "session_id": "s", "block_order_seed": 0, "canary": [], "rows": rows}


def write_run(folder, document):
    (folder / "results").mkdir(parents=True, exist_ok=True)
    (folder / "results" / "quick.json").write_text(json.dumps(document))


def document_of(page):
    """The JSON in a page, which a browser reads up to the first end of a script."""
    return json.loads(re.search(r'<script type="application/json" id="data">(.*?)</script>', page, re.DOTALL).group(1))


def floats(text):
    raw = base64.b64decode(text)
    return struct.unpack(f"<{len(raw) // 4}f", raw)


def series_of(document, group=0):
    """By name: values, whiskers, changes."""
    found = {}
    for one in document["groups"][group]["series"]:
        ends = floats(one["e"]) if "e" in one else ()
        found[document["metrics"][one["m"]][0]] = (floats(one["y"]), list(zip(ends[::2], ends[1::2])), one.get("c", []))
    return found
