// sluice/image/video_module/reader.h - one video file in memory: opened, its packets, its frames.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/image/video_module/av.h"
#include "sluice/image/video_module/schedule.h"

#include <chrono>
#include <span>
#include <vector>

namespace sluice::video_module {

/// Bytes that libav reads and seeks in. It must not move while a context refers to it.
class MemoryFile {
 public:
  explicit MemoryFile(std::span<const std::uint8_t> bytes) : bytes_(bytes) {}
  Avio open();

 private:
  static int read(void* self, std::uint8_t* out, int size);
  static std::int64_t seek(void* self, std::int64_t offset, int whence);
  std::span<const std::uint8_t> bytes_;
  std::size_t at_ = 0;
};

/// Counts from start().
class Deadline {
 public:
  explicit Deadline(double max_seconds) : max_(max_seconds) { start(); }
  void start() { begin_ = std::chrono::steady_clock::now(); }
  [[nodiscard]] bool passed() const {
    return std::chrono::duration<double>(std::chrono::steady_clock::now() - begin_).count() > max_;
  }
  void require() const;

 private:
  double max_;
  std::chrono::steady_clock::time_point begin_;
};

/// Converts decoded frames to tightly packed RGB.
class RgbWriter {
 public:
  RgbWriter(int width, int height) : width_(width), height_(height) {}
  [[nodiscard]] std::size_t frame_bytes() const {
    return static_cast<std::size_t>(width_) * static_cast<std::size_t>(height_) * 3;
  }
  /// A frame of another size than the stream's is a Failure.
  void write(std::uint8_t* out, const AVFrame& frame);

 private:
  void prepare(const AVFrame& frame);
  int width_, height_;
  Scaler scaler_;
  int format_ = AV_PIX_FMT_NONE, space_ = -1, range_ = -1;  // what scaler_ was made for
  std::vector<std::uint8_t> padded_;
};

}  // namespace sluice::video_module

struct SluiceVideoReader {
 public:
  SluiceVideoReader(std::span<const std::uint8_t> bytes, const SluiceVideoLimits& limits)
      : limits_(limits), deadline_(limits.max_seconds), file_(bytes) {}
  SluiceVideoReader(const SluiceVideoReader&) = delete;
  SluiceVideoReader& operator=(const SluiceVideoReader&) = delete;
  ~SluiceVideoReader();

  SluiceVideoInfo open();
  void read(std::uint8_t* out, std::span<const std::int64_t> indices);

 private:
  void open_container();
  [[nodiscard]] bool header_suffices() const;
  [[nodiscard]] std::int64_t count_frames(bool& guessed) const;
  void read_packets();
  void open_codec();
  /// Decodes only what the schedule asks for; false when a wanted frame did not come out.
  bool read_scheduled(std::uint8_t* out, std::span<const std::int64_t> indices);
  void read_all(std::uint8_t* out, std::span<const std::int64_t> indices);
  /// Sends a packet (nullptr: the end) and hands every frame that comes out to `take`.
  template <class Take>
  void decode(const AVPacket* packet, Take&& take);

  SluiceVideoLimits limits_;
  sluice::video_module::Deadline deadline_;
  sluice::video_module::MemoryFile file_;
  sluice::video_module::Avio avio_;
  AVFormatContext* format_ = nullptr;
  AVStream* stream_ = nullptr;
  sluice::video_module::Codec codec_;
  sluice::video_module::Frame frame_;
  std::vector<sluice::video_module::Packet> packets_;
};
