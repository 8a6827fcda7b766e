# tests/python/device_test.py - batches on a GPU and in pinned memory, with the driver of tests/loader/fake_cuda.cpp, which is as late as it may be.
# SPDX-License-Identifier: Apache-2.0
import ctypes
import gc
import hashlib
import os
import signal
import subprocess
import sys
import threading
import unittest

from support import BUILD, Bucket, PhotoTest, run_python
DRIVER = BUILD / "tests" / "loader" / "libfake_cuda.so"
OLD_DRIVER = BUILD / "tests" / "loader" / "libfake_cuda_old.so"
os.environ["SLUICE_CUDA_DRIVER"] = str(DRIVER)
import numpy as np  # noqa: E402
import sluice  # noqa: E402

CUDA, PINNED, HOST = 2, 3, 1


class Tensor(ctypes.Structure):
    """DLTensor of DLPack."""
    _fields_ = [("data", ctypes.c_void_p), ("device_type", ctypes.c_int32), ("device_id", ctypes.c_int32), ("ndim", ctypes.c_int32),
                ("code", ctypes.c_uint8), ("bits", ctypes.c_uint8), ("lanes", ctypes.c_uint16), ("shape", ctypes.POINTER(ctypes.c_int64)),
                ("strides", ctypes.POINTER(ctypes.c_int64)), ("offset", ctypes.c_uint64)]


def tensor_of(capsule):
    take = ctypes.pythonapi.PyCapsule_GetPointer
    take.restype, take.argtypes = ctypes.c_void_p, [ctypes.py_object, ctypes.c_char_p]
    return Tensor.from_address(take(capsule, b"dltensor"))


def digest(data):
    return hashlib.sha256(data).hexdigest()[:16]


class Driver:
    """The fake's own functions."""

    def __init__(self, path):
        library = ctypes.CDLL(str(path))
        library.fake_stream.restype = ctypes.c_void_p
        library.fake_count.restype = ctypes.c_size_t
        self.library = library

    def count(self, kind):
        return self.library.fake_count(kind.encode())

    def counts(self):
        return {kind: self.count(kind) for kind in ("memory", "pinned", "events", "contexts")}

    def stream(self):
        return self.library.fake_stream()

    def read(self, stream, address, nbytes):
        """A kernel that reads; what it will have read after run()."""
        into = ctypes.create_string_buffer(nbytes)
        self.library.fake_read(ctypes.c_void_p(stream), ctypes.c_void_p(address), into, ctypes.c_size_t(nbytes))
        return into

    def run(self, stream):
        self.library.fake_run(ctypes.c_void_p(stream))

    def capture(self, on):
        self.library.fake_capture(int(on))


class DeviceTest(PhotoTest):
    @classmethod
    def setUpClass(cls):
        super().setUpClass()
        cls.driver = Driver(DRIVER)

    def loader(self, photos=None, **options):
        options = {"batch_size": 4, "workers": 2, "seed": 1, "device": "cuda", **options}
        made = sluice.Loader(photos or self.photos, options.pop("recipe", sluice.Recipe(size=16, dtype="uint8")), **options)
        self.addCleanup(made.close)
        return made

    def on_cpu(self, **options):
        return self.loader(device="cpu", **options)


class ContentTest(DeviceTest):
    def test_batches_are_those_of_the_cpu(self):
        for recipe in (sluice.Recipe(size=16, dtype="uint8"), sluice.Recipe(size=24), sluice.Recipe("three-augment", size=16, dtype="float16"),
                       sluice.Recipe([("Resize", {"target_size": 20})], size=20, dtype="uint8", layout="hwc")):
            for workers in (0, 2):
                ours, cpu = (self.loader(recipe=recipe, workers=workers, batch_size=7, drop_last=False, device=device) for device in ("cuda", "cpu"))
                for _ in range(2):
                    taken = 0
                    for (images, labels), (same, same_labels) in zip(ours, cpu, strict=True):
                        np.testing.assert_array_equal(images.to("cpu"), same)
                        np.testing.assert_array_equal(labels.to("cpu"), same_labels)
                        np.testing.assert_array_equal(ours.indices, cpu.indices)
                        self.assertEqual((images.shape, images.dtype, len(images)), (same.shape, str(same.dtype), len(same)))
                        taken += 1
                    self.assertEqual(taken, len(ours))

    def test_what_dlpack_says(self):
        images, labels = next(iter(self.loader(device="cuda:1", recipe=sluice.Recipe("resize", size=(16, 24)))))
        self.assertEqual((images.__dlpack_device__(), images.device, repr(images)), ((CUDA, 1), "cuda:1", "<sluice.Array of float32 on cuda:1>"))
        capsule = images.__dlpack__(stream=1, max_version=(1, 0), dl_device=(CUDA, 1), copy=False)
        tensor = tensor_of(capsule)
        self.assertEqual((tensor.device_type, tensor.device_id, tensor.ndim, tensor.code, tensor.bits, tensor.lanes, tensor.offset),
                         (CUDA, 1, 4, 2, 32, 1, 0))
        self.assertEqual((tensor.shape[:4], tensor.strides[:4]), ([4, 3, 16, 24], [3 * 16 * 24, 16 * 24, 24, 1]))
        capsule_of_labels = labels.__dlpack__()
        tensor = tensor_of(capsule_of_labels)
        self.assertEqual((tensor.device_id, tensor.ndim, tensor.code, tensor.bits, tensor.shape[0]), (1, 1, 0, 64, 4))
        self.assertEqual(tensor.data % 256, tensor_of(capsule).data % 256)

    def test_cuda_is_the_gpu_of_the_thread(self):
        self.assertEqual(next(iter(self.loader()))[0].device, "cuda:0")
        context = ctypes.c_void_p()
        self.driver.library.cuDevicePrimaryCtxRetain(ctypes.byref(context), 1)
        self.driver.library.cuCtxPushCurrent_v2(context)
        try:
            self.assertEqual(next(iter(self.loader()))[0].device, "cuda:1")
        finally:
            self.driver.library.cuCtxPopCurrent_v2(ctypes.byref(context))
            self.driver.library.cuDevicePrimaryCtxRelease_v2(1)

    def test_resume_at_every_position(self):
        first = self.loader(batch_size=4)
        cpu = self.on_cpu(batch_size=4)
        iteration, same = iter(first), iter(cpu)
        for _ in range(10):
            next(iteration), next(same)
            state = first.state_dict()
            self.assertEqual(state, cpu.state_dict())
            ours, theirs = self.loader(batch_size=8, workers=1), self.on_cpu(batch_size=8)
            for one in (ours, theirs):
                one.load_state_dict(state)
            self.assertEqual(ours.state_dict(), state)
            self.assertEqual([labels.to("cpu").tolist() for _, labels in ours], [labels.tolist() for _, labels in theirs])
            ours.close()
        self.assertEqual((list(iteration), list(same)), ([], []))
        self.assertEqual(first.state_dict(), cpu.state_dict())

    def test_epochs_begin_anew(self):
        loader, cpu = self.loader(), self.on_cpu()
        for _ in loader:
            break
        for _ in cpu:
            break
        one = iter(loader)
        next(one)
        other = iter(loader)
        with self.assertRaisesRegex(RuntimeError, "another iteration of this loader has begun"):
            next(one)
        cpu.set_epoch(2)
        self.assertEqual([labels.to("cpu").tolist() for _, labels in other], [labels.tolist() for _, labels in cpu])

    def test_a_corrupt_sample_comes_in_its_turn(self):
        bad = self.folder / "bad"
        for number, path in enumerate(sorted(self.photos.glob("*/*.jpg"))[:12]):
            (bad / "one").mkdir(parents=True, exist_ok=True)
            (bad / "one" / f"{number:02}.jpg").write_bytes(path.read_bytes() if number != 9 else b"no photograph")
        for workers in (0, 2):
            loader, taken = self.loader(bad, shuffle="none", workers=workers, batch_size=2), []
            with self.assertRaisesRegex(ValueError, "^one/09.jpg: "):
                for images, _ in loader:
                    taken.append(images)
            self.assertEqual(len(taken), 4)

    def test_what_was_copied_is_counted(self):
        loader = self.loader()
        for images, labels in loader:
            images.to("cpu")
        transfer = loader.stats()["stages"]["transfer"]
        self.assertGreaterEqual(transfer["bytes"], 10 * 4 * (16 * 16 * 3 + 8))


class OrderTest(DeviceTest):
    """Who waits for whom: the fake runs nothing that nobody waits for."""

    DRIVER = DRIVER

    def read_all(self, loader, stream, address_of):
        """Every batch is read by a consumer's stream that is behind all the time, and let go before it was read."""
        reads = []
        for images, _ in loader:
            address, nbytes, keep = address_of(images, stream)
            reads.append(self.driver.read(stream, address, nbytes))
            del images, keep
        self.driver.run(stream)
        return [digest(bytes(one)) for one in reads]

    @staticmethod
    def on_device(images, stream):
        capsule = images.__dlpack__(stream=stream)
        return tensor_of(capsule).data, int(np.prod(images.shape)), capsule

    def test_a_side_stream_sees_whole_batches(self):
        want = [digest(images.tobytes()) for images, _ in self.on_cpu()]
        self.assertEqual(len(set(want)), 10)
        for stream in (1, 2, self.driver.stream()):
            self.assertEqual(self.read_all(self.loader(), stream, self.on_device), want)

    def test_without_a_stream_nobody_waits(self):
        images, _ = next(iter(self.loader()))
        capsule = images.__dlpack__(stream=-1)
        tensor = tensor_of(capsule)
        early = self.driver.read(stream := self.driver.stream(), tensor.data, 16 * 16 * 3 * 4)
        self.driver.run(stream)
        self.assertNotEqual(bytes(early), images.to("cpu").tobytes())  # so late is the fake, and so the other tests can fail

    def test_pinned_memory_is_not_written_while_it_is_read(self):
        want = [digest(images.tobytes()) for images, _ in self.on_cpu()]
        pinned = {"device": "cpu", "pin_memory": True}
        for tensors, address_of in (("numpy", lambda images, _: (images.ctypes.data, images.nbytes, None)), ("dlpack", self.on_device)):
            loader = self.loader(tensors=tensors, **pinned)
            self.assertEqual(self.read_all(loader, self.driver.stream(), address_of), want)

    def test_streams_that_are_none(self):
        images, _ = next(iter(self.loader()))
        for stream, kind in ((0, ValueError), (-2, ValueError), ("1", TypeError)):
            with self.assertRaisesRegex(kind, "^stream is .*; accepted: None, -1, 1, 2 or a handle$"):
                images.__dlpack__(stream=stream)

    def test_an_older_driver_waits_instead(self):
        text = """
import sys
sys.path.insert(0, sys.argv[1])
import device_test
device_test.PhotoTest.COUNT = 40
device_test.DRIVER = device_test.OLD_DRIVER
import os
os.environ["SLUICE_CUDA_DRIVER"] = str(device_test.OLD_DRIVER)
import unittest
suite = unittest.TestSuite([device_test.OrderTest("test_a_side_stream_sees_whole_batches"),
                            device_test.OrderTest("test_pinned_memory_is_not_written_while_it_is_read")])
sys.exit(not unittest.TextTestRunner().run(suite).wasSuccessful())
"""
        done = run_python(text, os.path.dirname(os.path.abspath(__file__)))
        self.assertEqual(done.returncode, 0, done.stderr)
        self.assertIn("Ran 2 tests", done.stderr)

    def test_a_graph_that_is_captured_is_said(self):
        loader, cpu = self.loader(), self.on_cpu()
        iteration, seen = iter(loader), []
        for _ in range(3):
            seen.append(next(iteration)[1].to("cpu").tolist())
        self.driver.capture(True)
        try:
            with self.assertRaisesRegex(RuntimeError, "^cuda:0, marking its work: operation not permitted when stream is capturing$"):
                next(iteration)
        finally:
            self.driver.capture(False)
        seen += [labels.to("cpu").tolist() for _, labels in iteration]
        self.assertEqual(seen, [labels.tolist() for _, labels in cpu])


class LifeTest(DeviceTest):
    def test_batches_may_be_kept(self):
        loader = self.loader()
        kept = list(loader)
        want = [images.tobytes() for images, _ in self.on_cpu()]
        self.assertEqual([images.to("cpu").tobytes() for images, _ in kept], want)
        self.assertGreaterEqual(self.driver.count("memory"), 10)
        del kept
        for images, _ in loader:
            pass
        self.assertLessEqual(self.driver.count("memory"), 5)

    def test_an_array_outlives_the_loader(self):
        loader = self.loader()
        images, labels = next(iter(loader))
        want = images.to("cpu").tobytes()
        capsule = images.__dlpack__()
        self.doCleanups()  # closes it, and refers to it no more
        del images, labels, loader
        gc.collect()
        self.assertEqual(ctypes.string_at(tensor_of(capsule).data, len(want)), want)
        self.assertEqual(self.driver.count("memory"), 1)
        del capsule
        self.assertEqual(self.driver.counts(), {"memory": 0, "pinned": 0, "events": 0, "contexts": 0})

    def test_nothing_is_left(self):
        self.doCleanups()
        gc.collect()
        nothing = {"memory": 0, "pinned": 0, "events": 0, "contexts": 0}
        self.assertEqual(self.driver.counts(), nothing)
        for options in ({}, {"persistent": False}, {"device": "cpu", "pin_memory": True}):
            loader = self.loader(**options)
            for epoch in range(200):
                for images, labels in loader:
                    if epoch % 3 == 1:
                        break
                if epoch == 20:
                    first = self.driver.counts()
            last = self.driver.counts()
            self.assertLessEqual(last["memory"], 5)
            self.assertEqual((last["memory"], last["pinned"]), (first["memory"], first["pinned"]))
            self.assertLess(last["events"], 60)
            if not options:
                self.assertEqual(loader.stats()["device_bytes"], last["memory"] * (16 * 16 * 3 * 4 + 4 * 8))
            loader.close()
            del images, labels, loader
            self.doCleanups()
            gc.collect()
            self.assertEqual(self.driver.counts(), nothing)

    def test_close_gives_memory_back(self):
        loader = self.loader()
        iteration = iter(loader)
        images, _ = next(iteration)
        loader.close()
        self.assertEqual(self.driver.count("memory"), 1)
        with self.assertRaisesRegex(RuntimeError, "the loader was stopped"):
            next(iteration)
        del images

    def fine(self, text):
        """A program that must end by itself, with 0 and without a word on stderr; what it printed."""
        begin = "import os, sys, threading\nimport sluice\n" \
            "loader = sluice.Loader(sys.argv[1], sluice.Recipe(size=16), batch_size=4, workers=2, device='cuda')\n"
        done = run_python(begin + text, self.photos)
        self.assertEqual((done.returncode, done.stderr), (0, ""), done.stdout)
        return done.stdout

    def test_the_program_may_end_anywhere(self):
        self.fine("")
        self.fine("for images, labels in loader: sys.exit(0)")
        self.fine("iteration = iter(loader); kept = [next(iteration)]; loader.me = loader; kept.append(kept)")
        self.fine("kept = [images.__dlpack__() for images, _ in loader]")
        self.fine("list(loader)\nt = threading.Thread(target=lambda: next(iter(loader)))\nt.start()")

    def test_a_fork_is_told_and_the_parent_goes_on(self):
        found = self.fine("""
import warnings
warnings.simplefilter("ignore", DeprecationWarning)  # of Python 3.12, about forks of programs with threads
iteration = iter(loader)
images, labels = next(iteration)
child = os.fork()
if child == 0:
    for call in (lambda: next(iteration), lambda: images.to("cpu")):
        try:
            call()
        except RuntimeError as error:
            print(str(error).replace(str(os.getppid()), "PARENT").replace(str(os.getpid()), "CHILD"))
    del images, labels, iteration, loader
    sys.exit(0)
print(os.waitpid(child, 0)[1], len(list(iteration)), flush=True)
""")
        self.assertEqual(sorted(found.splitlines()), sorted([
            "the loader was made in process PARENT, and its threads stayed there: make another in process CHILD",
            "cuda:0, a stream: a forked process", "0 9"]))

    def test_ctrl_c_ends_a_wait(self):
        if not (BUILD / "libsluice_net.so").exists():
            self.skipTest("the module of object stores is not built")
        bucket = Bucket({str(path.relative_to(self.photos)): path.read_bytes() for path in self.photos.glob("*/*.jpg")})
        self.addCleanup(bucket.close)
        text = """
import sys
import sluice
for images, labels in sluice.Loader("s3://bucket", sluice.Recipe(size=16), batch_size=8, workers=2, device="cuda", endpoint=sys.argv[1],
                                    anonymous=True):
    print("never")
"""
        with subprocess.Popen([sys.executable, "-B", "-c", text, bucket.endpoint], stdout=subprocess.PIPE, stderr=subprocess.PIPE,
                              text=True) as child:
            self.assertTrue(bucket.asked.wait(60))
            child.send_signal(signal.SIGINT)
            out, err = child.communicate(timeout=60)
        self.assertEqual((out, child.returncode, err.splitlines()[-1]), ("", -signal.SIGINT, "KeyboardInterrupt"))

    def test_arrays_are_let_go_by_any_thread(self):
        loader = self.loader()
        for images, _ in loader:
            thread = threading.Thread(target=lambda one: one.to("cpu"), args=[images])
            thread.start()
            del images
            thread.join()


class PinnedTest(DeviceTest):
    def test_pinned_batches_are_those_of_the_cpu(self):
        want = [(images.tobytes(), labels.tolist()) for images, labels in self.on_cpu()]
        pinned = self.on_cpu(pin_memory=True)
        self.assertEqual([(images.tobytes(), labels.tolist()) for images, labels in pinned], want)
        self.assertEqual(pinned.stats()["pinning"], "pinned")

    def test_what_dlpack_says(self):
        iteration = iter(self.on_cpu(pin_memory=True, tensors="dlpack"))
        kept = [next(iteration)[0] for _ in range(3)]
        self.assertEqual([one.__dlpack_device__() for one in kept], [(PINNED, 0), (PINNED, 0), (HOST, 0)])  # the third is a copy
        self.assertEqual([one.device for one in kept], ["cpu"] * 3)
        np.testing.assert_array_equal(np.asarray(kept[0]), np.from_dlpack(kept[0]))
        capsules = [kept[0].__dlpack__(), kept[0].__dlpack__(dl_device=(HOST, 0))]
        self.assertEqual([tensor_of(one).device_type for one in capsules], [PINNED, HOST])
        self.assertEqual(tensor_of(capsules[0]).data, tensor_of(capsules[1]).data)
        [plain, _] = next(iter(self.on_cpu(tensors="dlpack")))
        self.assertEqual(plain.__dlpack_device__(), (HOST, 0))


class ErrorTest(DeviceTest):
    def said(self, arguments, **environment):
        text = f"""
import sys, sluice
try:
    loader = sluice.Loader(sys.argv[1], batch_size=4, workers=1, {arguments})
    print(next(iter(loader))[0].shape)
except Exception as error:
    print(f"{{type(error).__name__}}: {{error}}")
"""
        return run_python(text, self.photos, env={**os.environ, **environment}).stdout.strip()

    def test_a_machine_without_a_driver(self):
        nowhere = {"SLUICE_CUDA_DRIVER": "/nowhere/libcuda.so.1"}
        for name in ("cuda", "cuda:1"):
            self.assertEqual(self.said(f"device='{name}'", **nowhere), f"ValueError: device is '{name}', and there is no NVIDIA driver "
                             "(/nowhere/libcuda.so.1 cannot be loaded); accepted: cpu")
        self.assertEqual(self.said("pin_memory=True", **nowhere), "ValueError: pin_memory is True, and there is no NVIDIA driver "
                         "(/nowhere/libcuda.so.1 cannot be loaded); accepted: False")

    def test_a_driver_that_does_not_serve(self):
        self.assertEqual(self.said("device='cuda'", FAKE_CUDA_INIT="100"), "ValueError: device is 'cuda', and the NVIDIA driver does not start: "
                         "no CUDA-capable device is detected; accepted: cpu")
        self.assertEqual(self.said("device='cuda'", FAKE_CUDA_GPUS="0"), "ValueError: device is 'cuda', and the NVIDIA driver has no GPU; accepted: cpu")
        libc = "libc.so.6"
        self.assertEqual(self.said("device='cuda'", SLUICE_CUDA_DRIVER=libc),
                         f"ValueError: device is 'cuda', and the NVIDIA driver {libc} has no cuInit; accepted: cpu")
        self.assertRegex(self.said("device='cuda', recipe=sluice.Recipe(size=16)", FAKE_CUDA_MOST="0"),
                         r"^RuntimeError: cuda:0, 12320 bytes for a batch: out of memory$")

    def test_a_gpu_that_is_not_there(self):
        self.assertEqual(self.said("device='cuda:2'"), "ValueError: device is 'cuda:2'; accepted: cpu, cuda, cuda:0 to cuda:1")
        self.assertEqual(self.said("device='cuda:2'", FAKE_CUDA_GPUS="1"), "ValueError: device is 'cuda:2'; accepted: cpu, cuda, cuda:0")

    def test_names_that_are_none(self):
        for name in ("gpu", "cuda:", "cuda:-1", "cuda:01", "CUDA", 0, None):
            with self.assertRaisesRegex(ValueError, "^device is .*; accepted: cpu, cuda, cuda:0 and so on$"):
                self.loader(device=name)
        with self.assertRaisesRegex(TypeError, "^pin_memory is 1; accepted: True or False$"):
            self.on_cpu(pin_memory=1)

    def test_numpy_has_no_memory_of_a_gpu(self):
        with self.assertRaisesRegex(ValueError, "^tensors is 'numpy', which has no memory of device 'cuda'; accepted: torch, jax, dlpack, or device='cpu'$"):
            self.loader(tensors="numpy")
        images, _ = next(iter(self.loader()))
        with self.assertRaisesRegex(TypeError, r"^an array on cuda:0 is none of numpy; accepted: \.to\('cpu'\), or a Loader with device='cpu'$"):
            np.asarray(images)
        with self.assertRaisesRegex(ValueError, "^device is 'cuda:1'; accepted: cpu$"):
            images.to("cuda:1")
        for options in ({"dl_device": (1, 0)}, {"copy": True}):
            with self.assertRaisesRegex(BufferError, r"accepted: .*\.to\('cpu'\)$"):
                images.__dlpack__(**options)


if __name__ == "__main__":
    unittest.main(argv=sys.argv[:1])
