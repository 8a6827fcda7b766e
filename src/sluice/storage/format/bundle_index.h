// sluice/storage/format/bundle_index.h - which sample lies where in a set of bundles; the file that
// says so.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/storage/object_store.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::storage {

/// A set of bundles is a folder: bundle-00000.bin, bundle-00001.bin, ... (samples one after
/// another, nothing between them) and this file.
inline constexpr std::string_view kBundleIndexName = "bundles.index";
std::string bundle_name(std::size_t bundle);  // "bundle-00007.bin"

/// bundles.index, version 1; numbers are little-endian: "SLBUNDLE", version u32, bundles u32,
/// samples u64, bytes of names u64; per bundle: bytes u64, samples u64, checksum u64; per sample,
/// in the order of bundles and offsets: offset u64, size u64, checksum u64, bytes of its name u64;
/// the names; checksum u64 of all before it. Checksums are those of checksum.h.
struct BundleIndex {
  static constexpr std::uint32_t kVersion = 1;
  struct Bundle {
    std::uint64_t bytes = 0;
    std::uint64_t samples = 0;
    std::uint64_t checksum = 0;
  };
  struct Sample {
    std::uint64_t offset = 0;  // in its bundle
    std::uint64_t size = 0;
    std::uint64_t checksum = 0;
    std::uint64_t name = 0;  // where its name begins in `names`
    std::uint64_t name_size = 0;
  };
  std::vector<Bundle> bundles{};
  std::vector<Sample> samples{};
  std::string names{};

  void add(std::uint64_t offset, std::uint64_t size, std::uint64_t checksum,
           std::string_view name) {
    samples.push_back({offset, size, checksum, names.size(), name.size()});
    names += name;
  }
  [[nodiscard]] std::string_view name(const Sample& sample) const {
    return std::string_view(names).substr(sample.name, sample.name_size);
  }
  [[nodiscard]] std::string serialize() const;
  /// invalid_input, naming `name`: another version, damage, slices that overlap or leave their
  /// bundle, empty names.
  static Result<BundleIndex> parse(std::span<const std::byte> bytes, std::string_view name);
};

/// Reads the file `index` and looks whether every bundle is there with the size it should have.
struct BundleSet {
  BundleIndex index;
  std::vector<Object> bundles;
};
Result<BundleSet> open_bundles(ObjectStore& store, const Object& index);

/// Reads everything: invalid_input names the first sample whose bytes are not those written.
Status verify_bundles(ObjectStore& store, const BundleSet& set);

}  // namespace sluice::storage
