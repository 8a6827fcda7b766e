// sluice/storage/format/example_proto.cpp - tf.train.Example messages, read in place and written.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/format/example_proto.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <array>
#include <bit>
#include <cstring>

namespace sluice::storage {
namespace {

using Bytes = std::span<const std::byte>;

enum Wire : std::uint8_t { kVarint = 0, kFixed64 = 1, kLength = 2, kFixed32 = 5 };

Error malformed(std::string_view what) {
  return {Errc::invalid_input, fmt::format("no sound tf.train.Example: {}", what)};
}

struct Field {
  std::uint32_t number = 0;
  std::uint8_t wire = 0;
  std::uint64_t value = 0;  // of a varint
  Bytes bytes{};            // of all others
};

/// Field after field of one message; every length is checked against what is left.
class Fields {
 public:
  explicit Fields(Bytes message) : left_(message) {}
  [[nodiscard]] bool done() const { return left_.empty(); }

  Result<Field> next() {
    SLUICE_TRY(const std::uint64_t key, varint());
    Field field{.number = static_cast<std::uint32_t>(key >> 3U),
                .wire = static_cast<std::uint8_t>(key & 7U)};
    if (key >> 3U == 0 || key >> 32U != 0)
      return malformed(fmt::format("a field numbered {}", key >> 3U));
    switch (field.wire) {
      case kVarint: {
        SLUICE_TRY(field.value, varint());
        return field;
      }
      case kLength: {
        SLUICE_TRY(const std::uint64_t size, varint());
        SLUICE_TRY(field.bytes, take(size));
        return field;
      }
      case kFixed64:
      case kFixed32: {
        SLUICE_TRY(field.bytes, take(field.wire == kFixed64 ? 8 : 4));
        return field;
      }
      default:
        return malformed(fmt::format("wire type {} of field {}", field.wire, field.number));
    }
  }

  Result<std::uint64_t> varint() {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < left_.size() && i < 10; ++i) {
      const auto byte = std::to_integer<std::uint64_t>(left_[i]);
      value |= (byte & 0x7fU) << (7 * i);  // bits beyond 64 fall off, as protobuf has it
      if (byte < 0x80) {
        left_ = left_.subspan(i + 1);
        return value;
      }
    }
    return malformed(left_.size() < 10 ? "it ends inside a number" : "a number of over 10 bytes");
  }

 private:
  Result<Bytes> take(std::uint64_t size) {
    if (size > left_.size())
      return malformed(fmt::format("a field of {} bytes where {} are left", size, left_.size()));
    const Bytes taken = left_.first(static_cast<std::size_t>(size));
    left_ = left_.subspan(taken.size());
    return taken;
  }

  Bytes left_;
};

Status parse_feature(ExampleFeature& feature, Bytes message) {
  Fields fields(message);
  while (!fields.done()) {
    SLUICE_TRY(const Field field, fields.next());
    if (field.wire != kLength || field.number < 1 || field.number > 3) continue;
    if (feature.kind != ListKind::none)
      return malformed(fmt::format("feature {} has two lists", printable(feature.name)));
    feature.kind = static_cast<ListKind>(field.number);
    feature.list = field.bytes;
  }
  return ok;
}

Status parse_entry(std::vector<ExampleFeature>& features, Bytes message) {
  ExampleFeature entry;
  Bytes value;
  Fields fields(message);
  while (!fields.done()) {
    SLUICE_TRY(const Field field, fields.next());
    if (field.wire != kLength) continue;
    if (field.number == 1) entry.name = as_text(field.bytes);
    if (field.number == 2) value = field.bytes;
  }
  SLUICE_CHECK(parse_feature(entry, value));
  features.push_back(entry);
  return ok;
}

Status check_kind(const ExampleFeature& feature, ListKind wanted) {
  if (feature.kind == wanted || feature.kind == ListKind::none) return ok;
  return Error{Errc::invalid_input,
               fmt::format("feature {} holds a {} where a {} is expected", printable(feature.name),
                           to_string(feature.kind), to_string(wanted))};
}

Error in_list(const ExampleFeature& feature, const Error& error) {
  return {error.code, fmt::format("feature {}: {}", printable(feature.name), error.message)};
}

void append_floats(std::vector<float>& out, Bytes bytes) {
  const std::size_t first = out.size();
  out.resize(first + bytes.size() / sizeof(float));
  if constexpr (std::endian::native == std::endian::little) {
    if (!bytes.empty()) std::memcpy(out.data() + first, bytes.data(), bytes.size());
  } else {
    for (std::size_t i = 0; i < bytes.size() / 4; ++i) {
      std::uint32_t bits = 0;
      for (std::size_t k = 0; k < 4; ++k)
        bits |= std::to_integer<std::uint32_t>(bytes[4 * i + k]) << (8 * k);
      out[first + i] = std::bit_cast<float>(bits);
    }
  }
}

void put_varint(std::string& out, std::uint64_t value) {
  for (; value >= 0x80; value >>= 7U)
    out.push_back(static_cast<char>((value & 0x7fU) | 0x80U));
  out.push_back(static_cast<char>(value));
}

std::size_t varint_bytes(std::uint64_t value) {
  std::size_t bytes = 1;
  for (; value >= 0x80; value >>= 7U)
    ++bytes;
  return bytes;
}

void put_field(std::string& out, std::uint32_t number, std::string_view bytes) {
  put_varint(out, number << 3U | kLength);
  put_varint(out, bytes.size());
  out.append(bytes);
}

std::size_t field_bytes(std::size_t size) {
  return 1 + varint_bytes(size) + size;
}

}  // namespace

const char* to_string(ListKind kind) {
  constexpr std::array kNames = {"nothing", "bytes_list", "float_list", "int64_list"};
  return kNames[static_cast<std::size_t>(kind)];
}

Status parse_example(std::vector<ExampleFeature>& features, std::span<const std::byte> message) {
  features.clear();
  Fields example(message);
  while (!example.done()) {
    SLUICE_TRY(const Field field, example.next());
    if (field.number != 1 || field.wire != kLength) continue;
    Fields map(field.bytes);
    while (!map.done()) {
      SLUICE_TRY(const Field entry, map.next());
      if (entry.number == 1 && entry.wire == kLength)
        SLUICE_CHECK(parse_entry(features, entry.bytes));
    }
  }
  return ok;
}

const ExampleFeature* find_feature(std::span<const ExampleFeature> features,
                                   std::string_view name) {
  for (std::size_t i = features.size(); i > 0; --i)
    if (features[i - 1].name == name) return &features[i - 1];
  return nullptr;
}

Status read_bytes_list(std::vector<std::string_view>& out, const ExampleFeature& feature) {
  out.clear();
  SLUICE_CHECK(check_kind(feature, ListKind::bytes));
  Fields list(feature.list);
  while (!list.done()) {
    const auto field = list.next();
    if (!field) return in_list(feature, field.error());
    if (field->number == 1 && field->wire == kLength) out.push_back(as_text(field->bytes));
  }
  return ok;
}

Status read_float_list(std::vector<float>& out, const ExampleFeature& feature) {
  out.clear();
  SLUICE_CHECK(check_kind(feature, ListKind::floats));
  Fields list(feature.list);
  while (!list.done()) {
    const auto field = list.next();
    if (!field) return in_list(feature, field.error());
    if (field->number != 1 || (field->wire != kLength && field->wire != kFixed32)) continue;
    if (field->bytes.size() % sizeof(float) != 0)
      return in_list(feature, malformed(fmt::format("{} bytes of floats, of which each has 4",
                                                    field->bytes.size())));
    append_floats(out, field->bytes);
  }
  return ok;
}

Status read_int64_list(std::vector<std::int64_t>& out, const ExampleFeature& feature) {
  out.clear();
  SLUICE_CHECK(check_kind(feature, ListKind::ints));
  Fields list(feature.list);
  while (!list.done()) {
    const auto field = list.next();
    if (!field) return in_list(feature, field.error());
    if (field->number != 1) continue;
    if (field->wire == kVarint) out.push_back(static_cast<std::int64_t>(field->value));
    if (field->wire != kLength) continue;
    Fields packed(field->bytes);
    while (!packed.done()) {
      const auto value = packed.varint();
      if (!value) return in_list(feature, value.error());
      out.push_back(static_cast<std::int64_t>(*value));
    }
  }
  return ok;
}

void ExampleWriter::add(std::string_view name, ListKind kind, std::string_view list) {
  const std::size_t feature = field_bytes(list.size());
  put_varint(features_, 1U << 3U | kLength);
  put_varint(features_, field_bytes(name.size()) + field_bytes(feature));
  put_field(features_, 1, name);
  put_varint(features_, 2U << 3U | kLength);
  put_varint(features_, feature);
  put_field(features_, static_cast<std::uint32_t>(kind), list);
}

void ExampleWriter::add_bytes(std::string_view name, std::span<const std::string_view> values) {
  std::string list;
  for (const std::string_view value : values)
    put_field(list, 1, value);
  add(name, ListKind::bytes, list);
}

void ExampleWriter::add_floats(std::string_view name, std::span<const float> values) {
  std::string packed;
  for (const float value : values) {
    const auto bits = std::bit_cast<std::uint32_t>(value);
    for (unsigned i = 0; i < 4; ++i)
      packed.push_back(static_cast<char>(bits >> (8 * i) & 0xffU));
  }
  std::string list;
  if (!packed.empty()) put_field(list, 1, packed);
  add(name, ListKind::floats, list);
}

void ExampleWriter::add_ints(std::string_view name, std::span<const std::int64_t> values) {
  std::string packed;
  for (const std::int64_t value : values)
    put_varint(packed, static_cast<std::uint64_t>(value));
  std::string list;
  if (!packed.empty()) put_field(list, 1, packed);
  add(name, ListKind::ints, list);
}

std::string ExampleWriter::take() {
  std::string message;
  message.reserve(features_.size() + 11);
  put_field(message, 1, features_);
  features_.clear();
  return message;
}

}  // namespace sluice::storage
