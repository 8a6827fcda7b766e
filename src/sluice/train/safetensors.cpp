// sluice/train/safetensors.cpp - a header that is not believed until all of it was checked.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/safetensors.h"

#include "sluice/core/file.h"
#include "sluice/core/json.h"
#include "sluice/core/text.h"
#include "sluice/train/bf16.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <bit>
#include <cassert>
#include <cstring>
#include <limits>
#include <optional>
#include <set>
#include <utility>

namespace sluice::train {
namespace {

static_assert(std::endian::native == std::endian::little, "data are copied as they are");

constexpr std::size_t kLengthBytes = 8;
constexpr std::uint64_t kMaxFile = std::uint64_t{1} << 40U;
constexpr const char* kMetadataKey = "__metadata__";

struct NamedSize {
  std::string_view dtype;
  std::size_t bytes;
};
constexpr std::array kSizes{NamedSize{"BOOL", 1},    NamedSize{"U8", 1},  NamedSize{"I8", 1},
                            NamedSize{"F8_E5M2", 1}, NamedSize{"F16", 2}, NamedSize{"F8_E4M3", 1},
                            NamedSize{"BF16", 2},    NamedSize{"I16", 2}, NamedSize{"U16", 2},
                            NamedSize{"F32", 4},     NamedSize{"I32", 4}, NamedSize{"U32", 4},
                            NamedSize{"F64", 8},     NamedSize{"I64", 8}, NamedSize{"U64", 8}};

std::optional<std::size_t> size_of(std::string_view dtype) {
  for (const NamedSize& one : kSizes)
    if (one.dtype == dtype) return one.bytes;
  return std::nullopt;
}

/// Only looks for keys that stand twice in one object; the parser keeps one of them and is silent.
class DuplicateFinder : public nlohmann::json_sax<Json> {
 public:
  std::string found;
  bool null() override { return true; }
  bool boolean(bool /*value*/) override { return true; }
  bool number_integer(number_integer_t /*value*/) override { return true; }
  bool number_unsigned(number_unsigned_t /*value*/) override { return true; }
  bool number_float(number_float_t /*value*/, const string_t& /*text*/) override { return true; }
  bool string(string_t& /*value*/) override { return true; }
  bool binary(binary_t& /*value*/) override { return true; }
  bool start_object(std::size_t /*elements*/) override {
    keys_.emplace_back();
    return true;
  }
  bool end_object() override {
    keys_.pop_back();
    return true;
  }
  bool start_array(std::size_t /*elements*/) override { return true; }
  bool end_array() override { return true; }
  bool key(string_t& key) override {
    if (keys_.back().insert(key).second) return true;
    found = key;
    return false;
  }
  bool parse_error(std::size_t /*position*/, const std::string& /*token*/,
                   const nlohmann::detail::exception& /*error*/) override {
    return false;
  }

 private:
  std::vector<std::set<std::string>> keys_;
};

Error refuse(std::string_view file, const std::string& what) {
  return Error{Errc::invalid_input, fmt::format("{}: {}", printable(file), what)};
}

/// `json[key]` as a list of `count` (0: any) integers from 0 to 2^53.
std::optional<std::vector<std::int64_t>> integers(const Json& json, const char* key,
                                                  std::size_t count) {
  if (!json.contains(key) || !json[key].is_array()) return std::nullopt;
  std::vector<std::int64_t> out;
  for (const Json& value : json[key]) {
    if (!value.is_number_unsigned()) return std::nullopt;
    if (value.get<std::uint64_t>() > std::uint64_t{1} << 53U) return std::nullopt;
    out.push_back(value.get<std::int64_t>());
  }
  if (count != 0 && out.size() != count) return std::nullopt;
  return out;
}

/// Bytes of a shape; none when they do not fit into 63 bits.
std::optional<std::uint64_t> bytes_of_shape(const std::vector<std::int64_t>& shape,
                                            std::uint64_t item) {
  std::uint64_t product = item;
  if (std::find(shape.begin(), shape.end(), 0) != shape.end()) return 0;
  for (const std::int64_t extent : shape) {
    const auto next = static_cast<std::uint64_t>(extent);
    if (product > static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max()) / next)
      return std::nullopt;
    product *= next;
  }
  return product;
}

Result<SafetensorsEntry> entry_of(const std::string& name, const Json& json,
                                  std::uint64_t data_bytes, std::string_view file) {
  const auto wrong = [&](const std::string& what) {
    return refuse(file, fmt::format("tensor '{}': {}", printable(name), what));
  };
  if (!json.is_object() || json.size() != 3)
    return wrong("accepted is an object of dtype, shape and data_offsets");
  if (!json.contains("dtype") || !json["dtype"].is_string())
    return wrong("dtype is missing or no string");
  SafetensorsEntry entry;
  entry.name = name;
  entry.dtype = json["dtype"].get<std::string>();
  const auto item = size_of(entry.dtype);
  if (!item) return wrong(fmt::format("dtype '{}' is not known", printable(entry.dtype)));
  auto shape = integers(json, "shape", 0);
  if (!shape) return wrong("shape is no list of sizes");
  entry.shape = std::move(*shape);
  const auto offsets = integers(json, "data_offsets", 2);
  if (!offsets) return wrong("data_offsets are not two places");
  const auto begin = static_cast<std::uint64_t>((*offsets)[0]);
  const auto end = static_cast<std::uint64_t>((*offsets)[1]);
  if (begin > end || end > data_bytes) {
    return wrong(fmt::format("data_offsets {} to {} are outside the {} bytes of data", begin, end,
                             data_bytes));
  }
  const auto bytes = bytes_of_shape(entry.shape, *item);
  if (!bytes || *bytes != end - begin) {
    return wrong(fmt::format("its shape [{}] as {} does not take the {} bytes of data_offsets",
                             fmt::join(entry.shape, ", "), entry.dtype, end - begin));
  }
  entry.begin = begin;
  entry.end = end;
  return entry;
}

Result<SafetensorsMetadata> metadata_of(const Json& json, std::string_view file) {
  SafetensorsMetadata out;
  if (!json.is_object()) return refuse(file, "__metadata__ is no object of strings");
  for (const auto& [key, value] : json.items()) {
    if (!value.is_string())
      return refuse(file, fmt::format("__metadata__: '{}' is no string", printable(key)));
    out[key] = value.get<std::string>();
  }
  return out;
}

/// No gap, no overlap, nothing after the last.
Status check_cover(const std::vector<SafetensorsEntry>& entries, std::size_t data_bytes,
                   std::string_view file) {
  std::vector<const SafetensorsEntry*> order;
  for (const SafetensorsEntry& entry : entries)
    order.push_back(&entry);
  std::sort(order.begin(), order.end(), [](const auto* a, const auto* b) {
    return std::pair(a->begin, a->end) < std::pair(b->begin, b->end);
  });
  std::size_t at = 0;
  for (const SafetensorsEntry* entry : order) {
    if (entry->begin != at) {
      return refuse(file, fmt::format("tensor '{}' begins at byte {}; accepted is {}, where the "
                                      "one before it ends",
                                      printable(entry->name), entry->begin, at));
    }
    at = entry->end;
  }
  if (at == data_bytes) return ok;
  return refuse(file, fmt::format("{} bytes after the last tensor", data_bytes - at));
}

/// The length of the header, checked against the file.
Result<std::size_t> header_bytes(const std::vector<std::uint8_t>& bytes, std::string_view file) {
  if (bytes.size() < kLengthBytes) {
    return refuse(file, fmt::format("{} bytes are no safetensors file, which has at least {}",
                                    bytes.size(), kLengthBytes + 2));
  }
  std::uint64_t length = 0;
  std::memcpy(&length, bytes.data(), sizeof length);
  if (length > SafetensorsFile::kMaxHeader) {
    return refuse(file, fmt::format("a header of {} bytes; at most {} are accepted", length,
                                    SafetensorsFile::kMaxHeader));
  }
  if (length > bytes.size() - kLengthBytes) {
    return refuse(
        file, fmt::format("truncated: a header of {} bytes in a file of {}", length, bytes.size()));
  }
  if (length < 2 || bytes[kLengthBytes] != '{') return refuse(file, "the header is no JSON object");
  return static_cast<std::size_t>(length);
}

std::size_t elements_of(const std::vector<std::int64_t>& shape) {
  std::size_t product = 1;
  for (const std::int64_t extent : shape)
    product *= static_cast<std::size_t>(extent);
  return product;
}

}  // namespace

Result<SafetensorsFile> SafetensorsFile::parse(std::vector<std::uint8_t> bytes,
                                               std::string_view name) {
  SLUICE_TRY(const std::size_t length, header_bytes(bytes, name));
  const std::string_view text(reinterpret_cast<const char*>(bytes.data()) + kLengthBytes, length);
  SLUICE_TRY(const Json header, parse_json(text, std::string(name) + ": header"));
  DuplicateFinder duplicates;
  if (!Json::sax_parse(text, &duplicates))
    return refuse(name, fmt::format("'{}' stands twice", printable(duplicates.found)));
  if (!header.is_object()) return refuse(name, "the header is no JSON object");

  SafetensorsFile out;
  out.name_ = name;
  out.data_ = kLengthBytes + length;
  const std::size_t data_bytes = bytes.size() - out.data_;
  for (const auto& [key, value] : header.items()) {
    if (key == kMetadataKey) {
      SLUICE_TRY(out.metadata_, metadata_of(value, name));
      continue;
    }
    SLUICE_TRY(SafetensorsEntry entry, entry_of(key, value, data_bytes, name));
    out.index_[key] = out.entries_.size();
    out.entries_.push_back(std::move(entry));
  }
  SLUICE_CHECK(check_cover(out.entries_, data_bytes, name));
  out.bytes_ = std::move(bytes);
  return out;
}

Result<SafetensorsFile> SafetensorsFile::read(const std::filesystem::path& path) {
  SLUICE_TRY(auto bytes, read_binary_file(path, kMaxFile));
  return parse(std::move(bytes), path.string());
}

const SafetensorsEntry* SafetensorsFile::find(std::string_view name) const {
  const auto found = index_.find(name);
  return found == index_.end() ? nullptr : &entries_[found->second];
}

Result<std::vector<float>> SafetensorsFile::floats(const SafetensorsEntry& entry) const {
  const std::uint8_t* from = bytes_.data() + data_ + entry.begin;
  const std::size_t bytes = entry.end - entry.begin;
  if (entry.dtype == "F32") {
    std::vector<float> out(bytes / sizeof(float));
    if (bytes != 0) std::memcpy(out.data(), from, bytes);
    return out;
  }
  if (entry.dtype == "BF16") {
    std::vector<float> out(bytes / sizeof(Bf16));
    for (std::size_t i = 0; i < out.size(); ++i) {
      Bf16 value;
      std::memcpy(&value.bits, from + i * sizeof value.bits, sizeof value.bits);
      out[i] = to_float(value);
    }
    return out;
  }
  return refuse(name_, fmt::format("tensor '{}' is {}; F32 and BF16 are accepted",
                                   printable(entry.name), entry.dtype));
}

SafetensorsWriter::SafetensorsWriter(const std::vector<SafetensorsTensor>& layout,
                                     const SafetensorsMetadata& metadata) {
  Json header = Json::object();
  if (!metadata.empty()) header[kMetadataKey] = metadata;
  std::size_t at = 0;
  for (const SafetensorsTensor& tensor : layout) {
    assert(tensor.dtype != Dtype::i32 && !header.contains(tensor.name));
    types_.push_back(tensor.dtype);
    counts_.push_back(elements_of(tensor.shape));
    const std::size_t end = at + counts_.back() * bytes_of(tensor.dtype);
    header[tensor.name] = {
        {"dtype", to_string(tensor.dtype)}, {"shape", tensor.shape}, {"data_offsets", {at, end}}};
    at = end;
  }
  std::string text = dump_json(header, -1);
  text.append((8 - text.size() % 8) % 8, ' ');  // so that the data begin at a multiple of 8
  const auto length = static_cast<std::uint64_t>(text.size());
  bytes_.reserve(kLengthBytes + text.size() + at);
  bytes_.append(reinterpret_cast<const char*>(&length), sizeof length);
  bytes_ += text;
}

void SafetensorsWriter::append(std::span<const float> values) {
  assert(next_ < types_.size() && values.size() == counts_[next_]);
  if (types_[next_] == Dtype::f32) {
    bytes_.append(reinterpret_cast<const char*>(values.data()), values.size_bytes());
  } else {
    for (const float value : values) {
      const Bf16 rounded = to_bf16(value);
      bytes_.append(reinterpret_cast<const char*>(&rounded.bits), sizeof rounded.bits);
    }
  }
  ++next_;
}

Status SafetensorsWriter::write(const std::filesystem::path& path) const {
  assert(next_ == types_.size());
  return write_file_atomic(path, bytes_);
}

}  // namespace sluice::train
