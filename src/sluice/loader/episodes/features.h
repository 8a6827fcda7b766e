// sluice/loader/episodes/features.h - what an episode holds, by its features.json.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/storage/format/example_proto.h"

#include <cstdint>
#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::loader::episodes {

enum class FeatureType : std::uint8_t { image, tensor, text, label, other };
const char* to_string(FeatureType type);

enum class Encoding : std::uint8_t {
  none,   // numbers in a list; an image whose codec is not stated
  bytes,  // the tensor's memory, little endian
  zlib,   // the same, deflated
  jpeg,
  png,
};
const char* to_string(Encoding encoding);

/// One leaf, flattened as TFDS does: names of dictionaries joined with '/'.
struct FeatureSpec {
  std::string name;  // "steps/observation/image"
  FeatureType type = FeatureType::other;
  std::string dtype{};                // "float32", "uint8", "string"
  std::vector<std::int64_t> shape{};  // of one element; -1: differs
  Encoding encoding = Encoding::none;
  int sequences = 0;  // it lies in so many, the steps counted: 0 holds once per episode
  bool in_steps = false;
  std::string class_name{};  // TFDS's, for messages

  /// A sequence within the steps: values in name/ragged_flat_values, lengths of level i in
  /// name/ragged_row_lengths_i.
  [[nodiscard]] bool ragged() const { return sequences >= 2; }
  /// Its shape differs in several dimensions: name/shape and name/value.
  [[nodiscard]] bool with_shape() const;
  /// The list that its values lie in.
  [[nodiscard]] storage::ListKind list() const;
  /// Values in that list per element; nothing where they differ.
  [[nodiscard]] std::optional<std::uint64_t> values() const;
};

/// "feature NAME: what": values that are not as its spec says.
Error bad_feature(const FeatureSpec& spec, std::string_view what);

/// Every leaf, in the order of the file.
struct FeatureTable {
  std::vector<FeatureSpec> specs;

  /// Nothing: there is none of this name.
  [[nodiscard]] std::optional<std::size_t> find(std::string_view name) const;
  /// An error names the nearest there is.
  [[nodiscard]] Result<std::size_t> require(std::string_view name) const;
};

/// `where` is what errors call the file. invalid_input: no features.json, a dictionary without
/// `steps`, shapes and types that make no sense. Features of classes we do not read are `other`.
Result<FeatureTable> parse_features(std::string_view text, std::string_view where);

}  // namespace sluice::loader::episodes
