# tests/python/gpu_test.py - batches on a real GPU with torch: whole, the CPU's to the byte, never written while they are read, no leak.
# SPDX-License-Identifier: Apache-2.0
import gc
import os
import sys
import unittest

from support import ROOT, SKIPPED, PhotoTest
sys.path.insert(0, str(ROOT / "tests" / "adapters"))
import peer  # noqa: E402

BUILT_FOR = os.environ.setdefault("SLUICE_TEST_BUILT_FOR", "%d.%d" % sys.version_info[:2])
peer.enter("torch")
import torch  # noqa: E402

if not torch.cuda.is_available():
    print("skipped: torch finds no GPU")
    sys.exit(SKIPPED)
if BUILT_FOR != "%d.%d" % sys.version_info[:2]:
    print(f"skipped: the package is built for Python {BUILT_FOR}, the environment 'torch' has another")
    sys.exit(SKIPPED)
import sluice  # noqa: E402

LATE = 20_000_000  # cycles of a GPU, some 10 ms: in that time the loader fills all its memory again


class GpuTest(PhotoTest):
    COUNT = 160

    def loader(self, **options):
        options = {"batch_size": 16, "workers": 2, "seed": 3, "tensors": "torch", "device": "cuda", **options}
        made = sluice.Loader(self.photos, options.pop("recipe", sluice.Recipe(size=64, dtype="uint8")), **options)
        self.addCleanup(made.close)
        return made

    def on_cpu(self, **options):
        return self.loader(device="cpu", **options)

    def test_bytes_are_those_of_the_cpu(self):
        for recipe in (sluice.Recipe(size=64, dtype="uint8"), sluice.Recipe(size=64), sluice.Recipe("three-augment", size=48)):
            ours, cpu = self.loader(recipe=recipe), self.on_cpu(recipe=recipe)
            for _ in range(2):
                for (images, labels), (same, same_labels) in zip(ours, cpu, strict=True):
                    self.assertEqual((images.device, labels.device, images.dtype), (torch.device("cuda", 0), torch.device("cuda", 0), same.dtype))
                    self.assertTrue(torch.equal(images.cpu(), same))
                    self.assertTrue(torch.equal(labels.cpu(), same_labels))

    def test_arrays_by_dlpack(self):
        loader = self.loader(tensors=None)
        for (images, labels), (same, _) in zip(loader, self.on_cpu(), strict=True):
            taken = torch.from_dlpack(images)
            self.assertEqual(taken.data_ptr(), torch.from_dlpack(images).data_ptr())  # no copy
            self.assertTrue(torch.equal(taken.cpu(), same))
            self.assertEqual(images.to("cpu").tobytes(), same.numpy().tobytes())

    def late(self, stream):
        """Work that keeps `stream` busy for a while."""
        with torch.cuda.stream(stream):
            torch.cuda._sleep(LATE)

    def test_a_side_stream_sees_whole_batches(self):
        side = torch.cuda.Stream()
        want = [images.clone() for images, _ in self.on_cpu()]
        seen = []
        with torch.cuda.stream(side):
            for images, _ in self.loader():
                seen.append(images.clone())
        torch.cuda.synchronize()
        self.assertTrue(all(torch.equal(one.cpu(), same) for one, same in zip(seen, want, strict=True)))

    def test_memory_is_not_filled_while_a_stream_reads_it(self):
        side = torch.cuda.Stream()
        want = [images.clone() for images, _ in self.on_cpu()]
        for _ in range(3):
            seen, loader = [], self.loader()
            for images, _ in loader:  # taken on the default stream, read on another, let go before that has begun
                self.late(side)
                side.wait_stream(torch.cuda.current_stream())
                with torch.cuda.stream(side):
                    seen.append(images.clone())
                del images
            torch.cuda.synchronize()
            self.assertTrue(all(torch.equal(one.cpu(), same) for one, same in zip(seen, want, strict=True)))

    def test_pinned_memory_is_not_written_while_it_is_copied(self):
        side = torch.cuda.Stream()
        want = [images.clone() for images, _ in self.on_cpu()]
        seen = []
        for images, _ in self.on_cpu(pin_memory=True):
            self.assertTrue(images.is_pinned())
            self.late(side)
            with torch.cuda.stream(side):
                seen.append(images.to("cuda", non_blocking=True))
            del images
        torch.cuda.synchronize()
        self.assertTrue(all(torch.equal(one.cpu(), same) for one, same in zip(seen, want, strict=True)))

    def test_a_graph_is_captured_between_batches(self):
        loader = self.loader(recipe=sluice.Recipe(size=64))
        static, total = torch.zeros(16, 3, 64, 64, device="cuda"), torch.zeros((), device="cuda")
        want = [images.double().sum().item() for images, _ in self.on_cpu(recipe=sluice.Recipe(size=64))]
        graph, sums = None, []
        for images, _ in loader:
            static.copy_(images)
            if graph is None:
                torch.cuda.synchronize()
                graph = torch.cuda.CUDAGraph()
                with torch.cuda.graph(graph):
                    total.copy_(static.double().sum())
            graph.replay()
            sums.append(total.clone())
        for one, same in zip(sums, want, strict=True):
            self.assertAlmostEqual(one.item(), same, delta=1e-3 * abs(same) + 1)

    def test_batches_may_be_kept(self):
        kept = list(self.loader())
        for (images, _), (same, _) in zip(kept, self.on_cpu(), strict=True):
            self.assertTrue(torch.equal(images.cpu(), same))

    def test_memory_does_not_grow_with_epochs(self):
        loader = self.loader()

        def free():
            torch.cuda.synchronize()
            return torch.cuda.mem_get_info()[0]

        for epoch in range(200):
            if epoch == 20:
                before, held = free(), loader.stats()["device_bytes"]
            for images, labels in loader:
                images.float().sum()
                if epoch % 5 == 4:
                    break
        self.assertEqual(loader.stats()["device_bytes"], held)
        self.assertLess(before - free(), 8 << 20)
        del images, labels  # either holds the memory of both
        loader.close()
        gc.collect()
        self.assertEqual(loader.stats()["device_bytes"], 0)

    def test_a_gpu_that_is_not_there(self):
        with self.assertRaisesRegex(ValueError, "^device is 'cuda:99'; accepted: cpu, cuda, cuda:0"):
            self.loader(device="cuda:99")


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
