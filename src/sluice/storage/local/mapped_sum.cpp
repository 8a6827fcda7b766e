// sluice/storage/local/mapped_sum.cpp - a checksum of part of a file, taken where the page cache
// lies.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/local/mapped_sum.h"

#include "sluice/storage/excerpt.h"
#include "sluice/storage/local/guarded_copy.h"

#include <algorithm>
#include <cstddef>
#include <sys/mman.h>
#include <sys/stat.h>
#include <unistd.h>

namespace sluice::storage {
namespace {

constexpr std::uint64_t kMapStep = std::uint64_t{8} << 20U;  // between two looks at `cancelled`

/// Of part of a file, for a moment.
class PassingMap {
 public:
  /// `offset` is that of a page. Its pages are there at once, as far as they can be had: a fault
  /// for every few of them costs more.
  PassingMap(int fd, std::uint64_t offset, std::size_t size)
      : size_(size),
        map_(::mmap(nullptr, size, PROT_READ, MAP_SHARED | MAP_POPULATE, fd,
                    static_cast<off_t>(offset))) {}
  ~PassingMap() {
    if (mapped()) ::munmap(map_, size_);
  }
  PassingMap(const PassingMap&) = delete;
  PassingMap& operator=(const PassingMap&) = delete;

  [[nodiscard]] bool mapped() const { return map_ != MAP_FAILED; }
  [[nodiscard]] std::span<const std::byte> bytes() const {
    return {static_cast<const std::byte*>(map_), size_};
  }

 private:
  std::size_t size_;
  void* map_;
};

bool holds(int fd, std::uint64_t end) {
  struct stat status {};
  return ::fstat(fd, &status) == 0 && static_cast<std::uint64_t>(status.st_size) >= end;
}

}  // namespace

std::optional<std::uint32_t> mapped_sum(int fd, std::uint64_t offset, std::uint64_t size,
                                        std::span<const ObjectStore::Excerpt> parts,
                                        const std::atomic<bool>& cancelled) {
  if (offset > INT64_MAX || size > INT64_MAX - offset || !guard_stands()) return std::nullopt;
  static const auto page = static_cast<std::uint64_t>(::sysconf(_SC_PAGESIZE));
  std::uint32_t crc = 0;
  for (std::uint64_t done = 0; done < size;) {
    if (cancelled) return std::nullopt;
    const std::uint64_t at = offset + done;
    const std::uint64_t before = at % page;
    const std::uint64_t step = std::min(kMapStep, size - done);
    const PassingMap map(fd, at - before, static_cast<std::size_t>(before + step));
    if (!map.mapped()) return std::nullopt;
    const auto bytes = map.bytes().subspan(static_cast<std::size_t>(before));
    if (!guarded_sum(crc, bytes) || !keep_excerpts(bytes, at, parts, guarded_copy))
      return std::nullopt;
    done += step;
  }
  // Between the end of a file that was cut short and that of its page are zeros.
  if (!holds(fd, offset + size)) return std::nullopt;
  return crc;
}

}  // namespace sluice::storage
