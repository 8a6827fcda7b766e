// sluice/image/video_module/reader.cpp - opens a video file in memory and decodes chosen frames.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/video_module/reader.h"

#include <algorithm>
#include <cstring>

namespace vm = sluice::video_module;

namespace {

// Containers only: playlists and scripts, which name other files, are not among them.
constexpr const char* kContainers = "mov,mp4,avi,matroska,webm";
constexpr std::size_t kMaxPackets = 4'000'000;
constexpr std::int64_t kMaxFrames = 100'000'000;

int refuse_to_open(AVFormatContext*, AVIOContext**, const char*, int, AVDictionary**) {
  return AVERROR(EPERM);
}

int deadline_passed(void* deadline) {
  return static_cast<const vm::Deadline*>(deadline)->passed() ? 1 : 0;
}

template <std::size_t kSize>
void copy_text(char (&out)[kSize], const char* text) {
  std::snprintf(out, kSize, "%s", text != nullptr ? text : "unknown");
}

}  // namespace

SluiceVideoReader::~SluiceVideoReader() {
  packets_.clear();
  codec_.reset();
  avformat_close_input(&format_);
}

void SluiceVideoReader::open_container() {
  avio_ = file_.open();
  format_ = vm::require(avformat_alloc_context());
  format_->pb = avio_.get();
  format_->flags |= AVFMT_FLAG_CUSTOM_IO;
  format_->io_open = refuse_to_open;
  format_->interrupt_callback = {deadline_passed, &deadline_};
  format_->format_whitelist = vm::require(av_strdup(kContainers));
  // On failure libav frees the context and clears the pointer.
  const int opened = avformat_open_input(&format_, "", nullptr, nullptr);
  deadline_.require();
  vm::require(opened, "not an mp4, mov, avi, mkv or webm file", kSluiceVideoInvalid);
}

/// Looking at the stream decodes its first frames once more; mp4 and mov say everything up front.
bool SluiceVideoReader::header_suffices() const {
  const AVCodecParameters& codec = *stream_->codecpar;
  return std::strncmp(format_->iformat->name, "mov,", 4) == 0 && stream_->nb_frames > 0 &&
         codec.width > 0 && codec.height > 0 && codec.extradata_size > 0 &&
         (codec.codec_id == AV_CODEC_ID_H264 || codec.codec_id == AV_CODEC_ID_HEVC);
}

std::int64_t SluiceVideoReader::count_frames(bool& guessed) const {
  guessed = stream_->nb_frames <= 0;
  if (!guessed) return std::min(stream_->nb_frames, kMaxFrames);
  const std::int64_t duration =
      stream_->duration > 0
          ? av_rescale_q(stream_->duration, stream_->time_base, AVRational{1, AV_TIME_BASE})
          : format_->duration;
  const AVRational rate = stream_->avg_frame_rate;
  if (duration <= 0 || rate.num <= 0 || rate.den <= 0)
    throw vm::Failure{kSluiceVideoInvalid,
                      "says neither how many frames it has nor how long it is"};
  const auto frames = av_rescale(duration, rate.num, std::int64_t{rate.den} * AV_TIME_BASE);
  return std::clamp<std::int64_t>(frames, 1, kMaxFrames);
}

SluiceVideoInfo SluiceVideoReader::open() {
  open_container();
  for (unsigned i = 0; i < format_->nb_streams; ++i)
    format_->streams[i]->discard = AVDISCARD_ALL;
  int best = av_find_best_stream(format_, AVMEDIA_TYPE_VIDEO, -1, -1, nullptr, 0);
  vm::require(best, "no video stream", kSluiceVideoInvalid);
  stream_ = format_->streams[best];
  stream_->discard = AVDISCARD_DEFAULT;
  if (!header_suffices()) {
    const int found = avformat_find_stream_info(format_, nullptr);
    deadline_.require();
    vm::require(found, "the video stream cannot be read", kSluiceVideoInvalid);
  }
  const AVCodecParameters& codec = *stream_->codecpar;
  if (codec.width <= 0 || codec.height <= 0)
    throw vm::Failure{kSluiceVideoInvalid, "the video stream has no size"};
  const auto pixels =
      static_cast<std::uint64_t>(codec.width) * static_cast<std::uint64_t>(codec.height);
  if (pixels > limits_.max_pixels)
    throw vm::Failure{kSluiceVideoInvalid, std::to_string(codec.width) + "x" +
                                               std::to_string(codec.height) +
                                               " is more than the accepted " +
                                               std::to_string(limits_.max_pixels) + " pixels"};
  SluiceVideoInfo info{};
  bool guessed = false;
  info.width = codec.width;
  info.height = codec.height;
  info.frames = count_frames(guessed);
  info.frames_guessed = guessed ? 1 : 0;
  if (stream_->avg_frame_rate.den > 0) info.fps = av_q2d(stream_->avg_frame_rate);
  copy_text(info.codec, avcodec_get_name(codec.codec_id));
  copy_text(info.container, format_->iformat->name);
  return info;
}

void SluiceVideoReader::read_packets() {
  if (!packets_.empty()) return;
  for (;;) {
    deadline_.require();
    vm::Packet packet(vm::require(av_packet_alloc()));
    const int result = av_read_frame(format_, packet.get());
    if (result == AVERROR_EOF) break;
    if (result < 0 && limits_.allow_damaged != 0) break;
    vm::require(result, "the file is cut off or damaged", kSluiceVideoInvalid);
    if (packet->stream_index != stream_->index) continue;
    if ((packet->flags & AV_PKT_FLAG_CORRUPT) != 0 && limits_.allow_damaged == 0)
      throw vm::Failure{kSluiceVideoInvalid,
                        "packet " + std::to_string(packets_.size()) + " is cut off or damaged"};
    if (packets_.size() == kMaxPackets)
      throw vm::Failure{kSluiceVideoInvalid,
                        "more than the accepted " + std::to_string(kMaxPackets) + " packets"};
    packets_.push_back(std::move(packet));
  }
  if (packets_.empty()) throw vm::Failure{kSluiceVideoInvalid, "holds no frames"};
}

void SluiceVideoReader::open_codec() {
  const AVCodecParameters& parameters = *stream_->codecpar;
  const AVCodec* decoder = avcodec_find_decoder(parameters.codec_id);
  if (decoder == nullptr)
    throw vm::Failure{kSluiceVideoUnsupported, std::string("libavcodec has no decoder for ") +
                                                   avcodec_get_name(parameters.codec_id)};
  codec_.reset(vm::require(avcodec_alloc_context3(decoder)));
  vm::require(avcodec_parameters_to_context(codec_.get(), &parameters), "codec parameters",
              kSluiceVideoInvalid);
  codec_->pkt_timebase = stream_->time_base;
  codec_->thread_count = 1;  // clips are decoded side by side, not one clip by many threads
  codec_->max_pixels = static_cast<std::int64_t>(
      std::min<std::uint64_t>(limits_.max_pixels, std::uint64_t{1} << 40));
  vm::require(avcodec_open2(codec_.get(), decoder, nullptr), "the decoder does not start",
              kSluiceVideoInvalid);
}

template <class Take>
void SluiceVideoReader::decode(const AVPacket* packet, Take&& take) {
  deadline_.require();
  const bool strict = limits_.allow_damaged == 0;
  const int sent = avcodec_send_packet(codec_.get(), packet);
  if (sent < 0 && sent != AVERROR_EOF && (strict || sent == AVERROR(ENOMEM)))
    vm::require(sent, "a frame is damaged", kSluiceVideoInvalid);
  for (;;) {
    const int received = avcodec_receive_frame(codec_.get(), frame_.get());
    if (received == AVERROR(EAGAIN) || received == AVERROR_EOF) return;
    if (received < 0 && !strict && received != AVERROR(ENOMEM)) continue;
    vm::require(received, "a frame is damaged", kSluiceVideoInvalid);
    if (strict && (frame_->decode_error_flags != 0 || (frame_->flags & AV_FRAME_FLAG_CORRUPT) != 0))
      throw vm::Failure{kSluiceVideoInvalid, "a frame is damaged"};
    take(*frame_);
    av_frame_unref(frame_.get());
  }
}

bool SluiceVideoReader::read_scheduled(std::uint8_t* out, std::span<const std::int64_t> indices) {
  std::vector<vm::PacketFacts> facts;
  facts.reserve(packets_.size());
  for (const vm::Packet& packet : packets_)
    facts.push_back({packet->pts, packet->pts != AV_NOPTS_VALUE,
                     (packet->flags & AV_PKT_FLAG_KEY) != 0,
                     (packet->flags & AV_PKT_FLAG_DISCARD) != 0});
  const auto schedule = vm::make_schedule(facts, indices);
  if (!schedule) return false;

  open_codec();
  vm::RgbWriter writer(stream_->codecpar->width, stream_->codecpar->height);
  const std::vector<std::int64_t>& wanted = schedule->wanted_pts;
  std::vector<bool> have(wanted.size(), false);
  const auto take = [&](const AVFrame& frame) {
    const auto first = std::lower_bound(wanted.begin(), wanted.end(), frame.pts);
    if (first == wanted.end() || *first != frame.pts) return;
    const auto slot = static_cast<std::size_t>(first - wanted.begin());
    std::uint8_t* pixels = out + slot * writer.frame_bytes();
    writer.write(pixels, frame);
    have[slot] = true;
    for (std::size_t next = slot + 1; next < wanted.size() && wanted[next] == frame.pts; ++next) {
      std::memcpy(out + next * writer.frame_bytes(), pixels, writer.frame_bytes());
      have[next] = true;
    }
  };
  for (std::size_t i = 0; i < packets_.size(); ++i) {
    if (schedule->actions[i] == vm::Action::skip) continue;
    if (schedule->restart[i]) {
      decode(nullptr, take);
      avcodec_flush_buffers(codec_.get());
    }
    codec_->skip_frame =
        schedule->actions[i] == vm::Action::target ? AVDISCARD_DEFAULT : AVDISCARD_NONREF;
    decode(packets_[i].get(), take);
  }
  codec_->skip_frame = AVDISCARD_DEFAULT;
  decode(nullptr, take);
  return std::find(have.begin(), have.end(), false) == have.end();
}

void SluiceVideoReader::read_all(std::uint8_t* out, std::span<const std::int64_t> indices) {
  open_codec();
  vm::RgbWriter writer(stream_->codecpar->width, stream_->codecpar->height);
  std::size_t slot = 0;
  std::int64_t number = 0;
  vm::Frame last(vm::require(av_frame_alloc()));
  const auto take = [&](const AVFrame& frame) {
    for (; slot < indices.size() && indices[slot] == number; ++slot)
      writer.write(out + slot * writer.frame_bytes(), frame);
    ++number;
    av_frame_unref(last.get());
    vm::require(av_frame_ref(last.get(), &frame), "frame", kSluiceVideoInternal);
  };
  for (const vm::Packet& packet : packets_)
    decode(packet.get(), take);
  decode(nullptr, take);
  if (number == 0) throw vm::Failure{kSluiceVideoInvalid, "not one frame can be decoded"};
  for (; slot < indices.size(); ++slot)
    writer.write(out + slot * writer.frame_bytes(), *last);
}

void SluiceVideoReader::read(std::uint8_t* out, std::span<const std::int64_t> indices) {
  deadline_.start();
  if (!frame_) frame_.reset(vm::require(av_frame_alloc()));
  read_packets();
  if (limits_.sequential == 0) {
    try {
      if (read_scheduled(out, indices)) return;
    } catch (const vm::Failure& failure) {
      // A stream whose marks of key frames or references are wrong may still decode in order.
      if (failure.code != kSluiceVideoInvalid) throw;
    }
  }
  read_all(out, indices);
}

namespace sluice::video_module {

std::int32_t open_reader(SluiceVideoReader** reader, SluiceVideoInfo* info,
                         const std::uint8_t* bytes, std::size_t size,
                         const SluiceVideoLimits* limits, SluiceVideoError* error) {
  *reader = nullptr;
  return guarded(error, [&] {
    auto made = std::make_unique<SluiceVideoReader>(std::span(bytes, size), *limits);
    *info = made->open();
    *reader = made.release();
  });
}

std::int32_t read_frames(SluiceVideoReader* reader, std::uint8_t* out, const std::int64_t* indices,
                         std::size_t count, SluiceVideoError* error) {
  return guarded(error, [&] { reader->read(out, std::span(indices, count)); });
}

void close_reader(SluiceVideoReader* reader) {
  delete reader;
}

}  // namespace sluice::video_module
