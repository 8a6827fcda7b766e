// bench/opencv_decode_subject.cpp - JPEG decode by OpenCV, as a subject to compare with.
// SPDX-License-Identifier: Apache-2.0
#include "bench/opencv_decode_subject.h"

#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>

namespace sluice::bench {

struct OpencvDecoder::State {
  cv::Mat pixels;
};

OpencvDecoder::OpencvDecoder() : state_(std::make_unique<State>()) {
  cv::setNumThreads(1);
}
OpencvDecoder::~OpencvDecoder() = default;

OpencvDecoder::Pixels OpencvDecoder::decode(std::span<const std::uint8_t> bytes) {
  // The header type wants a mutable pointer; imdecode only reads.
  const cv::Mat encoded(1, static_cast<int>(bytes.size()), CV_8UC1,
                        const_cast<std::uint8_t*>(bytes.data()));
  cv::Mat& pixels = state_->pixels;
  cv::imdecode(encoded, cv::IMREAD_COLOR | cv::IMREAD_IGNORE_ORIENTATION, &pixels);
  if (pixels.empty()) return {};
  return {pixels.data, pixels.cols, pixels.rows, pixels.step[0]};
}

std::string OpencvDecoder::version() {
  return CV_VERSION;
}

}  // namespace sluice::bench
