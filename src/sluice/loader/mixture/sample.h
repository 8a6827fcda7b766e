// sluice/loader/mixture/sample.h - a frame pair on its way from its episode to a batch, still
// encoded.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <ctime>
#include <span>
#include <string>
#include <vector>

namespace sluice::loader::mixture {

/// Where a source is: the next sample it gives.
struct Cursor {
  std::uint64_t epoch = 0;
  std::uint64_t episode = 0;  // place in the order of this epoch
  std::uint64_t pair = 0;     // of those that are taken from the episode
  friend bool operator==(const Cursor&, const Cursor&) = default;
};

/// Its memory is used again.
struct Sample {
  std::uint32_t source = 0;
  Cursor after{};                     // the cursor of what follows it
  std::vector<std::uint8_t> bytes{};  // both images
  std::size_t second = 0;             // where the second begins
  std::uint64_t record = 0;           // number of the episode's record in its file
  std::uint32_t shard = 0;            // number of the file among those of the split
  std::int64_t frame = 0;
  // With Metadata::full only.
  std::vector<float> action{};
  std::vector<float> state{};
  std::string language{};
  std::string robot{};

  [[nodiscard]] std::span<const std::uint8_t> image(int which) const {
    const std::span<const std::uint8_t> all(bytes);
    return which == 0 ? all.first(second) : all.subspan(second);
  }
};

using Block = std::vector<Sample>;

/// Processor time of the calling thread.
inline std::int64_t thread_ns() {
  timespec now{};
  clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
  return static_cast<std::int64_t>(now.tv_sec) * 1'000'000'000 + now.tv_nsec;
}

}  // namespace sluice::loader::mixture
