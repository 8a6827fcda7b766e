// sluice/loader/photo_steps.cpp - resize and place, and decoding that can be stopped.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/photo_steps.h"

#include <fmt/format.h>

#include <ctime>
#include <limits>

namespace sluice::loader {
namespace {

constexpr int kMostSide = 4096;

// DecodeOptions takes a plain function for its clock, so what stops it belongs to the thread.
thread_local const std::atomic<bool>* stop_of_thread = nullptr;
// A decoder asks at every row group, some 200 times a photograph: the clock is read at the first
// and then at every kAsksPerReading-th. It is that of the thread: a process that was stopped for a
// while, or got no core, is not the fault of the file.
thread_local unsigned asked = 0;
thread_local double seconds_read = 0;
constexpr unsigned kAsksPerReading = 64;  // a reading is a system call

double seconds_or_stop() {
  if (stop_of_thread != nullptr && stop_of_thread->load(std::memory_order_relaxed))
    return std::numeric_limits<double>::infinity();  // past every limit
  if (asked++ % kAsksPerReading == 0) {
    timespec now{};
    clock_gettime(CLOCK_THREAD_CPUTIME_ID, &now);
    seconds_read = static_cast<double>(now.tv_sec) + static_cast<double>(now.tv_nsec) * 1e-9;
  }
  return seconds_read;
}

}  // namespace

image::Bytes as_image_bytes(std::span<const std::byte> encoded) {
  return {reinterpret_cast<const std::uint8_t*>(encoded.data()), encoded.size()};
}

image::DecodeOptions decode_options(const std::atomic<bool>* stop) {
  stop_of_thread = stop;
  asked = 0;
  image::DecodeOptions options;
  options.now_s = seconds_or_stop;
  if (stop != nullptr && stop->load(std::memory_order_relaxed)) {  // it is past from the start
    options.now_s = nullptr;
    options.max_seconds = -1;
  }
  return options;
}

Status check_side(const char* name, int value) {
  if (value >= 1 && value <= kMostSide) return ok;
  return Error{Errc::usage, fmt::format("{} is {}; accepted: 1 to {}", name, value, kMostSide)};
}

Status PhotoScratch::resize(image::ImageSpan<std::uint8_t> dst, Filter filter) {
  if (filter == Filter::antialias) return antialias.run(dst, decoded.view<std::uint8_t>());
  return plain.run(dst, decoded.view<std::uint8_t>());
}

Status PhotoScratch::resize_and_place(std::span<std::byte> out, const OutputSpec& spec,
                                      Filter filter, const image::Normalization& normalization,
                                      bool mirrored, StageClock& clock) {
  clock.enter(Stage::augment);
  if (spec.type == BatchType::u8 && spec.layout == Layout::hwc && !mirrored) {
    const std::span<std::uint8_t> bytes(reinterpret_cast<std::uint8_t*>(out.data()), out.size());
    SLUICE_TRY(const auto dst,
               image::ImageSpan<std::uint8_t>::make(bytes, spec.width, spec.height, 3));
    return resize(dst, filter);  // its place is where it is made
  }
  SLUICE_CHECK(resized.resize_for(spec.width, spec.height, 3));
  SLUICE_CHECK(resize(resized.span<std::uint8_t>(), filter));
  clock.enter(Stage::collate);
  return loader::place(out, spec, resized.view<std::uint8_t>(), normalization, mirrored,
                       this->place);
}

}  // namespace sluice::loader
