// tests/storage/generated_objects.cpp - names, bytes and ETags out of hashes.
// SPDX-License-Identifier: Apache-2.0
#include "tests/storage/generated_objects.h"

#include <algorithm>
#include <charconv>
#include <cstring>

namespace sluice::storage::testing {
namespace {

std::uint64_t mixed(std::uint64_t x) {  // the finaliser of SplitMix64
  x = (x ^ (x >> 30)) * 0xbf58476d1ce4e5b9U;
  x = (x ^ (x >> 27)) * 0x94d049bb133111ebU;
  return x ^ (x >> 31);
}

std::uint64_t hashed(std::string_view key, std::uint64_t version) {
  std::uint64_t hash = 0xcbf29ce484222325U + version * 0x9e3779b97f4a7c15U;
  for (const char c : key)
    hash = (hash ^ static_cast<unsigned char>(c)) * 0x100000001b3U;
  return mixed(hash);
}

}  // namespace

std::string etag_of(std::string_view key, std::uint64_t version) {
  std::string out = "\"";
  for (const std::uint64_t word : {hashed(key, version), mixed(hashed(key, version) + 1)})
    for (int shift = 60; shift >= 0; shift -= 4)
      out += "0123456789abcdef"[(word >> shift) & 15];
  return out + "\"";
}

std::optional<std::uint64_t> parse_number(std::string_view text) {
  std::uint64_t value = 0;
  const auto [end, error] = std::from_chars(text.data(), text.data() + text.size(), value);
  if (error != std::errc{} || end != text.data() + text.size()) return std::nullopt;
  return value;
}

std::string GeneratedObjects::key(std::uint64_t index) const {
  const std::string digits = std::to_string(index);
  return prefix + std::string(8 - std::min<std::size_t>(8, digits.size()), '0') + digits + suffix;
}

std::uint64_t GeneratedObjects::first(std::string_view bound, bool above) const {
  std::uint64_t low = 0;
  std::uint64_t high = count;
  while (low < high) {
    const std::uint64_t middle = low + (high - low) / 2;
    const int order = key(middle).compare(bound);
    if (order < 0 || (above && order == 0)) {
      low = middle + 1;
    } else {
      high = middle;
    }
  }
  return low;
}

bool GeneratedObjects::holds(std::string_view name) const {
  if (count == 0 || name.size() != prefix.size() + 8 + suffix.size()) return false;
  const auto index = parse_number(name.substr(prefix.size(), 8));
  return index && *index < count && key(*index) == name;
}

void generated_content(std::span<std::byte> out, std::string_view key, std::uint64_t version,
                       std::uint64_t offset) {
  const std::uint64_t seed = hashed(key, version);
  const auto word = [seed](std::uint64_t index) {
    return mixed(seed + index * 0x9e3779b97f4a7c15U);
  };
  while (!out.empty()) {
    const std::uint64_t value = word(offset / 8);
    const std::size_t skip = offset % 8;
    const std::size_t take = std::min<std::size_t>(8 - skip, out.size());
    std::memcpy(out.data(), reinterpret_cast<const std::byte*>(&value) + skip, take);
    out = out.subspan(take);
    offset += take;
    if (offset % 8 != 0) continue;
    const std::size_t whole = out.size() / 8;
    for (std::size_t i = 0; i < whole; ++i) {
      const std::uint64_t next = word(offset / 8 + i);
      std::memcpy(out.data() + 8 * i, &next, 8);
    }
    out = out.subspan(8 * whole);
    offset += 8 * whole;
  }
}

}  // namespace sluice::storage::testing
