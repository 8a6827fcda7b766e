// sluice/image/resize/antialias_tables.cpp - the weights of the antialiased resize, in integers: no
// machine can disagree.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/resize/antialias_kernels.h"

#include <bit>
#include <cstring>

namespace sluice::image::detail {
namespace {

constexpr int kShareBits = 62;  // of a weight before it is rounded
constexpr std::size_t kStepLoad = 16;

/// One axis: what output positions look at, one after another. Weights are integers: M - |(2x + 1)
/// src - (2i + 1) dst| with M = 2 max(src, dst), in units of their sum.
class TapAxis {
 public:
  TapAxis(int dst, int src)
      : src_(src),
        step_(2 * std::int64_t{dst}),
        centre_(src),
        centre_step_(2 * std::int64_t{src}),
        reach_(2 * std::int64_t{std::max(src, dst)}),
        at_(dst) {}

  /// The next output position. share(k, weight, sum): its weights before they are divided.
  template <class Share>
  TapRange next(Share share) {
    while (at_ <= centre_ - reach_) {
      at_ += step_;
      ++first_;
    }
    TapRange taps{first_, 0};
    std::int64_t sum = 0;
    std::int64_t at = at_;
    for (int i = first_; i < src_ && at < centre_ + reach_; ++i, at += step_) {
      sum += weight(at);
      ++taps.count;
    }
    // One division for all of them, in double: rounded alike everywhere, and faster than in
    // integers.
    const auto inverse = static_cast<std::uint64_t>(0x1p62 / static_cast<double>(sum));
    for (std::int32_t k = 0; k < taps.count; ++k)
      share(static_cast<std::size_t>(k),
            static_cast<std::uint64_t>(weight(at_ + k * step_)) * inverse);
    centre_ += centre_step_;
    return taps;
  }

 private:
  [[nodiscard]] std::int64_t weight(std::int64_t at) const {
    return reach_ - (at < centre_ ? centre_ - at : at - centre_);
  }

  int src_;
  int first_ = 0;
  std::int64_t step_, centre_, centre_step_, reach_, at_;
};

/// The most taps an output position can have.
std::size_t taps_of(int dst, int src) {
  const std::int64_t most = src > dst ? 2 * std::int64_t{src} / dst + 1 : 2;
  return static_cast<std::size_t>(std::min<std::int64_t>(most, src));
}

/// Weights of `bits` bits from shares, rounded so that every sum of the first k is; all add up to
/// 2^bits exactly.
class RunningShares {
 public:
  explicit RunningShares(int bits) : shift_(kShareBits - bits) {}
  std::uint32_t next(std::uint64_t share) {
    sum_ += share;
    const std::uint64_t rounded = (sum_ + (std::uint64_t{1} << (shift_ - 1))) >> shift_;
    const std::uint64_t weight = rounded - given_;
    given_ = rounded;
    return static_cast<std::uint32_t>(weight);
  }
  /// What is missing of 2^bits: nothing, but for sums so large that their inverse is coarse.
  [[nodiscard]] std::uint32_t rest() const {
    return static_cast<std::uint32_t>((std::uint64_t{1} << (kShareBits - shift_)) - given_);
  }

 private:
  int shift_;
  std::uint64_t sum_ = 0, given_ = 0;
};

template <class Weight>
void make_axis(TapRange* ranges, Weight* weights, std::size_t stride, int dst, int src, int bits) {
  TapAxis axis(dst, src);
  for (int i = 0; i < dst; ++i, weights += stride) {
    RunningShares shares(bits);
    ranges[i] = axis.next([&](std::size_t k, std::uint64_t share) {
      weights[k] = static_cast<Weight>(shares.next(share));
    });
    Weight& last = weights[ranges[i].count - 1];
    last = static_cast<Weight>(static_cast<std::uint32_t>(last) + shares.rest());
    if constexpr (sizeof(Weight) == 2)  // a single tap: 2^15 does not fit, 1/128 of a level less
      if (ranges[i].count == 1) last = 32767;
  }
}

/// Shares rounded to 256ths that add up to 256: down, and up again those that lost most. Returns
/// how much too large the rounded-up ones are together, in shares: times 255 the most a sum can be
/// off.
std::uint64_t round_to_bytes(std::uint16_t* weights, std::uint64_t* shares, std::size_t count) {
  constexpr int kShift = kShareBits - 8;
  constexpr std::uint64_t kPart = (std::uint64_t{1} << kShift) - 1;
  std::uint64_t missing = 256;
  for (std::size_t k = 0; k < count; ++k) {
    weights[k] = static_cast<std::uint16_t>(shares[k] >> kShift);
    missing -= weights[k];
    shares[k] &= kPart;
  }
  std::uint64_t above = 0;
  for (; missing > 0; --missing) {
    std::size_t most = 0;
    for (std::size_t k = 1; k < count; ++k)
      if (shares[k] > shares[most]) most = k;
    ++weights[most];
    above += kPart + 1 - shares[most];
    shares[most] = 0;
  }
  return above;
}

constexpr std::size_t kMaxByteTaps = 8;

/// Eight bits for all columns, unless a sum could be off by more than a level, of which the rows
/// take their part. Returns the most taps of a column; 0: the weights are not to be used.
std::size_t make_byte_columns(TapRange* ranges, std::uint16_t* weights, std::size_t stride,
                              const ResizeShape& shape, std::size_t row_taps) {
  if (stride > kMaxByteTaps) return 0;
  std::int32_t taps = 0;
  // Of a held row a tap rounds 1/512, and its weight is off by up to 2^-15.
  const std::uint64_t level = std::uint64_t{1} << (kShareBits - 8);
  const std::uint64_t most =
      row_taps > kMaxHeldRows ? level - level / 100 : level - level / 160 * row_taps;
  TapAxis axis(shape.dst_width, shape.src_width);
  for (int x = 0; x < shape.dst_width; ++x, weights += stride) {
    std::uint64_t shares[kMaxByteTaps] = {};
    ranges[x] = axis.next([&](std::size_t k, std::uint64_t share) { shares[k] = share; });
    taps = std::max(taps, std::max(ranges[x].count, 2));  // 256 takes two, see make_step
    if (round_to_bytes(weights, shares, static_cast<std::size_t>(ranges[x].count)) > most) return 0;
  }
  return static_cast<std::size_t>(taps);
}

/// Whether one load holds two taps of all pixels of a group, everywhere.
bool loads_hold_groups(const TapRange* columns, const ResizeShape& shape, std::size_t per_group) {
  if (static_cast<std::size_t>(shape.src_width * shape.channels) < kStepLoad) return false;
  const auto width = static_cast<std::size_t>(shape.dst_width);
  for (std::size_t x = 0; x + per_group <= width; x += per_group) {
    const std::int32_t apart = columns[x + per_group - 1].first - columns[x].first;
    if (static_cast<std::size_t>((apart + 2) * shape.channels) > kStepLoad) return false;
  }
  return true;
}

/// Eight bytes that are a sample each, `channels` of one pixel after those of another; the first
/// lies lowest, in memory too (little-endian, as all machines of ours are).
class Lanes {
 public:
  explicit Lanes(std::int32_t channels) : bits_(8 * channels) {
    for (std::int32_t c = 0; c < channels; ++c) {
      ones_ |= std::uint64_t{1} << (8 * c);
      counted_ |= static_cast<std::uint64_t>(c) << (8 * c);
    }
  }
  /// All samples of pixel `p` are `value`; or `value` and the numbers after it.
  [[nodiscard]] std::uint64_t all(std::size_t p, int value) const {
    return (ones_ * static_cast<std::uint64_t>(value)) << (static_cast<std::size_t>(bits_) * p);
  }
  [[nodiscard]] std::uint64_t counted(std::size_t p, int value) const {
    return (ones_ * static_cast<std::uint64_t>(value) + counted_)
           << (static_cast<std::size_t>(bits_) * p);
  }

 private:
  int bits_;
  std::uint64_t ones_ = 0, counted_ = 0;
};

/// Step `j` of the group that begins with column x.
void make_step(AntialiasStep& step, std::int32_t& window, const AntialiasTables& tables,
               const ResizeShape& shape, const Lanes& lanes, std::size_t x, std::size_t j) {
  const std::int32_t channels = shape.channels;
  const auto tap = static_cast<std::int32_t>(2 * j);
  const std::int32_t begin = (tables.columns[x].first + tap) * channels;
  window = std::min(begin, shape.src_width * channels - static_cast<std::int32_t>(kStepLoad));
  std::uint64_t pick[2] = {}, weight[2] = {};
  for (std::size_t p = 0; p < tables.pixels_per_group; ++p) {
    const TapRange taps = tables.columns[x + p];
    const std::uint16_t* weights = tables.byte_weights + (x + p) * tables.column_taps + 2 * j;
    int lower = tap < taps.count ? weights[0] : 0;
    int upper = tap + 1 < taps.count ? weights[1] : 0;
    const std::int32_t at = (taps.first + tap) * channels - window;
    std::int32_t next = at + channels;
    if (lower == 256) {  // eight bits hold no 256: 255 and 1 of the same pixel
      lower = 255;
      upper = 1;
      next = at;
    }
    pick[0] |= lanes.counted(p, at);
    pick[1] |= lanes.counted(p, next);
    weight[0] |= lanes.all(p, lower);
    weight[1] |= lanes.all(p, upper);
  }
  for (std::uint64_t& one : pick)
    one &= 0x0f0f0f0f0f0f0f0f;  // beyond the load: weighs nothing
  std::memcpy(step.pick, pick, sizeof step.pick);
  std::memcpy(step.weight, weight, sizeof step.weight);
}

/// Where the tables of a shape lie in a block, and how long they are.
struct Layout {
  TapRange* columns;
  TapRange* rows;
  std::uint32_t* fine_weights;
  std::uint16_t* byte_weights = nullptr;
  std::int32_t* windows = nullptr;
  AntialiasStep* steps = nullptr;
  std::int16_t* row_weights = nullptr;
  std::uint32_t* fine_row_weights = nullptr;
  std::int16_t* held;
  std::uint64_t* sums[2] = {};
  std::size_t column_taps, row_taps, held_rows = 1, held_pitch;
  std::size_t per_group, groups;
  std::size_t bytes;

  Layout(const ResizeShape& shape, std::byte* memory)
      : column_taps(taps_of(shape.dst_width, shape.src_width)),
        row_taps(taps_of(shape.dst_height, shape.src_height)),
        per_group(shape.channels <= 4 ? 8 / static_cast<std::size_t>(shape.channels) : 1),
        groups(static_cast<std::size_t>(shape.dst_width) / per_group) {
    Pieces pieces(memory);
    const auto width = static_cast<std::size_t>(shape.dst_width);
    const auto height = static_cast<std::size_t>(shape.dst_height);
    const std::size_t samples = width * static_cast<std::size_t>(shape.channels);
    held_pitch = (samples + kRowSlack + 63) / 64 * 64;
    columns = pieces.take<TapRange>(width);
    rows = pieces.take<TapRange>(height);
    fine_weights = pieces.take<std::uint32_t>(width * column_taps);
    if (column_taps <= kMaxByteTaps) {
      byte_weights = pieces.take<std::uint16_t>(width * column_taps);
      const std::size_t count = groups * ((column_taps + 1) / 2);
      windows = pieces.take<std::int32_t>(count);
      steps = pieces.take<AntialiasStep>(count);
    }
    if (row_taps <= kMaxHeldRows) {
      row_weights = pieces.take<std::int16_t>(height * row_taps);
      held_rows = std::bit_ceil(row_taps + kRowsAtOnce - 1);
    } else {
      fine_row_weights = pieces.take<std::uint32_t>(height * row_taps);
      for (std::uint64_t*& one : sums)
        one = pieces.take<std::uint64_t>(samples);
    }
    held = pieces.take<std::int16_t>(held_rows * held_pitch);
    bytes = pieces.used();
  }
};

}  // namespace

std::size_t antialias_bytes(const ResizeShape& shape) {
  return Layout(shape, nullptr).bytes;
}

AntialiasTables make_antialias_tables(std::byte* memory, const ResizeShape& shape) {
  const Layout layout(shape, memory);
  AntialiasTables tables;
  tables.columns = layout.columns;
  tables.column_taps = layout.column_taps;
  tables.rows = layout.rows;
  tables.row_taps = layout.row_taps;
  tables.held = layout.held;
  tables.held_rows = layout.held_rows;
  tables.held_pitch = layout.held_pitch;
  std::copy(std::begin(layout.sums), std::end(layout.sums), std::begin(tables.sums));
  if (layout.row_weights != nullptr)
    make_axis(layout.rows, layout.row_weights, layout.row_taps, shape.dst_height, shape.src_height,
              15);
  else
    make_axis(layout.rows, layout.fine_row_weights, layout.row_taps, shape.dst_height,
              shape.src_height, kFineBits);
  tables.row_weights = layout.row_weights;
  tables.fine_row_weights = layout.fine_row_weights;

  if (shape.channels <= 4)
    tables.group_taps = make_byte_columns(layout.columns, layout.byte_weights, layout.column_taps,
                                          shape, layout.row_taps);
  if (tables.group_taps == 0 || !loads_hold_groups(layout.columns, shape, layout.per_group)) {
    make_axis(layout.columns, layout.fine_weights, layout.column_taps, shape.dst_width,
              shape.src_width, kFineBits);
    tables.fine_weights = layout.fine_weights;
    return tables;
  }
  tables.byte_weights = layout.byte_weights;
  tables.groups = layout.groups;
  tables.pixels_per_group = layout.per_group;
  tables.windows = layout.windows;
  tables.steps = layout.steps;
  const Lanes lanes(shape.channels);
  std::size_t i = 0;
  for (std::size_t g = 0; g < layout.groups; ++g)
    for (std::size_t j = 0; 2 * j < tables.group_taps; ++j, ++i)
      make_step(layout.steps[i], layout.windows[i], tables, shape, lanes, g * layout.per_group, j);
  return tables;
}

}  // namespace sluice::image::detail
