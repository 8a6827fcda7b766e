// sluice/image/video_module/av.h - libav's types with owners, and errors on their way to the table.
// SPDX-License-Identifier: Apache-2.0
#pragma once

extern "C" {
#include <libavcodec/avcodec.h>
#include <libavformat/avformat.h>
#include <libavutil/imgutils.h>
#include <libavutil/opt.h>
#include <libswscale/swscale.h>
}

#include "sluice/image/video_table.h"

#include <array>
#include <memory>
#include <string>

namespace sluice::video_module {

/// Thrown inside the module only; the functions of the table turn it into SluiceVideoError.
struct Failure {
  std::int32_t code;
  std::string text;
};

struct FreePacket {
  void operator()(AVPacket* packet) const { av_packet_free(&packet); }
};
struct FreeFrame {
  void operator()(AVFrame* frame) const { av_frame_free(&frame); }
};
struct FreeCodec {
  void operator()(AVCodecContext* codec) const { avcodec_free_context(&codec); }
};
struct FreeScaler {
  void operator()(SwsContext* scaler) const { sws_freeContext(scaler); }
};
struct FreeAvio {  // libav may have replaced the buffer that it was given
  void operator()(AVIOContext* avio) const {
    av_freep(&avio->buffer);
    avio_context_free(&avio);
  }
};
using Packet = std::unique_ptr<AVPacket, FreePacket>;
using Frame = std::unique_ptr<AVFrame, FreeFrame>;
using Codec = std::unique_ptr<AVCodecContext, FreeCodec>;
using Scaler = std::unique_ptr<SwsContext, FreeScaler>;
using Avio = std::unique_ptr<AVIOContext, FreeAvio>;

inline std::string text_of(int av_error) {
  std::array<char, AV_ERROR_MAX_STRING_SIZE> text{};
  av_strerror(av_error, text.data(), text.size());
  return text.data();
}

/// A negative result of libav becomes a Failure: out of memory as such, the rest with `code`.
inline int require(int result, const char* what, std::int32_t code) {
  if (result >= 0) return result;
  if (result == AVERROR(ENOMEM)) throw Failure{kSluiceVideoNoMemory, "out of memory"};
  throw Failure{code, std::string(what) + ": " + text_of(result)};
}
template <class Pointer>
Pointer require(Pointer pointer) {
  if (pointer == nullptr) throw Failure{kSluiceVideoNoMemory, "out of memory"};
  return pointer;
}

// The functions of the table: reader.cpp and encode.cpp.
std::int32_t open_reader(SluiceVideoReader** reader, SluiceVideoInfo* info,
                         const std::uint8_t* bytes, std::size_t size,
                         const SluiceVideoLimits* limits, SluiceVideoError* error);
std::int32_t read_frames(SluiceVideoReader* reader, std::uint8_t* out, const std::int64_t* indices,
                         std::size_t count, SluiceVideoError* error);
void close_reader(SluiceVideoReader* reader);
std::int32_t encode(const SluiceVideoFrames* frames, const SluiceVideoEncoding* encoding,
                    void (*sink)(void* user, const std::uint8_t* bytes, std::size_t size),
                    void* user, SluiceVideoError* error);

std::int32_t report(SluiceVideoError* error, std::int32_t code, const std::string& text);

/// Runs `body` and turns what it throws into *error.
template <class Body>
std::int32_t guarded(SluiceVideoError* error, Body&& body) {
  try {
    body();
    return report(error, kSluiceVideoOk, "");
  } catch (const Failure& failure) {
    return report(error, failure.code, failure.text);
  } catch (const std::bad_alloc&) {
    return report(error, kSluiceVideoNoMemory, "out of memory");
  } catch (...) {
    return report(error, kSluiceVideoInternal, "unexpected exception in the video module");
  }
}

}  // namespace sluice::video_module
