// sluice/aug/procedural/rain.cpp - streaks of rain: slanted lines, blurred and added.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/rain.h"

#include "sluice/aug/kernels/noise_levels.h"
#include "sluice/aug/kernels/repeat.h"
#include "sluice/aug/make_transform.h"
#include "sluice/aug/procedural/noise.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace sluice::aug {
namespace {

struct RainParams {
  int drop_width = 5;    // pixels
  int drop_height = 20;  // pixels, at least; an eighth of the image's height where that is more
  double brightness_coefficient = 1.0;
};
struct RainDraw {
  double slant = 0;  // pixels to the right over the length of a drop
  int drop_length = 20;
  int drop_width = 5;
  int drop_count = 0;
  double brightness = 1;
  std::uint64_t key = 0;
  Few<std::uint16_t, 440> drops{};  // x, y, x, y, ... when given: instead of key and count
};

constexpr double kMostSlant = 10;
constexpr int kColour = 200, kBlur = 7, kReach = kBlur / 2;

RainDraw sample(const RainParams& params, Rng& rng, Shape input) {
  RainDraw draw;
  draw.slant = rng.uniform(-kMostSlant, kMostSlant);
  draw.drop_length = std::max(params.drop_height, input.height / 8);
  draw.drop_width = params.drop_width;
  draw.drop_count = input.height / 3;
  draw.brightness = params.brightness_coefficient;
  draw.key = rng.next_u64();
  return draw;
}

struct Drop {
  int x, y;
};
int count_of(const RainDraw& draw) {
  return draw.drops.size() > 0 ? static_cast<int>(draw.drops.size() / 2) : draw.drop_count;
}
/// Where a drop begins: anywhere across, and high enough to end within the image if it can.
Drop drop_at(const RainDraw& draw, int i, int width, int height) {
  const auto n = static_cast<std::uint32_t>(i);
  if (draw.drops.size() > 0) return {draw.drops[2 * n], draw.drops[2 * n + 1]};
  const NoiseStream stream = noise_stream(draw.key, 0);
  const auto below = [&](std::uint32_t counter, int bound) {
    return static_cast<int>(
        (std::uint64_t{noise_bits(stream, counter)} * static_cast<std::uint64_t>(bound)) >> 32);
  };
  return {below(2 * n, width), below(2 * n + 1, std::max(1, height - draw.drop_length))};
}

/// Half of the width that is painted: a line of width 5 covers 7 pixels, as OpenCV draws it.
int half_width(const RainDraw& draw) {
  return draw.drop_width < 2 ? 0 : (draw.drop_width + 1) / 2;
}

/// The pixels of a drop in its row dy, relative to where it begins: a slanted band whose sides are
/// OpenCV's (the polygon, and its outline, which begins in a whole row), and a disc at each end.
struct Span {
  int from = 0, to = -1;
};
Span span_at(const RainDraw& draw, int dy) {
  const int half = half_width(draw), length = draw.drop_length;
  const int dx = static_cast<int>(std::floor(draw.slant));
  const double slope = static_cast<double>(dx) / length;
  const auto whole = [](double value) { return static_cast<int>(std::floor(value + 0.5)); };
  Span span;
  const auto cover = [&](int from, int to) {
    span = span.to < span.from ? Span{from, to}
                               : Span{std::min(span.from, from), std::max(span.to, to)};
  };
  const int middle = whole(slope * std::clamp(dy, 0, length));
  for (const int side : {-1, 1}) {  // where that side begins: half a width beside (0, 0)
    const double x = side * half * length / std::hypot(dx, length);
    const double y = -side * half * dx / std::hypot(dx, length);
    const auto reach = [&](double edge) {
      cover(std::min(middle, whole(edge)), std::max(middle, whole(edge)));
    };
    if (dy >= whole(y) && dy <= whole(length + y)) reach(x + slope * (dy - whole(y)));
    if (dy >= y && dy <= length + y) reach(x + slope * (dy - y));
  }
  const auto disc = [&](int centre_x, int centre_y) {
    const int off = dy - centre_y;
    if (std::abs(off) > half) return;
    const int reach = static_cast<int>(std::sqrt(static_cast<double>(half * half - off * off)));
    cover(centre_x - reach, centre_x + reach);
  };
  disc(0, 0);
  disc(dx, length);
  return span;
}

/// Without repeating the edge: -1 is 1.
int mirrored(int i, int size) {
  if (size == 1) return 0;
  const int period = 2 * (size - 1);
  i = (i % period + period) % period;
  return std::min(i, period - i);
}

template <class T>
void rain_reference(ImageSpan<T> dst, ImageView<T> src, const RainDraw& draw) {
  const int width = src.width(), height = src.height(), half = half_width(draw);
  std::vector<int> wet(static_cast<std::size_t>(width) * static_cast<std::size_t>(height));
  for (int i = 0; i < count_of(draw); ++i) {
    const Drop drop = drop_at(draw, i, width, height);
    for (int dy = -half; dy <= draw.drop_length + half; ++dy) {
      const Span span = span_at(draw, dy);
      for (int dx = span.from; dx <= span.to; ++dx)
        if (const int x = drop.x + dx, y = drop.y + dy; x >= 0 && x < width && y >= 0 && y < height)
          wet[static_cast<std::size_t>(y * width + x)] = 1;
    }
  }
  const double largest = kMaxSample<T>;
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      int count = 0;
      for (int j = -kReach; j <= kReach; ++j)
        for (int i = -kReach; i <= kReach; ++i)
          count += wet[static_cast<std::size_t>(mirrored(y + j, height) * width +
                                                mirrored(x + i, width))];
      const double layer = std::floor(kColour * count / 49.0 + 0.5) / 255 * largest;
      for (int c = 0; c < src.channels(); ++c) {
        const double value = std::min(src.at(x, y, c) + layer, largest) * draw.brightness;
        dst.at(x, y, c) = static_cast<T>(std::same_as<T, float> ? value : std::floor(value + 0.5));
      }
    }
}

/// Flags of wet pixels with a margin that mirrors them, so that a blur needs no care.
struct Mask {
  std::uint8_t* first = nullptr;  // pixel (0, 0)
  std::size_t pitch = 0;
  [[nodiscard]] std::uint8_t* row(int y) const {
    return first + static_cast<std::ptrdiff_t>(pitch) * y;
  }
};

void mirror_margins(const Mask& mask, int width, int height) {
  for (int y = 0; y < height; ++y)
    for (int i = 1; i <= kReach; ++i) {
      mask.row(y)[-i] = mask.row(y)[mirrored(-i, width)];
      mask.row(y)[width - 1 + i] = mask.row(y)[mirrored(width - 1 + i, width)];
    }
  for (int i = 1; i <= kReach; ++i)
    for (const int y : {-i, height - 1 + i})
      std::memcpy(mask.row(y) - kReach, mask.row(mirrored(y, height)) - kReach,
                  static_cast<std::size_t>(width + 2 * kReach));
}

Mask draw_mask(const RainDraw& draw, int width, int height, Scratch& scratch) {
  constexpr std::size_t kMargin = 64;
  Mask mask;
  mask.pitch = static_cast<std::size_t>(width) + 2 * kMargin;
  const std::size_t bytes = mask.pitch * static_cast<std::size_t>(height + 2 * kReach);
  const auto all = scratch.take<std::uint8_t>(bytes);
  std::memset(all.data(), 0, bytes);
  mask.first = all.data() + mask.pitch * kReach + kMargin;

  const int half = half_width(draw), rows = draw.drop_length + 2 * half + 1;
  const auto shape = scratch.take<Span>(static_cast<std::size_t>(rows));  // alike for all drops
  for (int i = 0; i < rows; ++i)
    shape[static_cast<std::size_t>(i)] = span_at(draw, i - half);
  for (int i = 0; i < count_of(draw); ++i) {
    const Drop drop = drop_at(draw, i, width, height);
    const int top = drop.y - half;
    for (int y = std::max(0, top); y < std::min(height, top + rows); ++y) {
      const Span& span = shape[static_cast<std::size_t>(y - top)];
      const int from = std::max(0, drop.x + span.from), to = std::min(width - 1, drop.x + span.to);
      if (from <= to) std::memset(mask.row(y) + from, 1, static_cast<std::size_t>(to - from + 1));
    }
  }
  mirror_margins(mask, width, height);
  return mask;
}

template <class T>
void rain_fast(const Frames<T>& frames, const RainDraw& draw, Scratch& scratch) {
  const ImageView<T>& first = frames.src[0];
  const int width = first.width(), height = first.height();
  const Mask mask = draw_mask(draw, width, height, scratch);
  const auto columns = static_cast<std::size_t>(width + 2 * kReach);
  const auto sums = scratch.take<std::uint8_t>(columns);
  const auto none = scratch.take<std::uint8_t>(columns);
  const auto layer = scratch.take<std::uint8_t>(static_cast<std::size_t>(width));
  const auto samples = scratch.take<std::uint8_t>(first.row_samples());
  const auto levels = scratch.take<float>(std::same_as<T, float> ? first.row_samples() : 1);
  std::memset(sums.data(), 0, columns + Scratch::kSlackBytes);
  std::memset(none.data(), 0, columns + Scratch::kSlackBytes);
  for (int y = -kReach; y < kReach; ++y)
    kernels::move_sums(sums.data(), mask.row(y) - kReach, none.data(), columns);
  for (int y = 0; y < height; ++y) {
    kernels::move_sums(sums.data(), mask.row(y + kReach) - kReach,
                       y == 0 ? none.data() : mask.row(y - kReach - 1) - kReach, columns);
    kernels::rain_layer(layer.data(), sums.data(), static_cast<std::size_t>(width));
    kernels::repeat_pixels(samples.data(), layer.data(), static_cast<std::size_t>(width),
                           first.channels());
    if constexpr (std::same_as<T, float>)
      for (std::size_t i = 0; i < first.row_samples(); ++i)
        levels[i] = static_cast<float>(samples[i]) / 255;
    for (std::size_t f = 0; f < frames.size(); ++f) {
      T* const dst = frames.dst[f].row(y);
      if constexpr (std::same_as<T, float>)
        kernels::add_levels(dst, frames.src[f].row(y), levels.data(), first.row_samples());
      else
        kernels::add_layer(dst, frames.src[f].row(y), samples.data(), first.row_samples());
      if (draw.brightness != 1)
        for (std::size_t i = 0; i < first.row_samples(); ++i) {
          const double value = dst[i] * draw.brightness;
          dst[i] = static_cast<T>(std::same_as<T, float> ? value : std::floor(value + 0.5));
        }
    }
  }
}

}  // namespace

TransformSpec rain_spec() {
  using P = RainParams;
  using D = RainDraw;
  return make_transform(Definition<P, D>{
      .name = "Rain",
      .doc = "height / 3 lines of grey 200, `drop_width` wide and an eighth of the height long (at "
             "least `drop_height`), leaning up to 10 pixels, on black, blurred by a 7 x 7 box, are "
             "added; then times `brightness_coefficient`. Alike in all channels and frames.",
      .parity = Parity::property,
      .params = {field("drop_width", &P::drop_width, 1, 100, "pixels"),
                 field("drop_height", &P::drop_height, 1, 4096,
                       "pixels; an eighth of the image's height where that is more"),
                 field("brightness_coefficient", &P::brightness_coefficient, 0.001, 1)},
      .draw = {field("slant", &D::slant, -1000, 1000, "pixels to the right over a drop's length"),
               field("drop_length", &D::drop_length, 1, 100000, "pixels"),
               field("drop_width", &D::drop_width, 1, 100, "pixels"),
               field("drop_count", &D::drop_count, 0, 1000000),
               field("brightness", &D::brightness, 0.001, 1),
               field("key", &D::key, "of the places"),
               field("drops", &D::drops, 0, 65535,
                     "x, y, x, y, ...: instead of drop_count and key, when given")},
      .sample = sample,
      .fast = {rain_fast, rain_fast},
      .reference = {rain_reference, rain_reference},
      .f32 = {.max = 1e-6, .reason = "single precision"},
      .in_place = true});
}

}  // namespace sluice::aug
