// sluice/aug/geometry/random_jigsaw.cpp - tiles of a grid change places.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/make_transform.h"
#include "sluice/aug/pixels.h"

#include <fmt/format.h>

#include <numeric>

namespace sluice::aug {
namespace {

constexpr std::size_t kMaxBands = 16;

struct RandomJigsawParams {
  std::array<int, 2> grid{4, 4};  // rows, columns
};
struct RandomJigsawDraw {
  Few<int, kMaxBands> heights, widths;             // pixels of each row and column of tiles
  Few<std::uint8_t, kMaxBands * kMaxBands> order;  // tile i shows what tile order[i] showed
};

/// `count` lengths that differ by at most one; which are the longer ones is drawn.
Few<int, kMaxBands> split(Rng& rng, int length, int count) {
  Few<int, kMaxBands> bands;
  for (int i = 0; i < count; ++i)
    bands.push(length / count + (i < length % count ? 1 : 0));
  rng.shuffle(std::span(bands.values.data(), bands.count));
  return bands;
}

RandomJigsawDraw sample(const RandomJigsawParams& params, Rng& rng, Shape input) {
  RandomJigsawDraw draw;
  draw.heights = split(rng, input.height, params.grid[0]);
  draw.widths = split(rng, input.width, params.grid[1]);
  const std::size_t columns = draw.widths.size();
  draw.order.count = draw.heights.size() * columns;
  // Tiles of one size are shuffled among themselves: there are at most two heights and two widths.
  std::array<bool, kMaxBands * kMaxBands> placed{};
  for (std::size_t first = 0; first < draw.order.count; ++first) {
    if (placed[first]) continue;
    Few<std::uint8_t, kMaxBands * kMaxBands> alike;
    for (std::size_t i = first; i < draw.order.count; ++i)
      if (draw.heights[i / columns] == draw.heights[first / columns] &&
          draw.widths[i % columns] == draw.widths[first % columns]) {
        alike.push(static_cast<std::uint8_t>(i));
        placed[i] = true;
      }
    Few<std::uint8_t, kMaxBands* kMaxBands> shuffled = alike;
    rng.shuffle(std::span(shuffled.values.data(), shuffled.count));
    for (std::size_t i = 0; i < alike.size(); ++i)
      draw.order[alike[i]] = shuffled[i];
  }
  return draw;
}

Status fits(const RandomJigsawDraw& draw, Shape input) {
  const std::size_t columns = draw.widths.size(), count = draw.order.size();
  const auto unsuited = [&](const std::string& what) {
    return Error{Errc::invalid_input, "RandomJigsaw: " + what};
  };
  if (std::accumulate(draw.heights.begin(), draw.heights.end(), 0) != input.height ||
      std::accumulate(draw.widths.begin(), draw.widths.end(), 0) != input.width)
    return unsuited(fmt::format("widths {} and heights {} of tiles: they must add up to {} and {}",
                                fmt::join(draw.widths, " "), fmt::join(draw.heights, " "),
                                input.width, input.height));
  if (count != draw.heights.size() * columns)
    return unsuited(
        fmt::format("an order of {} tiles: there are {}", count, draw.heights.size() * columns));
  for (std::size_t i = 0; i < count; ++i) {
    const std::size_t from = draw.order[i];
    if (from >= count || draw.heights[from / columns] != draw.heights[i / columns] ||
        draw.widths[from % columns] != draw.widths[i % columns])
      return unsuited(fmt::format("tile {} in the place of tile {}: sizes must agree", from, i));
  }
  return ok;
}

/// Where the bands begin.
std::array<int, kMaxBands> starts(const Few<int, kMaxBands>& bands) {
  std::array<int, kMaxBands> begin{};
  for (std::size_t i = 1; i < bands.size(); ++i)
    begin[i] = begin[i - 1] + bands[i - 1];
  return begin;
}

template <class T>
void random_jigsaw_reference(ImageSpan<T> dst, ImageView<T> src, const RandomJigsawDraw& draw) {
  const std::size_t columns = draw.widths.size();
  const auto top = starts(draw.heights), left = starts(draw.widths);
  for (std::size_t tile = 0; tile < draw.order.size(); ++tile) {
    const std::size_t row = tile / columns, column = tile % columns;
    const std::size_t from = draw.order[tile];
    for (int y = 0; y < draw.heights[row]; ++y)
      for (int x = 0; x < draw.widths[column]; ++x)
        for (int c = 0; c < src.channels(); ++c)
          dst.at(left[column] + x, top[row] + y, c) =
              src.at(left[from % columns] + x, top[from / columns] + y, c);
  }
}

template <class T>
void random_jigsaw_fast(const Frames<T>& frames, const RandomJigsawDraw& draw, Scratch&) {
  const std::size_t columns = draw.widths.size();
  const auto top = starts(draw.heights), left = starts(draw.widths);
  for (std::size_t f = 0; f < frames.size(); ++f) {
    const ImageSpan<T>& dst = frames.dst[f];
    const ImageView<T>& src = frames.src[f];
    const std::size_t pixel = pixel_bytes(src);
    for (std::size_t row = 0; row < draw.heights.size(); ++row)
      for (int y = 0; y < draw.heights[row]; ++y) {
        std::uint8_t* to = row_as_bytes<T>(dst, top[row] + y);
        for (std::size_t column = 0; column < columns; ++column) {
          const std::size_t from = draw.order[row * columns + column];
          const std::size_t bytes = static_cast<std::size_t>(draw.widths[column]) * pixel;
          std::memcpy(to,
                      row_as_bytes<T>(src, top[from / columns] + y) +
                          static_cast<std::size_t>(left[from % columns]) * pixel,
                      bytes);
          to += bytes;
        }
      }
  }
}

}  // namespace

TransformSpec random_jigsaw_spec() {
  return make_transform(Definition<RandomJigsawParams, RandomJigsawDraw>{
      .name = "RandomJigsaw",
      .doc = "Cuts the image into `grid` tiles and shuffles those of one size. Where a side does "
             "not divide, which rows or columns of tiles are one pixel longer is drawn.",
      .parity = Parity::equal,
      .params = {field("grid", &RandomJigsawParams::grid, 1, kMaxBands, "rows, columns")},
      .draw = {field("heights", &RandomJigsawDraw::heights, 0, image::kMaxSide),
               field("widths", &RandomJigsawDraw::widths, 0, image::kMaxSide),
               field("order", &RandomJigsawDraw::order, 0, kMaxBands * kMaxBands - 1)},
      .sample = sample,
      .fits = fits,
      .fast = {random_jigsaw_fast, random_jigsaw_fast},
      .reference = {random_jigsaw_reference, random_jigsaw_reference}});
}

}  // namespace sluice::aug
