// sluice/scenario/image/video_decode.cpp - video files to clips of frames: our row beside the
// decoders.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"
#include "sluice/core/sha256.h"
#include "sluice/core/text.h"
#include "sluice/image/dataset.h"
#include "sluice/image/inputs/clip_maker.h"
#include "sluice/image/video.h"
#include "sluice/scenario/inputs.h"
#include "sluice/scenario/item_subject.h"
#include "sluice/scenario/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <unordered_set>

namespace sluice::scenario {
namespace {

namespace fs = std::filesystem;

/// One clip: a file that every pass opens anew, or bytes made here for `support`.
struct ClipFile {
  std::string name;
  fs::path path;
  std::vector<std::uint8_t> bytes;  // empty: read the path
};

class VideoDecodeSubject final : public ItemSubject {
 public:
  VideoDecodeSubject(std::vector<ClipFile> files, int frames, double bytes_per_item, int threads)
      : ItemSubject(files.size(), threads),
        files_(std::move(files)),
        frames_(frames),
        bytes_per_item_(bytes_per_item),
        outputs_(workers()) {}

  /// Skipping what the chosen frames do not need must give the pixels of decoding everything.
  Result<std::string> check() override {
    constexpr std::size_t kCheckedVideos = 16;
    Sha256 sha;
    image::VideoClip fast, whole;
    image::VideoOptions sequential;
    sequential.sequential = true;
    for (std::size_t i = 0; i < std::min(kCheckedVideos, files_.size()); ++i) {
      SLUICE_CHECK(decode(fast, i, {}));
      SLUICE_CHECK(decode(whole, i, sequential));
      if (!std::ranges::equal(fast.pixels(), whole.pixels()))
        return Error{Errc::measurement, printable(files_[i].name) +
                                            ": other pixels than those of decoding the whole file"};
      if (i == 0) shape_ = {fast.frames(), fast.height(), fast.width(), 3};
      sha.update(fmt::format("{}x{}x{}x3 u8;", fast.frames(), fast.height(), fast.width()));
      sha.update(fast.pixels());
    }
    return sha.hex();
  }
  [[nodiscard]] double bytes_per_item() const override { return bytes_per_item_; }
  [[nodiscard]] Json output_info() const override {
    return Json{{"shape", shape_}, {"dtype", "uint8"}};
  }
  std::int64_t run_items(std::int64_t first, std::int64_t count) override {
    const auto begin = std::min(static_cast<std::size_t>(first), files_.size());
    const auto end = std::min(begin + static_cast<std::size_t>(count), files_.size());
    for (std::size_t i = begin; i < end; ++i)
      run_item(i, 0);
    return static_cast<std::int64_t>(end - begin);
  }
  /// The first frame of each clip; decoding draws nothing, so every draw is the same.
  Result<measure::OutputSamples> sample(std::int64_t items, std::int64_t draws) override {
    measure::OutputSamples samples;
    image::VideoClip clip;
    const std::size_t count = std::min(static_cast<std::size_t>(items), files_.size());
    for (std::size_t i = 0; i < count; ++i) {
      SLUICE_CHECK(decode(clip, i, {}));
      const auto frame =
          clip.pixels().first(clip.pixels().size() / static_cast<std::size_t>(clip.frames()));
      for (std::int64_t draw = 0; draw < draws; ++draw) {
        samples.shapes.push_back({clip.height(), clip.width(), 3});
        samples.values.insert(samples.values.end(), frame.begin(), frame.end());
      }
    }
    return samples;
  }

 protected:
  void run_item(std::size_t index, unsigned worker) override {
    require(decode(outputs_[worker][index % kSlots], index, {}));
  }

 private:
  static constexpr std::size_t kSlots = 4;  // a clip is megabytes: all of them need not be kept

  Status decode(image::VideoClip& out, std::size_t index, const image::VideoOptions& options) {
    const ClipFile& file = files_[index];
    if (file.bytes.empty()) return image::decode_clip(out, file.path, frames_, options);
    return named(file.name, image::decode_clip(out, file.bytes, frames_, options));
  }

  std::vector<ClipFile> files_;
  int frames_;
  double bytes_per_item_;
  std::vector<std::array<image::VideoClip, kSlots>> outputs_;  // per worker
  std::vector<std::int64_t> shape_;
};

Result<std::vector<ClipFile>> clip_files_of(const measure::SubjectContext& context) {
  if (context.data_dir.empty())
    return Error{Errc::usage, "no data is loaded: `load` with `data_dir` comes first"};
  SLUICE_TRY(const auto names, image::list_clips(context.data_dir));
  const std::unordered_set<std::string> skip(context.skip.begin(), context.skip.end());
  std::vector<ClipFile> files;
  for (const std::string& name : names) {
    if (context.num_items > 0 && files.size() == static_cast<std::size_t>(context.num_items)) break;
    if (skip.count(name) == 0) files.push_back({name, context.data_dir / name, {}});
  }
  if (files.empty())
    return Error{Errc::invalid_input, fmt::format("{}: every clip is to be skipped",
                                                  printable(context.data_dir.string()))};
  return files;
}

Result<std::vector<ClipFile>> synthetic_file() {
  image::VideoClip clip;
  SLUICE_CHECK(image::ClipMaker().make(clip, 0, 0, {24, 64, 48}));
  ClipFile file{"synthetic", {}, {}};
  SLUICE_CHECK(image::encode_clip(file.bytes, clip));
  std::vector<ClipFile> files;
  files.push_back(std::move(file));
  return files;
}

/// Where a folder has no clips: some made here, as `sluice data make --kind video` would.
Result<std::vector<ClipFile>> generated_files() {
  constexpr std::uint64_t kCount = 4;
  std::vector<ClipFile> files;
  image::ClipMaker maker;
  image::VideoClip clip;
  for (std::uint64_t i = 0; i < kCount; ++i) {
    SLUICE_CHECK(maker.make(clip, 0, i, image::clip_spec(0, i)));
    ClipFile file{fmt::format("generated clip {}", i), {}, {}};
    SLUICE_CHECK(image::encode_clip(file.bytes, clip));
    files.push_back(std::move(file));
  }
  return files;
}

Result<double> mean_bytes(const std::vector<ClipFile>& files, int frames) {
  double bytes = 0;
  for (const ClipFile& file : files) {
    SLUICE_TRY(const image::VideoInfo info,
               file.bytes.empty() ? image::probe_video(file.path) : image::probe_video(file.bytes));
    bytes += 3.0 * info.width * info.height * frames;
  }
  return bytes / static_cast<double>(files.size());
}

Result<std::unique_ptr<measure::Subject>> make_subject(std::vector<ClipFile> files, int frames,
                                                       int threads) {
  SLUICE_TRY(const double bytes, mean_bytes(files, frames));
  return std::unique_ptr<measure::Subject>(
      std::make_unique<VideoDecodeSubject>(std::move(files), frames, bytes, threads));
}

}  // namespace

Scenario decode_video() {
  Scenario scenario;
  scenario.name = "decode/video";
  scenario.doc = "Clips to 16 frames of RGB u8; generated ones where the folder holds none.";
  scenario.kind = Kind::decode;
  scenario.unit = "clips/s";
  scenario.make =
      [](const measure::SubjectContext& context) -> Result<std::unique_ptr<measure::Subject>> {
    SLUICE_TRY(const auto clips, image::list_files(context.data_dir, image::has_clip_suffix));
    SLUICE_TRY(auto files, context.synthetic ? synthetic_file()
                           : clips.empty()   ? generated_files()
                                             : clip_files_of(context));
    return make_subject(std::move(files), 16, context.threads);
  };
  return scenario;
}

Result<std::unique_ptr<measure::Subject>> make_video_decode(
    const measure::SubjectContext& context) {
  const Json spec = context.spec.is_object() ? context.spec : Json::object();
  const int frames = spec.value("clip_length", 16);
  if (frames < 1 || frames > image::kMaxClipFrames)
    return Error{Errc::usage, fmt::format("spec has clip_length {}; 1 to {} is accepted", frames,
                                          image::kMaxClipFrames)};
  SLUICE_TRY(auto files, context.synthetic ? synthetic_file() : clip_files_of(context));
  return make_subject(std::move(files), frames, context.threads);
}

}  // namespace sluice::scenario
