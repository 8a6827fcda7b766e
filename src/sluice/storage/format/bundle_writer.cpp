// sluice/storage/format/bundle_writer.cpp - packs many small objects into few large files.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/format/bundle_writer.h"

#include "sluice/core/descriptor.h"
#include "sluice/core/file.h"
#include "sluice/core/file_lock.h"
#include "sluice/core/folder_guard.h"
#include "sluice/core/text.h"
#include "sluice/core/thread_pool.h"
#include "sluice/storage/format/bundle_index.h"
#include "sluice/storage/format/checksum.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <optional>
#include <unistd.h>

namespace sluice::storage {
namespace {

namespace fs = std::filesystem;

constexpr std::size_t kReadAtOnce = 16;  // objects, by as many threads
constexpr std::uint64_t kReadBytes = std::uint64_t{64} << 20;

Error failed(const fs::path& path, std::string_view what, int error) {
  return {Errc::io, fmt::format("{}: {}: {}", printable(path.string()), what, why(error))};
}

/// One bundle being written.
class BundleFile {
 public:
  static Result<BundleFile> create(const fs::path& path) {
    const int fd = ::open(path.c_str(), O_WRONLY | O_CREAT | O_EXCL | O_CLOEXEC, 0666);
    if (fd < 0) return failed(path, "cannot be written", errno);
    BundleFile file;
    file.path_ = path;
    file.fd_ = Descriptor(fd);
    return file;
  }
  Status write(std::span<const std::byte> bytes) {
    checksum_.update(bytes);
    bundle_.bytes += bytes.size();
    ++bundle_.samples;
    while (!bytes.empty()) {
      const ssize_t n = ::write(fd_.get(), bytes.data(), bytes.size());
      if (n < 0 && errno == EINTR) continue;
      if (n < 0) return failed(path_, "cannot be written", errno);
      bytes = bytes.subspan(static_cast<std::size_t>(n));
    }
    return ok;
  }
  Result<BundleIndex::Bundle> finish() {
    if (::fsync(fd_.get()) != 0) return failed(path_, "cannot be written", errno);
    bundle_.checksum = checksum_.value();
    return bundle_;
  }
  [[nodiscard]] const BundleIndex::Bundle& bundle() const { return bundle_; }

 private:
  fs::path path_{};
  Descriptor fd_{};
  BundleIndex::Bundle bundle_{};
  Checksum checksum_{};
};

/// The objects [first, end) that are read together.
std::size_t run_end(const std::vector<Object>& objects, std::size_t first) {
  std::uint64_t bytes = 0;
  std::size_t end = first;
  while (end < objects.size() && end - first < kReadAtOnce) {
    bytes += objects[end].size;
    if (end > first && bytes > kReadBytes) break;
    ++end;
  }
  return end;
}

class Writer {
 public:
  Writer(ObjectStore& from, const BundleOptions& options, fs::path folder)
      : from_(from), options_(options), folder_(std::move(folder)) {}

  Status write(const std::vector<Object>& objects, Progress& progress) {
    Progress::Bar bar = progress.bar("bundle", objects.size(), "samples");
    ThreadPool pool(static_cast<unsigned>(kReadAtOnce));
    std::vector<ReadBuffer> buffers(kReadAtOnce);
    std::vector<std::optional<Result<std::span<const std::byte>>>> read(kReadAtOnce);
    for (std::size_t first = 0; first < objects.size();) {
      const std::size_t end = run_end(objects, first);
      pool.parallel_for(end - first, [&](std::size_t i, unsigned) {
        const Object& object = objects[first + i];
        if (stopped())
          read[i] = stop_error();
        else
          read[i] = from_.read(object, 0, static_cast<std::size_t>(object.size), buffers[i]);
      });
      for (std::size_t i = 0; i < end - first; ++i) {
        if (!read[i]->has_value()) return read[i]->error();
        if (stopped()) return stop_error();
        SLUICE_CHECK(add(objects[first + i].key, read[i]->value()));
      }
      first = end;
      bar.set(first);
    }
    SLUICE_CHECK(close());
    return write_file_atomic(folder_ / std::string(kBundleIndexName), index_.serialize());
  }

  [[nodiscard]] BundleReport report() const {
    BundleReport report;
    report.samples = index_.samples.size();
    for (std::size_t i = 0; i < index_.bundles.size(); ++i) {
      report.bytes += index_.bundles[i].bytes;
      report.bundles.push_back({.file = bundle_name(i),
                                .bytes = index_.bundles[i].bytes,
                                .samples = index_.bundles[i].samples});
    }
    return report;
  }

 private:
  [[nodiscard]] bool stopped() const { return options_.stop && options_.stop(); }
  static Error stop_error() { return {Errc::interrupted, "stopped"}; }

  Status add(std::string_view name, std::span<const std::byte> bytes) {
    const bool full = file_ && (file_->bundle().bytes >= options_.bundle_bytes ||
                                bytes.size() > options_.bundle_bytes - file_->bundle().bytes);
    if (full) SLUICE_CHECK(close());
    if (!file_) {
      SLUICE_TRY(file_, BundleFile::create(folder_ / bundle_name(index_.bundles.size())));
    }
    index_.add(file_->bundle().bytes, bytes.size(), checksum(bytes), name);
    return file_->write(bytes);
  }
  Status close() {
    SLUICE_TRY(const BundleIndex::Bundle bundle, file_->finish());
    index_.bundles.push_back(bundle);
    file_.reset();
    return ok;
  }

  ObjectStore& from_;
  const BundleOptions& options_;
  fs::path folder_;
  BundleIndex index_;
  std::optional<BundleFile> file_;
};

Result<std::vector<Object>> wanted_objects(ObjectStore& from, const BundleOptions& options,
                                           std::uint64_t& left_out) {
  std::vector<Object> objects;
  SLUICE_CHECK(from.list("", [&](std::span<const Object> page) -> Status {
    if (options.stop && options.stop()) return Error{Errc::interrupted, "stopped"};
    for (const Object& object : page) {
      if (!options.wanted || options.wanted(object))
        objects.push_back(object);
      else
        ++left_out;
    }
    return ok;
  }));
  std::stable_sort(objects.begin(), objects.end(),
                   [](const Object& a, const Object& b) { return a.size > b.size; });
  return objects;
}

}  // namespace

Json BundleReport::json() const {
  constexpr double kMiB = 1 << 20;
  Json list = Json::array();
  for (const Bundle& bundle : bundles)
    list.push_back({{"file", bundle.file},
                    {"size_mb", static_cast<double>(bundle.bytes) / kMiB},
                    {"bytes", bundle.bytes},
                    {"arrays", bundle.samples}});
  const double total = static_cast<double>(bytes) / kMiB;
  return {
      {"total_bundles", bundles.size()},
      {"total_arrays", samples},
      {"total_bytes", bytes},
      {"total_size_mb", total},
      {"avg_bundle_size_mb", bundles.empty() ? 0.0 : total / static_cast<double>(bundles.size())},
      {"left_out", left_out},
      {"bundles", std::move(list)}};
}

Result<BundleReport> write_bundles(ObjectStore& from, const BundleOptions& options,
                                   Progress& progress) {
  const std::string name = printable(options.out.string());
  std::error_code error;
  fs::path out = fs::absolute(options.out, error).lexically_normal();
  if (!out.has_filename()) out = out.parent_path();
  if (fs::exists(out, error) && !(fs::is_directory(out, error) && fs::is_empty(out, error)))
    return Error{
        Errc::usage,
        fmt::format("{}: is there already; a folder that is empty or not there is accepted", name)};
  std::uint64_t left_out = 0;
  SLUICE_TRY(const std::vector<Object> objects, wanted_objects(from, options, left_out));
  if (objects.empty())
    return Error{Errc::invalid_input, fmt::format("{}: none of {} objects is a sample",
                                                  printable(from.name()), left_out)};
  const fs::path partial = out.parent_path() / fmt::format(".{}.partial", out.filename().string());
  SLUICE_CHECK(create_folders(out.parent_path()));
  SLUICE_TRY(const FileLock lock, FileLock::take(lock_beside(out), name));
  const FolderGuard guard(partial);
  fs::remove_all(partial, error);  // of a process that was killed
  SLUICE_CHECK(create_folders(partial));
  Writer writer(from, options, partial);
  SLUICE_CHECK(writer.write(objects, progress));
  fs::rename(partial, out, error);
  if (error) return failed(options.out, "cannot be written", error.value());
  BundleReport report = writer.report();
  report.left_out = left_out;
  return report;
}

}  // namespace sluice::storage
