// sluice/cli/data/episodes.cpp - `data make --kind episodes`, and `data info` of such folders.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/data/episodes.h"

#include "sluice/cli/print.h"
#include "sluice/core/json.h"
#include "sluice/core/text.h"
#include "sluice/loader/episodes/episode_maker.h"
#include "sluice/loader/episodes/inspect.h"
#include "sluice/loader/episodes/preset_draft.h"
#include "sluice/loader/episodes/presets.h"
#include "sluice/measure/interrupt.h"
#include "sluice/storage/open_store.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <filesystem>

namespace sluice::cli {
namespace {

namespace fs = std::filesystem;
namespace ep = loader::episodes;

Json to_json(const ep::DatasetReport& report) {
  Json images = Json::array();
  for (const ep::FeatureSpec& spec : report.images)
    images.push_back(
        {{"name", spec.name},
         {"shape", spec.shape},
         {"encoding",
          spec.encoding == ep::Encoding::none ? Json() : Json(to_string(spec.encoding))}});
  Json features = Json::array();
  for (const ep::FeatureSpec& spec : report.features)
    features.push_back({{"name", spec.name},
                        {"type", to_string(spec.type)},
                        {"dtype", spec.dtype},
                        {"shape", spec.shape},
                        {"per_step", spec.in_steps}});
  return {{"name", report.name},
          {"version", report.version},
          {"folder", report.folder},
          {"splits", report.splits},
          {"shards", report.shards},
          {"episodes", report.episodes},
          {"usable", report.read},
          {"steps", report.steps},
          {"shortest", report.shortest},
          {"longest", report.longest},
          {"bytes", report.bytes},
          {"features", report.features.size()},
          {"images", images},
          {"feature_list", features},
          {"errors", report.errors}};
}

void print_dataset(const ep::DatasetReport& report) {
  std::string images;
  for (const ep::FeatureSpec& spec : report.images)
    images += fmt::format(
        ", {} {}{}", printable(spec.name.substr(6)),  // without "steps/"
        spec.shape.size() < 2 ? "of any size" : fmt::format("{}x{}", spec.shape[0], spec.shape[1]),
        spec.encoding == ep::Encoding::none ? "" : fmt::format(" {}", to_string(spec.encoding)));
  print("{} {}: {} of {} episodes usable, {} steps ({} to {}), {} shards, {} bytes{}\n",
        printable(report.name), printable(report.version), report.read, report.episodes,
        report.steps, report.shortest, report.longest, report.shards, report.bytes, images);
  for (const ep::FeatureSpec& spec : report.features)
    print("  {:<44} {}\n", printable(spec.name), printable(ep::describe(spec)));
  for (const std::string& error : report.errors)
    print("  bad: {}\n", printable(error));
}

}  // namespace

void add_episode_flags(CLI::App& make, EpisodeFlags& flags) {
  add_value(make, "--preset", flags.preset, "NAME|FILE",
            "for kind episodes: preset of data sets (docs/episodes.md), or a YAML file of your own")
      ->capture_default_str();
  add_value(make, "--episodes", flags.episodes, "N",
            "for kind episodes: episodes of each data set; fewer where the real one has fewer")
      ->capture_default_str();
  add_value(make, "--max-gb", flags.max_gb, "X",
            "for kind episodes: refuse to write more gigabytes than this")
      ->capture_default_str();
}

Result<ExitCode> make_episodes(const EpisodeFlags& flags, const Context& context) {
  SLUICE_TRY(const auto preset, ep::find_preset(flags.preset));
  const measure::Interrupt interrupt;
  SLUICE_TRY(const auto made,
             ep::make_episodes({.folder = context.globals.out,
                                .preset = *preset,
                                .episodes = flags.episodes,
                                .seed = context.globals.seed,
                                .max_gb = flags.max_gb,
                                .interrupted = [&] { return interrupt.requested(); }},
                               *context.globals.progress));
  if (context.globals.json) {
    Json datasets = Json::array();
    for (const ep::MadeDataset& dataset : made.datasets)
      datasets.push_back({{"name", dataset.name},
                          {"episodes", dataset.episodes},
                          {"steps", dataset.steps},
                          {"bytes", dataset.bytes}});
    const Json json = {{"path", context.globals.out.string()},
                       {"kind", "episodes"},
                       {"preset", preset->name},
                       {"episodes", made.episodes},
                       {"steps", made.steps},
                       {"bytes", made.bytes},
                       {"hash", made.hash},
                       {"seed", context.globals.seed},
                       {"written", made.written},
                       {"data_sets", datasets}};
    print("{}\n", dump_json(json));
  } else {
    print("{}: {} data sets, {} episodes of {} steps, {} bytes{}\nhash {}\n",
          printable(context.globals.out.string()), made.datasets.size(), made.episodes, made.steps,
          made.bytes, made.written ? "" : "; all was there already", made.hash);
  }
  return ExitCode::done;
}

bool holds_episodes(const std::string& path) {
  if (path.find("://") != std::string::npos) return true;
  std::error_code error;
  if (!fs::is_directory(path, error)) return false;
  fs::recursive_directory_iterator it(path, fs::directory_options::skip_permission_denied, error);
  int looked_at = 0;  // of a folder of a million photographs only the first are
  for (; !error && it != fs::recursive_directory_iterator() && looked_at < 10'000;
       it.increment(error), ++looked_at) {
    if (it->path().filename() == "dataset_info.json") return true;
    if (it.depth() >= 3) it.disable_recursion_pending();
  }
  return false;
}

Result<ExitCode> draft_episodes(const std::string& path) {
  storage::StoreOptions options;
  options.input = path;
  SLUICE_TRY(const auto store, storage::open_store(options));
  const bool bucket = path.find("://") != std::string::npos;
  SLUICE_TRY(
      const std::string text,
      ep::draft_preset(*store, bucket ? path : fs::absolute(path).lexically_normal().string()));
  print("{}", text);
  return ExitCode::done;
}

Result<ExitCode> info_episodes(const std::string& path, const Context& context) {
  storage::StoreOptions options;
  options.input = path;
  SLUICE_TRY(const auto store, storage::open_store(options));
  SLUICE_TRY(const auto reports, ep::inspect_episodes(store, *context.globals.progress));
  std::uint64_t usable = 0, episodes = 0, bytes = 0;
  std::string first_error;
  Json datasets = Json::array();
  for (const ep::DatasetReport& report : reports) {
    usable += report.read;
    episodes += report.episodes;
    bytes += report.bytes;
    datasets.push_back(to_json(report));
    if (first_error.empty() && !report.errors.empty()) first_error = report.errors.front();
    if (!context.globals.json) print_dataset(report);
  }
  if (context.globals.json)
    print("{}\n", dump_json({{"path", path},
                             {"kind", "episodes"},
                             {"episodes", episodes},
                             {"usable", usable},
                             {"bytes", bytes},
                             {"data_sets", datasets}}));
  else
    print("{}: {} data sets, {} of {} episodes usable, {} bytes\n", printable(path), reports.size(),
          usable, episodes, bytes);
  if (usable == 0 && !first_error.empty())
    return Error{Errc::invalid_input, fmt::format("{}: no episode is usable; first: {}",
                                                  printable(path), printable(first_error))};
  return ExitCode::done;
}

}  // namespace sluice::cli
