// sluice/storage/archive_module/table.cpp - libsluice_archive.so: tar through libarchive.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/format/archive_table.h"

#include <archive.h>
#include <archive_entry.h>
#include <cerrno>
#include <cstdio>
#include <new>

struct SluiceArchive {
  archive* handle = nullptr;
  SluiceArchiveInput input{};
};

namespace {

struct Format {
  int (*enable)(archive*);
  const char* name;
};
// No other format: every further one is a further way in.
constexpr Format kFormats[] = {
    {archive_read_support_filter_gzip, "gzip"}, {archive_read_support_filter_bzip2, "bzip2"},
    {archive_read_support_filter_xz, "xz"},     {archive_read_support_filter_zstd, "zstd"},
    {archive_read_support_format_tar, "tar"},
};

std::int32_t report(SluiceArchiveError* error, std::int32_t code, const char* text) {
  error->code = code;
  std::snprintf(error->text, sizeof error->text, "%s", text != nullptr ? text : "unknown reason");
  return code;
}

la_ssize_t read_input(archive* handle, void* self, const void** block) {
  const SluiceArchiveInput& input = static_cast<SluiceArchive*>(self)->input;
  const std::ptrdiff_t n = input.read(input.user, block);
  if (n >= 0) return n;
  archive_set_error(handle, EIO, "cannot be read");
  return ARCHIVE_FATAL;
}

la_int64_t skip_input(archive*, void* self, la_int64_t count) {
  const SluiceArchiveInput& input = static_cast<SluiceArchive*>(self)->input;
  return input.skip(input.user, count);
}

void close_archive(SluiceArchive* self) {
  archive_read_free(self->handle);
  delete self;
}

std::int32_t open_archive(SluiceArchive** out, const SluiceArchiveInput* input,
                          SluiceArchiveError* error) {
  *out = nullptr;
  auto* self = new (std::nothrow) SluiceArchive;
  if (self == nullptr) return report(error, kSluiceArchiveNoMemory, "out of memory");
  self->input = *input;
  self->handle = archive_read_new();
  std::int32_t code = report(error, kSluiceArchiveOk, "");
  if (self->handle == nullptr) code = report(error, kSluiceArchiveNoMemory, "out of memory");
  for (const Format& format : kFormats)  // a warning means: through an external program
    if (code == kSluiceArchiveOk && format.enable(self->handle) != ARCHIVE_OK)
      code = report(error, kSluiceArchiveUnsupported, format.name);
  if (code == kSluiceArchiveOk && archive_read_open2(self->handle, self, nullptr, read_input,
                                                     skip_input, nullptr) != ARCHIVE_OK)
    code = report(error, kSluiceArchiveInvalid, archive_error_string(self->handle));
  if (code != kSluiceArchiveOk) {
    close_archive(self);
    return code;
  }
  *out = self;
  return code;
}

/// In the C locale libarchive has no plain form of names that a header declares as UTF-8.
const char* text_of(const char* plain, const char* utf8) {
  if (plain != nullptr) return plain;
  return utf8 != nullptr ? utf8 : "";
}

std::int32_t next_entry(SluiceArchive* self, SluiceArchiveEntry* out, SluiceArchiveError* error) {
  archive_entry* entry = nullptr;
  const int result = archive_read_next_header(self->handle, &entry);
  if (result == ARCHIVE_EOF) return 0;
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
