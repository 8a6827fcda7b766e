// sluice/scenario/micro/check.cpp - the definitions, as plain loops.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/micro/check.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstring>
#include <map>
#include <string_view>

namespace sluice::scenario {
namespace {

using View = image::ImageView<std::uint8_t>;

constexpr std::array<std::string_view, 13> kMayKeep = {
    "RandomRotate90", "ChannelShuffle", "RandomJigsaw", "AutoContrast",   "Equalize",
    "UnsharpMask",    "RandomCrop224",  "Resize",       "LongestMaxSize", "SmallestMaxSize",
    "Posterize",      "Grayscale",      "Normalize"};

Error wrong(std::string what) {
  return Error{Errc::measurement, std::move(what)};
}

int integer(const Json& params, const char* key) {
  return params.at(key).get<int>();
}

/// True when `at(x, y, c)` is the sample of `output` everywhere.
template <class At>
bool equals(View output, At at) {
  for (int y = 0; y < output.height(); ++y)
    for (int x = 0; x < output.width(); ++x)
      for (int c = 0; c < output.channels(); ++c)
        if (output.at(x, y, c) != at(x, y, c)) return false;
  return true;
}

bool is_turned(View input, View output, int times) {
  const int last_x = input.width() - 1, last_y = input.height() - 1;
  const bool swaps = times % 2 != 0;
  if (output.width() != (swaps ? input.height() : input.width()) ||
      output.height() != (swaps ? input.width() : input.height()))
    return false;
  return equals(output, [&](int x, int y, int c) {
    switch (times) {  // quarter turns, counter-clockwise
      case 1:
        return input.at(last_x - y, x, c);
      case 2:
        return input.at(last_x - x, last_y - y, c);
      case 3:
        return input.at(y, last_y - x, c);
      default:
        return input.at(x, y, c);
    }
  });
}

bool is_window_at(View input, View output, int left, int top) {
  return equals(output, [&](int x, int y, int c) { return input.at(left + x, top + y, c); });
}

/// A part of the input; not looked at where the input had to be padded.
bool is_window(View input, View output) {
  if (input.width() < output.width() || input.height() < output.height()) return true;
  for (int top = 0; top + output.height() <= input.height(); ++top)
    for (int left = 0; left + output.width() <= input.width(); ++left)
      if (is_window_at(input, output, left, top)) return true;
  return false;
}

/// Channel `c` of the output is channel `from` of the input, or zero (from -1).
bool channel_is(View input, View output, int c, int from) {
  for (int y = 0; y < output.height(); ++y)
    for (int x = 0; x < output.width(); ++x)
      if (output.at(x, y, c) != (from < 0 ? 0 : input.at(x, y, from))) return false;
  return true;
}

bool channels_permuted(View input, View output) {
  std::vector<bool> used(static_cast<std::size_t>(input.channels()), false);
  for (int c = 0; c < output.channels(); ++c) {
    bool found = false;
    for (int from = 0; from < input.channels() && !found; ++from) {
      const auto k = static_cast<std::size_t>(from);
      if (used[k] || !channel_is(input, output, c, from)) continue;
      used[k] = found = true;
    }
    if (!found) return false;
  }
  return true;
}

bool channels_dropped(View input, View output) {
  int dropped = 0;
  for (int c = 0; c < output.channels(); ++c) {
    if (channel_is(input, output, c, c)) continue;
    if (!channel_is(input, output, c, -1)) return false;
    ++dropped;
  }
  const bool all_kept = dropped == 0;
  return !all_kept || equals(input, [](int, int, int) { return 0; });
}

using Test = std::function<bool(View input, View output, const Json& params)>;

struct Definition {
  const char* meant;  // what the output should be
  Test holds;
};

const std::map<std::string, Definition, std::less<>>& definitions() {
  static const std::map<std::string, Definition, std::less<>> kDefinitions = {
      {"HorizontalFlip",
       {"the input, left and right exchanged",
        [](View in, View out, const Json&) {
          return equals(out, [&](int x, int y, int c) { return in.at(in.width() - 1 - x, y, c); });
        }}},
      {"VerticalFlip",
       {"the input, top and bottom exchanged",
        [](View in, View out, const Json&) {
          return equals(out, [&](int x, int y, int c) { return in.at(x, in.height() - 1 - y, c); });
        }}},
      {"Transpose",
       {"the input, rows and columns exchanged",
        [](View in, View out, const Json&) {
          return equals(out, [&](int x, int y, int c) { return in.at(y, x, c); });
        }}},
      {"Invert",
       {"255 less the input",
        [](View in, View out, const Json&) {
          return equals(out, [&](int x, int y, int c) { return 255 - in.at(x, y, c); });
        }}},
      {"Posterize",
       {"the high bits of the input",
        [](View in, View out, const Json& params) {
          const int mask = (0xFF << (8 - integer(params, "bits"))) & 0xFF;
          return equals(out, [&](int x, int y, int c) { return in.at(x, y, c) & mask; });
        }}},
      {"Pad",
       {"the input in a frame of the fill value",
        [](View in, View out, const Json& params) {
          const int border = integer(params, "padding"), fill = integer(params, "fill");
          return equals(out, [&](int x, int y, int c) {
            const int from_x = x - border, from_y = y - border;
            const bool inside =
                from_x >= 0 && from_x < in.width() && from_y >= 0 && from_y < in.height();
            return inside ? int{in.at(from_x, from_y, c)} : fill;
          });
        }}},
      {"RandomRotate90",
       {"a quarter turn of the input",
        [](View in, View out, const Json& params) {
          const Json& times = params.at("times");
          for (int k = times.at(0).get<int>(); k <= times.at(1).get<int>(); ++k)
            if (is_turned(in, out, k)) return true;
          return false;
        }}},
      {"RandomCrop224",
       {"a window of the input",
        [](View in, View out, const Json&) { return is_window(in, out); }}},
      {"ChannelShuffle",
       {"the channels of the input in another order",
        [](View in, View out, const Json&) { return channels_permuted(in, out); }}},
      {"ChannelDropout",
       {"the input with a channel set to zero",
        [](View in, View out, const Json&) { return channels_dropped(in, out); }}},
      {"Erasing",
       {"the input with a part of the fill value",
        [](View in, View out, const Json& params) {
          const int fill = integer(params, "fill");
          return equals(out, [&](int x, int y, int c) {
            return out.at(x, y, c) == fill ? fill : int{in.at(x, y, c)};
          });
        }}},
      {"Grayscale",
       {"an image of equal channels",
        [](View, View out, const Json&) {
          return equals(out, [&](int x, int y, int) { return out.at(x, y, 0); });
        }}},
  };
  return kDefinitions;
}

struct Size {
  int width;
  int height;
};

/// Within a pixel where a ratio is kept.
bool near(Size size, View input, double factor) {
  return std::abs(size.width - input.width() * factor) < 1 &&
         std::abs(size.height - input.height() * factor) < 1;
}

bool size_allowed(const MicroCase& one, View input, Size size) {
  const Json& params = one.params;
  const std::string& name = one.transform;
  const auto is = [&](int width, int height) {
    return size.width == width && size.height == height;
  };
  const int shorter = std::min(input.width(), input.height());
  const int longer = std::max(input.width(), input.height());
  const auto to = [&](const char* key, int side) {
    return static_cast<double>(integer(params, key)) / side;
  };
  if (name == "Resize")
    return is(integer(params, "target_size"), integer(params, "target_size")) ||
           near(size, input, to("target_size", shorter));
  if (name == "RandomCrop224") return is(integer(params, "width"), integer(params, "height"));
  if (name == "RandomResizedCrop")
    return is(params.at("size").at(1).get<int>(), params.at("size").at(0).get<int>());
  if (name == "Pad") {
    const int more = 2 * integer(params, "padding");
    return is(input.width() + more, input.height() + more);
  }
  if (name == "LongestMaxSize") return near(size, input, to("max_size", longer));
  if (name == "SmallestMaxSize") return near(size, input, to("max_size", shorter));
  const bool as_it_was = is(input.width(), input.height());
  const bool swapped = is(input.height(), input.width());
  if (name == "Transpose") return swapped;
  if (name == "RandomRotate90") return as_it_was || swapped;
  return as_it_was;
}

}  // namespace

Status check_output(const MicroCase& one, View input, View output) {
  if (output.empty()) return wrong(one.transform + ": no output");
  if (!output.contiguous())
    return wrong(one.transform + ": the output is not contiguous in memory");
  if (output.channels() != input.channels())
    return wrong(fmt::format("{}: output has {} channels, the input {}", one.transform,
                             output.channels(), input.channels()));
  if (!size_allowed(one, input, {output.width(), output.height()}))
    return wrong(fmt::format("{}: output is {}x{} for an input of {}x{}", one.transform,
                             output.width(), output.height(), input.width(), input.height()));
  const auto exact = definitions().find(one.transform);
  if (exact != definitions().end() && !exact->second.holds(input, output, one.params))
    return wrong(fmt::format("{}: the output is not {}", one.transform, exact->second.meant));
  return ok;
}

bool may_keep(const std::string& transform) {
  return std::find(kMayKeep.begin(), kMayKeep.end(), transform) != kMayKeep.end();
}

bool same_samples(View a, View b) {
  if (!image::same_shape(a, b)) return false;
  for (int y = 0; y < a.height(); ++y)
    if (std::memcmp(a.row(y), b.row(y), a.row_bytes()) != 0) return false;
  return true;
}

}  // namespace sluice::scenario
