// sluice/loader/gpu/library.h - finds libsluice_nvjpeg.so and opens a line of it; errors as Status.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/image/normalize.h"
#include "sluice/loader/gpu/table.h"
#include "sluice/loader/slot_memory.h"

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string_view>
#include <vector>

namespace sluice::loader::gpu {

/// Loaded once. Errc::usage: this build has no module, or its libraries are not there.
Result<const Table*> library();

/// A line of the module; calls as in table.h. For one thread at a time.
class ImageLine {
 public:
  /// Errc::usage: no module, no driver, no such device, no libnvjpeg, too little memory.
  static Result<ImageLine> open(const LineOptions& options);
  /// With another table than the module's: for tests.
  static Result<ImageLine> open_with(const Table& table, const LineOptions& options);
  ImageLine(ImageLine&& other) noexcept;
  ImageLine& operator=(ImageLine&&) = delete;
  ~ImageLine();

  [[nodiscard]] const LineFacts& facts() const { return facts_; }
  [[nodiscard]] const LineOptions& options() const { return options_; }
  [[nodiscard]] std::size_t own_bytes() const;

  /// Gives memory while the line is open, takes it back at any time.
  std::shared_ptr<PinnedAllocator> pinned_allocator();
  Status set_levels(const image::Normalization& normalization);
  /// The numbers of those that the decoder refused.
  Result<std::vector<std::size_t>> decode(int buffer, std::span<const Sample> samples);
  Status process(int buffer, std::span<const Sample> samples, Resample resample, Augment augment,
                 Output output, void* after = nullptr);
  /// A device that does not answer for a minute is Errc::measurement.
  Status wait(int buffer);
  [[nodiscard]] void* output(int buffer) const;
  [[nodiscard]] void* ready(int buffer) const;  // a cudaEvent_t
  Status download(std::span<std::byte> to, const void* from);
  Status download_cropped(int buffer, std::span<std::byte> to);
  Status download_output(int buffer, std::span<std::byte> to);
  Status download_decoded(int buffer, int sample, std::span<std::uint8_t> to);

 private:
  ImageLine(const Table* table, Line* line, const LineOptions& options, const LineFacts& facts)
      : table_(table), line_(line), options_(options), facts_(facts) {}
  [[nodiscard]] Status status(int code, std::string_view what) const;

  const Table* table_;
  Line* line_;
  LineOptions options_;
  LineFacts facts_;
  std::vector<std::uint8_t> refused_;
};

}  // namespace sluice::loader::gpu
