// sluice/image/video.h - video files to clips of frames and back, through libsluice_video.so.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/image/codec.h"
#include "sluice/image/image.h"

#include <cstdint>
#include <filesystem>
#include <functional>
#include <span>
#include <string>
#include <vector>

namespace sluice::image {

inline constexpr int kMaxClipFrames = 1024;

/// Frames in one block: T x H x W x 3 u8 RGB (THWC), nothing between rows or frames. Keeps its
/// memory when it is large enough for the next clip.
class VideoClip {
 public:
  /// The pixels are then undefined. On error the clip is unchanged.
  Status resize_for(int frames, int width, int height);
  [[nodiscard]] int frames() const { return frames_; }
  [[nodiscard]] int width() const { return rows_.width(); }
  [[nodiscard]] int height() const { return frames_ == 0 ? 0 : rows_.height() / frames_; }
  [[nodiscard]] bool empty() const { return frames_ == 0; }
  /// Precondition: not empty; 0 <= index < frames().
  [[nodiscard]] ImageView<std::uint8_t> frame(int index) const {
    return rows_.view<std::uint8_t>().crop(0, index * height(), width(), height());
  }
  [[nodiscard]] ImageSpan<std::uint8_t> frame(int index) {
    return rows_.span<std::uint8_t>().crop(0, index * height(), width(), height());
  }
  [[nodiscard]] std::span<const std::uint8_t> pixels() const;
  [[nodiscard]] std::span<std::uint8_t> pixels();

 private:
  Image rows_;  // all frames, one under another
  int frames_ = 0;
};

/// linspace(0, total - 1, frames) cut down to integers, as numpy computes it; with fewer frames
/// than asked for min(i, total - 1). Preconditions: total >= 1, frames >= 1.
std::vector<std::int64_t> clip_indices(std::int64_t total, int frames);

struct VideoOptions {
  std::uint64_t max_pixels = 7680ULL * 4320;  // of one frame
  double max_seconds = 60;                    // per file
  bool allow_damaged = false;                 // take what the decoder makes of damaged frames
  bool sequential = false;  // decode every frame in order: the definition of the result
};

struct VideoInfo {
  int width = 0;  // as stored; a rotation that the container asks for is not applied
  int height = 0;
  std::int64_t frames = 0;      // as the container says
  bool frames_guessed = false;  // it does not say: duration times rate
  double fps = 0;               // 0: unknown
  std::string codec;            // "h264"
  std::string container;        // "mov,mp4,m4a,3gp,3g2,mj2"
};

/// Every function here loads libsluice_video.so at its first call; where that is missing, or libav
/// is, the error is Errc::unsupported and names the library. Errors about data are one line
/// without a file name, unless a path was given.
Result<VideoInfo> probe_video(Bytes bytes, const VideoOptions& options = {});
Result<VideoInfo> probe_video(const std::filesystem::path& path, const VideoOptions& options = {});

/// The frames of clip_indices(VideoInfo::frames, frames). A stream that ends early repeats its last
/// frame; one that is cut off or damaged is an error. Only what the chosen frames need is decoded;
/// the pixels are those of decoding everything.
Status decode_clip(VideoClip& out, Bytes bytes, int frames = 16, const VideoOptions& options = {});
Status decode_clip(VideoClip& out, const std::filesystem::path& path, int frames = 16,
                   const VideoOptions& options = {});

/// The frames to take of a video, by number; they never fall. Called once, with what the container
/// says; what it returns has 1 to kMaxClipFrames entries.
using FrameChoice = std::function<std::vector<std::int64_t>(const VideoInfo& info)>;
/// The same for frames of the caller's choice: decoding begins at the key frame before the first.
Status decode_clip(VideoClip& out, Bytes bytes, const FrameChoice& choose,
                   const VideoOptions& options = {});

struct ClipEncoding {
  int fps = 25;  // 1 to 1000
  int crf = 23;  // x264's quality: 0 to 51, smaller is better
  int gop = 0;   // frames from key frame to key frame at most; 0: the encoder's choice
};

/// H.264 (libx264) in mp4, YUV 4:2:0. Width and height must be even. One machine gives the same
/// bytes for the same frames; another version of x264 may give others.
Status encode_clip(std::vector<std::uint8_t>& out, const VideoClip& clip,
                   const ClipEncoding& encoding = {});
/// Replaces the file whole or not at all.
Status encode_clip(const std::filesystem::path& path, const VideoClip& clip,
                   const ClipEncoding& encoding = {});

/// "libavcodec 59.37.100, libavformat ..., libswscale ...".
Result<std::string> video_versions();

}  // namespace sluice::image
