// sluice/image/video_module/frames.cpp - bytes in memory as libav's input, frames to RGB.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/video_module/reader.h"

#include <algorithm>
#include <cstring>

namespace sluice::video_module {
namespace {

/// swscale's vector code may write up to so many bytes past the end of a row.
constexpr std::size_t kRowPadding = 64;

/// What a stream does not say is BT.601, as FFmpeg's own tools assume.
int colour_table(const AVFrame& frame) {
  return frame.colorspace == AVCOL_SPC_UNSPECIFIED ? SWS_CS_ITU601 : frame.colorspace;
}

bool full_range(const AVFrame& frame) {
  return frame.color_range == AVCOL_RANGE_JPEG || frame.format == AV_PIX_FMT_YUVJ420P ||
         frame.format == AV_PIX_FMT_YUVJ422P || frame.format == AV_PIX_FMT_YUVJ444P;
}

}  // namespace

Avio MemoryFile::open() {
  constexpr int kBuffer = 1 << 16;
  auto* buffer = static_cast<unsigned char*>(require(av_malloc(kBuffer)));
  AVIOContext* avio = avio_alloc_context(buffer, kBuffer, 0, this, read, nullptr, seek);
  if (avio == nullptr) av_free(buffer);
  return Avio(require(avio));
}

int MemoryFile::read(void* self, std::uint8_t* out, int size) {
  auto& file = *static_cast<MemoryFile*>(self);
  const std::size_t n =
      std::min(static_cast<std::size_t>(std::max(size, 0)), file.bytes_.size() - file.at_);
  if (n == 0) return AVERROR_EOF;
  std::memcpy(out, file.bytes_.data() + file.at_, n);
  file.at_ += n;
  return static_cast<int>(n);
}

std::int64_t MemoryFile::seek(void* self, std::int64_t offset, int whence) {
  auto& file = *static_cast<MemoryFile*>(self);
  const auto size = static_cast<std::int64_t>(file.bytes_.size());
  if ((whence & AVSEEK_SIZE) != 0) return size;
  std::int64_t base = 0;
  if ((whence & ~AVSEEK_FORCE) == SEEK_CUR) base = static_cast<std::int64_t>(file.at_);
  if ((whence & ~AVSEEK_FORCE) == SEEK_END) base = size;
  if (offset < -base || offset > size - base) return AVERROR(EINVAL);
  file.at_ = static_cast<std::size_t>(base + offset);
  return base + offset;
}

void Deadline::require() const {
  if (passed())
    throw Failure{kSluiceVideoTimeout, "takes longer than the accepted " +
                                           std::to_string(static_cast<long long>(max_)) +
                                           " seconds"};
}

void RgbWriter::prepare(const AVFrame& frame) {
  const int space = colour_table(frame);
  const int range = full_range(frame) ? 1 : 0;
  if (scaler_ && format_ == frame.format && space_ == space && range_ == range) return;
  const auto format = static_cast<AVPixelFormat>(frame.format);
  if (sws_isSupportedInput(format) == 0)
    throw Failure{kSluiceVideoUnsupported, "libswscale cannot read this pixel format"};
  scaler_.reset(require(sws_getContext(width_, height_, format, width_, height_, AV_PIX_FMT_RGB24,
                                       SWS_BICUBIC, nullptr, nullptr, nullptr)));
  // -1 for formats that are RGB already: then there is nothing to set.
  (void)sws_setColorspaceDetails(scaler_.get(), sws_getCoefficients(space), range,
                                 sws_getCoefficients(SWS_CS_DEFAULT), 1, 0, 1 << 16, 1 << 16);
  format_ = frame.format;
  space_ = space;
  range_ = range;
}

void RgbWriter::write(std::uint8_t* out, const AVFrame& frame) {
  if (frame.width != width_ || frame.height != height_)
    throw Failure{kSluiceVideoInvalid, "a frame is " + std::to_string(frame.width) + "x" +
                                           std::to_string(frame.height) + ", the stream " +
                                           std::to_string(width_) + "x" + std::to_string(height_)};
  prepare(frame);
  const std::size_t row = static_cast<std::size_t>(width_) * 3;
  const std::size_t pitch = row + kRowPadding;
  padded_.resize(pitch * static_cast<std::size_t>(height_));
  std::uint8_t* const planes[4] = {padded_.data(), nullptr, nullptr, nullptr};
  const int pitches[4] = {static_cast<int>(pitch), 0, 0, 0};
  const int rows =
      sws_scale(scaler_.get(), frame.data, frame.linesize, 0, height_, planes, pitches);
  if (rows != height_) throw Failure{kSluiceVideoInternal, "libswscale did not convert a frame"};
  for (std::size_t y = 0; y < static_cast<std::size_t>(height_); ++y)
    std::memcpy(out + y * row, padded_.data() + y * pitch, row);
}

}  // namespace sluice::video_module
