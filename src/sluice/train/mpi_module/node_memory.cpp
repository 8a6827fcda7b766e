// sluice/train/mpi_module/node_memory.cpp - a file without a name, found through the process that
// made it.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/mpi_module/node_memory.h"

#include <array>
#include <cstring>
#include <fcntl.h>
#include <string>
#include <string_view>
#include <sys/mman.h>
#include <sys/random.h>
#include <unistd.h>

namespace {

constexpr std::size_t kHead = 4096;  // the mark, in a page of its own

constexpr const char* kName = "sluice-ranks";

/// Never 0; 0 when the system gives none.
std::uint64_t random_mark() {
  std::uint64_t mark = 0;
  if (::getrandom(&mark, sizeof mark, GRND_NONBLOCK) != sizeof mark) return 0;
  return mark | 1U;
}

/// On another machine the same path may be anything, a terminal too.
bool is_ours(const std::string& path) {
  std::array<char, 64> text{};
  const auto length = ::readlink(path.c_str(), text.data(), text.size());
  if (length < 0) return false;
  return std::string_view(text.data(), static_cast<std::size_t>(length))
      .starts_with(std::string("/memfd:") + kName);
}

}  // namespace

std::optional<NodeMemory> NodeMemory::make(std::size_t bytes) {
  NodeMemory memory;
  memory.place_ = {.pid = ::getpid(),
                   .descriptor = ::memfd_create(kName, MFD_CLOEXEC),
                   .bytes = bytes,
                   .mark = random_mark()};
  memory.descriptor_ = memory.place_.descriptor;
  if (memory.descriptor_ < 0 || memory.place_.mark == 0) return std::nullopt;
  const auto whole = static_cast<off_t>(kHead + bytes);
  // Room is asked for now: a full machine would end the ranks in the middle of a sum.
  if (::posix_fallocate(memory.descriptor_, 0, whole) != 0) return std::nullopt;
  if (!memory.map(memory.descriptor_)) return std::nullopt;
  std::memcpy(memory.mapped_, &memory.place_.mark, sizeof memory.place_.mark);
  return memory;
}

std::optional<NodeMemory> NodeMemory::find(const Place& place) {
  if (place.mark == 0) return std::nullopt;
  NodeMemory memory;
  memory.place_ = place;
  const std::string path =
      "/proc/" + std::to_string(place.pid) + "/fd/" + std::to_string(place.descriptor);
  if (!is_ours(path)) return std::nullopt;
  const int descriptor = ::open(path.c_str(), O_RDWR | O_CLOEXEC);
  if (descriptor < 0) return std::nullopt;
  const auto whole = static_cast<off_t>(kHead + place.bytes);
  const bool mapped = ::lseek(descriptor, 0, SEEK_END) == whole && memory.map(descriptor);
  ::close(descriptor);
  if (!mapped || std::memcmp(memory.mapped_, &place.mark, sizeof place.mark) != 0)
    return std::nullopt;
  return memory;
}

NodeMemory& NodeMemory::operator=(NodeMemory&& other) noexcept {
  std::swap(place_, other.place_);
  std::swap(descriptor_, other.descriptor_);
  std::swap(mapped_, other.mapped_);
  return *this;
}

NodeMemory::~NodeMemory() {
  if (mapped_ != nullptr) ::munmap(mapped_, kHead + place_.bytes);
  if (descriptor_ >= 0) ::close(descriptor_);
}

std::byte* NodeMemory::bytes() const {
  return static_cast<std::byte*>(mapped_) + kHead;
}

bool NodeMemory::map(int descriptor) {
  void* const found =
      ::mmap(nullptr, kHead + place_.bytes, PROT_READ | PROT_WRITE, MAP_SHARED, descriptor, 0);
  if (found == MAP_FAILED) return false;
  mapped_ = found;
  return true;
}
