// sluice/image/inputs/clip_maker.cpp - synthetic clips, in integers.
// SPDX-License-Identifier: Apache-2.0
//
// What video codecs and decoders feel: a background that pans (global motion), discs cut from
// another photograph that move over it and bounce (local motion, occlusion), light that drifts.
#include "sluice/image/inputs/clip_maker.h"

#include "sluice/core/rng.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cstring>

namespace sluice::image {
namespace {

// Stages of RngKey, apart from those of photo.cpp: what is drawn from where never changes.
constexpr std::uint32_t kClipSpecStage = 11, kClipSceneStage = 12;
// Photographs of a clip have indices of their own, far from those of an image data set.
constexpr std::uint64_t kPhotoBase = std::uint64_t{1} << 40;

constexpr int kSubpixel = 16;  // positions are in sixteenths of a pixel

/// A point that moves at constant speed inside [0, limit] and turns back at the ends.
struct Mover {
  int start = 0;  // kSubpixel
  int speed = 0;  // kSubpixel per frame
  int limit = 0;  // pixels

  [[nodiscard]] int at(int frame) const {
    if (limit <= 0) return 0;
    const int period = 2 * limit * kSubpixel;
    int place = (start + speed * frame) % period;
    if (place < 0) place += period;
    if (place > period / 2) place = period - place;
    return place / kSubpixel;
  }
};

Mover draw_mover(Rng& rng, int limit, int fastest) {
  return {rng.between(0, std::max(0, limit * kSubpixel)), rng.between(-fastest, fastest), limit};
}

struct Disc {
  Mover x, y;
  int radius = 0;
  int from_x = 0, from_y = 0;  // its texture in the second photograph
};

void paint(ImageSpan<std::uint8_t> frame, ImageView<std::uint8_t> things, const Disc& disc,
           int number) {
  const int centre_x = disc.x.at(number), centre_y = disc.y.at(number);
  for (int dy = -disc.radius; dy <= disc.radius; ++dy) {
    const int y = centre_y + dy;
    if (y < 0 || y >= frame.height()) continue;
    for (int dx = -disc.radius; dx <= disc.radius; ++dx) {
      const int x = centre_x + dx;
      if (x < 0 || x >= frame.width() || dx * dx + dy * dy > disc.radius * disc.radius) continue;
      std::memcpy(&frame.at(x, y, 0),
                  &things.at(disc.from_x + dx + disc.radius, disc.from_y + dy + disc.radius, 0), 3);
    }
  }
}

/// Adds `light` to every sample.
void expose(ImageSpan<std::uint8_t> frame, int light) {
  for (int y = 0; y < frame.height(); ++y) {
    std::uint8_t* row = frame.row(y);
    for (std::size_t i = 0; i < frame.row_samples(); ++i)
      row[i] = static_cast<std::uint8_t>(std::clamp(row[i] + light, 0, 255));
  }
}

}  // namespace

ClipSpec clip_spec(std::uint64_t seed, std::uint64_t index) {
  Rng rng({.seed = seed, .index = index, .stage = kClipSpecStage});
  return {rng.between(16, 48), 320, 240};
}

Status ClipMaker::make(VideoClip& out, std::uint64_t seed, std::uint64_t index,
                       const ClipSpec& spec) {
  constexpr int kLeast = 16, kMost = 4096;
  if (spec.width < kLeast || spec.height < kLeast || spec.width > kMost || spec.height > kMost ||
      spec.width % 2 != 0 || spec.height % 2 != 0)
    return Error{Errc::usage, fmt::format("a clip of {}x{}: even sides of {} to {} are accepted",
                                          spec.width, spec.height, kLeast, kMost)};
  SLUICE_CHECK(out.resize_for(spec.frames, spec.width, spec.height));
  const int margin_x = spec.width / 4, margin_y = spec.height / 4;
  const std::uint64_t photo = kPhotoBase + 2 * index;
  SLUICE_CHECK(
      maker_.make(scene_, seed, photo, {spec.width + margin_x, spec.height + margin_y, 90}));
  SLUICE_CHECK(maker_.make(things_, seed, photo + 1, {spec.width, spec.height, 90}));

  Rng rng({.seed = seed, .index = index, .stage = kClipSceneStage});
  const Mover pan_x = draw_mover(rng, margin_x, 2 * kSubpixel);
  const Mover pan_y = draw_mover(rng, margin_y, kSubpixel);
  const Mover light = draw_mover(rng, 16, kSubpixel / 4);
  std::array<Disc, 4> discs;
  const auto count = static_cast<std::size_t>(rng.between(2, 4));
  const int side = std::min(spec.width, spec.height);
  for (std::size_t i = 0; i < count; ++i) {
    Disc& disc = discs[i];
    disc.radius = rng.between(side / 16, side / 5);
    disc.x = draw_mover(rng, spec.width - 1, 5 * kSubpixel);
    disc.y = draw_mover(rng, spec.height - 1, 3 * kSubpixel);
    disc.from_x = rng.between(0, spec.width - 2 * disc.radius - 1);
    disc.from_y = rng.between(0, spec.height - 2 * disc.radius - 1);
  }
  for (int number = 0; number < spec.frames; ++number) {
    const auto frame = out.frame(number);
    const auto seen = scene_.view<std::uint8_t>().crop(pan_x.at(number), pan_y.at(number),
                                                       spec.width, spec.height);
    for (int y = 0; y < spec.height; ++y)
      std::memcpy(frame.row(y), seen.row(y), seen.row_bytes());
    for (std::size_t i = 0; i < count; ++i)
      paint(frame, things_.view<std::uint8_t>(), discs[i], number);
    expose(frame, light.at(number) - 8);
  }
  return ok;
}

}  // namespace sluice::image
