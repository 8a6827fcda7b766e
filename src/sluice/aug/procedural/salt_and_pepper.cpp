// sluice/aug/procedural/salt_and_pepper.cpp - some pixels become white, some black.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/kernels/shuffle_index.h"
#include "sluice/aug/make_transform.h"
#include "sluice/aug/procedural/noise.h"

#include <algorithm>
#include <cmath>
#include <cstring>
#include <vector>

namespace sluice::aug {
namespace {

struct SaltAndPepperParams {
  std::array<double, 2> amount = {0.01, 0.06};        // share of the pixels
  std::array<double, 2> salt_vs_pepper = {0.4, 0.6};  // share of salt among them
};
struct SaltAndPepperDraw {
  double amount = 0;
  double salt = 0;
  std::uint64_t key = 0;
};

SaltAndPepperDraw sample(const SaltAndPepperParams& params, Rng& rng, Shape) {
  const double amount = rng.uniform(params.amount[0], params.amount[1]);
  const double salt = rng.uniform(params.salt_vs_pepper[0], params.salt_vs_pepper[1]);
  return {amount, salt, rng.next_u64()};
}

struct Counts {
  std::size_t salt, pepper;
};
Counts counts_of(const SaltAndPepperDraw& draw, std::size_t pixels) {
  const double all = static_cast<double>(pixels) * draw.amount;
  return {static_cast<std::size_t>(all * draw.salt),
          static_cast<std::size_t>(all * (1 - draw.salt))};
}

template <class T>
void salt_and_pepper_reference(ImageSpan<T> dst, ImageView<T> src, const SaltAndPepperDraw& draw) {
  const auto pixels = static_cast<std::uint32_t>(src.width() * src.height());
  const Counts counts = counts_of(draw, pixels);
  const ShuffledIndex order(draw.key, pixels);
  std::vector<int> paint(pixels, -1);
  std::size_t painted = 0;
  for (std::uint32_t i = 0; painted < counts.salt + counts.pepper; ++i)
    if (const std::uint32_t at = order.at(i); at < pixels)
      paint[at] = painted++ < counts.salt ? 1 : 0;
  for (int y = 0; y < src.height(); ++y)
    for (int x = 0; x < src.width(); ++x)
      for (int c = 0; c < src.channels(); ++c) {
        const int with = paint[static_cast<std::size_t>(y * src.width() + x)];
        dst.at(x, y, c) = with < 0 ? src.at(x, y, c) : with > 0 ? kMaxSample<T> : T{0};
      }
}

template <class T>
void copy(const ImageSpan<T>& dst, const ImageView<T>& src) {
  if (dst.data() == src.data()) return;
  if (dst.contiguous() && src.contiguous()) {
    std::memcpy(dst.data(), src.data(), src.samples() * sizeof(T));
    return;
  }
  for (int y = 0; y < src.height(); ++y)
    std::memcpy(dst.row(y), src.row(y), src.row_samples() * sizeof(T));
}

template <class T>
void paint(const ImageSpan<T>& dst, std::span<const std::uint32_t> places, T value) {
  const auto channels = static_cast<std::size_t>(dst.channels());
  const auto width = static_cast<std::uint32_t>(dst.width());
  if (dst.contiguous() && channels == 3) {
    T* const data = dst.data();
    for (const std::uint32_t at : places) {
      T* const pixel = data + std::size_t{3} * at;
      pixel[0] = pixel[1] = pixel[2] = value;
    }
    return;
  }
  for (const std::uint32_t at : places) {
    T* const pixel = dst.row(static_cast<int>(at / width)) + at % width * channels;
    std::fill_n(pixel, channels, value);
  }
}

template <class T>
void salt_and_pepper_fast(const Frames<T>& frames, const SaltAndPepperDraw& draw,
                          Scratch& scratch) {
  const auto pixels = static_cast<std::uint32_t>(frames.src[0].width() * frames.src[0].height());
  const Counts counts = counts_of(draw, pixels);
  const std::size_t painted = counts.salt + counts.pepper;
  const auto places = scratch.take<std::uint32_t>(painted);
  kernels::shuffled_indices(places.data(), painted, ShuffledIndex(draw.key, pixels), pixels);
  for (std::size_t f = 0; f < frames.size(); ++f) {
    copy(frames.dst[f], frames.src[f]);
    paint<T>(frames.dst[f], places.first(counts.salt), kMaxSample<T>);
    paint<T>(frames.dst[f], places.subspan(counts.salt), T{0});
  }
}

}  // namespace

TransformSpec salt_and_pepper_spec() {
  using P = SaltAndPepperParams;
  using D = SaltAndPepperDraw;
  return make_transform(Definition<P, D>{
      .name = "SaltAndPepper",
      .doc = "floor(pixels * amount * salt) pixels become the largest sample in all channels, "
             "floor(pixels * amount * (1 - salt)) others 0; the same in all frames of a clip.",
      .parity = Parity::property,
      .params = {range("amount", &P::amount, 0, 1, "share of the pixels"),
                 range("salt_vs_pepper", &P::salt_vs_pepper, 0, 1, "share of salt among them")},
      .draw = {field("amount", &D::amount, 0, 1), field("salt", &D::salt, 0, 1),
               field("key", &D::key, "of the places")},
      .sample = sample,
      .fast = {salt_and_pepper_fast, salt_and_pepper_fast},
      .reference = {salt_and_pepper_reference, salt_and_pepper_reference},
      .in_place = true});
}

}  // namespace sluice::aug
