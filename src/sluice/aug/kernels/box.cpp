// sluice/aug/kernels/box.cpp - means over squares and points, compiled once per instruction set.
// SPDX-License-Identifier: Apache-2.0
//
// Squares: a line of column sums slides down the image (one row comes, one goes), the row pass adds
// `side` of them. Points: rows are copied into a ring of lines with margins, and each point is a
// pointer into one of them. Ladder: bench/kernels/box.md.
#include "sluice/aug/kernels/box.h"

#undef HWY_TARGET_INCLUDE
#define HWY_TARGET_INCLUDE "sluice/aug/kernels/box.cpp"
// clang-format off: foreach_target.h compiles this file once per target and must come first.
#include <hwy/foreach_target.h>
#include <hwy/highway.h>
// clang-format on
#include "sluice/aug/kernels/filter-inl.h"

#include <array>
#include <cmath>

HWY_BEFORE_NAMESPACE();
namespace sluice::aug::kernels::HWY_NAMESPACE {

using image::ImageSpan;
using image::ImageView;
using DF = hn::ScalableTag<float>;
using VF = hn::Vec<DF>;

/// Sums over the whole columns at y = 0; later rows come by sliding.
void start_columns(std::uint16_t* line, ImageView<std::uint8_t> src, int radius) {
  const std::size_t count = src.row_samples();
  for (int k = -radius; k <= radius; ++k) {
    const std::uint8_t* from = src.row(reflect_101(k, src.height()));
    const bool first = k == -radius;
    for_vectors(count / hn::Lanes(D8()) * hn::Lanes(D8()), hn::Lanes(D8()),
                [=](std::size_t i) HWY_ATTR {
                  const Pair x = load_pair(from + i);
                  store_pair(first ? x : add(x, load_pair(line + i)), line + i);
                });
    for (std::size_t i = count / hn::Lanes(D8()) * hn::Lanes(D8()); i < count; ++i)
      line[i] = static_cast<std::uint16_t>(from[i] + (first ? 0 : line[i]));
  }
}

/// No step may overlap another here: sums are changed in place.
void slide_columns(std::uint16_t* line, const std::uint8_t* coming, const std::uint8_t* going,
                   std::size_t count) {
  const std::size_t lanes = hn::Lanes(D8());
  std::size_t i = 0;
  for (; i + lanes <= count; i += lanes) {
    const Pair sum = load_pair(line + i), in = load_pair(coming + i), out = load_pair(going + i);
    store_pair(
        {hn::Add(sum.low, hn::Sub(in.low, out.low)), hn::Add(sum.high, hn::Sub(in.high, out.high))},
        line + i);
  }
  for (; i < count; ++i)
    line[i] = static_cast<std::uint16_t>(line[i] + coming[i] - going[i]);
}

/// sums / kSide^2, rounded to nearest: the product keeps kShift bits of the quotient behind the
/// point, loses less than the half of a sample's share, and an odd divisor has no ties. Proved at
/// every boundary of every side in tests/aug/filters_test.cpp.
template <int kSide, int kShift>
struct Divide {
  static constexpr long kFactor = ((2L << (16 + kShift)) / (kSide * kSide) + 1) / 2;
#if HWY_TARGET == HWY_NEON
  static constexpr bool kSigned = 255 * kSide * kSide < 32768;  // one doubling product each
#else
  static constexpr bool kSigned = false;
#endif
  HWY_INLINE hn::Vec<D8> operator()(Pair sum) const {
#if HWY_TARGET == HWY_NEON
    if constexpr (kSigned) {
      const auto factor = vdupq_n_s16(static_cast<std::int16_t>((kFactor + 1) / 2));
      const SignedPair s = as_signed(sum);
      return narrow_rounded<kShift>(
          {VI16(vqdmulhq_s16(s.low.raw, factor)), VI16(vqdmulhq_s16(s.high.raw, factor))});
    }
#endif
    const auto factor = hn::Set(D16(), static_cast<std::uint16_t>(kFactor));
    return narrow_rounded<kShift>(
        as_signed({hn::MulHigh(sum.low, factor), hn::MulHigh(sum.high, factor)}));
  }
};

template <int kSide, int kShift>
void box_side(ImageSpan<std::uint8_t> dst, ImageView<std::uint8_t> src, std::uint16_t* memory) {
  constexpr int kRadius = kSide / 2;
  const auto channels = static_cast<std::size_t>(src.channels());
  const std::size_t count = src.row_samples();
  std::uint16_t* line = memory + kRadius * channels;
  const Divide<kSide, kShift> divide;
  start_columns(line, src, kRadius);
  for (int y = 0; y < src.height(); ++y) {
    if (y > 0)
      slide_columns(line, src.row(reflect_101(y + kRadius, src.height())),
                    src.row(reflect_101(y - kRadius - 1, src.height())), count);
    mirror_margins(line, src.width(), src.channels(), kRadius);
    std::uint8_t* to = dst.row(y);
    const std::uint16_t* first = memory;
    for_vectors(count, hn::Lanes(D8()), [=](std::size_t i) HWY_ATTR {
      Pair sum = load_pair(first + i);
      for (std::size_t k = 1; k < kSide; ++k)
        sum = add(sum, load_pair(first + i + k * channels));
      hn::StoreU(divide(sum), D8(), to + i);
    });
  }
}

void box_u8(ImageSpan<std::uint8_t> dst, ImageView<std::uint8_t> src, int side,
            std::uint16_t* line) {
  switch (side) {
    case 3:
      return box_side<3, 3>(dst, src, line);
    case 5:
      return box_side<5, 4>(dst, src, line);
    case 7:
      return box_side<7, 5>(dst, src, line);
    case 9:
      return box_side<9, 6>(dst, src, line);
    case 11:
      return box_side<11, 6>(dst, src, line);
    case 13:
      return box_side<13, 7>(dst, src, line);
    default:
      return box_side<15, 7>(dst, src, line);
  }
}

void box_f32(ImageSpan<float> dst, ImageView<float> src, int side, float* memory) {
  const DF d;
  const int radius = side / 2;
  const auto channels = static_cast<std::size_t>(src.channels());
  const auto taps = static_cast<std::size_t>(side);
  const std::size_t count = src.row_samples();
  float* line = memory + static_cast<std::size_t>(radius) * channels;
  const VF factor = hn::Set(d, 1.0F / static_cast<float>(side * side));
  for (int y = 0; y < src.height(); ++y) {
    std::array<const float*, kMaxBoxSide> rows{};
    for (int k = 0; k < side; ++k)
      rows[static_cast<std::size_t>(k)] = src.row(reflect_101(y + k - radius, src.height()));
    for_vectors(count, hn::Lanes(d), [=](std::size_t i) HWY_ATTR {
      VF sum = hn::LoadU(d, rows[0] + i);
      for (std::size_t k = 1; k < taps; ++k)
        sum = hn::Add(sum, hn::LoadU(d, rows[k] + i));
      hn::StoreU(sum, d, line + i);
    });
    mirror_margins(line, src.width(), src.channels(), radius);
    float* to = dst.row(y);
    const float* first = memory;
    for_vectors(count, hn::Lanes(d), [=](std::size_t i) HWY_ATTR {
      VF sum = hn::LoadU(d, first + i);
      for (std::size_t k = 1; k < taps; ++k)
        sum = hn::Add(sum, hn::LoadU(d, first + i + k * channels));
      hn::StoreU(hn::Mul(sum, factor), d, to + i);
    });
  }
}

/// Rows around y with their margins: a ring of 2 radius + 1 lines.
template <class T>
struct Ring {
  ImageView<T> src;
  int radius;
  T* memory;
  std::size_t line_samples;
  int filled = 0;  // rows before this one have been copied

  HWY_INLINE T* line(int y) const {
    return memory + static_cast<std::size_t>(y % (2 * radius + 1)) * line_samples +
           static_cast<std::size_t>(radius) * static_cast<std::size_t>(src.channels());
  }
  HWY_INLINE void reach(int y) {
    for (; filled <= y && filled < src.height(); ++filled) {
      std::memcpy(line(filled), src.row(filled), src.row_bytes());
      mirror_margins(line(filled), src.width(), src.channels(), radius);
    }
  }
};

template <class T>
Ring<T> make_ring(ImageView<T> src, int radius, T* memory) {
  return {src, radius, memory,
          (static_cast<std::size_t>(src.width()) + 2 * static_cast<std::size_t>(radius)) *
              static_cast<std::size_t>(src.channels())};
}

template <class T>
using Places = std::array<const T*, kMaxPoints>;

template <class T>
Places<T> places_of(const Ring<T>& ring, std::span<const Point> points, int y) {
  Places<T> places{};
  for (std::size_t k = 0; k < points.size(); ++k)
    places[k] = ring.line(reflect_101(y + points[k].dy, ring.src.height())) +
                std::ptrdiff_t{points[k].dx} * ring.src.channels();
  return places;
}

template <std::size_t kPoints>
HWY_INLINE void mean_row(std::uint8_t* to, const Places<std::uint8_t>& all, std::size_t count) {
  std::array<const std::uint8_t*, kPoints> places;
  for (std::size_t k = 0; k < kPoints; ++k)
    places[k] = all[k];
  // Rounded up, so that halves of even counts go up too; exact for up to nine points.
  const auto factor = hn::Set(
      DI16(), static_cast<std::int16_t>(kPoints == 1 ? 32767 : (32767 + kPoints) / kPoints));
  for_vectors(count, hn::Lanes(D8()), [=](std::size_t i) HWY_ATTR {
    Pair sum = load_pair(places[0] + i);
    for (std::size_t k = 1; k < kPoints; ++k)
      sum = add(sum, load_pair(places[k] + i));
    const SignedPair s = as_signed(sum);
    hn::StoreU(narrow({hn::MulFixedPoint15(s.low, factor), hn::MulFixedPoint15(s.high, factor)}),
               D8(), to + i);
  });
}

template <std::size_t kPoints>
HWY_INLINE void mean_row(float* to, const Places<float>& all, std::size_t count) {
  const DF d;
  std::array<const float*, kPoints> places;
  for (std::size_t k = 0; k < kPoints; ++k)
    places[k] = all[k];
  const VF factor = hn::Set(d, 1.0F / static_cast<float>(kPoints));
  for_vectors(count, hn::Lanes(d), [=](std::size_t i) HWY_ATTR {
    VF sum = hn::LoadU(d, places[0] + i);
    for (std::size_t k = 1; k < kPoints; ++k)
      sum = hn::Add(sum, hn::LoadU(d, places[k] + i));
    hn::StoreU(hn::Mul(sum, factor), d, to + i);
  });
}

template <class T>
void mean_of_points_of(ImageSpan<T> dst, ImageView<T> src, std::span<const Point> points,
                       int radius, T* lines) {
  Ring<T> ring = make_ring(src, radius, lines);
  for (int y = 0; y < src.height(); ++y) {
    ring.reach(y + radius);
    const Places<T> places = places_of(ring, points, y);
    T* to = dst.row(y);
    const std::size_t count = src.row_samples();
    switch (points.size()) {
      case 1:
        mean_row<1>(to, places, count);
        break;
      case 2:
        mean_row<2>(to, places, count);
        break;
      case 3:
        mean_row<3>(to, places, count);
        break;
      case 4:
        mean_row<4>(to, places, count);
        break;
      case 5:
        mean_row<5>(to, places, count);
        break;
      case 6:
        mean_row<6>(to, places, count);
        break;
      case 7:
        mean_row<7>(to, places, count);
        break;
      case 8:
        mean_row<8>(to, places, count);
        break;
      default:
        mean_row<9>(to, places, count);
        break;
    }
  }
}

void points_u8(ImageSpan<std::uint8_t> dst, ImageView<std::uint8_t> src,
               std::span<const Point> points, int radius, std::uint8_t* lines) {
  mean_of_points_of(dst, src, points, radius, lines);
}
void points_f32(ImageSpan<float> dst, ImageView<float> src, std::span<const Point> points,
                int radius, float* lines) {
  mean_of_points_of(dst, src, points, radius, lines);
}

}  // namespace sluice::aug::kernels::HWY_NAMESPACE
HWY_AFTER_NAMESPACE();

#if HWY_ONCE
namespace sluice::aug::kernels {

HWY_EXPORT(box_u8);
HWY_EXPORT(box_f32);
HWY_EXPORT(points_u8);
HWY_EXPORT(points_f32);

void box_blur(image::ImageSpan<std::uint8_t> dst, image::ImageView<std::uint8_t> src, int side,
              std::uint16_t* line) {
  HWY_DYNAMIC_DISPATCH(box_u8)(dst, src, side, line);
}
void box_blur(image::ImageSpan<float> dst, image::ImageView<float> src, int side, float* line) {
  HWY_DYNAMIC_DISPATCH(box_f32)(dst, src, side, line);
}
void mean_of_points(image::ImageSpan<std::uint8_t> dst, image::ImageView<std::uint8_t> src,
                    std::span<const Point> points, int radius, std::uint8_t* lines) {
  HWY_DYNAMIC_DISPATCH(points_u8)(dst, src, points, radius, lines);
}
void mean_of_points(image::ImageSpan<float> dst, image::ImageView<float> src,
                    std::span<const Point> points, int radius, float* lines) {
  HWY_DYNAMIC_DISPATCH(points_f32)(dst, src, points, radius, lines);
}

}  // namespace sluice::aug::kernels
#endif  // HWY_ONCE
