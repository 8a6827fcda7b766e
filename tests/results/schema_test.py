#!/usr/bin/env python3
# tests/results/schema_test.py - docs/result-schema.json accepts what the writer writes and refuses what it must.
# SPDX-License-Identifier: Apache-2.0
import argparse
import copy
import json
import pathlib
import subprocess
import sys
import tempfile
import unittest

import jsonschema

ARGS = None


def remove(*path):
    def apply(document):
        *parents, last = path
        for key in parents:
            document = document[key]
        del document[last]
    return apply


def put(value, *path):
    def apply(document):
        *parents, last = path
        for key in parents:
            document = document[key]
        document[last] = value
    return apply


class SchemaTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        cls.schema = json.loads(pathlib.Path(ARGS.schema).read_text(encoding="utf-8"))
        with tempfile.TemporaryDirectory() as folder:
            subprocess.run([ARGS.writer, folder], check=True)
            cls.documents = {path.stem: json.loads(path.read_text(encoding="utf-8"))
                             for path in pathlib.Path(folder).glob("*.json")}
        jsonschema.Draft202012Validator.check_schema(cls.schema)
        cls.validator = jsonschema.Draft202012Validator(cls.schema)

    def test_accepts_what_the_writer_writes(self):
        self.assertEqual(sorted(self.documents), ["empty", "hostile", "large", "peers", "quick"])
        for name, document in self.documents.items():
            errors = [f"{error.json_path}: {error.message}" for error in self.validator.iter_errors(document)]
            self.assertEqual(errors, [], name)

    def test_refuses_broken_documents(self):
        row = ("rows", 0)
        run = (*row, "runs", 0)
        breakages = {
            "newer": put(2, "schema_version"),
            "null environment": put(None, "environment"),
            "null dataset without reason": put(None, "dataset"),
            "fractional sample": put(1.5, *run, "samples_ns", 0),
            "negative sample": put(-1, *run, "samples_ns", 0),
            "text sample": put("1", *run, "samples_ns", 0),
            "unknown status": put("fine", *row, "status"),
            "unknown better": put("both", *row, "better"),
            "ok without median": put(None, *row, "median"),
            "failed without reason": put("failed", *row, "status"),
            "zero items": put(0, *row, "items_per_sample"),
            "null rss without reason": put(None, *row, "peak_rss_bytes"),
            "null interval without reason": put(None, *row, "ci95"),
            "interval over days": put("day", *row, "ci95", "over"),
            "counters without reason": remove(*run, "counters_reason"),
            "number as parameter": put(1, *row, "params", "threads"),
            "gpu memory half there": put({"peak_allocated_bytes": 1}, *row, "gpu_memory"),
        }
        for name, breakage in breakages.items():
            document = copy.deepcopy(self.documents["quick"])
            breakage(document)
            self.assertFalse(self.validator.is_valid(document), name)

    def test_requires_every_key_that_is_no_reason(self):
        places = [(), ("tool",), ("timing",), ("dataset",), ("rows", 0), ("rows", 0, "thread_policy"),
                  ("rows", 0, "runs", 0), ("rows", 0, "ci95"), ("canary", 0)]
        for place in places:
            value = self.documents["quick"]
            for key in place:
                value = value[key]
            for key in value:
                document = copy.deepcopy(self.documents["quick"])
                remove(*place, key)(document)
                self.assertFalse(self.validator.is_valid(document), f"{place} {key}")

    def test_allows_unknown_keys(self):
        document = copy.deepcopy(self.documents["quick"])
        put(1, "later")(document)
        put([], "rows", 0, "later")(document)
        self.assertTrue(self.validator.is_valid(document))

    def test_describes_every_key_that_is_written(self):
        def described(schema, value, where):
            if "$ref" in schema:
                schema = self.schema["$defs"][schema["$ref"].rsplit("/", 1)[1]]
            for option in schema.get("oneOf", []):
                if option.get("type") != "null":
                    schema = {**schema, **option}
                    if "$ref" in option:
                        schema = self.schema["$defs"][option["$ref"].rsplit("/", 1)[1]]
            if isinstance(value, list) and value and "items" in schema:
                described(schema["items"], value[0], where + "[]")
            if isinstance(value, dict) and "properties" in schema:
                for key, inner in value.items():
                    self.assertIn(key, schema["properties"], where)
                    described(schema["properties"][key], inner, f"{where}.{key}")
        described(self.schema, self.documents["quick"], "")


if __name__ == "__main__":
    parser = argparse.ArgumentParser()
    parser.add_argument("--writer", required=True)
    parser.add_argument("--schema", required=True)
    ARGS = parser.parse_args()
    sys.exit(not unittest.main(argv=[sys.argv[0]], exit=False).result.wasSuccessful())
