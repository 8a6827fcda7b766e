// sluice/scenario/micro/micro.cpp - our own transforms as rows of the matrix.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/micro/micro.h"

#include "sluice/aug/registry.h"
#include "sluice/core/text.h"
#include "sluice/scenario/tolerance.h"

#include <fmt/format.h>

#include <array>

namespace sluice::scenario {
namespace {

using View = image::ImageView<std::uint8_t>;

/// A transform of the registry. Outputs are kept per slot and frame, and reused.
class TransformOp final : public MicroOp {
 public:
  TransformOp(const MicroInputs& inputs, std::unique_ptr<aug::Transform> transform)
      : inputs_(inputs), transform_(std::move(transform)) {}

  void run(std::size_t index, std::size_t slot, Rng& rng) override {
    const auto frames = static_cast<std::size_t>(inputs_.frames(index));
    const aug::Shape shape = aug::shape_of(inputs_.view(index));
    const aug::Draw draw = transform_->sample(rng, shape);
    const aug::Shape out = transform_->output_shape(shape, draw);
    slots_[slot].resize(frames);
    src_.resize(frames);
    for (std::size_t f = 0; f < frames; ++f) {
      measure::Subject::require(
          slots_[slot][f].resize_for(out.width, out.height, out.channels, dtype()));
      src_[f] = inputs_.view(index, static_cast<int>(f));
    }
    if (transform_->spec().makes_f32)
      apply(slots_[slot], draw, dst_f32_);
    else
      apply(slots_[slot], draw, dst_u8_);
    last_ = draw;
  }
  [[nodiscard]] std::vector<View> output(std::size_t slot) const override {
    return views<std::uint8_t>(slot);
  }
  [[nodiscard]] std::vector<image::ImageView<float>> output_f32(std::size_t slot) const override {
    return views<float>(slot);
  }
  /// The first and the last frame: the reference is slow, and frames are alike.
  Status verify(std::size_t index, std::size_t slot) override {
    const std::size_t last = slots_[slot].size() - 1;
    for (std::size_t f = 0; f <= last; f += std::max<std::size_t>(last, 1)) {
      const View input = inputs_.view(index, static_cast<int>(f));
      const image::Image& made = slots_[slot][f];
      SLUICE_CHECK(transform_->spec().makes_f32 ? verify_as<float>(made, input)
                                                : verify_as<std::uint8_t>(made, input));
    }
    return ok;
  }

 private:
  [[nodiscard]] image::DType dtype() const {
    return transform_->spec().makes_f32 ? image::DType::f32 : image::DType::u8;
  }
  template <image::Sample T>
  void apply(std::vector<image::Image>& outputs, const aug::Draw& draw,
             std::vector<image::ImageSpan<T>>& dst) {
    dst.resize(outputs.size());
    for (std::size_t f = 0; f < outputs.size(); ++f)
      dst[f] = outputs[f].span<T>();
    measure::Subject::require(
        transform_->apply(aug::Frames<std::uint8_t, T>{dst, src_}, draw, scratch_));
  }
  template <image::Sample T>
  [[nodiscard]] std::vector<image::ImageView<T>> views(std::size_t slot) const {
    std::vector<image::ImageView<T>> views;
    for (const image::Image& image : slots_[slot])
      if (image.holds<T>()) views.push_back(image.view<T>());
    return views;
  }
  template <image::Sample T>
  Status verify_as(const image::Image& made, View input) const {
    SLUICE_TRY(image::Image want,
               image::Image::make(made.width(), made.height(), made.channels(), made.dtype()));
    const image::ImageSpan<T> dst = want.span<T>();
    SLUICE_CHECK(
        transform_->apply_reference(aug::Frames<std::uint8_t, T>{{&dst, 1}, {&input, 1}}, last_));
    const aug::TransformSpec& spec = transform_->spec();
    return within_tolerance<T>(spec.name, made.view<T>(), want.view<T>(),
                               spec.makes_f32 ? spec.f32 : spec.u8);
  }

  const MicroInputs& inputs_;
  std::unique_ptr<aug::Transform> transform_;
  aug::Scratch scratch_;
  aug::Draw last_;
  std::vector<View> src_;
  std::vector<image::ImageSpan<std::uint8_t>> dst_u8_;
  std::vector<image::ImageSpan<float>> dst_f32_;
  std::array<std::vector<image::Image>, kMicroSlots> slots_;
};

}  // namespace

std::vector<std::string> micro_transforms() {
  std::vector<std::string> names;
  for (const aug::TransformSpec& spec : aug::registry())
    names.push_back(spec.name);
  return names;
}

Result<std::unique_ptr<MicroOp>> make_micro_op(const MicroCase& one, const MicroInputs& inputs) {
  const aug::TransformSpec* spec = aug::find(one.transform);
  if (spec == nullptr)
    return Error{Errc::unsupported,
                 fmt::format("sluice has no '{}' yet", printable(one.transform))};
  if (spec->channels == aug::ChannelRule::rgb && one.channels != 3)
    return Error{Errc::unsupported,
                 fmt::format("{} works on RGB, not on {} channels", spec->name, one.channels)};
  auto transform = spec->make(one.params);
  if (!transform) return Error{Errc::usage, transform.error().message};
  return std::unique_ptr<MicroOp>(std::make_unique<TransformOp>(inputs, std::move(*transform)));
}

}  // namespace sluice::scenario
