// tests/storage/tar.h - tar archives to test with, hostile ones too.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <gtest/gtest.h>

#include <archive.h>
#include <archive_entry.h>
#include <cstddef>
#include <memory>
#include <string>
#include <vector>

namespace sluice::storage::testing {

/// Writes whatever it is told: names are not looked at.
class Tar {
 public:
  /// `filter`: "", "gzip", "bzip2", "xz", "zstd".
  explicit Tar(const std::string& filter = "", const std::string& format = "pax")
      : handle_(archive_write_new()), memory_(std::size_t{1} << 22) {
    EXPECT_EQ(archive_write_set_format_by_name(handle_.get(), format.c_str()), ARCHIVE_OK);
    if (!filter.empty()) {
      EXPECT_EQ(archive_write_add_filter_by_name(handle_.get(), filter.c_str()), ARCHIVE_OK);
    }
    EXPECT_EQ(archive_write_open_memory(handle_.get(), memory_.data(), memory_.size(), &used_),
              ARCHIVE_OK);
  }

  Tar& file(const std::string& name, const std::string& content = "x") {
    return add(name, AE_IFREG, content, content.size());
  }
  /// Declares a size and holds that many zeros, which compress to nothing.
  Tar& zeros(const std::string& name, std::size_t size) {
    return add(name, AE_IFREG, std::string(size, '\0'), size);
  }
  Tar& folder(const std::string& name) { return add(name, AE_IFDIR, "", 0); }
  Tar& other(const std::string& name, unsigned type) { return add(name, type, "", 0); }
  Tar& symbolic_link(const std::string& name, const std::string& target) {
    return add(name, AE_IFLNK, "", 0, target);
  }
  Tar& hard_link(const std::string& name, const std::string& target) {
    return add(name, AE_IFREG, "", 0, target);
  }

  /// The archive; the object is done with then.
  std::string bytes() {
    EXPECT_EQ(archive_write_close(handle_.get()), ARCHIVE_OK);
    return {memory_.data(), used_};
  }

 private:
  struct Free {
    void operator()(archive* handle) const { archive_write_free(handle); }
  };

  Tar& add(const std::string& name, unsigned type, const std::string& content, std::size_t size,
           const std::string& target = "") {
    archive_entry* entry = archive_entry_new();
    archive_entry_set_pathname(entry, name.c_str());
    archive_entry_set_filetype(entry, type);
    archive_entry_set_perm(entry, 0644);
    archive_entry_set_size(entry, static_cast<la_int64_t>(size));
    if (!target.empty() && type == AE_IFLNK) archive_entry_set_symlink(entry, target.c_str());
    if (!target.empty() && type == AE_IFREG) archive_entry_set_hardlink(entry, target.c_str());
    EXPECT_GE(archive_write_header(handle_.get(), entry), ARCHIVE_WARN)
        << name << ": " << archive_error_string(handle_.get());
    if (!content.empty()) {
      EXPECT_EQ(archive_write_data(handle_.get(), content.data(), content.size()),
                static_cast<la_ssize_t>(content.size()));
    }
    archive_entry_free(entry);
    return *this;
  }

  std::unique_ptr<archive, Free> handle_;
  std::vector<char> memory_;
  std::size_t used_ = 0;
};

/// `bytes` as one stream of a codec; as they are for "".
inline std::string packed(const std::string& filter, const std::string& bytes) {
  if (filter.empty()) return bytes;
  std::vector<char> memory(std::size_t{1} << 22);
  std::size_t used = 0;
  archive* handle = archive_write_new();
  EXPECT_EQ(archive_write_set_format_raw(handle), ARCHIVE_OK);
  EXPECT_EQ(archive_write_add_filter_by_name(handle, filter.c_str()), ARCHIVE_OK);
  EXPECT_EQ(archive_write_open_memory(handle, memory.data(), memory.size(), &used), ARCHIVE_OK);
  archive_entry* entry = archive_entry_new();
  archive_entry_set_pathname(entry, "raw");
  archive_entry_set_filetype(entry, AE_IFREG);
  EXPECT_EQ(archive_write_header(handle, entry), ARCHIVE_OK);
  EXPECT_EQ(archive_write_data(handle, bytes.data(), bytes.size()),
            static_cast<la_ssize_t>(bytes.size()));
  archive_entry_free(entry);
  EXPECT_EQ(archive_write_close(handle), ARCHIVE_OK);
  archive_write_free(handle);
  return {memory.data(), used};
}

}  // namespace sluice::storage::testing
