// sluice/loader/episodes/split.cpp - parses and resolves TFDS's slices of splits.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/episodes/split.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <cmath>

namespace sluice::loader::episodes {
namespace {

Error refused(std::string_view text, std::string_view why) {
  return {Errc::usage, fmt::format("split '{}': {}; accepted: 'train', 'train[:90%]', "
                                   "'train[90%:]', 'train[100:200]'",
                                   printable(text), why)};
}

bool is_name(std::string_view name) {
  return !name.empty() && std::all_of(name.begin(), name.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') || c == '_' ||
           c == '-';
  });
}

struct Bound {
  std::optional<double> value{};
  bool percent = false;
};

Result<Bound> parse_bound(std::string_view text, std::string_view bound) {
  Bound parsed;
  if (bound.empty()) return parsed;
  if (bound.back() == '%') {
    parsed.percent = true;
    bound.remove_suffix(1);
  }
  double value = 0;
  const auto [end, error] =
      std::from_chars(bound.data(), bound.data() + bound.size(), value, std::chars_format::fixed);
  if (error != std::errc() || end != bound.data() + bound.size() || !std::isfinite(value))
    return refused(
        text, fmt::format("'{}' is no number of episodes and no percentage", printable(bound)));
  if (parsed.percent && std::abs(value) > 100)
    return refused(text, fmt::format("{}% is more than all", value));
  if (!parsed.percent && (value != std::floor(value) || std::abs(value) > 1e15))
    return refused(text, fmt::format("{} is no whole number of episodes", value));
  parsed.value = value;
  return parsed;
}

}  // namespace

Result<Split> Split::parse(std::string_view text) {
  if (text.find('+') != std::string_view::npos)
    return refused(text, "several splits at once are not supported");
  const std::size_t open = text.find('[');
  Split split;
  split.name = text.substr(0, open);
  if (!is_name(split.name)) return refused(text, "no name of a split");
  if (open == std::string_view::npos) return split;
  if (text.back() != ']') return refused(text, "']' is missing");
  const std::string_view slice = text.substr(open + 1, text.size() - open - 2);
  if (slice.find("shard") != std::string_view::npos)
    return refused(text, "shards as unit are not supported");
  const std::size_t colon = slice.find(':');
  if (colon == std::string_view::npos) return refused(text, "':' is missing");
  if (slice.size() == 1) return refused(text, "a bound is missing");
  SLUICE_TRY(const Bound from, parse_bound(text, slice.substr(0, colon)));
  SLUICE_TRY(const Bound to, parse_bound(text, slice.substr(colon + 1)));
  if (from.value && to.value && from.percent != to.percent)
    return refused(text, "one bound is a percentage, the other is not");
  split.percent = from.percent || to.percent;
  split.from = from.value;
  split.to = to.value;
  return split;
}

Result<EpisodeRange> Split::range(std::uint64_t episodes) const {
  const auto all = static_cast<double>(episodes);
  const auto place = [&](std::optional<double> bound, double absent) {
    if (!bound) return absent;
    const double value = percent ? std::nearbyint(*bound * all / 100.0) : *bound;
    return value < 0 ? all + value : value;
  };
  const double first = place(from, 0);
  const double last = place(to, all);
  if (first < 0 || first > all || last < 0 || last > all)
    return Error{Errc::usage,
                 fmt::format("split {}: episodes {} to {} were asked for, there are {}", name,
                             first, last, episodes)};
  const auto begin = static_cast<std::uint64_t>(first);
  return EpisodeRange{.first = begin, .last = std::max(begin, static_cast<std::uint64_t>(last))};
}

}  // namespace sluice::loader::episodes
