// sluice/image/video_table.h - the C interface between the program and libsluice_video.so.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// Plain types only: the module is built apart, perhaps by another compiler. Any change here raises
// kSluiceVideoAbi. Functions return 0, or fill *error and return its code; none throws, keeps a
// pointer of the caller's after close, or prints.
extern "C" {

enum SluiceVideoCode : std::int32_t {
  kSluiceVideoOk = 0,
  kSluiceVideoInvalid = 1,      // the bytes are not what they should be
  kSluiceVideoUnsupported = 2,  // sound, but the libraries here cannot do it
  kSluiceVideoNoMemory = 3,
  kSluiceVideoTimeout = 4,
  kSluiceVideoInternal = 5,
};

struct SluiceVideoError {
  std::int32_t code;
  char text[252];  // one line, ends with NUL
};

struct SluiceVideoLimits {
  std::uint64_t max_pixels;  // width x height
  double max_seconds;        // per call of open or read
  std::int32_t allow_damaged;
  std::int32_t sequential;  // decode every frame in order, skip nothing
};

struct SluiceVideoInfo {
  std::int32_t width;
  std::int32_t height;
  std::int64_t frames;          // at least 1
  std::int32_t frames_guessed;  // the container does not say: duration x rate
  double fps;                   // 0: unknown
  char codec[32];
  char container[64];
};

struct SluiceVideoFrames {
  const std::uint8_t* pixels;  // T x H x W x 3, tightly packed
  std::int32_t frames;
  std::int32_t width;  // even
  std::int32_t height;
};

struct SluiceVideoEncoding {
  std::int32_t fps;
  std::int32_t crf;  // x264's quality, 0 to 51; smaller is better
  std::int32_t gop;  // frames from key frame to key frame at most; 0: the encoder's choice
};

struct SluiceVideoReader;

struct SluiceVideoTable {
  std::uint32_t abi;
  const char* versions;  // "libavcodec 59.37.100, ..."
  /// `bytes` must live until close.
  std::int32_t (*open)(SluiceVideoReader** reader, SluiceVideoInfo* info, const std::uint8_t* bytes,
                       std::size_t size, const SluiceVideoLimits* limits, SluiceVideoError* error);
  /// Writes `count` frames of width x height x 3 to `out`; `indices` are not negative and never
  /// fall. A frame that the stream does not have is the last one it has.
  std::int32_t (*read)(SluiceVideoReader* reader, std::uint8_t* out, const std::int64_t* indices,
                       std::size_t count, SluiceVideoError* error);
  void (*close)(SluiceVideoReader* reader);
  /// Hands the whole mp4 file to `sink` in one call.
  std::int32_t (*encode)(const SluiceVideoFrames* frames, const SluiceVideoEncoding* encoding,
                         void (*sink)(void* user, const std::uint8_t* bytes, std::size_t size),
                         void* user, SluiceVideoError* error);
};

/// The one symbol of the module.
using SluiceVideoTableFunction = const SluiceVideoTable*();

}  // extern "C"

inline constexpr std::uint32_t kSluiceVideoAbi = 1;
inline constexpr const char* kSluiceVideoSymbol = "sluice_video_table";
