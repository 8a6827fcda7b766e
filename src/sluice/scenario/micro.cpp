// sluice/scenario/micro.cpp - our own transforms as rows of the matrix.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/micro.h"

#include "sluice/core/text.h"
#include "sluice/image/resize.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <stdexcept>

namespace sluice::scenario {
namespace {

using View = image::ImageView<std::uint8_t>;

/// Output buffers: per slot one image per frame, kept from item to item.
class OutputSlots {
 public:
  /// Exactly `frames` images to write to.
  std::vector<image::Image>& of(std::size_t slot, int frames) {
    slots_[slot].resize(static_cast<std::size_t>(frames));
    return slots_[slot];
  }
  [[nodiscard]] std::vector<View> views(std::size_t slot) const {
    std::vector<View> views;
    for (const image::Image& image : slots_[slot])
      views.push_back(image.view<std::uint8_t>());
    return views;
  }

 private:
  std::array<std::vector<image::Image>, kMicroSlots> slots_;
};

class ResizeOp final : public MicroOp {
 public:
  ResizeOp(const MicroInputs& inputs, int side) : inputs_(inputs), side_(side) {}

  void run(std::size_t index, std::size_t slot, Rng&) override {
    int frame = 0;
    for (image::Image& output : slots_.of(slot, inputs_.frames(index))) {
      const View input = inputs_.view(index, frame++);
      Status done = output.resize_for(side_, side_, input.channels());
      if (done) done = resizer_.run(output.span<std::uint8_t>(), input);
      if (!done) throw std::runtime_error(done.error().message);
    }
  }
  [[nodiscard]] std::vector<View> output(std::size_t slot) const override {
    return slots_.views(slot);
  }
  Status verify(View input, View output) override {
    constexpr int kTolerance = 1;  // image/resize.h: fast and reference differ by at most 1
    SLUICE_TRY(image::Image want,
               image::Image::make(output.width(), output.height(), output.channels()));
    image::resize_bilinear_reference(want.span<std::uint8_t>(), input);
    const View reference = want.view<std::uint8_t>();
    for (std::size_t k = 0; k < reference.samples(); ++k)
      if (const int off = std::abs(reference.data()[k] - output.data()[k]); off > kTolerance)
        return Error{Errc::measurement,
                     fmt::format("Resize: {} from the reference, {} allowed", off, kTolerance)};
    return ok;
  }

 private:
  const MicroInputs& inputs_;
  int side_;
  image::BilinearResizer resizer_;
  OutputSlots slots_;
};

Result<std::unique_ptr<MicroOp>> make_resize(const MicroCase& one, const MicroInputs& inputs) {
  const std::string interpolation = one.params.value("interpolation", std::string("bilinear"));
  const int side = one.params.value("target_size", 0);
  if (interpolation != "bilinear")
    return Error{Errc::unsupported, fmt::format("sluice has no Resize with interpolation '{}' yet",
                                                printable(interpolation))};
  if (side < 1 || side > image::kMaxSide)
    return Error{Errc::usage,
                 fmt::format("Resize: target_size {}; 1 to {} is accepted", side, image::kMaxSide)};
  return std::unique_ptr<MicroOp>(std::make_unique<ResizeOp>(inputs, side));
}

}  // namespace

std::vector<std::string> micro_transforms() {
  return {"Resize"};
}

Result<std::unique_ptr<MicroOp>> make_micro_op(const MicroCase& one, const MicroInputs& inputs) {
  if (one.transform == "Resize") return make_resize(one, inputs);
  return Error{Errc::unsupported, fmt::format("sluice has no '{}' yet", printable(one.transform))};
}

}  // namespace sluice::scenario
