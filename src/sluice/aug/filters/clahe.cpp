// sluice/aug/filters/clahe.cpp - contrast-limited adaptive histogram equalisation of the lightness.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/border.h"
#include "sluice/aug/filters/lab.h"
#include "sluice/aug/kernels/lab_rows.h"
#include "sluice/aug/kernels/levels.h"
#include "sluice/aug/kernels/tile_luts.h"
#include "sluice/aug/make_transform.h"

#include <algorithm>
#include <cmath>

namespace sluice::aug {
namespace {

struct ClaheParams {
  std::array<double, 2> clip_limit = {1, 4};
  std::array<int, 2> tile_grid = {8, 8};  // rows, columns
};
struct ClaheDraw {
  double clip_limit = 2;  // times the mean count of a level
  std::array<int, 2> tile_grid = {8, 8};
};

ClaheDraw sample(const ClaheParams& params, Rng& rng, Shape) {
  return {rng.uniform(params.clip_limit[0], params.clip_limit[1]), params.tile_grid};
}

/// Between the centres of two tiles of this side: which pair, and the share of the second.
struct Between {
  int pair = 0;
  std::int16_t first = 0, second = 0;  // 32768ths
};
Between between(int at, int tile) {
  const std::int64_t twice = 2 * std::int64_t{at} + tile;
  const std::int64_t share = (twice % (2 * tile) * 32768 + tile) / (2 * tile);
  return {static_cast<int>(twice / (2 * tile)),
          static_cast<std::int16_t>(std::min<std::int64_t>(32768 - share, 32767)),
          static_cast<std::int16_t>(std::min<std::int64_t>(share, 32767))};
}

// The definition.

/// a b / 32768, rounded half up.
int product(int a, int b) {
  return (a * b + 16384) >> 15;
}
std::uint8_t level(int value) {
  return static_cast<std::uint8_t>(std::clamp(value, 0, 255));
}

std::array<std::uint8_t, 3> lab_of_reference(const std::uint8_t* rgb) {
  const LabTables& tables = lab_tables();
  std::array<int, 3> f{};
  std::array<std::size_t, 3> t{};
  for (std::size_t i = 0; i < 3; ++i) {
    std::uint32_t sum = 512;
    for (std::size_t c = 0; c < 3; ++c)
      sum += tables.share[i][c][rgb[c]];
    t[i] = sum / 1024;
    f[i] = tables.f[t[i]];
  }
  return {tables.lightness[t[1]], level(128 + product(f[0] - f[1], 500)),
          level(128 + product(f[1] - f[2], 200))};
}

void rgb_of_reference(std::uint8_t* rgb, const std::array<std::uint8_t, 3>& lab) {
  const LabTables& tables = lab_tables();
  const int y = kLabYFirst + product(lab[0] * 128, kLabYStep);
  const std::array<int, 3> q = {y + product((lab[1] - 128) * 128, kLabXStep), y,
                                y - product((lab[2] - 128) * 128, kLabZStep)};
  std::array<int, 3> v{};
  for (std::size_t i = 0; i < 3; ++i)
    v[i] = q[i] < kLabLinear ? product(q[i], kLabSlope) - kLabOffset
                             : product(product(q[i], q[i]), q[i]);
  for (std::size_t c = 0; c < 3; ++c) {
    int sum = 0;
    for (std::size_t i = 0; i < 3; ++i) {
      const int factor = tables.from_xyz[c][i];  // applied in two parts where it is large
      sum += product(v[i], std::min(factor, 32767)) + product(v[i], std::max(factor - 32767, 0));
    }
    rgb[c] = tables.encode[static_cast<std::size_t>(std::clamp(sum, 0, 4095))];
  }
}

/// The table of one tile of the plane, by the rule of OpenCV.
std::array<std::uint8_t, 256> lut_reference(const std::vector<std::uint8_t>& plane, int width,
                                            int height, int x0, int y0, int tile_width,
                                            int tile_height, double clip_limit) {
  std::array<int, 256> counts{};
  for (int y = y0; y < y0 + tile_height; ++y)
    for (int x = x0; x < x0 + tile_width; ++x)
      ++counts[plane[static_cast<std::size_t>(reflect_101(y, height)) *
                         static_cast<std::size_t>(width) +
                     static_cast<std::size_t>(reflect_101(x, width))]];
  const int area = tile_width * tile_height;
  const int clip = std::max(static_cast<int>(clip_limit * area / 256), 1);
  int excess = 0;
  for (int& count : counts) {
    excess += std::max(count - clip, 0);
    count = std::min(count, clip);
  }
  const int rest = excess % 256;
  for (int k = 0; k < 256; ++k) {
    const int step = rest == 0 ? 1 : std::max(256 / rest, 1);
    counts[static_cast<std::size_t>(k)] +=
        excess / 256 + (k % step == 0 && k / step < rest ? 1 : 0);
  }
  std::array<std::uint8_t, 256> lut{};
  double sum = 0;
  for (std::size_t k = 0; k < 256; ++k) {
    sum += counts[k];
    lut[k] = level(static_cast<int>(std::floor(sum * 255 / area + 0.5)));
  }
  return lut;
}

void clahe_u8_reference(ImageSpan<std::uint8_t> dst, ImageView<std::uint8_t> src,
                        const ClaheDraw& draw) {
  const int width = src.width(), height = src.height();
  const int rows = draw.tile_grid[0], columns = draw.tile_grid[1];
  const int extra = width % columns == 0 && height % rows == 0 ? 0 : 1;
  const int tile_width = width / columns + extra, tile_height = height / rows + extra;
  const auto at = [&](int x, int y) {
    return static_cast<std::size_t>(y) * static_cast<std::size_t>(width) +
           static_cast<std::size_t>(x);
  };
  std::vector<std::array<std::uint8_t, 3>> lab(src.samples() / 3);
  std::vector<std::uint8_t> plane(lab.size());
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      lab[at(x, y)] = lab_of_reference(&src.at(x, y, 0));
      plane[at(x, y)] = lab[at(x, y)][0];
    }
  std::vector<std::array<std::uint8_t, 256>> luts;
  for (int r = 0; r < rows; ++r)
    for (int c = 0; c < columns; ++c)
      luts.push_back(lut_reference(plane, width, height, c * tile_width, r * tile_height,
                                   tile_width, tile_height, draw.clip_limit));
  for (int y = 0; y < height; ++y)
    for (int x = 0; x < width; ++x) {
      const Between h = between(x, tile_width), v = between(y, tile_height);
      const std::uint8_t l = lab[at(x, y)][0];
      const auto column = [&](int c) {  // 128ths
        const auto of = [&](int r) {
          return 128 * luts[static_cast<std::size_t>(replicate(r, rows) * columns +
                                                     replicate(c, columns))][l];
        };
        return product(of(v.pair - 1), v.first) + product(of(v.pair), v.second);
      };
      const int blended = product(column(h.pair - 1), h.first) + product(column(h.pair), h.second);
      lab[at(x, y)][0] = level((blended + 64) >> 7);
      rgb_of_reference(&dst.at(x, y, 0), lab[at(x, y)]);
    }
}

void clahe_f32_reference(ImageSpan<float> dst, ImageView<float> src, const ClaheDraw& draw) {
  std::vector<std::uint8_t> levels(src.samples());
  const ImageSpan<std::uint8_t> image(levels.data(), src.width(), src.height(), 3,
                                      src.row_samples());
  for (int y = 0; y < src.height(); ++y)
    for (std::size_t i = 0; i < src.row_samples(); ++i)
      image.row(y)[i] =
          level(static_cast<int>(std::floor(static_cast<double>(src.row(y)[i]) * 255 + 0.5)));
  std::vector<std::uint8_t> made(src.samples());
  const ImageSpan<std::uint8_t> output(made.data(), src.width(), src.height(), 3,
                                       src.row_samples());
  clahe_u8_reference(output, image, draw);
  for (int y = 0; y < src.height(); ++y)
    for (std::size_t i = 0; i < src.row_samples(); ++i)
      dst.row(y)[i] = static_cast<float>(output.row(y)[i]) / 255.0F;
}

// The fast path.

/// Memory and what depends on the shape only.
class Clahe {
 public:
  Clahe(Shape shape, const ClaheDraw& draw, Scratch& scratch)
      : tiling_(shape.width, shape.height, draw.tile_grid[1], draw.tile_grid[0], draw.clip_limit),
        width_(static_cast<std::size_t>(shape.width)),
        pitch_(kernels::lab_pitch(width_)) {
    const auto tiles = static_cast<std::size_t>(tiling_.columns * tiling_.rows);
    const auto cells = static_cast<std::size_t>((tiling_.columns + 1) * (tiling_.rows + 1));
    planes_ =
        scratch.take<std::uint8_t>(3 * pitch_ * static_cast<std::size_t>(shape.height)).data();
    luts_ = scratch.take<std::uint8_t>(tiles * 256).data();
    cells_ = scratch.take<std::uint64_t>(cells * 256).data();
    row_ = scratch.take<std::byte>(kernels::lab_row_bytes(width_)).data();
    const auto cells_across = static_cast<std::size_t>(tiling_.columns) + 1;
    const auto starts = scratch.take<std::uint32_t>(cells_across + 1);
    const auto left = scratch.take<std::int16_t>(pitch_),
               right = scratch.take<std::int16_t>(pitch_);
    std::fill(starts.begin(), starts.end(), static_cast<std::uint32_t>(width_));
    for (std::size_t x = width_; x-- > 0;) {
      const Between place = between(static_cast<int>(x), tiling_.tile_width);
      std::fill_n(starts.begin(), place.pair + 1, static_cast<std::uint32_t>(x));
      left[x] = place.first;
      right[x] = place.second;
    }
    columns_ = {cells_across, starts.data(), left.data(), right.data()};
  }

  /// from(y) is a row of RGB; to(y, fill) calls fill with where the result goes.
  template <class From, class To>
  void run(From from, To to) const {
    for (int y = 0; y < tiling_.height; ++y)
      kernels::rgb_to_lab(plane(y, 0), plane(y, 1), plane(y, 2), from(y), width_, row_);
    kernels::make_tile_luts(luts_, planes_, 3 * pitch_, tiling_);
    kernels::make_cells(cells_, luts_, tiling_);
    for (int y = 0; y < tiling_.height; ++y) {
      const Between place = between(y, tiling_.tile_height);
      kernels::blend_levels(plane(y, 0), cells_ + place.pair * (tiling_.columns + 1) * 256,
                            columns_, place.first, place.second, width_, row_);
      to(y, [&](std::uint8_t* rgb) {
        kernels::lab_to_rgb(rgb, plane(y, 0), plane(y, 1), plane(y, 2), width_, row_);
      });
    }
  }

 private:
  [[nodiscard]] std::uint8_t* plane(int y, std::size_t i) const {
    return planes_ + (static_cast<std::size_t>(y) * 3 + i) * pitch_;
  }

  kernels::Tiling tiling_;
  std::size_t width_;
  std::size_t pitch_;  // the three planes lie row by row
  std::uint8_t* planes_ = nullptr;
  std::uint8_t* luts_ = nullptr;
  std::uint64_t* cells_ = nullptr;
  std::byte* row_ = nullptr;
  kernels::BlendColumns columns_;
};

void clahe_u8_fast(const Frames<std::uint8_t>& frames, const ClaheDraw& draw, Scratch& scratch) {
  const Clahe clahe(shape_of(frames.src[0]), draw, scratch);
  for (std::size_t f = 0; f < frames.size(); ++f)
    clahe.run([&](int y) { return frames.src[f].row(y); },
              [&](int y, auto fill) { fill(frames.dst[f].row(y)); });
}

void clahe_f32_fast(const Frames<float>& frames, const ClaheDraw& draw, Scratch& scratch) {
  const Clahe clahe(shape_of(frames.src[0]), draw, scratch);
  const std::size_t samples = frames.src[0].row_samples();
  std::uint8_t* levels = scratch.take<std::uint8_t>(samples).data();
  for (std::size_t f = 0; f < frames.size(); ++f)
    clahe.run(
        [&](int y) {
          kernels::to_levels(levels, frames.src[f].row(y), samples);
          return levels;
        },
        [&](int y, auto fill) {
          fill(levels);
          kernels::from_levels(frames.dst[f].row(y), levels, samples);
        });
}

}  // namespace

TransformSpec clahe_spec() {
  return make_transform(Definition<ClaheParams, ClaheDraw>{
      .name = "CLAHE",
      .doc =
          "L of 8-bit L*a*b* is equalised tile by tile, counts clipped at `clip_limit` times "
          "their mean, tables blended between tile centres; a and b stay. All in fixed point; f32 "
          "through u8.",
      .parity = Parity::smooth,
      .params = {range("clip_limit", &ClaheParams::clip_limit, 1, 256, "times the mean count"),
                 field("tile_grid", &ClaheParams::tile_grid, 1, 64, "rows and columns")},
      .draw = {field("clip_limit", &ClaheDraw::clip_limit, 1, 256),
               field("tile_grid", &ClaheDraw::tile_grid, 1, 64)},
      .sample = sample,
      .fast = {clahe_u8_fast, clahe_f32_fast},
      .reference = {clahe_u8_reference, clahe_f32_reference},
      .f32 = {.max = 2e-7, .reason = "a level times 1/255 instead of divided by 255"},
      .channels = ChannelRule::rgb});
}

}  // namespace sluice::aug
