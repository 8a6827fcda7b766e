// sluice/storage/local/page_cache.cpp - page cache of files, dropped by posix_fadvise, seen by
// mincore.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/local/page_cache.h"

#include "sluice/core/descriptor.h"
#include "sluice/core/rng.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <cerrno>
#include <fcntl.h>
#include <numeric>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace sluice::storage {
namespace {

namespace fs = std::filesystem;

constexpr double kCold = 0.01;
constexpr double kWarm = 0.99;
constexpr std::uint64_t kWindows = 16;  // per file that is not looked at as a whole

struct Pages {
  std::uint64_t resident = 0;
  std::uint64_t seen = 0;
};

std::uint64_t page_bytes() {
  static const auto size = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  return size;
}

/// 0, or errno.
int look_at(int fd, std::uint64_t offset, std::uint64_t size, Pages& pages) {
  void* map = ::mmap(nullptr, size, PROT_READ, MAP_SHARED, fd, static_cast<off_t>(offset));
  if (map == MAP_FAILED) return errno;
  std::vector<unsigned char> resident((size + page_bytes() - 1) / page_bytes());
  const int number = ::mincore(map, size, resident.data()) == 0 ? 0 : errno;
  ::munmap(map, size);
  if (number != 0) return number;
  pages.seen += resident.size();
  pages.resident += static_cast<std::uint64_t>(std::count_if(
      resident.begin(), resident.end(), [](unsigned char page) { return page & 1U; }));
  return 0;
}

/// The system tells the truth about a file only to those who own it or may write to it; to others
/// it says that every page is resident.
bool may_ask(const fs::path& file, const struct stat& info) {
  return ::geteuid() == 0 || ::geteuid() == info.st_uid || ::access(file.c_str(), W_OK) == 0;
}

std::string look_at(const fs::path& file, std::uint64_t max_bytes, Pages& pages) {
  const Descriptor fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
  struct stat info {};
  if (fd.get() < 0 || ::fstat(fd.get(), &info) != 0) return why(errno);
  if (!S_ISREG(info.st_mode)) return "not a file";
  if (!may_ask(file, info)) return "the system tells only owners which pages are resident";
  const auto size = static_cast<std::uint64_t>(info.st_size);
  if (size == 0) return "";
  std::uint64_t window = size;
  std::uint64_t step = size;
  if (size > max_bytes) {
    window = std::max(max_bytes / kWindows / page_bytes(), std::uint64_t{1}) * page_bytes();
    step = std::max(size / kWindows / page_bytes() * page_bytes(), window);
  }
  for (std::uint64_t at = 0; at < size; at += step) {
    if (const int number = look_at(fd.get(), at, std::min(window, size - at), pages); number != 0)
      return why(number);
  }
  return "";
}

std::vector<std::size_t> sample_of(std::size_t count, const ResidencyOptions& options) {
  std::vector<std::size_t> chosen(count);
  std::iota(chosen.begin(), chosen.end(), std::size_t{0});
  if (options.max_files != 0 && count > options.max_files) {
    Rng rng(RngKey{.seed = options.seed});
    rng.shuffle(std::span(chosen));
    chosen.resize(options.max_files);
  }
  return chosen;
}

}  // namespace

std::string_view to_string(CacheState state) {
  switch (state) {
    case CacheState::cold:
      return "cold";
    case CacheState::warm:
      return "warm";
    case CacheState::mixed:
      return "mixed";
    case CacheState::unknown:
      break;
  }
  return "unknown";
}

Residency page_residency(std::span<const fs::path> files, const ResidencyOptions& options) {
  Residency result;
  Pages pages;
  for (const std::size_t index : sample_of(files.size(), options)) {
    const fs::path& file = files[index];
    if (std::string reason = look_at(file, options.max_bytes, pages); !reason.empty()) {
      result.reason = fmt::format("{}: {}", printable(file.string()), reason);
      return result;
    }
    ++result.files;
  }
  result.pages = pages.seen;
  if (pages.seen == 0) {
    result.reason = "there is no page to look at";
    return result;
  }
  result.resident_share = static_cast<double>(pages.resident) / static_cast<double>(pages.seen);
  result.state = result.resident_share <= kCold   ? CacheState::cold
                 : result.resident_share >= kWarm ? CacheState::warm
                                                  : CacheState::mixed;
  return result;
}

Status drop_page_cache(std::span<const fs::path> files) {
  for (const fs::path& file : files) {
    const Descriptor fd(::open(file.c_str(), O_RDONLY | O_CLOEXEC | O_NONBLOCK));
    if (fd.get() < 0)
      return Error{errno == ENOENT ? Errc::not_found : Errc::io,
                   fmt::format("{}: cannot open: {}", printable(file.string()), why(errno))};
    // Pages that are not yet on disk would stay.
    if (::fdatasync(fd.get()) != 0 && errno != EINVAL && errno != EROFS)
      return Error{Errc::io,
                   fmt::format("{}: cannot flush: {}", printable(file.string()), why(errno))};
    ::posix_fadvise(fd.get(), 0, 0, POSIX_FADV_DONTNEED);
  }
  return ok;
}

}  // namespace sluice::storage
