// sluice/loader/episodes/scene.cpp - frames of a generated episode.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/episodes/scene.h"

#include "sluice/core/rng.h"
#include "sluice/image/codec.h"

#include <algorithm>
#include <cstring>

namespace sluice::loader::episodes {
namespace {

constexpr int kMargin = 24;             // how far the camera drifts
constexpr int kEnlarged = 3;            // by so much are the photographs
constexpr std::uint8_t kLevels = 0xf8;  // bits of a sample that are kept

/// 0 .. most .. 0 .. most, a step at a time.
int back_and_forth(int t, int most) {
  if (most == 0) return 0;
  const int at = t % (2 * most);
  return at < most ? at : 2 * most - at;
}

}  // namespace

Status Scene::open(std::uint64_t seed, std::uint64_t index, int width, int height) {
  const int w = width + kMargin, h = height + kMargin;
  const image::PhotoSpec spec{.width = std::max(16, w / kEnlarged),
                              .height = std::max(16, h / kEnlarged)};
  SLUICE_CHECK(photos_.make(small_, seed, index, spec));
  SLUICE_CHECK(scene_.resize_for(w, h, 3));
  SLUICE_CHECK(resizer_.run(scene_.span<std::uint8_t>(), small_.view<std::uint8_t>()));
  const auto pixels = scene_.span<std::uint8_t>();
  for (int y = 0; y < h; ++y) {
    std::uint8_t* row = pixels.row(y);
    for (std::size_t i = 0; i < pixels.row_samples(); ++i)
      row[i] &= kLevels;
  }
  SLUICE_CHECK(frame_.resize_for(width, height, 3));
  phase_ = static_cast<int>(Rng(RngKey{.seed = seed, .index = index}).below(1000));
  return ok;
}

Result<std::span<const std::uint8_t>> Scene::frame(int t, Codec codec) {
  const auto out = frame_.span<std::uint8_t>();
  const int width = out.width(), height = out.height();
  const auto seen = scene_.view<std::uint8_t>().crop(
      back_and_forth(phase_ + t, kMargin), back_and_forth(phase_ + t / 2, kMargin), width, height);
  for (int y = 0; y < height; ++y)
    std::memcpy(out.row(y), seen.row(y), out.row_bytes());
  // What moves: a part of the scene itself, brighter, on its way over the frame.
  const int size = std::max(8, std::min(width, height) / 6);
  const int x0 = back_and_forth(2 * (phase_ + t), width - size);
  const int y0 = back_and_forth(phase_ + t, height - size);
  const auto part = scene_.view<std::uint8_t>().crop(kMargin / 2, kMargin / 2, size, size);
  for (int y = 0; y < size; ++y)
    for (std::size_t i = 0; i < static_cast<std::size_t>(size) * 3; ++i)
      out.row(y0 + y)[static_cast<std::size_t>(x0) * 3 + i] =
          static_cast<std::uint8_t>(part.row(y)[i] / 2 + 120) & kLevels;
  if (codec == Codec::jpeg)
    SLUICE_CHECK(image::encode_jpeg(encoded_, frame_.view<std::uint8_t>(), {.quality = 90}));
  else
    SLUICE_CHECK(image::encode_png(encoded_, frame_.view<std::uint8_t>(), 1));
  return std::span<const std::uint8_t>(encoded_);
}

}  // namespace sluice::loader::episodes
