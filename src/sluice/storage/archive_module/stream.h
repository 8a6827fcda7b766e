// sluice/storage/archive_module/stream.h - the tar inside an archive file, unpacked and checked to
// its last byte.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/storage/format/archive_table.h"

#include <archive.h>
#include <cstddef>
#include <cstdint>
#include <memory>
#include <string>
#include <utility>

namespace sluice_archive {

/// The bytes of the file, block by block, with room to look at the next one.
class FileBytes {
 public:
  explicit FileBytes(const SluiceArchiveInput& input) : input_(input) {}

  /// False: at the end, or failed().
  bool fill();
  [[nodiscard]] const unsigned char* data() const { return data_; }
  [[nodiscard]] std::size_t left() const { return left_; }
  void consume(std::size_t count) {
    data_ += count;
    left_ -= count;
  }
  [[nodiscard]] bool failed() const { return failed_; }
  std::int64_t skip(std::int64_t count);
  /// True when nothing but zeros is left, which are passed over: tapes and tools pad with them.
  bool only_zeros_left();

 private:
  SluiceArchiveInput input_;
  const unsigned char* data_ = nullptr;
  std::size_t left_ = 0;
  bool failed_ = false;
};

/// What is inside; read() to its 0 has checked all that the codec has to check with.
class Stream {
 public:
  virtual ~Stream() = default;
  /// As SluiceArchiveInput::read; -1: error() says why.
  virtual std::ptrdiff_t read(const void** block) = 0;
  /// Only what is not compressed can be passed over.
  virtual std::int64_t skip(std::int64_t /*count*/) { return 0; }
  [[nodiscard]] virtual bool compressed() const { return true; }
  [[nodiscard]] const std::string& error() const { return error_; }

  /// By the first bytes of the file; one that is no known codec is passed on as it is.
  static std::unique_ptr<Stream> open(FileBytes& file);

 protected:
  std::ptrdiff_t fail(std::string text) {
    error_ = std::move(text);
    return -1;
  }

 private:
  std::string error_;
};

}  // namespace sluice_archive
