# tests/adapters/matrix_test.py - the matrix claims what workers do: every device and scope is asked of the installed ones.
# SPDX-License-Identifier: Apache-2.0
"""usage: matrix_test.py PROGRAM     PROGRAM (sluice) tells its matrix and is a worker itself

A worker that is not installed is left out, and counted. One that is: what the matrix claims must be accepted, or refused for
want of a GPU alone; what it does not claim must be refused.
"""
import json
import subprocess
import sys
import tempfile
import unittest
from pathlib import Path

import peer

PROGRAM = sys.argv[1]
peer.enter("light")

from PIL import Image  # noqa: E402

import numpy  # noqa: E402

# library -> program of its worker, by mode; ours is the program itself
MICRO = {"albumentationsx": "albumentationsx_worker.py", "albumentationsx-latest": "albumentationsx_worker.py",
         "torchvision": "torchvision_worker.py", "kornia": "kornia_worker.py", "pillow": "pillow_worker.py"}
DEVICES = {"none": "cpu", "cuda": "cuda", "mps": "mps"}  # values of execution.device, in the words of workers
SCOPES = ("memory_dataloader_augment", "decode_dataloader_augment", "decode_dataloader_augment_batch_copy")
NO_GPU = ("no CUDA device", "no CUDA driver", "libsluice_cuda")  # the machine's fault, not the matrix's
CLIP_LENGTH = 16


class Ours(peer.Peer):
    """`sluice worker`: a program, no script."""

    def __init__(self):
        super().__init__("worker", python=PROGRAM)

    @staticmethod
    def words(python, program, arguments):
        return [python, str(program), *arguments]


class MatrixTest(unittest.TestCase):
    @classmethod
    def setUpClass(cls):
        told = subprocess.run([PROGRAM, "docs", "matrix", "--json"], capture_output=True, text=True, check=True)
        cls.claims = json.loads(told.stdout)
        cls.scratch = tempfile.TemporaryDirectory(prefix="sluice-matrix-")
        folder = Path(cls.scratch.name)
        cls.images = folder / "images"
        cls.images.mkdir()
        pictures = [peer.picture(n, 240, 256) for n in range(2)]
        for number, picture in enumerate(pictures):
            Image.fromarray(picture).save(cls.images / f"{number}.png")
        cls.clips = folder / "clips"
        subprocess.run([PROGRAM, "data", "make", "--kind", "video", "--count", "2", "--out", cls.clips, "--quiet"], check=True)
        cls.inputs = {}
        for scenario, arrays in (("image-rgb", pictures),
                                 ("image-9ch", [numpy.concatenate([p] * 3, axis=2) for p in pictures]),
                                 ("video-16f", [numpy.stack([pictures[0]] * CLIP_LENGTH)])):
            (folder / scenario).mkdir()
            cls.inputs[scenario] = peer.write_inputs(folder / scenario, arrays)

    @classmethod
    def tearDownClass(cls):
        cls.scratch.cleanup()

    def worker(self, claim):
        """None where it is not installed."""
        library, mode = claim["library"], claim["mode"]
        if library == "sluice":
            made = Ours()
        else:
            python = peer.python_of(claim["group"]) if claim["group"] else None
            if python is None:
                return None
            if mode == "micro" and library in MICRO:
                made = peer.Peer(peer.ADAPTERS / MICRO[library], python=python)
            elif mode == "pipeline" and library == "dali":
                made = peer.Peer(peer.ADAPTERS / "dali_worker.py", python=python)
            elif mode == "pipeline":
                made = peer.Peer(peer.ADAPTERS / "pipeline_worker.py", library, "pipeline", python=python)
            else:
                return None
        self.addCleanup(made.close)
        made.must("hello", protocol=1)
        return made

    @staticmethod
    def reason(reply):
        return "" if reply["type"] != "error" else str(reply.get("reason") or reply.get("message") or reply)

    def refused(self, worker, claim, device, scope):
        """Why this row cannot be had; '' when it was made and its output checked."""
        scenario, mode = claim["scenario"], claim["mode"]
        why = self.reason(worker.ask("configure", threads=1, device=DEVICES[device], seed=7,
                                     thread_policy="micro-single" if mode == "micro" else "pipeline-single-worker"))
        if why:
            return why
        memory = mode == "micro" or scope == SCOPES[0]
        source = {"inputs": self.inputs[scenario]} if memory else {"data_dir": str(self.clips if scenario.startswith("video") else self.images)}
        why = self.reason(worker.ask("load", scenario=scenario, mode=mode, **{"data_dir": "", **source}))
        if why:
            return why
        more = {} if mode == "micro" else {"scope": scope, "batch_size": 2, "workers": 0, "copy_to": "cuda",
                                           "recipe": ["RandomCrop224", "HorizontalFlip", "Normalize", "ToTensor"]}
        case = peer.spec("HorizontalFlip", scenario, mode, **more)
        name = f"{scenario}/{mode}/" + ("HorizontalFlip" if mode == "micro" else "+".join(more["recipe"]))
        why = self.reason(worker.ask("prepare", case=name, spec=case))
        return why or self.reason(worker.ask("check"))

    def test_every_claim_is_asked_of_its_worker(self):
        asked, left_out, wrong = 0, set(), []
        for claim in self.claims:
            if claim["mode"] == "decode" or claim["library"] == "opencv":
                continue  # decoders and OpenCV's worker have tests of their own
            scopes = SCOPES if claim["mode"] == "pipeline" else [""]
            worker = self.worker(claim)
            if worker is None:
                left_out.add(claim["library"])
                continue
            for device in DEVICES:
                for scope in scopes:
                    claimed = device in claim["devices"] and (not scope or scope in claim["scopes"])
                    with self.subTest(library=claim["library"], scenario=claim["scenario"], mode=claim["mode"],
                                      device=device, scope=scope):
                        why = self.refused(worker, claim, device, scope)
                        asked += 1
                        if claimed:
                            self.assertTrue(not why or any(text in why for text in NO_GPU), why)
                        else:
                            self.assertNotEqual(why, "", "done, but not claimed")
        print(f"{asked} rows asked; not installed: {', '.join(sorted(left_out)) or 'none'}")
        self.assertGreater(asked, 0)

    def test_every_configuration_plans_what_is_claimed(self):
        claims = {(claim["scenario"], claim["mode"], claim["library"]): claim for claim in self.claims}
        configs = sorted(path for kind in ("paper", "examples") for path in (peer.ROOT / "configs" / kind).glob("*.yaml"))
        self.assertGreater(len(configs), 30)
        for config in configs:
            told = subprocess.run([PROGRAM, "plan", "--config", config, "--json"], capture_output=True, text=True, check=True)
            for job in json.loads(told.stdout)["plan"]["jobs"]:
                with self.subTest(config=config.name, library=job["library"]):
                    claim = claims[job["scenario"], job["mode"], job["library"]]
                    self.assertIn(job["device"], claim["devices"])
                    if job["mode"] == "pipeline":
                        scope = next(scope for scope in reversed(SCOPES) if f"_{scope}_n" in job["output_file"])
                        self.assertIn(scope, claim["scopes"])


if __name__ == "__main__":
    unittest.main(argv=[sys.argv[0]])
