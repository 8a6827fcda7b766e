// sluice/aug/compose.cpp - drawing and applying a list of transforms.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/compose.h"

#include "sluice/aug/registry.h"
#include "sluice/core/text.h"
#include "sluice/image/codec.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstring>
#include <utility>

namespace sluice::aug {
namespace {

using image::Image;

Error bad(const std::string& what) {
  return Error{Errc::invalid_input, what};
}

Status copy(Image& dst, const Image& src) {
  SLUICE_CHECK(dst.resize_for(src.width(), src.height(), src.channels(), src.dtype()));
  const auto rows = [&]<class T>(T) {
    const auto from = src.view<T>();
    const auto to = dst.span<T>();
    for (int y = 0; y < from.height(); ++y)
      std::memcpy(to.row(y), from.row(y), from.row_bytes());
  };
  if (src.dtype() == DType::u8)
    rows(std::uint8_t{});
  else
    rows(float{});
  return ok;
}

template <class T>
void views_of(std::vector<ImageView<T>>& out, std::span<const Image> frames) {
  out.clear();
  for (const Image& one : frames)
    out.push_back(one.view<T>());
}

template <class T>
void spans_of(std::vector<ImageSpan<T>>& out, std::span<Image> frames) {
  out.clear();
  for (Image& one : frames)
    out.push_back(one.span<T>());
}

/// What no file may hold no step may make: a list of transforms comes from outside, too.
Status check_pixels_of(const std::string& step, Shape shape) {
  constexpr std::uint64_t kMost = image::DecodeOptions{}.max_pixels;
  const std::uint64_t pixels =
      static_cast<std::uint64_t>(shape.width) * static_cast<std::uint64_t>(shape.height);
  if (pixels <= kMost) return ok;
  return bad(fmt::format("step '{}' makes {} x {} pixels; at most {} are accepted", step,
                         shape.width, shape.height, kMost));
}

Status same_shapes(std::span<const Image> frames) {
  if (frames.empty() || frames[0].empty()) return bad("nothing to transform: no image");
  for (const Image& one : frames)
    if (one.width() != frames[0].width() || one.height() != frames[0].height() ||
        one.channels() != frames[0].channels() || one.dtype() != frames[0].dtype())
      return bad("frames of a clip must have one shape and type");
  return ok;
}

}  // namespace

std::uint32_t stage_of(std::string_view name) {
  std::uint32_t hash = 2166136261U;
  for (const char letter : name)
    hash = (hash ^ static_cast<unsigned char>(letter)) * 16777619U;
  return hash;
}

Result<Compose> Compose::make(const std::vector<Step>& steps) {
  Compose compose;
  for (std::size_t i = 0; i < steps.size(); ++i) {
    const Step& step = steps[i];
    Made made;
    SLUICE_TRY(made.transform, aug::make(step.transform, step.params));
    if (!(step.p >= 0 && step.p <= 1))
      return Error{Errc::invalid_config,
                   fmt::format("{}: p {}: accepted is 0 to 1", step.transform, step.p)};
    made.p = step.p;
    made.name = step.name;
    if (made.name.empty()) {
      const auto before = std::count_if(
          steps.begin(), steps.begin() + static_cast<std::ptrdiff_t>(i), [&](const Step& other) {
            return other.name.empty() && other.transform == step.transform;
          });
      made.name = step.transform;
      if (before > 0) made.name += fmt::format("#{}", before + 1);
    }
    made.stage = stage_of(made.name);
    for (const Made& other : compose.steps_)
      if (other.stage == made.stage)
        return Error{Errc::invalid_config,
                     fmt::format("steps '{}' and '{}' would draw the same numbers: give one "
                                 "another name",
                                 printable(other.name), printable(made.name))};
    compose.steps_.push_back(std::move(made));
  }
  return compose;
}

void Compose::sample(Drawn& out, const ItemKey& key, Shape input) const {
  out.steps.resize(steps_.size());
  Shape shape = input;
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    Rng rng({.seed = key.seed,
             .epoch = key.epoch,
             .index = key.index,
             .repeat = key.repeat,
             .stage = steps_[i].stage});
    out.steps[i].applied = rng.uniform() < steps_[i].p;
    if (!out.steps[i].applied) continue;
    out.steps[i].draw = steps_[i].transform->sample(rng, shape);
    shape = steps_[i].transform->output_shape(shape, out.steps[i].draw);
  }
}

Shape Compose::output_shape(Shape input, const Drawn& drawn) const {
  Shape shape = input;
  for (std::size_t i = 0; i < steps_.size() && i < drawn.steps.size(); ++i)
    if (drawn.steps[i].applied)
      shape = steps_[i].transform->output_shape(shape, drawn.steps[i].draw);
  return shape;
}

Status Compose::apply_step(const Made& step, std::span<Image> dst, std::span<const Image> src,
                           const Draw& draw, Workspace& workspace) const {
  const Transform& transform = *step.transform;
  if (src[0].dtype() == DType::f32) {
    views_of(workspace.from_f32, src);
    spans_of(workspace.to_f32, dst);
    return transform.apply(Frames<float>{workspace.to_f32, workspace.from_f32}, draw,
                           workspace.scratch);
  }
  views_of(workspace.from_u8, src);
  if (transform.spec().makes_f32) {
    spans_of(workspace.to_f32, dst);
    return transform.apply(Frames<std::uint8_t, float>{workspace.to_f32, workspace.from_u8}, draw,
                           workspace.scratch);
  }
  spans_of(workspace.to_u8, dst);
  return transform.apply(Frames<std::uint8_t>{workspace.to_u8, workspace.from_u8}, draw,
                         workspace.scratch);
}

Status Compose::apply(std::vector<Image>& out, std::span<const Image> frames, const Drawn& drawn,
                      Workspace& workspace) const {
  SLUICE_CHECK(same_shapes(frames));
  if (drawn.steps.size() != steps_.size())
    return bad(fmt::format("draws of {} steps: there are {}", drawn.steps.size(), steps_.size()));
  out.resize(frames.size());
  std::size_t last = steps_.size();  // the last applied step writes into `out`
  while (last > 0 && !drawn.steps[last - 1].applied)
    --last;
  std::span<const Image> src = frames;
  for (std::size_t i = 0; i < last; ++i) {
    if (!drawn.steps[i].applied) continue;
    const Made& step = steps_[i];
    const Draw& draw = drawn.steps[i].draw;
    const DType dtype = step.transform->spec().makes_f32 ? DType::f32 : src[0].dtype();
    const bool is_ours = src.data() != frames.data();
    const bool in_place = is_ours && step.transform->spec().in_place && dtype == src[0].dtype();
    std::vector<Image>& other =
        is_ours && src.data() == workspace.ping.data() ? workspace.pong : workspace.ping;
    std::vector<Image>& same = &other == &workspace.ping ? workspace.pong : workspace.ping;
    std::vector<Image>& dst = i + 1 == last ? out : in_place ? same : other;
    if (&dst != &same) {
      const Shape before{src[0].width(), src[0].height(), src[0].channels()};
      const Shape shape = step.transform->output_shape(before, draw);
      SLUICE_CHECK(check_pixels_of(step.name, shape));
      dst.resize(frames.size());
      for (Image& one : dst)
        SLUICE_CHECK(one.resize_for(shape.width, shape.height, shape.channels, dtype));
    }
    SLUICE_CHECK(apply_step(step, dst, src, draw, workspace));
    src = dst;
  }
  if (last == 0)
    for (std::size_t f = 0; f < frames.size(); ++f)
      SLUICE_CHECK(copy(out[f], frames[f]));
  return ok;
}

Json Compose::to_json(const Drawn& drawn) const {
  Json list = Json::array();
  for (std::size_t i = 0; i < steps_.size() && i < drawn.steps.size(); ++i)
    list.push_back(
        {{"name", steps_[i].name},
         {"transform", steps_[i].transform->spec().name},
         {"applied", drawn.steps[i].applied},
         {"draw",
          drawn.steps[i].applied ? steps_[i].transform->to_json(drawn.steps[i].draw) : Json()}});
  return list;
}

Result<Drawn> Compose::drawn_from_json(const Json& json) const {
  const auto wrong = [](std::size_t i, const std::string& what) {
    return Error{Errc::invalid_config, fmt::format("draws: step {}: {}", i + 1, what)};
  };
  if (!json.is_array() || json.size() != steps_.size())
    return Error{Errc::invalid_config,
                 fmt::format("draws: a list of {} steps is accepted", steps_.size())};
  Drawn drawn;
  drawn.steps.resize(steps_.size());
  for (std::size_t i = 0; i < steps_.size(); ++i) {
    const Json& one = json[i];
    const Made& step = steps_[i];
    if (!one.is_object() || one.value("name", Json()) != step.name ||
        one.value("transform", Json()) != step.transform->spec().name)
      return wrong(i, fmt::format("{}: accepted is step '{}' of {}",
                                  printable(dump_json(one, -1).substr(0, 80)), step.name,
                                  step.transform->spec().name));
    const Json applied = one.value("applied", Json());
    if (!applied.is_boolean()) return wrong(i, "applied: accepted is true or false");
    drawn.steps[i].applied = applied.get<bool>();
    if (!drawn.steps[i].applied) continue;
    auto draw = step.transform->draw_from_json(one.value("draw", Json()));
    if (!draw) return wrong(i, draw.error().message);
    drawn.steps[i].draw = *draw;
  }
  return drawn;
}

Json Compose::to_json() const {
  Json list = Json::array();
  for (const Made& step : steps_)
    list.push_back({{"name", step.name},
                    {"transform", step.transform->spec().name},
                    {"p", step.p},
                    {"stage", step.stage},
                    {"params", step.transform->parameters()}});
  return list;
}

}  // namespace sluice::aug
