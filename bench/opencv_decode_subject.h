// bench/opencv_decode_subject.h - JPEG decode by OpenCV, as a subject to compare with; never linked
// by the product.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <memory>
#include <span>
#include <string>

namespace sluice::bench {

/// cv::imdecode of files that lie in memory, on one thread, into a matrix it keeps from call to
/// call.
class OpencvDecoder {
 public:
  OpencvDecoder();
  ~OpencvDecoder();
  OpencvDecoder(const OpencvDecoder&) = delete;
  OpencvDecoder& operator=(const OpencvDecoder&) = delete;

  struct Pixels {
    const std::uint8_t* data =
        nullptr;  // BGR rows, pitch_bytes apart; valid until the next call. Null: not decoded
    int width = 0;
    int height = 0;
    std::size_t pitch_bytes = 0;
  };
  /// IMREAD_COLOR | IMREAD_IGNORE_ORIENTATION: pixels as stored, as ours.
  Pixels decode(std::span<const std::uint8_t> bytes);

  static std::string version();

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice::bench
