// sluice/cli/flags/mixture.cpp - one table of flags, and what they come to.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/flags/mixture.h"

#include "sluice/cli/flags/drawing.h"
#include "sluice/cli/flags/loader.h"
#include "sluice/cli/flags/sampling.h"
#include "sluice/config/parse.h"
#include "sluice/config/reader.h"
#include "sluice/config/units.h"
#include "sluice/core/text.h"
#include "sluice/core/thread_pool.h"

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
constexpr int kByCores = 0;
constexpr std::size_t kFewestDecoders = 4;

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
  if (globals.seed_given) return usage_error("--seed and --seeds: give only one");
  if (flags.seeds.size() > kMostSeeds)
    return usage_error(fmt::format("--seeds: {} of them; at most {} are accepted",
                                   flags.seeds.size(), kMostSeeds));
  if (std::set(flags.seeds.begin(), flags.seeds.end()).size() != flags.seeds.size())
    return usage_error(
        fmt::format("--seeds {}: a seed is named twice; --runs repeats a measurement",
                    fmt::join(flags.seeds, ",")));
  return flags.seeds;
}

void add_data_flags(CLI::App& command, MixtureFlags& flags) {
  MixtureSpec& spec = flags.spec;
  begin_group(command, "Data sets");
  add_value(command, "--root", spec.root, "DIR|URI",
            "folder, s3://bucket/prefix or gs://bucket/prefix of data sets as TFDS writes them; "
            "default: what the file of --preset says");
  add_value(command, "--preset", spec.preset, "NAME|FILE",
            "preset of data sets and their weights (docs/presets.md), or a YAML file of your own "
            "(docs/mixture.md)")
      ->capture_default_str();
  add_value(command, "--split", spec.split, "SPLIT",
            "split of the episodes to read; default: the training split of the preset");
  add_value(command, "--weight", flags.weights, "NAME=X",
            "weight of one data set, instead of the preset's; 0 leaves it out");
  add_value(command, "--parallelism", flags.parallelisms, "NAME=N",
            "--pipeline-interleave of one data set, instead of the common one");
  add_value(command, "--skip", flags.skips, "NAME,NAME",
            "data sets to leave out; they need not be there");
  add_value(command, "--datasets", flags.datasets, "FILE",
            "file with weight, parallelism and skip of data sets by name");
  add_bucket_flags(command, spec.endpoint, spec.region, spec.anonymous);
  add_value(command, "--cache-dir", spec.cache_dir, "DIR", "folder that keeps what was downloaded");
}

void add_loader_options(CLI::App& command, MixtureFlags& flags) {
  MixtureOptions& options = flags.spec.options;
  begin_group(command, "Loader");
  const auto number = [&](const char* name, int& value, const char* text) {
    command.add_option(name, value, text)->capture_default_str();
  };
  number("--batch-size", options.batch_size, "samples per batch, a multiple of --mix-block");
  number("--samples-per-episode", options.samples_per_episode,
         "frame pairs to take from one episode; 0: all");
  number("--image-size", options.image_size,
         "side of the square that frames are resized to, in pixels");
  add_choice(command, "--metadata", flags.metadata, {"full", "dataset_only", "off"},
             "what a batch says about its samples");
  options.decode_threads = kByCores;
  number("--decode-parallelism", options.decode_threads,
         "threads that decode and resize; 0: one per usable core, at least 4");
  number("--interleave-parallelism", options.read_threads, "threads that read and parse records");
  number("--pipeline-interleave", options.interleave,
         "shards of a data set that are read in turns");
  add_choice(command, "--mix", flags.mix, {"deficit", "random"},
             "how the next data set is chosen: the one that is due, or drawn by weight");
  number("--mix-block", options.mix_block, "samples in a row from the same data set");
  number("--queue", options.queue, "blocks of samples that may wait per data set");
  number("--min-ready", options.min_ready,
         "data sets that must have a block ready before the first batch");
  number("--prefetch", options.prefetch, "batches to make ahead");
  command.add_flag("--prime", flags.prime, "start only when every data set has a block ready");
  number("--prime-samples", options.prime,
         "start only when every data set has so many samples ready; 0: as --min-ready says");
  command.add_flag("--shuffle-episodes,!--no-shuffle-episodes", options.shuffle_episodes,
                   "shuffle shards and records anew in every epoch (the default)");
  command.add_flag("--shuffle-pairs,!--no-shuffle-pairs", options.shuffle_pairs,
                   "take random frame pairs of an episode, not the first ones (the default)");
  command.add_flag("--deterministic", options.deterministic,
                   "make the same batches every time, by waiting for the data set that is due");
  command.add_flag("--check-always", options.check_always,
                   "compare checksums every time a record is read, not only the first time; beside "
                   "other libraries the default");
  add_choice(command, "--on-error", flags.on_error, {"skip", "stop"},
             "what to do with damaged data: skip and count it, or stop");
}

void add_run_options(CLI::App& command, MixtureFlags& flags) {
  begin_group(command, "Measurement");
  command.add_option("--warmup", flags.spec.warmup, "batches to throw away first")
      ->capture_default_str();
  command.add_option("--steps", flags.spec.steps, "batches to measure")->capture_default_str();
  command
      .add_option("--sleep,--step-time", flags.sleep,
                  "pause after every batch, as if an accelerator computed, such as 50ms")
      ->capture_default_str();
  add_value(command, "--train", flags.spec.train, "vit5-tiny|vit5-small|vit5-base",
            "also train this model, which learns to tell the data sets apart");
  add_value(command, "--gpu", flags.gpu, "DEVICE",
            "device that the model of --train learns on: cpu or cuda:N");
  command.add_flag("--validate", flags.validate,
                   "then read the validation split once, with full metadata, and say whether every "
                   "episode was seen");
  command
      .add_option("--seeds", flags.seeds,
                  "random seeds, each measured as a row of its own (default 42, or --seed)")
      ->delimiter(',')
      ->type_name("N,N");
  add_value(command, "--libraries", flags.libraries, "NAME,NAME",
            "loaders to measure side by side, ours among them")
      ->capture_default_str();
  add_runs_flag(command, flags.runs);
  command.add_option("--cpus", flags.cpus, "cores that the workers may use, such as 0-3,6");
  command
      .add_option("--timeout", flags.spec.options.stall_limit_s,
                  "fail the run after so many seconds without a batch")
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

int decoders_of(std::size_t cores) {
  return static_cast<int>(std::max(cores, kFewestDecoders));
}

Result<visit::MixturePlan> mixture_plan(const MixtureFlags& flags, const Globals& globals) {
  visit::MixturePlan plan;
  plan.spec = flags.spec;
  if (plan.spec.root.empty()) {
    SLUICE_TRY(const auto preset, loader::episodes::find_preset(plan.spec.preset));
    plan.spec.root = preset->root;
  }
  if (plan.spec.root.empty())
    return usage_error(
        "--root is missing: a folder of data sets, s3://bucket/prefix or "
        "gs://bucket/prefix; `sluice data make --kind episodes` makes one");
  MixtureOptions& options = plan.spec.options;
  if (flags.prime) options.prime = std::max(options.prime, 1);
  SLUICE_TRY(options.metadata, scenario::parse_metadata(flags.metadata));
  SLUICE_TRY(options.mix, scenario::parse_mix(flags.mix));
  SLUICE_TRY(options.on_error, scenario::parse_on_error(flags.on_error));
  const auto slept = config::parse_seconds(flags.sleep);
  if (!slept) return usage_error(fmt::format("--sleep: {}", slept.error().message));
  plan.spec.sleep_s = *slept;
  SLUICE_TRY(plan.spec.overrides, overrides_of(flags));
  if (!flags.cpus.empty()) {
    SLUICE_TRY(plan.spec.cpus, measure::parse_cpu_list(flags.cpus));
  }
  if (options.decode_threads < kByCores || options.decode_threads > 1024)
    return usage_error(
        fmt::format("--decode-parallelism {}: 0 to 1024 are accepted", options.decode_threads));
  if (options.decode_threads == kByCores)
    options.decode_threads =
        decoders_of(plan.spec.cpus.empty() ? usable_cores() : plan.spec.cpus.size());
  SLUICE_TRY(plan.seeds, seeds_of(flags, globals));
  options.seed = plan.seeds.front();
  SLUICE_TRY(const int gpu, parse_gpu(flags.gpu));
  if (gpu >= 0) plan.spec.device = fmt::format("cuda:{}", gpu);
  SLUICE_CHECK(check(plan.spec));
  SLUICE_TRY(plan.libraries, parse_libraries(flags.libraries, "mixture"));
  if (plan.libraries.size() > 1 && plan.spec.remote())
    return usage_error(
        fmt::format("--libraries {}: other loaders read local folders only; {} is not one",
                    printable(flags.libraries), printable(plan.spec.root)));
  if (plan.libraries.size() > 1 && !plan.spec.train.empty())
    return usage_error(fmt::format(
        "--libraries {}: other loaders train nothing; give --step-time instead of --train {}",
        printable(flags.libraries), printable(plan.spec.train)));
  if (plan.libraries.size() > 1) {
    plan.also_first_checks = !options.check_always;
    options.check_always = true;
  }
  plan.drawing = flags.drawing;
  plan.validate = flags.validate;
  plan.policy = visit::mixture_policy(plan.spec, flags.runs,
                                      globals.seed_given ? globals.seed : std::random_device{}());
  return plan;
}

}  // namespace sluice::cli
