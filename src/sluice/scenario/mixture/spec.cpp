// sluice/scenario/mixture/spec.cpp - the spec as JSON, checked, and the data sets it names.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/mixture/spec.h"

#include "sluice/core/text.h"
#include "sluice/measure/worker/reply.h"
#include "sluice/scenario/mixture/train.h"
#include "sluice/storage/open_store.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <set>

namespace sluice::scenario {
namespace {

using loader::episodes::DatasetSpec;
using loader::episodes::Preset;
using loader::mixture::Metadata;
using loader::mixture::Mix;
using loader::mixture::MixtureOptions;
using loader::mixture::OnBadData;
using measure::Reply;

constexpr std::int64_t kMost = 1'000'000;  // of any number of threads, blocks or samples
constexpr std::int64_t kMostBatches = 10'000'000;
constexpr double kLongestSleepS = 600;
constexpr std::int64_t kMostSeed = std::numeric_limits<std::int64_t>::max();

const char* name_of(OnBadData policy) {
  return policy == OnBadData::skip ? "skip" : "stop";
}
const char* name_of(Metadata metadata) {
  return to_string(metadata);
}
const char* name_of(Mix mix) {
  return to_string(mix);
}

/// An enum of the spec, whose values are words in it.
template <class T, std::size_t Count>
struct Word {
  const char* key;
  std::array<T, Count> values;

  [[nodiscard]] std::string accepted() const {
    std::vector<std::string> names;
    for (const T one : values)
      names.emplace_back(name_of(one));
    return join(names, " or ");
  }
  [[nodiscard]] Result<T> parse(std::string_view word) const {
    for (const T one : values)
      if (name_of(one) == word) return one;
    return Error{Errc::usage,
                 fmt::format("{} '{}': {} is accepted", key, printable(word), accepted())};
  }
  Status read(const Reply& fields, T& value) const {
    SLUICE_TRY(const std::string word, fields.text(key, name_of(value)));
    const auto found = parse(word);
    if (!found) return fields.wrong(key, accepted());
    value = *found;
    return ok;
  }
};
constexpr Word<Metadata, 3> kMetadata{"metadata",
                                      {Metadata::full, Metadata::dataset_only, Metadata::off}};
constexpr Word<Mix, 2> kMix{"mix", {Mix::random, Mix::deficit}};
constexpr Word<OnBadData, 2> kOnError{"on_error", {OnBadData::skip, OnBadData::stop}};

Status read_int(const Reply& fields, const char* key, int& value) {
  SLUICE_TRY(const auto number, fields.integer(key, 0, kMost, value));
  value = static_cast<int>(number);
  return ok;
}

Status read_flag(const Reply& fields, const char* key, bool& value) {
  SLUICE_TRY(value, fields.boolean(key, value));
  return ok;
}

Status read_text(const Reply& fields, const char* key, std::string& value) {
  SLUICE_TRY(value, fields.text(key, value));
  return ok;
}

/// The names of flags; those of MixtureOptions say what the threads do.
struct IntField {
  const char* key;
  int MixtureOptions::*field;
};
constexpr IntField kInts[] = {{"batch_size", &MixtureOptions::batch_size},
                              {"samples_per_episode", &MixtureOptions::samples_per_episode},
                              {"image_size", &MixtureOptions::image_size},
                              {"mix_block", &MixtureOptions::mix_block},
                              {"queue", &MixtureOptions::queue},
                              {"min_ready", &MixtureOptions::min_ready},
                              {"prime", &MixtureOptions::prime},
                              {"decode_parallelism", &MixtureOptions::decode_threads},
                              {"interleave_parallelism", &MixtureOptions::read_threads},
                              {"pipeline_interleave", &MixtureOptions::interleave},
                              {"prefetch", &MixtureOptions::prefetch}};
struct FlagField {
  const char* key;
  bool MixtureOptions::*field;
};
constexpr FlagField kFlags[] = {{"shuffle_episodes", &MixtureOptions::shuffle_episodes},
                                {"shuffle_pairs", &MixtureOptions::shuffle_pairs},
                                {"check_always", &MixtureOptions::check_always},
                                {"deterministic", &MixtureOptions::deterministic},
                                {"one_pass", &MixtureOptions::one_pass}};

Status read_options(const Reply& fields, MixtureOptions& options) {
  for (const IntField& one : kInts)
    SLUICE_CHECK(read_int(fields, one.key, options.*one.field));
  for (const FlagField& one : kFlags)
    SLUICE_CHECK(read_flag(fields, one.key, options.*one.field));
  SLUICE_CHECK(kMetadata.read(fields, options.metadata));
  SLUICE_CHECK(kMix.read(fields, options.mix));
  SLUICE_CHECK(kOnError.read(fields, options.on_error));
  SLUICE_TRY(options.stall_limit_s, fields.number("stall_limit_s", options.stall_limit_s));
  SLUICE_TRY(const auto seed,
             fields.integer("seed", 0, kMostSeed, static_cast<std::int64_t>(options.seed)));
  options.seed = static_cast<std::uint64_t>(seed);
  return ok;
}

Result<std::vector<DatasetOverride>> read_overrides(const Reply& fields) {
  const Json& list = fields.field("overrides");
  std::vector<DatasetOverride> overrides;
  if (list.is_null()) return overrides;
  if (!list.is_array()) return fields.wrong("overrides", "a list of objects");
  for (const Json& item : list) {
    if (!item.is_object()) return fields.wrong("overrides", "a list of objects");
    const Reply one("overrides", item);
    DatasetOverride entry;
    SLUICE_TRY(entry.name, one.text("name"));
    if (!one.field("weight").is_null()) {
      SLUICE_TRY(entry.weight, one.number("weight", 0));
    }
    if (!one.field("parallelism").is_null()) {
      SLUICE_TRY(const auto number, one.integer("parallelism", 1, kMost));
      entry.parallelism = static_cast<int>(number);
    }
    SLUICE_TRY(entry.skip, one.boolean("skip", false));
    overrides.push_back(std::move(entry));
  }
  return overrides;
}

Result<measure::CpuList> read_cpus(const Reply& fields) {
  const Json& list = fields.field("cpus");
  measure::CpuList cpus;
  if (list.is_null()) return cpus;
  if (!list.is_array()) return fields.wrong("cpus", "a list of cores");
  for (const Json& item : list) {
    if (!item.is_number_integer() || item.get<std::int64_t>() < 0 ||
        item.get<std::int64_t>() > kMost)
      return fields.wrong("cpus", "a list of cores");
    cpus.push_back(item.get<int>());
  }
  return cpus;
}

Status check_overrides(const MixtureSpec& spec, const Preset& preset) {
  std::vector<std::string> known;
  for (const DatasetSpec& dataset : preset.datasets)
    known.emplace_back(dataset.name);
  std::set<std::string> seen;
  for (const DatasetOverride& one : spec.overrides) {
    if (std::find(known.begin(), known.end(), one.name) == known.end()) {
      const auto near = nearest(one.name, known);
      return Error{
          Errc::usage,
          fmt::format("preset {} has no data set '{}'; {}", preset.name, printable(one.name),
                      near ? fmt::format("did you mean '{}'?", *near) : "it has: " + join(known))};
    }
    if (!seen.insert(one.name).second)
      return Error{Errc::usage, fmt::format("data set {}: named twice", one.name)};
    if (one.weight && (!std::isfinite(*one.weight) || *one.weight < 0))
      return Error{Errc::usage, fmt::format("data set {}: weight {}: 0 or more is accepted",
                                            one.name, *one.weight)};
    if (one.parallelism && (*one.parallelism < 1 || *one.parallelism > 65536))
      return Error{Errc::usage, fmt::format("data set {}: parallelism {}: 1 to 65536 is accepted",
                                            one.name, *one.parallelism)};
  }
  return ok;
}

Status check_numbers(const MixtureSpec& spec) {
  if (spec.steps < 1 || spec.steps > kMostBatches)
    return Error{Errc::usage,
                 fmt::format("steps {}: 1 to {} is accepted", spec.steps, kMostBatches)};
  if (spec.warmup > kMostBatches)
    return Error{Errc::usage,
                 fmt::format("warmup {}: 0 to {} is accepted", spec.warmup, kMostBatches)};
  if (!(spec.sleep_s >= 0) || spec.sleep_s > kLongestSleepS)
    return Error{Errc::usage,
                 fmt::format("sleep {} s: 0 to {} is accepted", spec.sleep_s, kLongestSleepS)};
  if (spec.options.seed > static_cast<std::uint64_t>(kMostSeed))
    return Error{Errc::usage,
                 fmt::format("seed {}: 0 to {} is accepted", spec.options.seed, kMostSeed)};
  return check(spec.options);
}

Status check_train(const MixtureSpec& spec) {
  if (spec.train.empty() && spec.device != "cpu")
    return Error{Errc::usage,
                 fmt::format("--gpu {}: nothing runs there without --train MODEL", spec.device)};
  if (spec.train.empty()) return ok;
  if (spec.options.metadata == Metadata::off)
    return Error{Errc::usage,
                 "train: the model learns which data set a frame is of; metadata full or "
                 "dataset_only is accepted"};
  if (spec.options.one_pass)
    return Error{Errc::usage, "train: one pass ends with a smaller batch, which no model takes"};
  SLUICE_CHECK(
      mixture_engine(spec.train, spec.options.batch_size, spec.options.image_size, 1, spec.device));
  return ok;
}

}  // namespace

Result<Metadata> parse_metadata(std::string_view word) {
  return kMetadata.parse(word);
}
Result<Mix> parse_mix(std::string_view word) {
  return kMix.parse(word);
}
Result<OnBadData> parse_on_error(std::string_view word) {
  return kOnError.parse(word);
}

Json to_json(const MixtureSpec& spec) {
  Json json{{"root", spec.root},           {"endpoint", spec.endpoint},
            {"region", spec.region},       {"anonymous", spec.anonymous},
            {"cache_dir", spec.cache_dir}, {"preset", spec.preset},
            {"split", spec.split},         {"warmup", spec.warmup},
            {"steps", spec.steps},         {"sleep_s", spec.sleep_s},
            {"cpus", spec.cpus},           {"batch_times", spec.batch_times},
            {"train", spec.train}};
  if (spec.device != "cpu") json["device"] = spec.device;
  const MixtureOptions& options = spec.options;
  for (const IntField& one : kInts)
    json[one.key] = options.*one.field;
  for (const FlagField& one : kFlags)
    json[one.key] = options.*one.field;
  json["metadata"] = name_of(options.metadata);
  json["mix"] = name_of(options.mix);
  json["on_error"] = name_of(options.on_error);
  json["stall_limit_s"] = options.stall_limit_s;
  json["seed"] = options.seed;
  Json& list = json["overrides"] = Json::array();
  for (const DatasetOverride& one : spec.overrides) {
    Json item{{"name", one.name}};
    if (one.weight) item["weight"] = *one.weight;
    if (one.parallelism) item["parallelism"] = *one.parallelism;
    if (one.skip) item["skip"] = true;
    list.push_back(std::move(item));
  }
  return json;
}

Result<MixtureSpec> mixture_spec_from_json(const Json& json) {
  if (!json.is_object()) return Error{Errc::usage, "the spec of a mixture is no object"};
  const Reply fields("spec", json);
  MixtureSpec spec;
  SLUICE_CHECK(read_text(fields, "root", spec.root));
  SLUICE_CHECK(read_text(fields, "endpoint", spec.endpoint));
  SLUICE_CHECK(read_text(fields, "region", spec.region));
  SLUICE_CHECK(read_flag(fields, "anonymous", spec.anonymous));
  SLUICE_CHECK(read_text(fields, "cache_dir", spec.cache_dir));
  SLUICE_CHECK(read_text(fields, "preset", spec.preset));
  SLUICE_CHECK(read_text(fields, "split", spec.split));
  SLUICE_CHECK(read_text(fields, "batch_times", spec.batch_times));
  SLUICE_CHECK(read_text(fields, "train", spec.train));
  SLUICE_CHECK(read_text(fields, "device", spec.device));
  SLUICE_TRY(const auto warmup,
             fields.integer("warmup", 0, kMostBatches, static_cast<std::int64_t>(spec.warmup)));
  spec.warmup = static_cast<std::uint64_t>(warmup);
  SLUICE_TRY(const auto steps,
             fields.integer("steps", 1, kMostBatches, static_cast<std::int64_t>(spec.steps)));
  spec.steps = static_cast<std::uint64_t>(steps);
  SLUICE_TRY(spec.sleep_s, fields.number("sleep_s", spec.sleep_s));
  SLUICE_TRY(spec.cpus, read_cpus(fields));
  SLUICE_CHECK(read_options(fields, spec.options));
  SLUICE_TRY(spec.overrides, read_overrides(fields));
  return spec;
}

Status check(const MixtureSpec& spec) {
  if (spec.root.empty())
    return Error{Errc::usage,
                 "the root is missing: a folder of data sets, s3://bucket/prefix or "
                 "gs://bucket/prefix"};
  SLUICE_TRY(const auto preset, loader::episodes::find_preset(spec.preset));
  SLUICE_CHECK(check_overrides(spec, *preset));
  SLUICE_CHECK(check_numbers(spec));
  return check_train(spec);
}

Result<std::vector<loader::mixture::SourceSpec>> open_sources(const MixtureSpec& spec,
                                                              loader::mixture::PresetPart part) {
  SLUICE_TRY(const auto preset, loader::episodes::find_preset(spec.preset));
  return open_sources(spec, *preset, part);
}

Result<std::vector<loader::mixture::SourceSpec>> open_sources(const MixtureSpec& spec,
                                                              const Preset& preset,
                                                              loader::mixture::PresetPart part) {
  SLUICE_CHECK(check_overrides(spec, preset));
  SLUICE_TRY(const auto store, storage::open_store(storage::store_options(spec.root, spec)));
  loader::mixture::PresetChoice choice;
  choice.split = spec.split;
  choice.part = part;
  choice.places = storage::store_options("", spec);
  for (const DatasetOverride& one : spec.overrides)
    if (one.skip || one.weight == 0.0) choice.skip.push_back(one.name);
  SLUICE_TRY(auto sources, loader::mixture::preset_sources(store, preset, choice));
  for (loader::mixture::SourceSpec& source : sources)
    for (const DatasetOverride& one : spec.overrides) {
      if (one.name != source.name) continue;
      source.weight = one.weight.value_or(source.weight);
      source.interleave = one.parallelism.value_or(source.interleave);
    }
  return sources;
}

std::string batch_times_path(const MixtureSpec& spec, std::int64_t pid) {
  if (spec.batch_times.ends_with(".jsonl")) return spec.batch_times;
  return fmt::format("{}-{}.jsonl", spec.batch_times, pid);
}

bool is_short(const MixtureSpec& spec) {
  return spec.warmup < kFewestWarmup || spec.steps < kFewestSteps;
}

}  // namespace sluice::scenario
