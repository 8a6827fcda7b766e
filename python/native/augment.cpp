// python/native/augment.cpp - aug::Compose for Python: arrays in, arrays out.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/compose.h"
#include "sluice/aug/registry.h"

#include "python/native/array.h"
#include "python/native/bindings.h"
#include "python/native/pixels.h"
#include "python/native/raise.h"
#include "python/native/recipe.h"
#include <atomic>
#include <cstring>
#include <nanobind/nanobind.h>
#include <nanobind/stl/optional.h>
#include <nanobind/stl/string.h>
#include <optional>
#include <string>
#include <vector>

namespace sluice::python {
namespace {

using aug::Drawn;
using image::DType;
using image::Image;
using image::ImageSpan;
using image::ImageView;

template <class T>
Status copy_in(std::vector<Image>& out, const std::vector<ImageView<T>>& frames, DType dtype) {
  out.resize(frames.size());
  for (std::size_t i = 0; i < frames.size(); ++i) {
    const ImageView<T>& from = frames[i];
    SLUICE_CHECK(out[i].resize_for(from.width(), from.height(), from.channels(), dtype));
    const ImageSpan<T> to = out[i].span<T>();
    for (int y = 0; y < from.height(); ++y)
      std::memcpy(to.row(y), from.row(y), from.row_bytes());
  }
  return ok;
}

template <class To>
std::vector<ImageSpan<To>>& spans_of(std::vector<ImageSpan<To>>& spans, std::vector<Image>& out) {
  spans.clear();
  for (Image& one : out)
    spans.push_back(one.span<To>());
  return spans;
}

/// What a thread keeps from call to call.
struct Memory {
  aug::Workspace workspace;
  Drawn drawn;
  std::vector<Image> input;
};
Memory& own_memory() {
  thread_local Memory memory;
  return memory;
}

/// For any number of threads at a time; all that changes is the count of calls.
class NativeCompose {
 public:
  NativeCompose(aug::Compose compose, std::uint64_t seed)
      : compose_(std::move(compose)), seed_(seed) {}
  NativeCompose(const NativeCompose&) = delete;
  NativeCompose& operator=(const NativeCompose&) = delete;

  /// Without an index: as many as there were such calls before.
  nb::object call(nb::handle array, std::optional<std::uint64_t> index, std::uint64_t epoch) {
    const Pixels pixels = pixels_of(array);
    Memory& memory = own_memory();
    compose_.sample(memory.drawn, key(index ? *index : calls_.fetch_add(1), epoch),
                    shape_of(pixels));
    return result(pixels, memory.drawn, memory);
  }

  nb::object replay(nb::handle array, const std::string& draws) const {
    const Pixels pixels = pixels_of(array);
    const Json json = value_or_raise(parse_json(draws, "draws"));
    const Drawn drawn = value_or_raise(compose_.drawn_from_json(json));
    return result(pixels, drawn, own_memory());
  }

  std::string sample(nb::handle array, std::uint64_t index, std::uint64_t epoch) const {
    Drawn drawn;
    compose_.sample(drawn, key(index, epoch), shape_of(pixels_of(array)));
    return dump_json(compose_.to_json(drawn), -1);
  }

  [[nodiscard]] std::uint64_t seed() const { return seed_; }

 private:
  [[nodiscard]] aug::ItemKey key(std::uint64_t index, std::uint64_t epoch) const {
    return {.seed = seed_, .epoch = epoch, .index = index};
  }

  static aug::Shape shape_of(const Pixels& pixels) {
    return pixels.dtype == DType::u8 ? aug::shape_of(pixels.u8[0]) : aug::shape_of(pixels.f32[0]);
  }

  nb::object result(const Pixels& pixels, const Drawn& drawn, Memory& memory) const {
    std::vector<Image> out;
    const Status done = [&] {
      nb::gil_scoped_release others_may_run;
      return apply(out, pixels, drawn, memory);
    }();
    check_or_raise(done);
    return pixels.clip ? array_of_frames(out) : array_of(std::move(out[0]));
  }

  Status apply(std::vector<Image>& out, const Pixels& pixels, const Drawn& drawn,
               Memory& memory) const {
    std::optional<std::size_t> only;  // the one step that is applied
    std::size_t applied = 0;
    for (std::size_t i = 0; i < drawn.steps.size(); ++i)
      if (drawn.steps[i].applied && ++applied == 1) only = i;
    if (applied == 1) return apply_one(out, pixels, *only, drawn.steps[*only].draw, memory);
    std::vector<Image>& input = applied == 0 ? out : memory.input;
    SLUICE_CHECK(pixels.dtype == DType::u8 ? copy_in(input, pixels.u8, DType::u8)
                                           : copy_in(input, pixels.f32, DType::f32));
    return applied == 0 ? Status(ok) : compose_.apply(out, input, drawn, memory.workspace);
  }

  /// From the caller's memory straight into the result.
  Status apply_one(std::vector<Image>& out, const Pixels& pixels, std::size_t step,
                   const aug::Draw& draw, Memory& memory) const {
    const aug::Transform& transform = compose_.transform(step);
    const bool makes_f32 = transform.spec().makes_f32 || pixels.dtype == DType::f32;
    const aug::Shape shape = transform.output_shape(shape_of(pixels), draw);
    out.resize(pixels.frames());
    for (Image& one : out)
      SLUICE_CHECK(one.resize_for(shape.width, shape.height, shape.channels,
                                  makes_f32 ? DType::f32 : DType::u8));
    aug::Workspace& workspace = memory.workspace;
    if (pixels.dtype == DType::f32)
      return transform.apply(aug::Frames<float>{spans_of(workspace.to_f32, out), pixels.f32}, draw,
                             workspace.scratch);
    if (makes_f32)
      return transform.apply(
          aug::Frames<std::uint8_t, float>{spans_of(workspace.to_f32, out), pixels.u8}, draw,
          workspace.scratch);
    return transform.apply(aug::Frames<std::uint8_t>{spans_of(workspace.to_u8, out), pixels.u8},
                           draw, workspace.scratch);
  }

  aug::Compose compose_;
  std::uint64_t seed_;
  std::atomic<std::uint64_t> calls_{0};
};

/// [{"name", "doc", "parameters": [{"name", "accepted", "doc"}], "defaults"}...], by name.
std::string describe_transforms() {
  Json list = Json::array();
  for (const aug::TransformSpec& spec : aug::registry()) {
    Json parameters = Json::array();
    for (const auto& one : spec.parameters)
      parameters.push_back({{"name", one.name}, {"accepted", one.accepted}, {"doc", one.doc}});
    list.push_back({{"name", spec.name},
                    {"doc", spec.doc},
                    {"parameters", parameters},
                    {"defaults", spec.defaults},
                    {"draws", spec.draws}});
  }
  return dump_json(list, -1);
}

}  // namespace

void bind_augment(nb::module_& module) {
  using namespace nb::literals;  // NOLINT(google-build-using-namespace)
  nb::class_<NativeCompose>(module, "Compose")
      .def("__init__",
           [](NativeCompose* self, const std::string& steps, std::uint64_t seed) {
             const Json json = value_or_raise(parse_json(steps, "steps"));
             new (self) NativeCompose(value_or_raise(aug::Compose::make(steps_of(json))), seed);
           })
      .def("__call__", &NativeCompose::call, "image"_a, nb::kw_only(), "index"_a = nb::none(),
           "epoch"_a = 0)
      .def("_replay", &NativeCompose::replay)
      .def("_sample", &NativeCompose::sample)
      .def_prop_ro("seed", &NativeCompose::seed);
  // The steps of a YAML file, in the words that the constructor takes.
  module.def("load_steps", [](const std::string& path) {
    return dump_json(value_or_raise(aug::Compose::load(path)).to_json(), -1);
  });
  module.def("describe_transforms", describe_transforms);
}

}  // namespace sluice::python
