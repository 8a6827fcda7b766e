// sluice/storage/archive_module/table.cpp - libsluice_archive.so: tar through libarchive.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/archive_module/stream.h"
#include "sluice/storage/format/archive_table.h"

#include <archive.h>
#include <archive_entry.h>
#include <cerrno>
#include <cstdio>
#include <memory>
#include <new>

struct SluiceArchive {
  explicit SluiceArchive(const SluiceArchiveInput& input)
      : file(input), stream(sluice_archive::Stream::open(file)) {}

  sluice_archive::FileBytes file;
  std::unique_ptr<sluice_archive::Stream> stream;
  archive* handle = nullptr;
};

namespace {

/// Padding of the largest records that anybody writes; more of it is a bomb.
constexpr std::uint64_t kMaxAfterEnd = std::uint64_t{64} << 20;
constexpr la_int64_t kTarBlock = 512;

std::int32_t report(SluiceArchiveError* error, std::int32_t code, const char* text) {
  error->code = code;
  std::snprintf(error->text, sizeof error->text, "%s", text != nullptr ? text : "unknown reason");
  return code;
}

la_ssize_t read_stream(archive* handle, void* self, const void** block) {
  sluice_archive::Stream& stream = *static_cast<SluiceArchive*>(self)->stream;
  const std::ptrdiff_t n = stream.read(block);
  if (n >= 0) return n;
  archive_set_error(handle, EIO, "%s", stream.error().c_str());
  return ARCHIVE_FATAL;
}

la_int64_t skip_stream(archive*, void* self, la_int64_t count) {
  return static_cast<SluiceArchive*>(self)->stream->skip(count);
}

void close_archive(SluiceArchive* self) {
  archive_read_free(self->handle);
  delete self;
}

/// Throws bad_alloc only.
std::int32_t open_unguarded(SluiceArchive** out, const SluiceArchiveInput* input,
                            SluiceArchiveError* error) {
  auto self = std::make_unique<SluiceArchive>(*input);
  self->handle = archive_read_new();
  if (self->handle == nullptr) return report(error, kSluiceArchiveNoMemory, "out of memory");
  // No other format: every further one is a further way in.
  std::int32_t code = report(error, kSluiceArchiveOk, "");
  if (archive_read_support_format_tar(self->handle) != ARCHIVE_OK)
    code = report(error, kSluiceArchiveUnsupported, "tar");
  else if (archive_read_open2(self->handle, self.get(), nullptr, read_stream, skip_stream,
                              nullptr) != ARCHIVE_OK)
    code = report(error, kSluiceArchiveInvalid, archive_error_string(self->handle));
  if (code == kSluiceArchiveOk)
    *out = self.release();
  else
    archive_read_free(self->handle);
  return code;
}

std::int32_t open_archive(SluiceArchive** out, const SluiceArchiveInput* input,
                          SluiceArchiveError* error) {
  *out = nullptr;
  try {
    return open_unguarded(out, input, error);
  } catch (const std::bad_alloc&) {
    return report(error, kSluiceArchiveNoMemory, "out of memory");
  }
}

/// An archive that was cut short between two members looks like a whole one but for its end mark,
/// and only who reads compressed data to its end has its checksum looked at.
std::int32_t check_end(SluiceArchive* self, SluiceArchiveError* error) {
  const la_int64_t mark =
      archive_filter_bytes(self->handle, 0) - archive_read_header_position(self->handle);
  if (mark < kTarBlock) {
    report(error, kSluiceArchiveInvalid, "it ends without an end mark, as if cut short");
    return -1;
  }
  if (!self->stream->compressed()) return 0;  // as GNU tar, which stops at the mark
  const void* block = nullptr;
  for (std::uint64_t after = 0; after <= kMaxAfterEnd;) {
    const std::ptrdiff_t n = self->stream->read(&block);
    if (n == 0) return 0;
    if (n < 0) {
      report(error, kSluiceArchiveInvalid, self->stream->error().c_str());
      return -1;
    }
    after += static_cast<std::uint64_t>(n);
  }
  report(error, kSluiceArchiveInvalid, "more than 64 MiB follow its end mark");
  return -1;
}

/// In the C locale libarchive has no plain form of names that a header declares as UTF-8.
const char* text_of(const char* plain, const char* utf8) {
  if (plain != nullptr) return plain;
  return utf8 != nullptr ? utf8 : "";
}

std::int32_t next_entry(SluiceArchive* self, SluiceArchiveEntry* out, SluiceArchiveError* error) {
  archive_entry* entry = nullptr;
  const int result = archive_read_next_header(self->handle, &entry);
  if (result == ARCHIVE_EOF) return check_end(self, error);
  if (result != ARCHIVE_OK && result != ARCHIVE_WARN) {
    report(error, kSluiceArchiveInvalid, archive_error_string(self->handle));
    return -1;
  }
  out->name = text_of(archive_entry_pathname(entry), archive_entry_pathname_utf8(entry));
  out->target = "";
  out->size = archive_entry_size(entry);
  const char* hard = text_of(archive_entry_hardlink(entry), archive_entry_hardlink_utf8(entry));
  out->type = kSluiceArchiveOther;
  if (*hard != '\0') {
    out->type = kSluiceArchiveHardLink;
    out->target = hard;
    return 1;
  }
  if (archive_entry_filetype(entry) == AE_IFREG) out->type = kSluiceArchiveFile;
  if (archive_entry_filetype(entry) == AE_IFDIR) out->type = kSluiceArchiveFolder;
  if (archive_entry_filetype(entry) == AE_IFLNK) {
    out->type = kSluiceArchiveSymbolicLink;
    out->target = text_of(archive_entry_symlink(entry), archive_entry_symlink_utf8(entry));
  }
  return 1;
}

std::ptrdiff_t read_entry(SluiceArchive* self, void* out, std::size_t size,
                          SluiceArchiveError* error) {
  const la_ssize_t n = archive_read_data(self->handle, out, size);
  if (n >= 0) return n;
  report(error, kSluiceArchiveInvalid, archive_error_string(self->handle));
  return -1;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const SluiceArchiveTable* sluice_archive_table() {
  static const SluiceArchiveTable table = {
      kSluiceArchiveAbi, archive_version_details(), open_archive, next_entry, read_entry,
      close_archive,
  };
  return &table;
}
