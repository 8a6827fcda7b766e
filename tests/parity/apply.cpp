// tests/parity/apply.cpp - runs transforms on .npy files for parity.py: fast path and reference.
// SPDX-License-Identifier: Apache-2.0
//
// usage: parity_apply --list                 every transform as JSON
//        parity_apply JOBS.json              one JSON answer per job, on standard output
//
// A job: {"transform", "params"?, "draw" | "seed", "input", "output"?, "reference"?}; "draw" as the
// library used it, "seed" to draw ourselves. Inputs are (h, w, c), or (t, h, w, c): one draw for
// all frames. Other kinds: {"photo": index, "width", "height", "output"} and
// {"map_x", "map_y", "input", "output", "reference"}: u8 or f32 through our remap.
#include "sluice/aug/registry.h"
#include "sluice/aug/warps/remap.h"
#include "sluice/core/file.h"
#include "sluice/image/image.h"
#include "sluice/image/inputs/photo.h"
#include "sluice/image/npy.h"
#include "sluice/plan/transforms.h"

#include <fmt/format.h>

#include <cstdio>
#include <cstring>
#include <string>
#include <vector>

namespace {

using namespace sluice;
using aug::Draw;
using aug::Frames;
using aug::Shape;
using image::DType;
using image::Image;
using image::ImageSpan;
using image::ImageView;

Error bad(const std::string& what) {
  return Error{Errc::invalid_input, what};
}

/// An image, or the frames of a clip.
struct Pictures {
  std::vector<Image> frames;
  bool clip = false;
  [[nodiscard]] DType dtype() const { return frames[0].dtype(); }
  [[nodiscard]] Shape shape() const {
    return {frames[0].width(), frames[0].height(), frames[0].channels()};
  }
};

std::byte* bytes_of(Image& one) {
  return one.dtype() == DType::u8 ? reinterpret_cast<std::byte*>(one.span<std::uint8_t>().data())
                                  : reinterpret_cast<std::byte*>(one.span<float>().data());
}

std::size_t size_of(const Image& one) {
  return one.pitch_bytes() * static_cast<std::size_t>(one.height());
}

Result<Pictures> read(const Json& path) {
  if (!path.is_string()) return bad("a path is missing");
  SLUICE_TRY(const auto bytes, read_binary_file(path.get<std::string>()));
  SLUICE_TRY(const image::NpyArray array, image::parse_npy(bytes));
  std::vector<std::int64_t> shape = array.shape;
  if (shape.size() == 2) shape.push_back(1);
  Pictures pictures;
  pictures.clip = shape.size() == 4;
  if (!pictures.clip) shape.insert(shape.begin(), 1);
  if (shape.size() != 4 || shape[0] < 1) return bad("(h, w), (h, w, c) or (t, h, w, c) is read");
  for (std::int64_t t = 0; t < shape[0]; ++t) {
    SLUICE_TRY(Image one, Image::make(static_cast<int>(shape[2]), static_cast<int>(shape[1]),
                                      static_cast<int>(shape[3]), array.dtype));
    std::memcpy(bytes_of(one), array.data.data() + static_cast<std::size_t>(t) * size_of(one),
                size_of(one));
    pictures.frames.push_back(std::move(one));
  }
  return pictures;
}

Status write(const Json& path, Pictures& pictures) {
  std::vector<std::int64_t> shape = {pictures.shape().height, pictures.shape().width,
                                     pictures.shape().channels};
  if (pictures.clip) shape.insert(shape.begin(), static_cast<std::int64_t>(pictures.frames.size()));
  std::vector<std::uint8_t> data, file;
  for (Image& one : pictures.frames) {
    const auto* begin = reinterpret_cast<const std::uint8_t*>(bytes_of(one));
    data.insert(data.end(), begin, begin + size_of(one));
  }
  SLUICE_CHECK(image::encode_npy(file, shape, pictures.dtype(), data));
  return write_file_atomic(path.get<std::string>(),
                           {reinterpret_cast<const char*>(file.data()), file.size()}, Flush::later);
}

Result<Pictures> outputs(const Pictures& src, Shape shape, DType dtype) {
  Pictures dst;
  dst.clip = src.clip;
  for (std::size_t i = 0; i < src.frames.size(); ++i) {
    SLUICE_TRY(Image one, Image::make(shape.width, shape.height, shape.channels, dtype));
    std::memset(bytes_of(one), 0xA5, size_of(one));  // what is not written shows
    dst.frames.push_back(std::move(one));
  }
  return dst;
}

template <class From, class To, class Run>
Status with_frames(Pictures& dst, const Pictures& src, Run run) {
  std::vector<ImageSpan<To>> to;
  std::vector<ImageView<From>> from;
  for (std::size_t i = 0; i < src.frames.size(); ++i) {
    to.push_back(dst.frames[i].span<To>());
    from.push_back(src.frames[i].view<From>());
  }
  return run(Frames<From, To>{to, from});
}

template <class Run>
Status with_types(Pictures& dst, const Pictures& src, Run run) {
  if (src.dtype() == DType::f32) return with_frames<float, float>(dst, src, run);
  if (dst.dtype() == DType::f32) return with_frames<std::uint8_t, float>(dst, src, run);
  return with_frames<std::uint8_t, std::uint8_t>(dst, src, run);
}

Result<Json> run_transform(const Json& job) {
  SLUICE_TRY(const auto transform, aug::make(job.at("transform").get<std::string>(),
                                             job.value("params", Json::object())));
  SLUICE_TRY(const Pictures src, read(job.value("input", Json())));
  Draw draw;
  if (job.contains("draw")) {
    SLUICE_TRY(draw, transform->draw_from_json(job["draw"]));
  } else {
    Rng rng({.seed = job.value("seed", std::uint64_t{0})});
    draw = transform->sample(rng, src.shape());
  }
  const Shape shape = transform->output_shape(src.shape(), draw);
  const DType dtype = transform->spec().makes_f32 ? DType::f32 : src.dtype();
  if (job.contains("output")) {
    aug::Scratch scratch;
    SLUICE_TRY(Pictures dst, outputs(src, shape, dtype));
    SLUICE_CHECK(with_types(
        dst, src, [&](const auto& frames) { return transform->apply(frames, draw, scratch); }));
    SLUICE_CHECK(write(job["output"], dst));
  }
  if (job.contains("reference")) {
    SLUICE_TRY(Pictures dst, outputs(src, shape, dtype));
    SLUICE_CHECK(with_types(
        dst, src, [&](const auto& frames) { return transform->apply_reference(frames, draw); }));
    SLUICE_CHECK(write(job["reference"], dst));
  }
  return Json{{"ok", true}, {"draw", transform->to_json(draw)}};
}

Result<Json> run_photo(const Json& job) {
  Pictures photo;
  photo.frames.resize(1);
  SLUICE_CHECK(image::PhotoMaker().make(
      photo.frames[0], 1, job["photo"].get<std::uint64_t>(),
      {.width = job.at("width").get<int>(), .height = job.at("height").get<int>()}));
  SLUICE_CHECK(write(job.at("output"), photo));
  return Json{{"ok", true}};
}

/// The map of a file: one row of numbers after the other.
Result<std::vector<float>> read_map(const Json& path) {
  SLUICE_TRY(const Pictures map, read(path));
  if (map.dtype() != DType::f32 || map.shape().channels != 1) return bad("a map is f32, (h, w)");
  const auto view = map.frames[0].view<float>();
  return std::vector<float>(view.data(), view.data() + view.samples());
}

Result<Json> run_map(const Json& job) {
  SLUICE_TRY(const Pictures src, read(job.value("input", Json())));
  SLUICE_TRY(const std::vector<float> x, read_map(job["map_x"]));
  SLUICE_TRY(const std::vector<float> y, read_map(job.value("map_y", Json())));
  const aug::RemapTable table{x, y};
  for (const char* kind : {"output", "reference"}) {
    if (!job.contains(kind)) continue;
    const bool fast = std::string(kind) == "output";
    aug::Scratch scratch;
    SLUICE_TRY(Pictures dst, outputs(src, src.shape(), src.dtype()));
    const auto go = [&](const auto& frames) {
      return fast ? aug::remap_bilinear(frames, table, scratch)
                  : aug::remap_bilinear_reference(frames, table);
    };
    SLUICE_CHECK(src.dtype() == DType::f32
                     ? (with_frames<float, float>(dst, src, go))
                     : (with_frames<std::uint8_t, std::uint8_t>(dst, src, go)));
    SLUICE_CHECK(write(job[kind], dst));
  }
  return Json{{"ok", true}};
}

Result<Json> run(const Json& job) {
  if (job.contains("photo")) return run_photo(job);
  if (job.contains("map_x")) return run_map(job);
  return run_transform(job);
}

Json list() {
  Json rows = Json::array();
  for (const plan::Transform& one : plan::transforms()) {
    Json row{{"name", one.name}, {"sets", one.sets}, {"params", one.params}, {"present", false}};
    if (const aug::TransformSpec* spec = aug::find(one.name)) {
      row["present"] = true;
      row["parity"] = to_string(spec->parity);
      row["doc"] = spec->doc;
      row["makes_f32"] = spec->makes_f32;
      row["draws"] = spec->draws;
    }
    rows.push_back(row);
  }
  return rows;
}

}  // namespace

int main(int argc, char** argv) {
  if (argc != 2) {
    fmt::print(stderr, "usage: parity_apply --list | JOBS.json\n");
    return 2;
  }
  if (std::string(argv[1]) == "--list") {
    fmt::print("{}\n", dump_json(list()));
    return 0;
  }
  const auto text = read_text_file(argv[1]);
  const auto jobs = text ? parse_json(*text, argv[1]) : Result<Json>(text.error());
  if (!jobs) {
    fmt::print(stderr, "error: {}\n", jobs.error().message);
    return 1;
  }
  for (const Json& job : *jobs) {
    const auto answer = run(job);
    fmt::print(
        "{}\n",
        dump_json(answer ? *answer : Json{{"ok", false}, {"error", answer.error().message}}, -1));
  }
  return 0;
}
