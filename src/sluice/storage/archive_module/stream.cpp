// sluice/storage/archive_module/stream.cpp - plain, gzip by zlib, all else by libarchive.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/archive_module/stream.h"

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <string_view>
#include <vector>
#include <zlib.h>

namespace sluice_archive {

bool FileBytes::fill() {
  while (left_ == 0 && !failed_) {
    const void* block = nullptr;
    const std::ptrdiff_t n = input_.read(input_.user, &block);
    failed_ = n < 0;
    if (n <= 0) return false;
    data_ = static_cast<const unsigned char*>(block);
    left_ = static_cast<std::size_t>(n);
  }
  return left_ > 0;
}

std::int64_t FileBytes::skip(std::int64_t count) {
  if (left_ > 0) return 0;  // what is held comes first
  return input_.skip(input_.user, count);
}

bool FileBytes::only_zeros_left() {
  while (fill()) {
    const auto is_zero = [](unsigned char byte) { return byte == 0; };
    if (!std::all_of(data_, data_ + left_, is_zero)) return false;
    left_ = 0;
  }
  return !failed_;
}

namespace {

constexpr const char* kUnread = "cannot be read";
constexpr const char* kTrailing = "something else follows the end of the compressed data";

class PlainStream final : public Stream {
 public:
  explicit PlainStream(FileBytes& file) : file_(file) {}
  std::ptrdiff_t read(const void** block) override {
    if (!file_.fill()) return file_.failed() ? fail(kUnread) : 0;
    *block = file_.data();
    const auto size = static_cast<std::ptrdiff_t>(file_.left());
    file_.consume(file_.left());
    return size;
  }
  std::int64_t skip(std::int64_t count) override { return file_.skip(count); }
  [[nodiscard]] bool compressed() const override { return false; }

 private:
  FileBytes& file_;
};

/// libarchive 3.6 passes over the checksum and length at the end of a gzip member, and takes
/// whatever follows it for the end; zlib checks both for every member.
class GzipStream final : public Stream {
 public:
  explicit GzipStream(FileBytes& file) : file_(file), out_(kOut) {
    ready_ = inflateInit2(&zlib_, MAX_WBITS + 16) == Z_OK;
  }
  ~GzipStream() override {
    if (ready_) inflateEnd(&zlib_);
  }
  GzipStream(const GzipStream&) = delete;
  GzipStream& operator=(const GzipStream&) = delete;

  std::ptrdiff_t read(const void** block) override {
    if (!ready_) return fail("out of memory");
    zlib_.next_out = out_.data();
    zlib_.avail_out = kOut;
    while (!ended_ && zlib_.avail_out > 0) {
      if (!file_.fill()) {
        if (file_.failed()) return fail(kUnread);
        if (inside_) return fail("truncated gzip input");
        ended_ = true;
        break;
      }
      if (!inside_ && !next_member()) return fail(file_.failed() ? kUnread : kTrailing);
      if (ended_) break;
      if (const int code = inflate_some(); code != Z_OK && code != Z_STREAM_END)
        return fail(std::string("gzip: ") + (zlib_.msg != nullptr ? zlib_.msg : "out of memory"));
    }
    *block = out_.data();
    return static_cast<std::ptrdiff_t>(kOut - zlib_.avail_out);
  }

 private:
  static constexpr unsigned kOut = 256U << 10;

  /// As gzip: members may follow each other, and zeros the last one.
  bool next_member() {
    if (*file_.data() == 0) return ended_ = file_.only_zeros_left();
    if (*file_.data() != 0x1f) return false;
    inside_ = inflateReset(&zlib_) == Z_OK;
    return inside_;
  }

  int inflate_some() {
    const auto size = static_cast<unsigned>(std::min<std::size_t>(file_.left(), 1U << 30));
    zlib_.next_in = const_cast<unsigned char*>(file_.data());  // zlib only reads it
    zlib_.avail_in = size;
    const int code = inflate(&zlib_, Z_NO_FLUSH);
    file_.consume(size - zlib_.avail_in);
    if (code == Z_STREAM_END) inside_ = false;
    return code;
  }

  FileBytes& file_;
  std::vector<unsigned char> out_;
  z_stream zlib_{};
  bool ready_ = false;
  bool inside_ = false;  // a member
  bool ended_ = false;
};

/// bzip2, xz and zstd: their libraries check what the format has to check with.
class FilterStream final : public Stream {
 public:
  FilterStream(FileBytes& file, int (*enable)(archive*), const char* name)
      : file_(file), enable_(enable), name_(name) {}
  ~FilterStream() override { archive_read_free(handle_); }
  FilterStream(const FilterStream&) = delete;
  FilterStream& operator=(const FilterStream&) = delete;

  std::ptrdiff_t read(const void** block) override {
    if (ended_) return 0;
    if (handle_ == nullptr) {
      handle_ = archive_read_new();
      if (handle_ == nullptr) return fail("out of memory");
      if (enable_(handle_) != ARCHIVE_OK)  // a warning means: through an external program
        return fail(std::string("libarchive was built without ") + name_);
      if (const int code = start(); code != ARCHIVE_OK) return end(code);
    }
    std::size_t size = 0;
    la_int64_t offset = 0;
    const int code = archive_read_data_block(handle_, block, &size, &offset);
    return code == ARCHIVE_OK ? static_cast<std::ptrdiff_t>(size) : end(code);
  }

 private:
  static constexpr std::size_t kTail = 64;  // more than any codec looks ahead for its next part

  int start() {
    archive_entry* entry = nullptr;
    int code = archive_read_support_format_raw(handle_);
    if (code == ARCHIVE_OK) code = archive_read_open(handle_, this, nullptr, give, nullptr);
    return code == ARCHIVE_OK ? archive_read_next_header(handle_, &entry) : code;
  }

  /// The codec has had its last byte, or failed.
  std::ptrdiff_t end(int code) {
    if (code != ARCHIVE_EOF) {
      const char* text = archive_error_string(handle_);
      return fail(text != nullptr ? text : "unknown reason");
    }
    ended_ = true;
    // What it asked for and did not use lies at the end of what was given.
    const auto used = static_cast<std::uint64_t>(archive_filter_bytes(handle_, -1));
    const std::uint64_t unused = given_ - std::min(given_, used);
    const bool known = unused <= tail_.size();
    const auto from = tail_.size() - static_cast<std::size_t>(known ? unused : 0);
    if (!known || tail_.find_first_not_of('\0', from) != std::string::npos ||
        !file_.only_zeros_left())
      return fail(file_.failed() ? kUnread : kTrailing);
    return 0;
  }

  static la_ssize_t give(archive* handle, void* user, const void** block) {
    auto& self = *static_cast<FilterStream*>(user);
    if (!self.file_.fill()) {
      if (!self.file_.failed()) return 0;
      archive_set_error(handle, EIO, "%s", kUnread);
      return ARCHIVE_FATAL;
    }
    const std::size_t size = std::min(self.file_.left(), kGiven);
    *block = self.file_.data();
    self.tail_ = self.tail_.substr(self.tail_.size() - std::min(self.tail_.size(), kTail));
    self.tail_.append(reinterpret_cast<const char*>(self.file_.data()), size);
    self.file_.consume(size);
    self.given_ += size;
    return static_cast<la_ssize_t>(size);
  }

  static constexpr std::size_t kGiven = std::size_t{64} << 10;
  FileBytes& file_;
  int (*enable_)(archive*);
  const char* name_;
  archive* handle_ = nullptr;
  std::uint64_t given_ = 0;
  std::string tail_;  // the last block given, and a little before it
  bool ended_ = false;
};

}  // namespace

std::unique_ptr<Stream> Stream::open(FileBytes& file) {
  file.fill();  // where that fails, the first read says so
  const std::string_view head(reinterpret_cast<const char*>(file.data()), file.left());
  const auto begins = [&](std::string_view magic) { return head.substr(0, magic.size()) == magic; };
  if (begins("\x1f\x8b")) return std::make_unique<GzipStream>(file);
  if (begins("BZh"))
    return std::make_unique<FilterStream>(file, archive_read_support_filter_bzip2, "bzip2");
  if (begins(std::string_view("\xfd"
                              "7zXZ\0",
                              6)))
    return std::make_unique<FilterStream>(file, archive_read_support_filter_xz, "xz");
  // A frame of zstd may come after some that it passes over.
  const bool skippable =
      head.size() >= 4 && (head[0] & 0xf0) == 0x50 && head.substr(1, 3) == "\x2a\x4d\x18";
  if (begins("\x28\xb5\x2f\xfd") || skippable)
    return std::make_unique<FilterStream>(file, archive_read_support_filter_zstd, "zstd");
  return std::make_unique<PlainStream>(file);
}

}  // namespace sluice_archive
