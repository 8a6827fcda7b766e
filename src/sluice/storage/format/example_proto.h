// sluice/storage/format/example_proto.h - tf.train.Example messages, read in place and written.
// SPDX-License-Identifier: Apache-2.0
//
//   message Example   { Features features = 1; }
//   message Features  { map<string, Feature> feature = 1; }
//   message Feature   { oneof kind { BytesList bytes_list = 1; FloatList float_list = 2;
//                                    Int64List int64_list = 3; } }
//   message BytesList { repeated bytes value = 1; }          (FloatList and Int64List: packed)
#pragma once

#include "sluice/core/result.h"

#include <cstdint>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::storage {

enum class ListKind : std::uint8_t { none, bytes, floats, ints };
const char* to_string(ListKind kind);  // "nothing", "bytes_list", "float_list", "int64_list"

/// One entry of the map; both views lie in the message.
struct ExampleFeature {
  std::string_view name;
  ListKind kind = ListKind::none;
  std::span<const std::byte> list;  // the message of its list
};

/// Every feature of a message, in the order of its bytes. Errors (invalid_input) say where and why:
/// lengths that reach behind the end of what holds them, varints over 10 bytes, groups, a field
/// numbered 0, a feature with two lists. Unknown fields are passed over. Of two entries with one
/// name the last counts. `features` keeps its memory.
Status parse_example(std::vector<ExampleFeature>& features, std::span<const std::byte> message);

/// Null: there is none.
const ExampleFeature* find_feature(std::span<const ExampleFeature> features, std::string_view name);

// The values of a list, packed or not, in place of what `out` held. Errors: the feature is of
// another kind (one with no kind has no values), or its list is malformed.
Status read_bytes_list(std::vector<std::string_view>& out, const ExampleFeature& feature);
Status read_float_list(std::vector<float>& out, const ExampleFeature& feature);
Status read_int64_list(std::vector<std::int64_t>& out, const ExampleFeature& feature);

/// Writes a message as protobuf's own writer does (packed numbers); features lie in the order of
/// the calls, which for TFDS is that of their names.
class ExampleWriter {
 public:
  void add_bytes(std::string_view name, std::span<const std::string_view> values);
  void add_floats(std::string_view name, std::span<const float> values);
  void add_ints(std::string_view name, std::span<const std::int64_t> values);
  /// The whole message; the writer is then empty.
  std::string take();

 private:
  void add(std::string_view name, ListKind kind, std::string_view list);
  std::string features_;
};

}  // namespace sluice::storage
