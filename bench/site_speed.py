#!/usr/bin/env python3
# bench/site_speed.py - how large is the page of `sluice history --site`, and when does a browser first paint it?
# SPDX-License-Identifier: Apache-2.0
"""Makes stored visits, writes their page with sluice, and opens it in tabs of one headless Chromium again and again.

usage: site_speed.py SLUICE [--visits 1000] [--metrics 100] [--loads 21] --out FILE
FILE holds every load: milliseconds from the start of the navigation to the browser's own paint entries, and to the charts in view.
The first tab, of a browser that has just started, is kept apart. Targets, of 100 metrics in 1,000 visits: one file of 3 MB at most, first paint below 300 ms (median). Exit 1 when one is missed.
"""
import argparse
import json
import os
import pathlib
import random
import statistics
import subprocess
import sys
import tempfile
import time

from measured_by import git

ROOT = pathlib.Path(__file__).resolve().parents[1]
sys.path.insert(0, str(ROOT / "tests" / "cli"))
from piped_browser import PipedBrowser  # noqa: E402
from site_case import BROWSER, result, row, write_run  # noqa: E402

LARGEST_BYTES = 3_000_000
LATEST_PAINT_MS = 300
MARKS = """new Promise(done => {
  const look = () => {
    const paint = Object.fromEntries(performance.getEntriesByType('paint').map(one => [one.name, one.startTime]));
    const drawn = document.documentElement.dataset.drawn;
    if (paint['first-paint'] !== undefined && drawn !== undefined)
      done({first_paint_ms: paint['first-paint'], first_contentful_paint_ms: paint['first-contentful-paint'], charts_ms: Number(drawn)});
    else setTimeout(look, 20);
  };
  look();
})"""


def make_visits(folder, visits, metrics, seed):
    """Rows with intervals; every tenth metric has one change of level."""
    draw = random.Random(seed)
    start = 1_700_000_000
    for visit in range(visits):
        rows = []
        for metric in range(metrics):
            level = 1000 * (metric + 1) * (0.93 if metric % 10 == 0 and visit > visits * (metric + 5) / (metrics + 10) else 1)
            rows.append(row(f"case/{metric:03}", level * draw.gauss(1, 0.01), level * 0.012))
        stamp = time.strftime("%Y-%m-%dT%H:%M:%SZ", time.gmtime(start + 3600 * visit))
        write_run(folder / f"{visit:05}", result(rows, stamp, f"{draw.getrandbits(160):040x}"))


def load_again_and_again(url, loads):
    """Version of the browser, its first load, the others."""
    with PipedBrowser() as browser:
        found = []
        for number in range(loads + 1):
            found.append({"load_average": os.getloadavg()[0], **browser.look(url, MARKS)})
            print(number, found[-1], flush=True)
        return browser.version(), found[0], found[1:]


def main():
    parser = argparse.ArgumentParser(description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter)
    parser.add_argument("sluice", type=pathlib.Path)
    parser.add_argument("--visits", type=int, default=1000)
    parser.add_argument("--metrics", type=int, default=100)
    parser.add_argument("--loads", type=int, default=21)
    parser.add_argument("--seed", type=int, default=1)
    parser.add_argument("--out", type=pathlib.Path, required=True)
    args = parser.parse_args()
    if BROWSER is None:
        sys.exit("no chromium on this machine; tools/setup installs it")
    sluice = args.sluice.resolve()
    profile = json.loads(subprocess.run([sluice, "env", "--json"], check=True, capture_output=True, text=True).stdout).get("machine_profile")
    with tempfile.TemporaryDirectory() as scratch:
        folder = pathlib.Path(scratch)
        make_visits(folder / "runs", args.visits, args.metrics, args.seed)
        start = time.monotonic()
        told = subprocess.run([sluice, "history", "--site", "site", "--runs", "runs", "--baseline-dir", "none", "--json"],
                              cwd=folder, check=True, capture_output=True, text=True).stdout
        seconds = time.monotonic() - start
        page = folder / "site" / "index.html"
        version, first, loads = load_again_and_again(page.as_uri(), args.loads)
        size = page.stat().st_size
    medians = {key: statistics.median(one[key] for one in loads) for key in loads[0]}
    missed = [name for name, bad in (("bytes", size > LARGEST_BYTES), ("first_paint_ms", medians["first_paint_ms"] >= LATEST_PAINT_MS)) if bad]
    told = json.loads(told)
    document = {"what": "the page of sluice history --site in headless Chromium: start of the navigation to first paint and to the charts in view", "git": git(sluice), "machine_profile": profile,
                "cores": os.cpu_count(), "browser": version, "visits": told["visits"], "series": told["series"], "changes": told["changes"],
                "seed": args.seed, "page_bytes": size, "written_in_s": round(seconds, 2), "medians": medians,
                "targets": {"page_bytes": LARGEST_BYTES, "first_paint_ms": LATEST_PAINT_MS}, "missed": missed, "first_load": first, "loads": loads}
    args.out.write_text(json.dumps(document, indent=1) + "\n")
    print(f"{size / 1e6:.2f} MB, first paint {medians['first_paint_ms']:.0f} ms, charts {medians['charts_ms']:.0f} ms (medians of {args.loads})")
    sys.exit(1 if missed else 0)


if __name__ == "__main__":
    main()
