// sluice/aug/transform.cpp - the checks every application of a transform passes.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/transform.h"

#include <fmt/format.h>

namespace sluice::aug {
namespace {

std::string words(Shape shape) {
  return fmt::format("{} x {} x {}", shape.width, shape.height, shape.channels);
}

Error wrong(const TransformSpec& spec, const std::string& what) {
  return Error{Errc::invalid_input, spec.name + ": " + what};
}

}  // namespace

const char* to_string(Parity parity) {
  switch (parity) {
    case Parity::equal:
      return "equal";
    case Parity::pointwise:
      return "pointwise";
    case Parity::nearest:
      return "nearest";
    case Parity::smooth:
      return "smooth";
    case Parity::property:
      return "property";
  }
  return "?";
}

template <class From, class To>
Status Transform::check(const Frames<From, To>& frames, const Draw& draw) const {
  if (frames.dst.size() != frames.src.size() || frames.src.empty())
    return wrong(spec(), fmt::format("{} inputs and {} outputs: as many, and at least one",
                                     frames.src.size(), frames.dst.size()));
  for (std::size_t i = 0; i < frames.size(); ++i)
    if (frames.src[i].empty() || frames.dst[i].empty())
      return wrong(spec(), "an image without pixels");
  if (spec().makes_f32 && std::same_as<From, std::uint8_t> && std::same_as<To, std::uint8_t>)
    return wrong(spec(), "u8 output: it makes f32");
  if (!spec().makes_f32 && !std::same_as<From, To>)
    return wrong(spec(), "f32 output of a u8 image: it keeps the type");
  const Shape input = shape_of(frames.src[0]);
  if (spec().channels == ChannelRule::rgb && input.channels != 3)
    return wrong(spec(), fmt::format("{} channels: 3 are accepted", input.channels));
  SLUICE_CHECK(fits(input, draw));
  const Shape output = output_shape(input, draw);
  for (std::size_t i = 0; i < frames.size(); ++i) {
    if (shape_of(frames.src[i]) != input)
      return wrong(spec(), fmt::format("frames of {} and {}: one shape is accepted", words(input),
                                       words(shape_of(frames.src[i]))));
    if (shape_of(frames.dst[i]) != output)
      return wrong(spec(), fmt::format("an output of {}: it must be {}",
                                       words(shape_of(frames.dst[i])), words(output)));
  }
  return ok;
}

Status Transform::apply(const Frames<std::uint8_t>& frames, const Draw& draw,
                        Scratch& scratch) const {
  SLUICE_CHECK(check(frames, draw));
  scratch.restart();
  run(frames, draw, scratch);
  return ok;
}
Status Transform::apply(const Frames<float>& frames, const Draw& draw, Scratch& scratch) const {
  SLUICE_CHECK(check(frames, draw));
  scratch.restart();
  run(frames, draw, scratch);
  return ok;
}
Status Transform::apply(const Frames<std::uint8_t, float>& frames, const Draw& draw,
                        Scratch& scratch) const {
  SLUICE_CHECK(check(frames, draw));
  scratch.restart();
  run(frames, draw, scratch);
  return ok;
}

Status Transform::apply_reference(const Frames<std::uint8_t>& frames, const Draw& draw) const {
  SLUICE_CHECK(check(frames, draw));
  run_reference(frames, draw);
  return ok;
}
Status Transform::apply_reference(const Frames<float>& frames, const Draw& draw) const {
  SLUICE_CHECK(check(frames, draw));
  run_reference(frames, draw);
  return ok;
}
Status Transform::apply_reference(const Frames<std::uint8_t, float>& frames,
                                  const Draw& draw) const {
  SLUICE_CHECK(check(frames, draw));
  run_reference(frames, draw);
  return ok;
}

}  // namespace sluice::aug
