// tests/image/shared_inputs_fuzz.cpp - libFuzzer: no index, however hostile, gives a view outside
// its data.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/inputs/shared_inputs.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <filesystem>
#include <string>
#include <sys/mman.h>
#include <unistd.h>

namespace {

constexpr std::size_t kDataBytes = 4096;

/// A file that lies in memory and is gone with the process.
class MemoryFile {
 public:
  MemoryFile() : fd_(::memfd_create("fuzz", MFD_CLOEXEC)) {}
  void set(const void* bytes, std::size_t size) const {
    if (fd_ < 0 || ::ftruncate(fd_, static_cast<off_t>(size)) != 0) std::abort();
    if (::pwrite(fd_, bytes, size, 0) != static_cast<ssize_t>(size)) std::abort();
  }
  [[nodiscard]] std::filesystem::path path() const {
    return "/proc/self/fd/" + std::to_string(fd_);
  }

 private:
  int fd_;
};

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  static const MemoryFile index;
  static const MemoryFile zeros = [] {
    const MemoryFile file;
    file.set(std::string(kDataBytes, '\0').data(), kDataBytes);
    return file;
  }();
  index.set(data, size);
  const auto inputs = sluice::image::MappedInputs::open(index.path(), zeros.path());
  if (!inputs) return 0;
  unsigned sum = 0;
  for (std::size_t i = 0; i < inputs->size(); ++i) {
    for (const std::uint8_t sample : inputs->samples(i))
      sum += sample;
    if (inputs->view(i, inputs->item(i).frames - 1).empty()) std::abort();
  }
  if (sum != 0) std::abort();  // the data are zeros
  return 0;
}
