# tests/storage/servers_test.py - our client against servers that others wrote: `rclone serve s3` with signed requests, and
# an emulator of Google Cloud Storage.
# SPDX-License-Identifier: Apache-2.0
import hashlib
import json
import os
import random
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import servers

PROBE = sys.argv.pop(1)


def probe(uri, *arguments, **variables):
    clean = {name: value for name, value in os.environ.items() if not name.startswith(("AWS_", "GOOGLE_", "GS_"))}
    return subprocess.run([PROBE, uri, *arguments], env={**clean, "AWS_EC2_METADATA_DISABLED": "true", **variables},
                          capture_output=True, text=True, timeout=60, check=False)


def contents():
    """Names that need encoding, an empty object, and one of several ranges."""
    draw = random.Random(6)
    return {"a b.bin": draw.randbytes(10), "empty": b"", "sub/d+e&f=%41.bin": draw.randbytes(250_001),
            "sub/ü.bin": draw.randbytes(4096), "zz/large.bin": draw.randbytes(3_000_000)}


class ServersTest(unittest.TestCase):
    def check(self, result, expected):
        self.assertEqual(result.returncode, 0, result.stderr)
        lines = [json.loads(line) for line in result.stdout.splitlines()]
        self.assertEqual([line["key"] for line in lines], sorted(expected, key=str.encode))
        for line in lines:
            content = expected[line["key"]]
            digest = hashlib.sha256(content).hexdigest()
            self.assertEqual((line["size"], line["listed_size"]), (len(content), len(content)))
            self.assertEqual((line["sha256"], line["sha256_parts"]), (digest, digest), line["key"])
            self.assertEqual(line["version"], line["listed_version"])

    def fails(self, result, *words):
        self.assertEqual(result.returncode, 1, result.stdout)
        self.assertEqual(result.stderr.count("\n"), 1, result.stderr)
        for word in words:
            self.assertIn(word, result.stderr)

    def test_rclone_serves_what_we_read(self):
        expected = contents()
        with tempfile.TemporaryDirectory() as root:
            for name, content in expected.items():
                path = Path(root) / "bucket" / "set" / name
                path.parent.mkdir(parents=True, exist_ok=True)
                path.write_bytes(content)
            with servers.Rclone(root) as server:
                self.check(probe("s3://bucket/set", **server.variables()), expected)
                self.check(probe("s3://bucket/set/sub", "1000", **server.variables()),
                           {name[4:]: content for name, content in expected.items() if name.startswith("sub/")})
                self.check(probe("s3://bucket/none", **server.variables()), {})
                wrong = probe("s3://bucket/set", **server.variables(secret="wrong-secret"))
                self.fails(wrong, "s3://bucket/set", "SignatureDoesNotMatch")
                self.assertNotIn("wrong-secret", wrong.stderr)
                self.fails(probe("s3://bucket/set", **server.variables(key="NOBODY")), "s3://bucket/set")
                self.fails(probe("s3://missing/set", **server.variables()), "s3://missing/set", "NoSuchBucket")
                self.fails(probe("s3://bucket/set", "--anonymous", **server.variables()), "s3://bucket/set")

    def test_the_emulator_serves_what_we_read(self):
        expected = contents()
        del expected["empty"]  # which it cannot store
        with servers.Emulator("bucket") as server:
            for name, content in expected.items():
                server.put("set/" + name, content)
            server.put("settle", b"not of this prefix")
            self.check(probe("gs://bucket/set", **server.variables()), expected)
            self.check(probe("gs://bucket/none", **server.variables()), {})
            self.check(probe("gs://bucket/set/sub", "--anonymous", server.url),
                       {name[4:]: content for name, content in expected.items() if name.startswith("sub/")})
            self.fails(probe("gs://missing", **server.variables()), "gs://missing", "404")


if __name__ == "__main__":
    servers.programs()
    unittest.main()
