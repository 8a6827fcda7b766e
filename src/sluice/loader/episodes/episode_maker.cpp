// sluice/loader/episodes/episode_maker.cpp - writes the data sets of a preset with generated
// episodes.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/episodes/episode_maker.h"

#include "sluice/core/file.h"
#include "sluice/core/file_lock.h"
#include "sluice/core/folder_guard.h"
#include "sluice/core/json.h"
#include "sluice/core/text.h"
#include "sluice/core/thread_pool.h"
#include "sluice/loader/episodes/dataset_info.h"
#include "sluice/loader/episodes/make_episode.h"
#include "sluice/storage/format/checksum.h"
#include "sluice/storage/format/tfrecord.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <fstream>

namespace sluice::loader::episodes {
namespace {

namespace fs = std::filesystem;

constexpr std::uint64_t kShardEpisodes = 8;

std::uint64_t episodes_of(const DatasetSpec& spec, const EpisodeMakerOptions& options) {
  return std::min(options.episodes, spec.episodes);
}

/// Episodes of each shard, as even as they can be.
std::vector<std::uint64_t> shard_lengths(const DatasetSpec& spec, std::uint64_t episodes) {
  const std::uint64_t shards = std::clamp<std::uint64_t>(
      (episodes + kShardEpisodes - 1) / kShardEpisodes, 1, static_cast<std::uint64_t>(spec.shards));
  std::vector<std::uint64_t> lengths;
  for (std::uint64_t i = 0; i < shards; ++i)
    lengths.push_back(episodes * (i + 1) / shards - episodes * i / shards);
  return lengths;
}

Json manifest(const EpisodeMakerOptions& options) {
  return {{"made_by", "sluice data make --kind episodes"},
          {"preset", std::string(options.preset.name)},
          {"episodes", options.episodes},
          {"seed", options.seed},
          {"data_sets", options.preset.datasets.size()}};
}

/// What is made is one image below steps/observation and so on, of the size that the preset says.
Status can_be_made(const DatasetSpec& spec) {
  const auto refuse = [&](const char* what) {
    return Error{Errc::usage, fmt::format("data set {}: {}{}", printable(spec.name), what,
                                          spec.where.empty() ? "" : " (" + spec.where + ")")};
  };
  if (spec.has_place()) return refuse("its folder is a place of its own; a name is made");
  if (spec.height == 0 || spec.width == 0 || spec.episode_steps == 0 || spec.episodes == 0 ||
      spec.shards == 0)
    return refuse("height, width, steps, episodes and shards are accepted below `real`");
  if (!spec.image.starts_with("steps/observation/"))
    return refuse("an image below steps/observation is made");
  if (spec.action_size > 0 && spec.action != "steps/action" &&
      !spec.action.starts_with("steps/action/"))
    return refuse("an action that is steps/action or below it is made");
  if (spec.state_size > 0 && !spec.state.starts_with("steps/observation/"))
    return refuse("a state below steps/observation is made");
  if (!spec.language.starts_with("steps/")) return refuse("a language below steps is made");
  return ok;
}

Status check(const EpisodeMakerOptions& options) {
  if (options.folder.empty())
    return Error{Errc::usage, "the folder to write is missing; --out DIR is accepted"};
  if (options.episodes < 1 || options.episodes > kMaxMadeEpisodes)
    return Error{Errc::usage, fmt::format("--episodes {}: 1 to {} is accepted", options.episodes,
                                          kMaxMadeEpisodes)};
  if (!std::isfinite(options.max_gb) || options.max_gb <= 0)
    return Error{Errc::usage, fmt::format("--max-gb {}: above 0 is accepted", options.max_gb)};
  if (options.preset.datasets.empty())
    return Error{Errc::usage, "a preset without a data set: nothing to make"};
  for (const DatasetSpec& spec : options.preset.datasets)
    SLUICE_CHECK(can_be_made(spec));
  return ok;
}

/// What an earlier run wrote with the same options; nothing: the folder is free.
Result<std::optional<MadeEpisodes>> earlier(const EpisodeMakerOptions& options) {
  std::error_code error;
  if (!fs::exists(options.folder, error)) return std::optional<MadeEpisodes>();
  if (fs::is_directory(options.folder, error) && fs::is_empty(options.folder, error))
    return std::optional<MadeEpisodes>();
  const auto text = read_text_file(options.folder / kMadeManifest);
  const auto json = text ? parse_json(*text, kMadeManifest) : Result<Json>(text.error());
  if (!json || !json->is_object() || json->value("request", Json()) != manifest(options))
    return Error{Errc::usage,
                 fmt::format("{}: holds something else; a new or empty folder is accepted",
                             printable(options.folder.string()))};
  MadeEpisodes made;
  for (const Json& entry : json->value("made", Json::array()))
    made.datasets.push_back({.name = entry.value("name", ""),
                             .episodes = entry.value("episodes", std::uint64_t{0}),
                             .steps = entry.value("steps", std::uint64_t{0}),
                             .bytes = entry.value("bytes", std::uint64_t{0})});
  made.hash = json->value("hash", "");
  return std::optional(std::move(made));
}

void add_up(MadeEpisodes& made) {
  for (const MadeDataset& dataset : made.datasets) {
    made.episodes += dataset.episodes;
    made.steps += dataset.steps;
    made.bytes += dataset.bytes;
  }
}

Status write_info(const fs::path& folder, const DatasetSpec& spec, const DatasetInfo& info,
                  std::uint64_t bytes) {
  Json lengths = Json::array();
  for (const std::uint64_t length : info.splits[0].shard_lengths)
    lengths.push_back(std::to_string(length));
  const Json json = {{"fileFormat", "tfrecord"},
                     {"moduleName", "sluice"},
                     {"name", info.name},
                     {"splits", Json::array({{{"filepathTemplate", info.splits[0].file_template},
                                              {"name", info.splits[0].name},
                                              {"numBytes", std::to_string(bytes)},
                                              {"shardLengths", lengths}}})},
                     {"version", info.version}};
  SLUICE_CHECK(write_file_atomic(folder / "dataset_info.json", dump_json(json), Flush::later));
  return write_file_atomic(folder / "features.json", dump_json(made_features(spec)), Flush::later);
}

class Maker {
 public:
  Maker(const EpisodeMakerOptions& options, fs::path folder, Progress& progress)
      : options_(options),
        folder_(std::move(folder)),
        progress_(progress),
        pool_(options.threads > 0 ? options.threads : usable_cores()),
        scenes_(pool_.size()) {}

  Result<MadeEpisodes> run() {
    MadeEpisodes made;
    std::uint64_t total = 0;
    for (const DatasetSpec& spec : options_.preset.datasets)
      total += episodes_of(spec, options_);
    Progress::Bar bar = progress_.bar("make episodes", total, "episodes");
    for (const DatasetSpec& spec : options_.preset.datasets) {
      SLUICE_TRY(auto dataset, make(spec, bar));
      made.datasets.push_back(std::move(dataset));
    }
    made.hash = fmt::format("{:016x}", sum_.value());
    return made;
  }

 private:
  Result<MadeDataset> make(const DatasetSpec& spec, Progress::Bar& bar) {
    const fs::path folder = folder_ / std::string(spec.folder) / std::string(kMadeVersion);
    SLUICE_CHECK(create_folders(folder));
    MadeDataset made{.name = std::string(spec.name), .episodes = episodes_of(spec, options_)};
    DatasetInfo info{
        .name = std::string(spec.folder), .version = std::string(kMadeVersion), .splits = {}};
    info.splits.push_back({.name = "train",
                           .file_template = "{DATASET}-{SPLIT}.{FILEFORMAT}-{SHARD_X_OF_Y}",
                           .shard_lengths = shard_lengths(spec, made.episodes)});
    std::uint64_t first = 0;
    for (std::size_t shard = 0; shard < info.splits[0].shard_lengths.size(); ++shard) {
      const std::uint64_t count = info.splits[0].shard_lengths[shard];
      SLUICE_CHECK(write_shard(folder / info.shard_name(info.splits[0], shard), made, spec, first,
                               count, bar));
      first += count;
    }
    SLUICE_CHECK(write_info(folder, spec, info, made.bytes));
    return made;
  }

  /// As many episodes at a time as there are threads; the file gets them in their order.
  Status write_shard(const fs::path& path, MadeDataset& made, const DatasetSpec& spec,
                     std::uint64_t first, std::uint64_t count, Progress::Bar& bar) {
    std::ofstream file(path, std::ios::binary);
    for (std::uint64_t done = 0; done < count; done += pool_.size()) {
      const std::uint64_t now = std::min<std::uint64_t>(pool_.size(), count - done);
      std::vector<Result<std::string>> records(static_cast<std::size_t>(now), std::string());
      pool_.parallel_for(records.size(), [&](std::size_t i, unsigned worker) {
        records[i] = make_episode(scenes_[worker], spec, options_.seed, first + done + i);
        bar.add(1, spec.name);
      });
      for (std::uint64_t i = 0; i < now; ++i) {
        SLUICE_CHECK(records[static_cast<std::size_t>(i)]);
        std::string framed;
        storage::append_record(framed, *records[static_cast<std::size_t>(i)]);
        file.write(framed.data(), static_cast<std::streamsize>(framed.size()));
        sum_.update(std::as_bytes(std::span(framed)));
        made.bytes += framed.size();
        made.steps += static_cast<std::uint64_t>(made_steps(spec, options_.seed, first + done + i));
        written_ += framed.size();
      }
      if (static_cast<double>(written_) > options_.max_gb * 1e9)
        return Error{Errc::usage,
                     fmt::format("--max-gb {}: reached with data set {}; fewer --episodes or more "
                                 "is accepted",
                                 options_.max_gb, spec.name)};
      if (options_.interrupted && options_.interrupted())
        return Error{Errc::interrupted, "interrupted: nothing is kept"};
    }
    file.close();
    if (!file)
      return Error{Errc::io, fmt::format("{}: cannot be written", printable(path.string()))};
    return ok;
  }

  const EpisodeMakerOptions& options_;
  fs::path folder_;
  Progress& progress_;
  ThreadPool pool_;
  std::vector<Scene> scenes_;
  storage::Checksum sum_;
  std::uint64_t written_ = 0;
};

}  // namespace

Result<std::uint64_t> estimate_bytes(const EpisodeMakerOptions& options) {
  Scene scene;
  double bytes = 0;
  for (const DatasetSpec& spec : options.preset.datasets) {
    const std::uint64_t episodes = episodes_of(spec, options);
    const std::uint64_t looked_at = std::min<std::uint64_t>(2, episodes);
    double frame = 0;
    for (std::uint64_t i = 0; i < looked_at; ++i) {
      SLUICE_TRY(const std::uint64_t size, made_frame_bytes(scene, spec, options.seed, i));
      frame += static_cast<double>(size) / static_cast<double>(looked_at);
    }
    double steps = 0;
    for (std::uint64_t i = 0; i < episodes; ++i)
      steps += made_steps(spec, options.seed, i);
    const bool coded = spec.language == "steps/observation/instruction";
    bytes += steps *
             (frame + 4.0 * (spec.action_size + spec.state_size) + (coded ? kInstructionSize : 40));
  }
  return static_cast<std::uint64_t>(bytes);
}

Result<MadeEpisodes> make_episodes(const EpisodeMakerOptions& options, Progress& progress) {
  SLUICE_CHECK(check(options));
  SLUICE_TRY(auto there, earlier(options));
  if (there) {
    add_up(*there);
    return *std::move(there);
  }
  SLUICE_TRY(const std::uint64_t estimate, estimate_bytes(options));
  if (static_cast<double>(estimate) > options.max_gb * 1e9)
    return Error{
        Errc::usage,
        fmt::format("--max-gb {}: about {:.1f} GB would be written; fewer --episodes than "
                    "{}, or a larger --max-gb, is accepted",
                    options.max_gb, static_cast<double>(estimate) / 1e9, options.episodes)};
  std::error_code error;
  const fs::path whole = fs::absolute(options.folder, error).lexically_normal();
  const fs::path name = whole.has_filename() ? whole : whole.parent_path();
  const fs::path partial =
      name.parent_path() / fmt::format(".{}.partial", name.filename().string());
  SLUICE_CHECK(create_folders(name.parent_path()));
  SLUICE_TRY(const FileLock lock, FileLock::take(lock_beside(name), printable(name.string())));
  const FolderGuard guard(partial);
  fs::remove_all(partial, error);  // of a process that was killed
  SLUICE_CHECK(create_folders(partial));
  SLUICE_TRY(MadeEpisodes made, Maker(options, partial, progress).run());
  Json list = Json::array();
  for (const MadeDataset& dataset : made.datasets)
    list.push_back({{"name", dataset.name},
                    {"episodes", dataset.episodes},
                    {"steps", dataset.steps},
                    {"bytes", dataset.bytes}});
  const Json json = {{"request", manifest(options)}, {"hash", made.hash}, {"made", list}};
  SLUICE_CHECK(write_file_atomic(partial / kMadeManifest, dump_json(json), Flush::later));
  fs::rename(partial, name, error);  // onto an empty folder, too
  if (error)
    return Error{Errc::io, fmt::format("{}: cannot be put in place: {}", printable(name.string()),
                                       error.message())};
  add_up(made);
  made.written = true;
  return made;
}

}  // namespace sluice::loader::episodes
