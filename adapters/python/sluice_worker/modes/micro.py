# adapters/python/sluice_worker/modes/micro.py - one transform over decoded items in memory, one call per item.
# SPDX-License-Identifier: Apache-2.0
from .. import checks
from ..adapter import Failed, Spec
from ..inputs import open_shared
from ..refusals import refusing_ignored_arguments
from ..timing import Sample, estimate_pass_ns, run_passes, warm_up

CHECKED_IMAGES = 3
CHECKED_CLIPS = 1
IMAGE_SIZE = (240, 256)  # of made-up inputs, height and width: no crop of 224 needs padding
CLIP_SIZE = (112, 128)


class Micro:
    def __init__(self, adapter):
        self.adapter = adapter
        self.scenario = None
        self.sources = []  # uint8 arrays, mapped
        self.items = []  # the same, as the library wants them
        self.call = None
        self.spec = None

    def load(self, request):
        inputs = request.get("inputs")
        if not isinstance(inputs, dict) or "index" not in inputs or "data" not in inputs:
            raise Failed("load: micro needs 'inputs' with 'index' and 'data'")
        self.items = self.sources = []
        self.scenario = str(request.get("scenario", "image-rgb"))
        limit = request.get("num_items")
        shared = open_shared(inputs["index"], inputs["data"], limit if type(limit) is int and limit > 0 else None)
        self.sources = [array for _, array in shared]
        self.items = [self.adapter.convert(array, self.scenario) for array in self.sources]
        return {"items": len(self.items), "bytes": sum(self.adapter.nbytes(item) for item in self.items)}

    def support(self, raw):
        spec = Spec.read(raw)
        if spec.is_clip:
            source = checks.synthetic(CLIP_SIZE, spec.channels, spec.clip_length)
        else:
            source = checks.synthetic(IMAGE_SIZE, spec.channels)
        self.adapter.reseed(self.adapter.session.seed)
        call = self.build(spec)
        with refusing_ignored_arguments():
            output = self.adapter.materialise(call(self.adapter.convert(source, spec.scenario)))
        problem = checks.shape_problem(spec, source, self.adapter.to_array(output))
        if problem:
            raise Failed(problem)

    def build(self, spec):
        with refusing_ignored_arguments():
            return self.adapter.build(spec)

    def prepare(self, raw):
        spec = Spec.read(raw)
        if spec.scenario != self.scenario:
            raise Failed(f"prepare: scenario '{spec.scenario}' was not loaded")
        self.call = self.build(spec)
        self.spec = spec
        self.adapter.reseed(self.adapter.session.seed)
        with refusing_ignored_arguments():
            output = self.adapter.to_array(self.adapter.materialise(self.call(self.items[0])))
        return {"items_per_pass": len(self.items), "bytes_per_item": int(output.nbytes)}

    def outputs(self, count, draws=1):
        """(source, output) of the first `count` items, `draws` each, with the generators freshly seeded."""
        self.adapter.reseed(self.adapter.session.seed)
        for source, item in zip(self.sources[:count], self.items[:count]):
            for _ in range(draws):
                output = self.adapter.materialise(self.call(item))
                problem = checks.contiguity_problem(output) or checks.device_problem(output, self.adapter.session.device)
                if problem:
                    raise Failed(problem)
                yield source, self.adapter.to_array(output)

    def check(self, sample):
        count = CHECKED_CLIPS if self.spec.is_clip else CHECKED_IMAGES
        before = [source.copy() for source in self.sources[:count]]
        verdict = checks.Verdict(self.spec, self.adapter.unit_float, self.adapter.references(self.spec))
        with refusing_ignored_arguments():
            for source, output in self.outputs(count):
                verdict.add(source, output)
        if any((now != then).any() for now, then in zip(self.sources, before)):
            raise Failed(f"{self.spec.transform}: the library wrote to its input")
        reply = verdict.reply()
        if self.spec.is_clip:
            self.check_still()
        if sample is not None:
            reply["samples"] = self.write_samples(sample)
        self.adapter.reseed(self.adapter.session.seed)
        return reply

    def check_still(self):
        """One draw per clip: frames that are the same before are the same afterwards."""
        still = checks.synthetic(CLIP_SIZE, self.spec.channels)
        clip = checks.repeated(still, self.spec.clip_length)
        output = self.adapter.materialise(self.call(self.adapter.convert(clip, self.spec.scenario)))
        problem = checks.frames_problem(self.adapter.to_array(output))
        if problem:
            raise Failed(f"{self.spec.transform}: {problem}")

    def write_samples(self, sample):
        if not isinstance(sample, dict) or not isinstance(sample.get("path"), str):
            raise Failed("check: 'sample' has no text 'path'")
        items, draws = sample.get("items", 1), sample.get("draws", 1)
        if type(items) is not int or type(draws) is not int or items < 1 or draws < 1:
            raise Failed("check: 'sample' wants 'items' and 'draws' of 1 or more")
        shapes = []
        with open(sample["path"], "wb") as file:
            for _, output in self.outputs(items, draws):
                frame = output[0] if self.spec.is_clip else output
                values = checks.in_pixels(frame, self.adapter.unit_float, self.spec)
                values.tofile(file)
                shapes.append({"shape": list(values.shape)})
        return shapes

    def preflight(self, slow_item_s, items):
        adapter = self.adapter
        estimate = estimate_pass_ns(
            self.call, adapter.materialise, self.items, items, slow_item_s, adapter.synchronise
        )
        return {"pass_ns": estimate}

    def measure(self, passes, warmup_ms, warmup_limit_ms):
        call, materialise, items = self.call, self.adapter.materialise, self.items
        warmed = warm_up(call, materialise, items, warmup_ms, warmup_limit_ms)
        memory = self.adapter.memory_probe()
        sample = Sample()
        self.adapter.synchronise()
        sample.start()
        run_passes(call, materialise, items, passes)
        self.adapter.synchronise()
        sample.stop()
        reply = sample.reply(passes * len(items), warmed)
        if memory is not None:
            reply["gpu_memory"] = memory()
        return reply

    def release(self):
        self.call = self.spec = None
        self.adapter.forget()
