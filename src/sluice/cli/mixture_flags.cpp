// sluice/cli/mixture_flags.cpp - one table of flags, and what they come to.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/mixture_flags.h"

#include "sluice/cli/drawing_flags.h"
#include "sluice/cli/loader_flags.h"
#include "sluice/cli/sampling_flags.h"
#include "sluice/config/parse.h"
#include "sluice/config/reader.h"
#include "sluice/config/units.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>
#include <set>

namespace sluice::cli {
namespace {

using loader::mixture::MixtureOptions;
using scenario::DatasetOverride;
using scenario::MixtureSpec;

constexpr std::uint64_t kStudySeed = 42;  // of the published study
constexpr int kMostSeeds = 100;

/// The override of `name`, made where there is none.
DatasetOverride& entry_of(std::vector<DatasetOverride>& list, const std::string& name) {
  const auto found = std::find_if(list.begin(), list.end(),
                                  [&](const DatasetOverride& one) { return one.name == name; });
  if (found != list.end()) return *found;
  return list.emplace_back(DatasetOverride{.name = name});
}

/// "rt1=2" of a repeated flag; a data set only once.
template <class Take>
Status take_pairs(const char* flag, const std::vector<std::string>& texts, const Take& take) {
  std::set<std::string> seen;
  for (const std::string& text : texts) {
    const std::size_t equals = text.find('=');
    if (equals == std::string::npos || equals == 0)
      return usage_error(fmt::format("{} {}: expected NAME=NUMBER", flag, printable(text)));
    const std::string name = text.substr(0, equals);
    const Status taken = take(name, text.substr(equals + 1));
    if (!taken)
      return usage_error(fmt::format("{} {}: {}", flag, printable(text), taken.error().message));
    if (!seen.insert(name).second)
      return usage_error(
          fmt::format("{} {}: '{}' was given twice", flag, printable(text), printable(name)));
  }
  return ok;
}

Result<std::vector<DatasetOverride>> overrides_of(const MixtureFlags& flags) {
  std::vector<DatasetOverride> list;
  if (!flags.datasets.empty()) {
    SLUICE_TRY(list, read_dataset_overrides(flags.datasets));
  }
  SLUICE_CHECK(take_pairs("--weight", flags.weights,
                          [&](const std::string& name, const std::string& text) -> Status {
                            SLUICE_TRY(entry_of(list, name).weight, config::parse_number(text));
                            return ok;
                          }));
  SLUICE_CHECK(take_pairs("--parallelism", flags.parallelisms,
                          [&](const std::string& name, const std::string& text) -> Status {
                            SLUICE_TRY(const auto number, config::parse_integer(text));
                            if (number < 1 || number > 65536)
                              return usage_error("1 to 65536 is accepted");
                            entry_of(list, name).parallelism = static_cast<int>(number);
                            return ok;
                          }));
  for (const std::string& text : flags.skips)
    for (const std::string& name : split(text, ','))
      entry_of(list, name).skip = true;
  return list;
}

Result<std::vector<std::uint64_t>> seeds_of(const MixtureFlags& flags, const Globals& globals) {
  if (flags.seeds.empty())
    return std::vector<std::uint64_t>{globals.seed_given ? globals.seed : kStudySeed};
  if (globals.seed_given) return usage_error("--seed and --seeds: give one of them");
  if (flags.seeds.size() > kMostSeeds)
    return usage_error(fmt::format("--seeds: {} of them; at most {} are accepted",
                                   flags.seeds.size(), kMostSeeds));
  if (std::set(flags.seeds.begin(), flags.seeds.end()).size() != flags.seeds.size())
    return usage_error(
        fmt::format("--seeds {}: one is there twice; --runs repeats", fmt::join(flags.seeds, ",")));
  return flags.seeds;
}

void add_data_flags(CLI::App& command, MixtureFlags& flags) {
  MixtureSpec& spec = flags.spec;
  command.add_option("--root", spec.root, "folder of data sets as TFDS writes them; or a bucket")
      ->type_name("DIR|s3://BUCKET/PREFIX|gs://BUCKET/PREFIX");
  command.add_option("--preset", spec.preset, "which data sets, by what weights (docs/presets.md)")
      ->type_name("NAME")
      ->capture_default_str();
  command.add_option("--split", spec.split, "episodes to read (the preset's for training)")
      ->type_name("SPLIT");
  command.add_option("--weight", flags.weights, "another weight for one data set; 0 leaves it out")
      ->type_name("NAME=X");
  command
      .add_option("--parallelism", flags.parallelisms,
                  "another --pipeline-interleave for one data set")
      ->type_name("NAME=N");
  command.add_option("--skip", flags.skips, "data sets to leave out; they need not be there")
      ->type_name("NAME,NAME");
  command.add_option("--datasets", flags.datasets, "file with weight, parallelism, skip by name")
      ->type_name("FILE");
  add_bucket_flags(command, spec.endpoint, spec.region, spec.anonymous);
  command.add_option("--cache-dir", spec.cache_dir, "keep what was downloaded here")
      ->type_name("DIR");
}

void add_loader_options(CLI::App& command, MixtureFlags& flags) {
  MixtureOptions& options = flags.spec.options;
  const auto number = [&](const char* name, int& value, const char* text) {
    command.add_option(name, value, text)->capture_default_str();
  };
  number("--batch-size", options.batch_size, "samples per batch, a multiple of --mix-block");
  number("--samples-per-episode", options.samples_per_episode, "frame pairs of one; 0: all");
  number("--image-size", options.image_size, "frames are resized to this square");
  command.add_option("--metadata", flags.metadata, "what a batch tells of its samples")
      ->check(CLI::IsMember({"full", "dataset_only", "off"}))
      ->capture_default_str();
  number("--decode-parallelism", options.decode_threads, "threads that decode and resize");
  number("--interleave-parallelism", options.read_threads, "threads that read and parse records");
  number("--pipeline-interleave", options.interleave, "shards of a data set that are read in turn");
  command.add_option("--mix", flags.mix, "order of data sets: by what is due, or drawn by weight")
      ->check(CLI::IsMember({"deficit", "random"}))
      ->capture_default_str();
  number("--mix-block", options.mix_block, "samples of a data set that follow each other");
  number("--queue", options.queue, "blocks that wait per data set");
  number("--min-ready", options.min_ready, "data sets with a block before the first batch");
  number("--prefetch", options.prefetch, "batches made ahead");
  command.add_flag("--prime", options.prime, "start when every data set has a block");
  command.add_flag("--shuffle-episodes,!--no-shuffle-episodes", options.shuffle_episodes,
                   "shards and records anew in every epoch (the default)");
  command.add_flag("--shuffle-pairs,!--no-shuffle-pairs", options.shuffle_pairs,
                   "any pairs of an episode, not the first (the default)");
  command.add_flag("--deterministic", options.deterministic,
                   "the same batches every time: waits for the data set that is due");
  command.add_flag("--check-always", options.check_always,
                   "compare checksums each time a record is read, not only the first");
  command.add_option("--on-error", flags.on_error, "bad data: skip and count it, or stop")
      ->check(CLI::IsMember({"skip", "stop"}))
      ->capture_default_str();
}

void add_run_options(CLI::App& command, MixtureFlags& flags) {
  command.add_option("--warmup", flags.spec.warmup, "batches before those that count")
      ->capture_default_str();
  command.add_option("--steps", flags.spec.steps, "batches that count")->capture_default_str();
  command
      .add_option("--sleep,--step-time", flags.sleep,
                  "pause between batches, as if an accelerator computed: 50ms")
      ->capture_default_str();
  command
      .add_option("--train", flags.spec.train,
                  "a model that learns from every batch which data set it is of")
      ->type_name("vit5-tiny|vit5-small|vit5-base");
  command.add_option("--seeds", flags.seeds, "a row for each (42, or --seed)")
      ->delimiter(',')
      ->type_name("N,N");
  command
      .add_option("--libraries", flags.libraries,
                  "loaders to measure side by side, ours among them")
      ->type_name("NAME,NAME")
      ->capture_default_str();
  add_runs_flag(command, flags.runs);
  command.add_option("--cpus", flags.cpus, "cores for the workers, such as 0-3,6");
  command
      .add_option("--timeout", flags.spec.options.stall_limit_s,
                  "seconds without a batch after which the run fails, naming who is read")
      ->capture_default_str();
  add_drawing_flags(command, flags.drawing);
}

}  // namespace

void add_mixture_flags(CLI::App& command, MixtureFlags& flags) {
  add_data_flags(command, flags);
  add_loader_options(command, flags);
  add_run_options(command, flags);
}

Result<std::vector<DatasetOverride>> read_dataset_overrides(const std::filesystem::path& path) {
  SLUICE_TRY(const config::Node document, config::load(path));
  config::Reader reader(document);
  std::vector<DatasetOverride> list;
  config::Reader section = reader.child("datasets");
  if (const config::Node* datasets = document.find("datasets");
      datasets != nullptr && datasets->is_map()) {
    for (const config::Entry& entry : datasets->entries()) {
      DatasetOverride one{.name = entry.key};
      config::Reader fields = section.child(entry.key);
      if (fields.has("weight")) fields.read("weight", one.weight.emplace());
      if (fields.has("parallelism")) fields.read("parallelism", one.parallelism.emplace());
      fields.read("skip", one.skip);
      list.push_back(std::move(one));
    }
  }
  SLUICE_CHECK(reader.finish());
  return list;
}

Result<visit::MixturePlan> mixture_plan(const MixtureFlags& flags, const Globals& globals) {
  visit::MixturePlan plan;
  if (flags.spec.root.empty())
    return usage_error(
        "--root is missing: a folder of data sets, s3://bucket/prefix or "
        "gs://bucket/prefix; `sluice data make --kind episodes` makes one");
  Json words = to_json(flags.spec);
  words.update(
      Json{{"metadata", flags.metadata}, {"mix", flags.mix}, {"on_error", flags.on_error}});
  plan.spec = flags.spec;
  SLUICE_CHECK(check(plan.spec));
  SLUICE_TRY(const MixtureSpec worded, scenario::mixture_spec_from_json(words));
  plan.spec = worded;
  const auto slept = config::parse_seconds(flags.sleep);
  if (!slept) return usage_error(fmt::format("--sleep: {}", slept.error().message));
  plan.spec.sleep_s = *slept;
  SLUICE_TRY(plan.spec.overrides, overrides_of(flags));
  if (!flags.cpus.empty()) {
    SLUICE_TRY(plan.spec.cpus, measure::parse_cpu_list(flags.cpus));
  }
  SLUICE_TRY(plan.seeds, seeds_of(flags, globals));
  plan.spec.options.seed = plan.seeds.front();
  SLUICE_CHECK(check(plan.spec));
  SLUICE_TRY(plan.libraries, parse_libraries(flags.libraries, "mixture"));
  if (plan.libraries.size() > 1 && plan.spec.remote())
    return usage_error(
        fmt::format("--libraries {}: others are measured on local folders; {} is none",
                    printable(flags.libraries), printable(plan.spec.root)));
  if (plan.libraries.size() > 1 && !plan.spec.train.empty())
    return usage_error(
        fmt::format("--libraries {}: others train nothing; --step-time in place of "
                    "--train {} is accepted",
                    printable(flags.libraries), printable(plan.spec.train)));
  plan.drawing = flags.drawing;
  plan.policy = visit::mixture_policy(plan.spec, flags.runs,
                                      globals.seed_given ? globals.seed : std::random_device{}());
  return plan;
}

}  // namespace sluice::cli
