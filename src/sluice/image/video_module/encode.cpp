// sluice/image/video_module/encode.cpp - RGB frames to an H.264 mp4 file in memory.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/video_module/av.h"

#include <algorithm>
#include <cstring>
#include <vector>

namespace sluice::video_module {
namespace {

/// A file that the muxer writes and goes back in.
struct Output {
  std::vector<std::uint8_t> bytes;
  std::size_t at = 0;

  static int write(void* self, std::uint8_t* data, int size) {
    auto& output = *static_cast<Output*>(self);
    const auto n = static_cast<std::size_t>(std::max(size, 0));
    try {
      output.bytes.resize(std::max(output.bytes.size(), output.at + n));
    } catch (const std::exception&) {
      return AVERROR(ENOMEM);
    }
    std::memcpy(output.bytes.data() + output.at, data, n);
    output.at += n;
    return size;
  }
  static std::int64_t seek(void* self, std::int64_t offset, int whence) {
    auto& output = *static_cast<Output*>(self);
    const auto size = static_cast<std::int64_t>(output.bytes.size());
    if ((whence & AVSEEK_SIZE) != 0) return size;
    if (whence == SEEK_CUR) offset += static_cast<std::int64_t>(output.at);
    if (whence == SEEK_END) offset += size;
    if (offset < 0 || offset > size) return AVERROR(EINVAL);
    output.at = static_cast<std::size_t>(offset);
    return offset;
  }
};

struct FreeMuxer {
  void operator()(AVFormatContext* muxer) const { avformat_free_context(muxer); }
};

class Encoder {
 public:
  Encoder(const SluiceVideoFrames& frames, const SluiceVideoEncoding& encoding)
      : frames_(frames), encoding_(encoding) {}

  const std::vector<std::uint8_t>& run() {
    open_muxer();
    open_codec();
    check(avformat_write_header(muxer_.get(), nullptr), "mp4 header");
    for (int i = 0; i < frames_.frames; ++i) {
      convert(i);
      send(picture_.get());
    }
    send(nullptr);
    check(av_write_trailer(muxer_.get()), "mp4 trailer");
    avio_flush(avio_.get());
    return output_.bytes;
  }

 private:
  static void check(int result, const char* what) { require(result, what, kSluiceVideoInternal); }

  void open_muxer() {
    AVFormatContext* muxer = nullptr;
    avformat_alloc_output_context2(&muxer, nullptr, "mp4", nullptr);
    if (muxer == nullptr) throw Failure{kSluiceVideoUnsupported, "libavformat has no mp4 muxer"};
    muxer_.reset(muxer);
    constexpr int kBuffer = 1 << 16;
    auto* buffer = static_cast<unsigned char*>(require(av_malloc(kBuffer)));
    AVIOContext* avio =
        avio_alloc_context(buffer, kBuffer, 1, &output_, nullptr, Output::write, Output::seek);
    if (avio == nullptr) av_free(buffer);
    avio_.reset(require(avio));
    muxer_->pb = avio_.get();
    muxer_->flags |= AVFMT_FLAG_CUSTOM_IO | AVFMT_FLAG_BITEXACT;
  }

  void open_codec() {
    const AVCodec* x264 = avcodec_find_encoder_by_name("libx264");
    if (x264 == nullptr)
      throw Failure{kSluiceVideoUnsupported, "libavcodec was built without libx264"};
    codec_.reset(require(avcodec_alloc_context3(x264)));
    codec_->width = frames_.width;
    codec_->height = frames_.height;
    codec_->pix_fmt = AV_PIX_FMT_YUV420P;
    codec_->time_base = {1, encoding_.fps};
    codec_->framerate = {encoding_.fps, 1};
    codec_->thread_count = 1;  // the same bytes whatever the number of cores
    codec_->color_range = AVCOL_RANGE_MPEG;
    codec_->colorspace = AVCOL_SPC_SMPTE170M;
    codec_->color_primaries = AVCOL_PRI_SMPTE170M;
    codec_->color_trc = AVCOL_TRC_SMPTE170M;
    codec_->flags |= AV_CODEC_FLAG_GLOBAL_HEADER | AV_CODEC_FLAG_BITEXACT;
    if (encoding_.gop > 0) codec_->gop_size = encoding_.gop;
    check(av_opt_set(codec_->priv_data, "preset", "veryfast", 0), "x264 preset");
    // On x86-64 x264 gives other bytes now and then, unless without its vector code.
    check(av_opt_set(codec_->priv_data, "x264-params", "asm=0", 0), "x264 asm");
    check(av_opt_set_double(codec_->priv_data, "crf", encoding_.crf, 0), "x264 crf");
    require(avcodec_open2(codec_.get(), x264, nullptr), "libx264 does not start",
            kSluiceVideoUnsupported);
    stream_ = require(avformat_new_stream(muxer_.get(), nullptr));
    stream_->time_base = codec_->time_base;
    stream_->avg_frame_rate = codec_->framerate;
    check(avcodec_parameters_from_context(stream_->codecpar, codec_.get()), "codec parameters");
    picture_.reset(require(av_frame_alloc()));
    picture_->format = codec_->pix_fmt;
    picture_->width = frames_.width;
    picture_->height = frames_.height;
    check(av_frame_get_buffer(picture_.get(), 0), "frame");
    packet_.reset(require(av_packet_alloc()));
    // Exact arithmetic: the pixels that are encoded do not depend on the instruction set.
    scaler_.reset(require(sws_getContext(frames_.width, frames_.height, AV_PIX_FMT_RGB24,
                                         frames_.width, frames_.height, AV_PIX_FMT_YUV420P,
                                         SWS_BICUBIC | SWS_ACCURATE_RND | SWS_BITEXACT, nullptr,
                                         nullptr, nullptr)));
  }

  void convert(int index) {
    check(av_frame_make_writable(picture_.get()), "frame");
    const std::size_t row = static_cast<std::size_t>(frames_.width) * 3;
    const std::uint8_t* from = frames_.pixels + static_cast<std::size_t>(index) * row *
                                                    static_cast<std::size_t>(frames_.height);
    // swscale's vector code may read past the end of a row.
    constexpr std::size_t kRowPadding = 64;
    const std::size_t pitch = row + kRowPadding;
    padded_.resize(pitch * static_cast<std::size_t>(frames_.height));
    for (std::size_t y = 0; y < static_cast<std::size_t>(frames_.height); ++y)
      std::memcpy(padded_.data() + y * pitch, from + y * row, row);
    const std::uint8_t* const planes[4] = {padded_.data(), nullptr, nullptr, nullptr};
    const int pitches[4] = {static_cast<int>(pitch), 0, 0, 0};
    if (sws_scale(scaler_.get(), planes, pitches, 0, frames_.height, picture_->data,
                  picture_->linesize) != frames_.height)
      throw Failure{kSluiceVideoInternal, "libswscale did not convert a frame"};
    picture_->pts = index;
  }

  void send(const AVFrame* picture) {
    check(avcodec_send_frame(codec_.get(), picture), "libx264");
    for (;;) {
      const int received = avcodec_receive_packet(codec_.get(), packet_.get());
      if (received == AVERROR(EAGAIN) || received == AVERROR_EOF) return;
      check(received, "libx264");
      packet_->duration = 1;
      packet_->stream_index = stream_->index;
      av_packet_rescale_ts(packet_.get(), codec_->time_base, stream_->time_base);
      check(av_interleaved_write_frame(muxer_.get(), packet_.get()), "mp4 packet");
    }
  }

  const SluiceVideoFrames& frames_;
  const SluiceVideoEncoding& encoding_;
  Output output_;
  Avio avio_;
  std::unique_ptr<AVFormatContext, FreeMuxer> muxer_;
  AVStream* stream_ = nullptr;
  Codec codec_;
  Frame picture_;
  Packet packet_;
  Scaler scaler_;
  std::vector<std::uint8_t> padded_;
};

}  // namespace

std::int32_t encode(const SluiceVideoFrames* frames, const SluiceVideoEncoding* encoding,
                    void (*sink)(void* user, const std::uint8_t* bytes, std::size_t size),
                    void* user, SluiceVideoError* error) {
  return guarded(error, [&] {
    Encoder encoder(*frames, *encoding);
    const std::vector<std::uint8_t>& bytes = encoder.run();
    sink(user, bytes.data(), bytes.size());
  });
}

}  // namespace sluice::video_module
