// sluice/train/safetensors.h - the safetensors format, read strictly and written atomically.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/train/model/regime.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <map>
#include <span>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::train {

/// A tensor of a file: 8 bytes of header length (little-endian), a JSON header, then the data.
struct SafetensorsEntry {
  std::string name;
  std::string dtype;  // as the format spells it: F32, BF16, I64, …
  std::vector<std::int64_t> shape;
  std::size_t begin = 0, end = 0;  // bytes from the start of the data
};

using SafetensorsMetadata = std::map<std::string, std::string>;

/// A file whose header was checked in full: every shape agrees with its bytes, and the tensors fill
/// the data without gap or overlap, up to its last byte.
class SafetensorsFile {
 public:
  static constexpr std::uint64_t kMaxHeader = 100'000'000;  // bytes; the format's own limit

  /// Errors (invalid_input) begin with `name`.
  static Result<SafetensorsFile> parse(std::vector<std::uint8_t> bytes, std::string_view name);
  static Result<SafetensorsFile> read(const std::filesystem::path& path);

  [[nodiscard]] const std::string& name() const { return name_; }
  [[nodiscard]] const std::vector<SafetensorsEntry>& entries() const { return entries_; }
  [[nodiscard]] const SafetensorsMetadata& metadata() const { return metadata_; }
  /// Null when there is none of this name.
  [[nodiscard]] const SafetensorsEntry* find(std::string_view name) const;
  /// F32 or BF16 as fp32; another dtype is an error that names it. `entry`: one of entries().
  [[nodiscard]] Result<std::vector<float>> floats(const SafetensorsEntry& entry) const;

 private:
  SafetensorsFile() = default;
  std::string name_;
  std::vector<std::uint8_t> bytes_;
  std::size_t data_ = 0;  // where the data begin
  std::vector<SafetensorsEntry> entries_;
  std::map<std::string, std::size_t, std::less<>> index_;
  SafetensorsMetadata metadata_;
};

/// What is to be written; f32 or bf16.
struct SafetensorsTensor {
  std::string name;
  Dtype dtype = Dtype::f32;
  std::vector<std::int64_t> shape;
};

/// The layout first, then the values in its order: the file is in memory once.
class SafetensorsWriter {
 public:
  /// Precondition: names differ, none is "__metadata__".
  SafetensorsWriter(const std::vector<SafetensorsTensor>& layout,
                    const SafetensorsMetadata& metadata);
  /// Values of the next tensor; bf16 ones are rounded. Precondition: as many as its shape says.
  void append(std::span<const float> values);
  /// Precondition: every tensor was appended.
  [[nodiscard]] const std::string& bytes() const { return bytes_; }
  /// Written beside and renamed.
  [[nodiscard]] Status write(const std::filesystem::path& path) const;

 private:
  std::vector<Dtype> types_;
  std::vector<std::size_t> counts_;
  std::size_t next_ = 0;
  std::string bytes_;
};

}  // namespace sluice::train
