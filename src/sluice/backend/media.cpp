// sluice/backend/media.cpp - images and clips, decoded or only looked at.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/backend/media.h"

#include "sluice/core/log.h"
#include "sluice/core/text.h"
#include "sluice/core/thread_pool.h"
#include "sluice/image/dataset.h"
#include "sluice/image/inputs/photo_dataset.h"
#include "sluice/image/inputs/shared_inputs.h"
#include "sluice/image/video.h"
#include "sluice/plan/policy.h"

#include <fmt/format.h>

namespace sluice::backend {
namespace {

namespace fs = std::filesystem;

constexpr std::int64_t kGeneratedItems = 256;  // where all items are asked for

bool of_clips(const plan::RunConfig& config) {
  return config.scenario().media == plan::Media::video;
}

/// The folder that was named, or one with generated items.
Result<fs::path> data_folder(const plan::RunConfig& config, const fs::path& scratch,
                             Progress& progress) {
  if (config.data.data_dir) {
    const fs::path named = *config.data.data_dir;
    if (fs::is_directory(named)) return named;
    return Error{Errc::not_found,
                 fmt::format("{}: is not a folder; --data-dir wants one (sluice data stage unpacks "
                             "a tarball)",
                             printable(named.string()))};
  }
  if (!config.data.generated) {
    return Error{
        Errc::usage,
        fmt::format("data.{} names a data set that is not on this machine; --data-dir DIR, "
                    "or --allow-generated for {}s made here, is accepted",
                    config.data.gcs_uri ? "gcs_uri" : "remote_data_dir",
                    plan::media_policy(config.scenario().media).item)};
  }
  image::PhotoDatasetOptions photos;
  photos.folder = scratch / "generated";
  photos.count = static_cast<int>(config.data.num_items.value_or(kGeneratedItems));
  photos.seed = config.execution.seed;
  if (of_clips(config)) photos.kind = image::MadeKind::video;
  SLUICE_TRY(const auto made, image::make_photo_dataset(photos, progress));
  (void)made;
  return photos.folder;
}

Status refuse_corrupt(std::size_t found, std::int64_t limit, const std::string& first) {
  if (static_cast<std::int64_t>(found) <= limit) return ok;
  return Error{
      Errc::invalid_input,
      fmt::format("{} unreadable {} (first: {}); {} accepted, raise it with --set "
                  "data.max_corrupt={}",
                  found, found == 1 ? "file" : "files", first,
                  limit == 0 ? std::string("none is") : fmt::format("{} are", limit), found)};
}

Result<Media> look_at_files(const plan::RunConfig& config, const fs::path& data_dir,
                            Progress& progress) {
  SLUICE_TRY(const image::DatasetInfo info, image::inspect_media(data_dir, {}, progress));
  Media media;
  for (const image::DatasetError& error : info.errors) {
    media.skipped.push_back(error.file + ": " + error.reason);
    media.load.skip.push_back(error.file);
  }
  SLUICE_CHECK(refuse_corrupt(media.skipped.size(), config.data.max_corrupt,
                              media.skipped.empty() ? "" : media.skipped.front()));
  media.dataset = {info.hash, static_cast<std::int64_t>(info.count),
                   static_cast<std::int64_t>(info.bytes)};
  return media;
}

int clip_length(const plan::RunConfig& config) {
  return static_cast<int>(config.data.clip_length.value_or(config.scenario().clip_length));
}

Result<image::SharedInputs> decode_clips(const image::SharedInputsOptions& options, int frames,
                                         Progress& progress) {
  SLUICE_TRY(const std::vector<std::string> names, image::list_clips(options.data_dir));
  std::vector<image::VideoClip> clips(usable_cores());
  const image::ReadClip read = [&](image::Clip& out, const fs::path& file,
                                   unsigned worker) -> Status {
    image::VideoClip& clip = clips[worker];
    SLUICE_CHECK(image::decode_clip(clip, file, frames));
    out.frames = clip.frames();
    out.height = clip.height();
    out.width = clip.width();
    out.channels = 3;
    out.pixels.assign(clip.pixels().begin(), clip.pixels().end());
    return ok;
  };
  return image::write_shared_clips(options, names, read, progress);
}

Result<Media> decode_files(const plan::RunConfig& config, const fs::path& data_dir,
                           const fs::path& folder, Progress& progress) {
  image::SharedInputsOptions options;
  options.data_dir = data_dir;
  options.folder = folder;
  options.limit = config.data.num_items.value_or(0);
  options.channels = static_cast<int>(config.data.num_channels.value_or(3));
  options.max_corrupt = config.data.max_corrupt;
  SLUICE_TRY(const image::SharedInputs inputs,
             of_clips(config) ? decode_clips(options, clip_length(config), progress)
                              : image::write_shared_inputs(options, progress));
  Media media;
  for (const image::SkippedFile& file : inputs.skipped)
    media.skipped.push_back(file.name + ": " + file.reason);
  for (const image::SkippedFile& file : inputs.not_colour)
    media.not_colour.push_back(file.name + ": " + file.reason);
  media.dataset = {inputs.dataset_hash, inputs.items, inputs.dataset_bytes};
  media.load.inputs = {inputs.index, inputs.data};
  return media;
}

}  // namespace

bool decodes_in_time(const plan::RunConfig& config) {
  if (config.mode() == plan::Mode::decode) return true;
  return config.mode() == plan::Mode::pipeline &&
         config.execution.pipeline_scope != plan::Scope::memory_dataloader_augment;
}

Result<Media> prepare_media(const plan::RunConfig& config, const std::filesystem::path& folder,
                            Progress& progress) {
  SLUICE_TRY(const fs::path data_dir, data_folder(config, folder, progress));
  Result<Media> media = decodes_in_time(config) ? look_at_files(config, data_dir, progress)
                                                : decode_files(config, data_dir, folder, progress);
  if (!media) return media;
  for (const std::string& file : media->skipped)
    log::warn("unreadable, skipped: {}", file);
  if (!media->not_colour.empty()) {
    log::info("{} files are not in colour and were passed over, first: {}",
              media->not_colour.size(), media->not_colour.front());
  }
  media->load.data_dir = data_dir;
  media->load.scenario = config.scenario().name;
  media->load.mode = plan::to_string(config.mode());
  media->load.num_items = config.data.num_items.value_or(0);
  return media;
}

}  // namespace sluice::backend
