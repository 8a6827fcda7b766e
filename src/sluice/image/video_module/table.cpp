// sluice/image/video_module/table.cpp - the one symbol of libsluice_video.so.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/image/video_module/av.h"

#include <algorithm>
#include <cstring>

namespace sluice::video_module {
namespace {

std::string version_text(const char* name, unsigned version) {
  return std::string(name) + " " + std::to_string(AV_VERSION_MAJOR(version)) + "." +
         std::to_string(AV_VERSION_MINOR(version)) + "." +
         std::to_string(AV_VERSION_MICRO(version));
}

/// Of the libraries that were loaded, which need not be those of the headers.
const std::string& versions() {
  static const std::string text = version_text("libavcodec", avcodec_version()) + ", " +
                                  version_text("libavformat", avformat_version()) + ", " +
                                  version_text("libswscale", swscale_version());
  return text;
}

}  // namespace

std::int32_t report(SluiceVideoError* error, std::int32_t code, const std::string& text) {
  error->code = code;
  const std::size_t length = std::min(text.size(), sizeof error->text - 1);
  std::memcpy(error->text, text.data(), length);
  error->text[length] = '\0';
  return code;
}

}  // namespace sluice::video_module

extern "C" __attribute__((visibility("default"))) const SluiceVideoTable* sluice_video_table() {
  using namespace sluice::video_module;  // NOLINT(google-build-using-namespace): one function
  static const SluiceVideoTable table = [] {
    av_log_set_level(AV_LOG_QUIET);      // errors come back as values; stderr is the program's
    av_max_alloc(std::size_t{1} << 30);  // what one hostile header can make libav ask for at once
    return SluiceVideoTable{kSluiceVideoAbi, versions().c_str(), open_reader,
                            read_frames,     close_reader,       encode};
  }();
  return &table;
}
