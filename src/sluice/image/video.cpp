// sluice/image/video.cpp - clips, and the calls into libsluice_video.so.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/video.h"

#include "sluice/core/file.h"
#include "sluice/core/module.h"
#include "sluice/core/text.h"
#include "sluice/image/video_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace sluice::image {
namespace {

namespace fs = std::filesystem;

Result<const SluiceVideoTable*> load_table() {
  SLUICE_TRY(void* symbol, load_module("video", kSluiceVideoSymbol));
  const auto* table = reinterpret_cast<SluiceVideoTableFunction*>(symbol)();
  if (table == nullptr || table->abi != kSluiceVideoAbi)
    return Error{Errc::unsupported,
                 fmt::format("libsluice_video.so has interface {}, this program needs {}",
                             table == nullptr ? 0 : table->abi, kSluiceVideoAbi)};
  return table;
}

/// Loaded once; a failure is remembered as well.
Result<const SluiceVideoTable*> table() {
  static const Result<const SluiceVideoTable*> loaded = load_table();
  return loaded;
}

Error to_error(const SluiceVideoError& error) {
  Errc code = Errc::internal;
  if (error.code == kSluiceVideoInvalid) code = Errc::invalid_input;
  if (error.code == kSluiceVideoUnsupported) code = Errc::unsupported;
  if (error.code == kSluiceVideoNoMemory) code = Errc::io;
  if (error.code == kSluiceVideoTimeout) code = Errc::timeout;
  return {code, printable(error.text)};
}

Error named(const fs::path& path, const Error& error) {
  if (error.code == Errc::unsupported) return error;  // not this file's fault
  return {error.code, fmt::format("{}: {}", printable(path.string()), error.message)};
}

struct Close {
  void (*close)(SluiceVideoReader*);
  void operator()(SluiceVideoReader* reader) const { close(reader); }
};
using Reader = std::unique_ptr<SluiceVideoReader, Close>;

Result<Reader> open(SluiceVideoInfo& info, const SluiceVideoTable& video, Bytes bytes,
                    const VideoOptions& options) {
  const SluiceVideoLimits limits{options.max_pixels, options.max_seconds,
                                 options.allow_damaged ? 1 : 0, options.sequential ? 1 : 0};
  SluiceVideoReader* reader = nullptr;
  SluiceVideoError error{};
  if (video.open(&reader, &info, bytes.data(), bytes.size(), &limits, &error) != 0)
    return to_error(error);
  return Reader(reader, Close{video.close});
}

VideoInfo to_info(const SluiceVideoInfo& info) {
  return {info.width,
          info.height,
          info.frames,
          info.frames_guessed != 0,
          info.fps,
          printable(info.codec),
          printable(info.container)};
}

void keep(void* out, const std::uint8_t* bytes, std::size_t size) {
  static_cast<std::vector<std::uint8_t>*>(out)->assign(bytes, bytes + size);
}

}  // namespace

Status VideoClip::resize_for(int frames, int width, int height) {
  if (frames < 1 || frames > kMaxClipFrames)
    return Error{Errc::usage,
                 fmt::format("{} frames: 1 to {} are accepted", frames, kMaxClipFrames)};
  if (height < 1 || height > kMaxSide / frames)
    return Error{Errc::usage, fmt::format("{} frames of {} rows: 1 to {} rows are accepted", frames,
                                          height, kMaxSide / frames)};
  SLUICE_CHECK(rows_.resize_for(width, height * frames, 3));
  frames_ = frames;
  return ok;
}

std::span<const std::uint8_t> VideoClip::pixels() const {
  if (empty()) return {};
  const auto view = rows_.view<std::uint8_t>();
  return {view.data(), view.samples()};
}

std::span<std::uint8_t> VideoClip::pixels() {
  if (empty()) return {};
  const auto span = rows_.span<std::uint8_t>();
  return {span.data(), span.samples()};
}

std::vector<std::int64_t> clip_indices(std::int64_t total, int frames) {
  assert(total >= 1 && frames >= 1);
  std::vector<std::int64_t> indices;
  indices.reserve(static_cast<std::size_t>(frames));
  // numpy multiplies by the step and sets the last value exactly; truncation makes the difference
  // visible (i * (n / 15) may lie just below an integer), so the same operations are done here.
  const double step =
      frames > 1 ? static_cast<double>(total - 1) / static_cast<double>(frames - 1) : 0;
  for (int i = 0; i < frames; ++i) {
    if (total < frames)
      indices.push_back(std::min<std::int64_t>(i, total - 1));
    else if (i + 1 == frames && frames > 1)
      indices.push_back(total - 1);
    else
      indices.push_back(static_cast<std::int64_t>(static_cast<double>(i) * step));
  }
  return indices;
}

Result<VideoInfo> probe_video(Bytes bytes, const VideoOptions& options) {
  SLUICE_TRY(const auto* video, table());
  SluiceVideoInfo info{};
  SLUICE_TRY(const Reader reader, open(info, *video, bytes, options));
  return to_info(info);
}

Result<VideoInfo> probe_video(const fs::path& path, const VideoOptions& options) {
  SLUICE_TRY(const auto bytes, read_binary_file(path));
  auto info = probe_video(bytes, options);
  if (!info) return named(path, info.error());
  return info;
}

Status decode_clip(VideoClip& out, Bytes bytes, int frames, const VideoOptions& options) {
  if (frames < 1 || frames > kMaxClipFrames)
    return Error{Errc::usage,
                 fmt::format("{} frames: 1 to {} are accepted", frames, kMaxClipFrames)};
  return decode_clip(
      out, bytes, [&](const VideoInfo& info) { return clip_indices(info.frames, frames); },
      options);
}

Status decode_clip(VideoClip& out, Bytes bytes, const FrameChoice& choose,
                   const VideoOptions& options) {
  SLUICE_TRY(const auto* video, table());
  SluiceVideoInfo info{};
  SLUICE_TRY(const Reader reader, open(info, *video, bytes, options));
  const std::vector<std::int64_t> indices = choose(to_info(info));
  SLUICE_CHECK(out.resize_for(static_cast<int>(indices.size()), info.width, info.height));
  SluiceVideoError error{};
  if (video->read(reader.get(), out.pixels().data(), indices.data(), indices.size(), &error) != 0)
    return to_error(error);
  return ok;
}

Status decode_clip(VideoClip& out, const fs::path& path, int frames, const VideoOptions& options) {
  SLUICE_TRY(const auto bytes, read_binary_file(path));
  const Status status = decode_clip(out, bytes, frames, options);
  if (!status) return named(path, status.error());
  return ok;
}

Status encode_clip(std::vector<std::uint8_t>& out, const VideoClip& clip,
                   const ClipEncoding& encoding) {
  if (clip.empty()) return Error{Errc::usage, "a clip without frames cannot be encoded"};
  if (clip.width() % 2 != 0 || clip.height() % 2 != 0)
    return Error{Errc::usage, fmt::format("frames of {}x{}: H.264 4:2:0 needs even sides",
                                          clip.width(), clip.height())};
  if (encoding.fps < 1 || encoding.fps > 1000)
    return Error{Errc::usage,
                 fmt::format("{} frames per second: 1 to 1000 are accepted", encoding.fps)};
  if (encoding.crf < 0 || encoding.crf > 51)
    return Error{Errc::usage, fmt::format("crf {}: 0 to 51 is accepted", encoding.crf)};
  if (encoding.gop < 0 || encoding.gop > 1000)
    return Error{Errc::usage, fmt::format("gop {}: 0 to 1000 is accepted", encoding.gop)};
  SLUICE_TRY(const auto* video, table());
  const SluiceVideoFrames frames{clip.pixels().data(), clip.frames(), clip.width(), clip.height()};
  const SluiceVideoEncoding settings{encoding.fps, encoding.crf, encoding.gop};
  SluiceVideoError error{};
  if (video->encode(&frames, &settings, keep, &out, &error) != 0) return to_error(error);
  return ok;
}

Status encode_clip(const fs::path& path, const VideoClip& clip, const ClipEncoding& encoding) {
  std::vector<std::uint8_t> bytes;
  SLUICE_CHECK(encode_clip(bytes, clip, encoding));
  return write_file_atomic(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()});
}

Result<std::string> video_versions() {
  SLUICE_TRY(const auto* video, table());
  return printable(video->versions);
}

}  // namespace sluice::image
