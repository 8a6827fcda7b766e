#!/usr/bin/env python3
# tests/adapters/training_test.py - the PyTorch models, optimizers and training rows, against the definitions.
# SPDX-License-Identifier: Apache-2.0
"""exit 77, which is a visible skip, when the group `torch` is not installed"""
import math
import sys
import tempfile
import unittest
from pathlib import Path

sys.path.insert(0, str(Path(__file__).resolve().parent))
import peer  # noqa: E402

peer.enter("torch")

import torch  # noqa: E402
from lamb_torch import Optimizer, OptimizerConfig  # noqa: E402
from safetensors_file import load_weights, read_safetensors, write_safetensors  # noqa: E402
from vit5_torch import ModelSpec, is_decayed, loss_of, make_model, rope_tables, turn  # noqa: E402

SMALL = {"family": "vit5", "dim": 64, "layers": 2, "heads": 2, "image": 32, "patch": 8, "registers": 4, "classes": 10}
SMALL_GPT = {"family": "gpt", "dim": 32, "layers": 2, "heads": 2, "vocabulary": 50, "sequence": 12}


def parameters(spec):
    return dict(make_model(spec).named_parameters())


class Models(unittest.TestCase):
    def test_counts_are_the_published_ones(self):
        small = parameters(ModelSpec())
        self.assertEqual(sum(p.numel() for p in small.values()), 22_010_112)
        self.assertEqual(len(small), 126)
        decayed = [p for name, p in small.items() if is_decayed(name, p)]
        self.assertEqual((len(decayed), sum(p.numel() for p in decayed)), (50, 21_912_576))
        self.assertEqual(sum(p.numel() for p in parameters(ModelSpec(dim=192, heads=3)).values()), 5_697_408)
        self.assertEqual(sum(p.numel() for p in parameters(ModelSpec(dim=768, heads=12)).values()), 86_486_016)

    def test_names_follow_the_variant(self):
        self.assertNotIn("reg_token", parameters(ModelSpec.read({**SMALL, "registers": 0})))
        tied = parameters(ModelSpec.read(SMALL_GPT))
        self.assertNotIn("head.weight", tied)
        self.assertFalse([name for name in tied if ".ls" in name or "pos" in name])
        self.assertIn("head.weight", parameters(ModelSpec.read({**SMALL_GPT, "tied_head": False})))

    def test_vit5_rope_is_the_published_map(self):
        spec = ModelSpec()
        cosine, sine = rope_tables(spec)
        self.assertEqual(tuple(cosine.shape), (201, 64))
        x = torch.randn(201, 64)
        y = turn(x, cosine, sine, 2)
        self.assertTrue(torch.equal(y[196], x[196]))  # the class token
        for token, row, column, base in ((14 * 7 + 3, 7, 3, 1e4), (197 + 2, 1, 0, 1e2)):
            for start, position in ((0, row), (32, column)):
                for i in range(16):
                    a, b = (position * base ** (-2 * (k // 2) / 32) for k in (i, i + 16))
                    low, high = float(x[token, start + i]), float(x[token, start + i + 16])
                    self.assertAlmostEqual(float(y[token, start + i]), low * math.cos(a) - high * math.sin(a), 5)
                    self.assertAlmostEqual(float(y[token, start + i + 16]), high * math.cos(b) + low * math.sin(b), 5)

    def test_gpt_rope_is_a_rotation_by_distance(self):
        cosine, sine = rope_tables(ModelSpec.read(SMALL_GPT))
        q, k = torch.randn(16).expand(12, 16), torch.randn(16).expand(12, 16)
        scores = turn(q, cosine, sine, 1) @ turn(k, cosine, sine, 1).T
        for distance in range(1, 11):
            diagonal = scores.diagonal(-distance)
            self.assertTrue(torch.allclose(diagonal, diagonal[:1].expand_as(diagonal), atol=1e-4))
        self.assertFalse(torch.allclose(scores.diagonal(-1)[0], scores.diagonal(-5)[0], atol=1e-3))

    def test_gpt_is_causal(self):
        model = make_model(ModelSpec.read(SMALL_GPT))
        ids = torch.randint(50, (1, 12))
        other = ids.clone()
        other[0, 8] = (other[0, 8] + 1) % 50
        before, after = model(ids), model(other)
        self.assertTrue(torch.allclose(before[:8], after[:8], atol=1e-6))
        self.assertFalse(torch.allclose(before[8:], after[8:], atol=1e-4))

    def test_mixed_precision_keeps_the_residual_stream(self):
        model, seen = make_model(ModelSpec.read(SMALL)), []
        model.blocks[0].register_forward_hook(lambda module, given, out: seen.append(out.dtype))
        model.blocks[0].mlp.fc1.register_forward_hook(lambda module, given, out: seen.append(out.dtype))
        with torch.autocast("cpu", torch.bfloat16):
            model(torch.randn(2, 3, 32, 32))
        self.assertEqual(seen, [torch.bfloat16, torch.float32])

    def test_bf16_weights_are_bf16_everywhere(self):
        torch.manual_seed(5)
        plain = make_model(ModelSpec.read(SMALL))
        images, labels = torch.randn(4, 3, 32, 32), torch.randint(10, (4,))
        expected = loss_of(plain(images), labels)
        model, seen = make_model(ModelSpec.read({**SMALL, "drop_path": 0.1})), []
        model.load_state_dict(plain.state_dict())
        model.to(torch.bfloat16)
        self.assertEqual({t.dtype for t in (*model.parameters(), *model.buffers())}, {torch.bfloat16})
        for module in model.modules():
            module.register_forward_hook(lambda module, given, out: seen.append(out.dtype))
        loss = loss_of(model.train()(images.bfloat16()), labels)
        self.assertEqual(set(seen), {torch.bfloat16})
        loss.backward()
        self.assertEqual({p.grad.dtype for p in model.parameters()}, {torch.bfloat16})
        self.assertAlmostEqual(loss.item(), expected.item(), delta=0.02 * expected.item())

    def test_patches_are_the_convolution(self):
        model, images = make_model(ModelSpec.read(SMALL)), torch.randn(2, 3, 32, 32)
        meant = model.patch_embed(images).flatten(2).transpose(1, 2)
        self.assertTrue(torch.allclose(model.patches(images), meant, atol=1e-6))

    def test_drop_path_scales_what_it_keeps(self):
        model = make_model(ModelSpec.read({**SMALL, "drop_path": 0.25}))
        kept = model.blocks[0].drop_path(torch.ones(4000, 1, 1)).flatten()
        self.assertEqual(set(kept.tolist()), {0.0, torch.tensor(1 / 0.75).item()})
        self.assertAlmostEqual(float(kept.mean()), 1, delta=0.1)
        model.eval()
        self.assertTrue(torch.equal(model.blocks[0].drop_path(torch.ones(3, 1, 1)), torch.ones(3, 1, 1)))

    def test_the_class_token_alone_gives_the_same_gradients(self):
        spec = ModelSpec.read(SMALL)
        whole, short = make_model(spec), make_model(spec, "class-token")
        with torch.no_grad():
            for name, parameter in whole.named_parameters():
                if ".gamma" in name:  # LayerScale begins at 1e-4, where a wrong branch is hardly seen
                    parameter.uniform_(0.2, 0.6)
        short.load_state_dict(whole.state_dict())
        images, labels = torch.randn(3, 3, 32, 32), torch.randint(10, (3,))
        losses = [loss_of(model(images), labels) for model in (whole, short)]
        self.assertAlmostEqual(losses[0].item(), losses[1].item(), delta=1e-6)
        for loss in losses:
            loss.backward()
        for (name, a), (_, b) in zip(whole.named_parameters(), short.named_parameters()):
            self.assertTrue(torch.allclose(a.grad, b.grad, rtol=1e-4, atol=1e-6), name)

    def test_the_class_token_alone_is_for_models_that_read_it(self):
        for raw, word in (({**SMALL, "readout": "gap"}, "class-token"), (SMALL_GPT, "class-token"), (SMALL, "half")):
            with self.assertRaisesRegex(ValueError, "full"):
                make_model(ModelSpec.read(raw), word)

    def test_unknown_fields_are_named(self):
        for wrong in ({"dmi": 1}, {"dim": "64"}, {"family": "cnn"}, {"readout": "max"}):
            with self.assertRaisesRegex(ValueError, next(iter(wrong))):
                ModelSpec.read(wrong)


class Optimizers(unittest.TestCase):
    def reference(self, kind, start, gradients, decayed, config):
        """Numbers in float64, one after the other."""
        p = [value.double() for value in start]
        m, v = ([torch.zeros_like(value) for value in p] for _ in range(2))
        for t, grads in enumerate(gradients, 1):
            norm = math.sqrt(sum(float((g.double() ** 2).sum()) for g in grads))
            for i, g in enumerate(grads):
                g = g.double() / max(norm / config.max_gradient_norm, 1)
                m[i] = config.beta1 * m[i] + (1 - config.beta1) * g
                v[i] = config.beta2 * v[i] + (1 - config.beta2) * g * g
                u = (m[i] / (1 - config.beta1**t)) / ((v[i] / (1 - config.beta2**t)).sqrt() + config.epsilon)
                rate, decay = config.learning_rate, config.weight_decay if decayed[i] else 0
                u = u + decay * p[i]
                if kind == "lamb" and decay and float(p[i].norm()) > 0:
                    rate *= float(p[i].norm() / u.norm())
                p[i] = p[i] - rate * u
        return p

    def test_steps_follow_the_definition(self):
        torch.manual_seed(3)
        for kind, compiled in (("lamb", False), ("adamw", False), ("lamb", True), ("adamw", True)):
            config = OptimizerConfig(kind=kind)
            start = [torch.randn(5, 7), torch.randn(7), torch.zeros(3, 2), torch.randn(4, 3)]
            decayed = [True, False, True, True]
            params = [torch.nn.Parameter(value.clone()) for value in start]
            named = [(str(i), p) for i, p in enumerate(params)]
            optimizer = Optimizer(named, lambda name, p: decayed[int(name)], config, compiled)
            gradients = [[torch.randn_like(p) * scale for p in params] for scale in (5.0, 0.01, 1.0)]
            for grads in gradients:
                for p, g in zip(params, grads):
                    p.grad = g.clone()
                norm = float(optimizer.step())
                self.assertAlmostEqual(norm, math.sqrt(sum(float((g**2).sum()) for g in grads)), 4)
            for got, meant in zip(params, self.reference(kind, start, gradients, decayed, config)):
                self.assertTrue(torch.allclose(got.double(), meant, atol=1e-6, rtol=1e-5), (kind, compiled))

    def test_the_schedule_warms_up_and_falls(self):
        config = OptimizerConfig(learning_rate=1.0, warmup_steps=10, total_steps=110)
        self.assertAlmostEqual(config.rate_at(0), 1e-8)
        self.assertAlmostEqual(config.rate_at(5), 0.5, 6)
        self.assertAlmostEqual(config.rate_at(10), 1.0)
        self.assertAlmostEqual(config.rate_at(60), 0.5)
        self.assertAlmostEqual(config.rate_at(110), 0.0)


class Files(unittest.TestCase):
    def test_safetensors_come_back(self):
        model = make_model(ModelSpec.read(SMALL))
        with tempfile.TemporaryDirectory() as folder:
            path = Path(folder) / "w.safetensors"
            write_safetensors(path, dict(model.named_parameters()), {"step": "3"})
            tensors, metadata = read_safetensors(path)
            self.assertEqual(metadata, {"step": "3"})
            other = make_model(ModelSpec.read(SMALL))
            load_weights(other, tensors)
            for a, b in zip(model.parameters(), other.parameters()):
                self.assertTrue(torch.equal(a, b))
            path.write_bytes(path.read_bytes()[:20])
            with self.assertRaisesRegex(ValueError, "cut off"):
                read_safetensors(path)
        with self.assertRaisesRegex(ValueError, "no 'norm.weight'"):
            load_weights(model, {name: p for name, p in model.named_parameters() if name != "norm.weight"})


class Rows(unittest.TestCase):
    def setUp(self):
        self.folder = Path(self.enterContext(tempfile.TemporaryDirectory()))

    def worker(self, library):
        worker = peer.Peer(peer.ADAPTERS / "training_worker.py", library, "training")
        self.addCleanup(worker.close)
        hello = worker.must("hello", protocol=1)
        self.assertEqual(hello["version"].split("+")[0], torch.__version__.split("+")[0])
        found = worker.must("configure", threads=2, device="cpu", seed=7, thread_policy="micro-threads")
        self.assertEqual(found["threads"], 2)
        worker.must("load", data_dir="", mode="training")
        return worker

    def given(self, model):
        """Weights, a batch and its loss, as the engine would hand them over."""
        spec = ModelSpec.read(model)
        made = make_model(spec)
        write_safetensors(self.folder / "w.safetensors", dict(made.named_parameters()))
        images, labels = torch.randn(4, 3, 32, 32), torch.randint(10, (4,))
        images.numpy().tofile(self.folder / "images.f32")
        labels.int().numpy().tofile(self.folder / "labels.i32")
        return {"model": model, "batch": 4, "weights": str(self.folder / "w.safetensors"),
                "inputs": {"images": str(self.folder / "images.f32"), "labels": str(self.folder / "labels.i32")},
                "expected_loss": float(loss_of(made(images), labels).detach())}

    def test_a_row_is_checked_and_timed(self):
        spec = self.given(SMALL)
        for library in ("torch-eager", "torch-compile"):
            for dtype, more in (("fp32", {}), ("bf16", {}), ("fp32", {"grad_accum": 2, "optimizer": "none"}),
                                ("bf16-weights", {"device": "cpu", "optimizer": "none"})):
                if library == "torch-compile" and (dtype == "bf16" or more):
                    continue  # compiled once is enough
                with self.subTest(library=library, dtype=dtype, more=more):
                    worker = self.worker(library)
                    prepared = worker.must("prepare", case="training/small", spec={**spec, "dtype": dtype, **more})
                    items = 4 * more.get("grad_accum", 1)
                    self.assertEqual(prepared["items_per_pass"], items)
                    checked = worker.must("check")
                    self.assertAlmostEqual(checked["loss"], spec["expected_loss"], delta=0.03)
                    self.assertGreater(worker.must("preflight", slow_item_s=0)["pass_ns"], 0)
                    sample = worker.must("measure", case="training/small", passes=3, warmup_ms=0, warmup_limit_ms=0)
                    self.assertEqual(sample["items_per_sample"], 3 * items)
                    self.assertGreater(sample["details"]["peak_rss_bytes"], 1 << 20)
                    engine = sample["details"]["engine"]
                    self.assertEqual(engine, checked["engine"])
                    self.assertEqual((engine["device"], engine["dtype"]), ("cpu", dtype))
                    self.assertEqual(engine["compile"], {"torch-eager": "off", "torch-compile": "default"}[library])
                    self.assertIn(torch.__version__, engine["library"])
                    self.assertGreaterEqual(engine["first_step_s"], engine["compile_s"])
                    if not more:
                        self.assertLess(sample["details"]["loss"], checked["loss"])

    def test_another_loss_is_not_comparable(self):
        spec = self.given(SMALL)
        worker = self.worker("torch-eager")
        spec["expected_loss"] *= 1.001
        worker.must("prepare", case="training/small", spec=spec)
        reply = worker.ask("check")
        self.assertEqual(reply["code"], "failed")
        self.assertIn("not comparable", reply["reason"])

    def test_the_class_token_alone_executes_less(self):
        spec, flop = self.given(SMALL), {}
        for last_block in ("full", "class-token"):
            worker = self.worker("torch-eager")
            worker.must("prepare", case="training/small", spec={**spec, "last_block": last_block})
            self.assertEqual(worker.must("check")["engine"]["last_block"], last_block)
            sample = worker.must("measure", case="training/small", passes=1, warmup_ms=0, warmup_limit_ms=0)
            flop[last_block] = sample["details"].get("flop_executed")
        if flop["full"] is None:
            self.skipTest("this PyTorch does not count the attention of the CPU")
        tokens, dim, batch = 21, 64, 4  # of the projection and both products of the MLP, forward and twice backward
        self.assertEqual(flop["full"] - flop["class-token"], 3 * 2 * (tokens - 1) * 9 * dim * dim * batch)

    def test_images_are_mixed_after_the_first_step(self):
        spec = {**self.given(SMALL), "mixup": 0.8, "cutmix": 1.0, "optimizer": "none"}
        worker = self.worker("torch-eager")
        worker.must("prepare", case="training/small", spec=spec)
        self.assertAlmostEqual(worker.must("check")["loss"], spec["expected_loss"], delta=0.001)
        losses = set()
        for _ in range(4):  # of the same weights
            sample = worker.must("measure", case="training/small", passes=1, warmup_ms=0, warmup_limit_ms=0)
            losses.add(sample["details"]["loss"])
        self.assertGreater(len(losses), 2)
        for bad, words in (({"mixup": -1}, "mixup"), ({"cutmix": "much"}, "cutmix")):
            self.assertIn(words, worker.ask("prepare", case="training/small", spec={**spec, **bad})["reason"])
        refused = worker.ask("prepare", case="training/gpt", spec={"model": SMALL_GPT, "batch": 4, "mixup": 0.8})
        self.assertEqual(refused["code"], "unsupported")

    def test_mixing_is_that_of_the_definition(self):
        from mix_torch import Mixer
        images, labels = torch.randn(4, 3, 32, 32), torch.tensor([0, 1, 2, 3])
        for alphas in ((0.8, 0), (0, 1.0)):
            mixer = Mixer(*alphas, 3, ModelSpec.read(SMALL), torch.device("cpu"))
            self.assertTrue(torch.equal(mixer.images(images), images))  # nothing was drawn yet
            mixer.draw()
            keep, mixed, targets = mixer.keep, mixer.images(images), mixer.targets(labels)
            torch.testing.assert_close(mixed, keep * images + (1 - keep) * images.flip(0))
            self.assertAlmostEqual(float(keep.mean()), float(mixer.share), 5)  # of a target, as of the pixels
            self.assertAlmostEqual(float(targets[0, 0]), float(mixer.share), 5)
            self.assertAlmostEqual(float(targets[0, 3]), 1 - float(mixer.share), 5)
            if alphas[1]:
                self.assertTrue(set(keep.unique().tolist()) <= {0.0, 1.0})

    def test_a_gpt_draws_its_own_batch(self):
        worker = self.worker("torch-eager")
        worker.must("prepare", case="training/gpt", spec={"model": SMALL_GPT, "batch": 3, "seq_len": 8, "seed": 5})
        digest = worker.must("check")["digest"]
        worker.must("prepare", case="training/gpt", spec={"model": SMALL_GPT, "batch": 3, "seq_len": 8, "seed": 5})
        self.assertEqual(worker.must("check")["digest"], digest)

    def test_bad_cases_are_refused(self):
        worker = self.worker("torch-eager")
        for case, spec, code, words in (
                ("loader/x", {"model": SMALL}, "unsupported", "training/<model>"),
                ("training/x", {"model": {"dmi": 3}}, "failed", "dmi"),
                ("training/x", {"model": SMALL, "dtype": "fp8"}, "unsupported", "fp8"),
                ("training/x", {"model": SMALL, "batch": 0}, "failed", "batch"),
                ("training/x", {"model": SMALL, "optimizer": "sgd"}, "failed", "sgd"),
                ("training/x", {"model": SMALL, "dtype": "bf16-weights"}, "unsupported", "optimizer none"),
                ("training/x", {"model": SMALL, "last_block": "half"}, "failed", "class-token"),
                ("training/x", {"model": {**SMALL, "readout": "gap"}, "last_block": "class-token"}, "failed", "gap"),
                ("training/x", {"model": SMALL, "device": "cuda"}, "failed", "cuda:N"),
                ("training/x", {"model": SMALL, "device": "cuda:999"}, "unsupported", "no device cuda:999")):
            reply = worker.ask("prepare", case=case, spec=spec)
            self.assertEqual(reply.get("code"), code, reply)
            self.assertIn(words, reply["reason"])

    def test_a_fed_row_is_checked_on_the_fixed_batch_and_on_its_first(self):
        from torchvision.io import write_jpeg
        for number in range(8):
            write_jpeg(torch.randint(256, (3, 60, 80), dtype=torch.uint8), str(self.folder / f"{number}.jpg"))
        fed = {"data": "loader", "loader": {"input": str(self.folder), "workers": 1, "prefetch": 1, "random_erasing": 0.5},
               "mixup": 0.8, "cutmix": 1.0}
        spec = {**self.given(SMALL), **fed}
        for library in ("torch-eager", "torch-compile"):
            with self.subTest(library=library):
                worker = self.worker(library)
                worker.must("prepare", case="training/small", spec=spec)
                checked = worker.must("check")
                self.assertAlmostEqual(checked["loss"], spec["expected_loss"], delta=0.001)
                self.assertGreaterEqual(checked["engine"]["first_step_s"], checked["engine"]["compile_s"])
                data = worker.must("measure", case="training/small", passes=3, warmup_ms=0, warmup_limit_ms=0)["details"]["data"]
                self.assertEqual((data["source"], data["samples"], data["loader"]), ("loader", 8, "torch"))
        worker = self.worker("torch-eager")
        worker.must("prepare", case="training/small", spec={**spec, "expected_loss": 1.01 * spec["expected_loss"]})
        self.assertIn("not comparable", worker.ask("check")["reason"])

    def test_dali_feeds_a_gpu_and_says_what_is_missing(self):
        worker = self.worker("dali-gpu")
        reply = worker.ask("prepare", case="training/small", spec={"model": SMALL, "batch": 4})
        self.assertEqual(reply["code"], "unsupported")
        self.assertIn("for a GPU", reply["reason"])
        if torch.cuda.is_available():
            reply = worker.ask("prepare", case="training/small", spec={"model": SMALL, "batch": 4, "device": "cuda:0"})
            self.assertIn("--input", reply["reason"])

    def test_a_cold_disk_is_not_read_by_pytorch(self):
        worker = self.worker("torch-eager")
        spec = {"model": SMALL, "batch": 4, "data": "loader", "loader": {"input": str(self.folder), "read_mode": "direct"}}
        self.assertIn("page cache", worker.ask("prepare", case="training/small", spec=spec)["reason"])

    def test_max_autotune_is_for_a_gpu(self):
        worker = self.worker("torch-max-autotune")
        reply = worker.ask("prepare", case="training/x", spec={"model": SMALL})
        self.assertEqual(reply.get("code"), "unsupported", reply)
        self.assertIn("torch-compile", reply["reason"])

    @unittest.skipUnless(torch.cuda.is_available(), "no CUDA device")
    def test_a_gpu_row_waits_for_the_device(self):
        spec = {**self.given(SMALL), "device": "cuda:0", "warmup_steps": 8}
        weights, mixed, twice = ("bf16-weights", {"optimizer": "none"}), ("bf16", {}), ("bf16", {"grad_accum": 2})
        for library, cases in (("torch-eager", (weights, mixed, twice, ("fp32", {}))), ("torch-compile", (mixed,)),
                               ("torch-max-autotune", (weights, mixed, twice))):  # compiling takes its time
            for dtype, more in cases:
                with self.subTest(library=library, dtype=dtype, more=more):
                    worker = self.worker(library)
                    worker.must("prepare", case="training/small", spec={**spec, "dtype": dtype, **more})
                    checked = worker.must("check")
                    self.assertAlmostEqual(checked["loss"], spec["expected_loss"], delta=0.03)
                    details = worker.must("measure", case="training/small", passes=3, warmup_ms=0,
                                          warmup_limit_ms=0)["details"]
                    self.assertGreater(details["peak_bytes"], 1 << 16)
                    self.assertGreaterEqual(details["reserved_bytes"], details["peak_bytes"])
                    self.assertGreater(details["queued_step_ns"], 0)
                    self.assertRegex(details["engine"]["device"], r"^cuda:0 \S")
                    if dtype == "bf16":
                        self.assertLess(details["loss"], checked["loss"])


if __name__ == "__main__":
    unittest.main()
