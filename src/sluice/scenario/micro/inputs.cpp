// sluice/scenario/micro/inputs.cpp - shared inputs, or a picture made by a formula.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/micro/micro.h"

#include <algorithm>

namespace sluice::scenario {
namespace {

// No crop of 224 needs padding. The Python workers make the same picture.
constexpr int kWidth = 256;
constexpr int kHeight = 240;

std::uint8_t synthetic_sample(int x, int y, int c) {
  const auto grain =
      (static_cast<std::uint64_t>(x) * 2654435761U + static_cast<std::uint64_t>(y) * 40503U +
       static_cast<std::uint64_t>(c) * 9973U) %
      61;
  const int slope = (x * 255 / (kWidth - 1) + 2 * y + 40 * c) % 195;
  return static_cast<std::uint8_t>(static_cast<std::uint64_t>(slope) + grain);
}

/// Reads one byte of every page: they are then mapped, and not read from disk while we time.
void touch(std::span<const std::uint8_t> samples) {
  constexpr std::size_t kPage = 4096;
  volatile std::uint8_t sink = 0;
  for (std::size_t i = 0; i < samples.size(); i += kPage)
    sink = samples[i];
  (void)sink;
}

}  // namespace

Result<MicroInputs> MicroInputs::open(const std::filesystem::path& index,
                                      const std::filesystem::path& data, std::int64_t limit) {
  MicroInputs inputs;
  SLUICE_TRY(auto mapped, image::MappedInputs::open(index, data));
  inputs.mapped_.emplace(std::move(mapped));
  inputs.size_ = inputs.mapped_->size();
  inputs.clips_ = inputs.mapped_->clips();
  if (limit > 0) inputs.size_ = std::min(inputs.size_, static_cast<std::size_t>(limit));
  for (std::size_t i = 0; i < inputs.size_; ++i)
    touch(inputs.mapped_->samples(i));
  return inputs;
}

Result<MicroInputs> MicroInputs::synthetic(const MicroCase& one) {
  MicroInputs inputs;
  inputs.size_ = 1;
  inputs.clips_ = one.clips;
  for (int t = 0; t < one.frames; ++t) {
    SLUICE_TRY(auto frame, image::Image::make(kWidth, kHeight, one.channels));
    const auto span = frame.span<std::uint8_t>();
    for (int y = 0; y < kHeight; ++y)
      for (int x = 0; x < kWidth; ++x)
        for (int c = 0; c < one.channels; ++c)
          span.at((x + t) % kWidth, y, c) = synthetic_sample(x, y, c);
    inputs.made_.push_back(std::move(frame));
  }
  return inputs;
}

int MicroInputs::frames(std::size_t index) const {
  return mapped_ ? mapped_->item(index).frames : static_cast<int>(made_.size());
}

image::ImageView<std::uint8_t> MicroInputs::view(std::size_t index, int frame) const {
  return mapped_ ? mapped_->view(index, frame)
                 : made_[static_cast<std::size_t>(frame)].view<std::uint8_t>();
}

std::int64_t MicroInputs::bytes() const {
  std::int64_t total = 0;
  for (std::size_t i = 0; i < size_; ++i)
    total += static_cast<std::int64_t>(view(i).samples()) * frames(i);
  return total;
}

}  // namespace sluice::scenario
