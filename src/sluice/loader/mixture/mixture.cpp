// sluice/loader/mixture/mixture.cpp - checks what is asked for, opens sources, keeps and restores
// the place.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/mixture/mixture.h"

#include "sluice/core/text.h"
#include "sluice/loader/mixture/pipeline.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <set>

namespace sluice::loader::mixture {
namespace {

Status in_range(const char* name, int value, int low, int high) {
  if (value >= low && value <= high) return ok;
  return Error{Errc::usage, fmt::format("{} {}: {} to {} is accepted", name, value, low, high)};
}

/// Those with a weight; names are told apart.
Result<std::vector<SourceSpec>> usable(std::vector<SourceSpec> sources) {
  std::set<std::string> names;
  std::vector<SourceSpec> kept;
  for (SourceSpec& source : sources) {
    if (!std::isfinite(source.weight) || source.weight < 0)
      return Error{Errc::usage, fmt::format("data set {}: weight {}: 0 or more is accepted",
                                            printable(source.name), source.weight)};
    if (source.weight == 0) continue;
    if (source.offset < 1)
      return Error{Errc::usage, fmt::format("data set {}: offset {}: at least 1 is accepted",
                                            printable(source.name), source.offset)};
    SLUICE_CHECK(in_range(fmt::format("data set {}: interleave", printable(source.name)).c_str(),
                          source.interleave, 0, 65536));
    if (!names.insert(source.name).second)
      return Error{Errc::usage, fmt::format("data set {}: named twice", printable(source.name))};
    if (source.dataset->episodes == 0)
      return Error{Errc::invalid_input,
                   fmt::format("data set {}: no episode in its split; weight 0 leaves it out",
                               printable(source.name))};
    kept.push_back(std::move(source));
  }
  if (kept.empty()) return Error{Errc::usage, "no data set has a weight above 0"};
  return kept;
}

std::vector<double> weights(const std::vector<SourceSpec>& sources) {
  std::vector<double> result;
  for (const SourceSpec& source : sources)
    result.push_back(source.weight);
  return result;
}

Json request(const std::vector<SourceSpec>& sources, const MixtureOptions& options) {
  Json names = Json::array();
  for (const SourceSpec& source : sources)
    names.push_back({{"name", source.name},
                     {"weight", source.weight},
                     {"offset", source.offset},
                     {"interleave", source.interleave},
                     {"episodes", source.dataset->episodes}});
  return {{"sources", names},
          {"seed", options.seed},
          {"batch_size", options.batch_size},
          {"mix", to_string(options.mix)},
          {"mix_block", options.mix_block},
          {"interleave", options.interleave},
          {"samples_per_episode", options.samples_per_episode},
          {"shuffle_episodes", options.shuffle_episodes},
          {"shuffle_pairs", options.shuffle_pairs},
          {"one_pass", options.one_pass}};
}

/// Where a data set lies and which split of it is wanted.
Result<SourceSpec> open_of_preset(std::shared_ptr<storage::ObjectStore> store,
                                  const episodes::Preset& preset, const episodes::DatasetSpec& spec,
                                  const PresetChoice& choice) {
  SourceSpec source;
  std::string name = spec.folder == "." ? "" : spec.folder;
  if (spec.has_place()) {
    storage::StoreOptions options = choice.places;
    options.input = source.place = spec.folder;
    if (spec.folder.front() == '/') {  // nothing of a bucket holds for a path
      options.endpoint = options.region = options.cache_dir = "";
      options.anonymous = false;
    }
    SLUICE_TRY(store, storage::open_store(options));
    name.clear();
  }
  const bool training = choice.part == PresetPart::train;
  const std::string& own = training ? spec.split : spec.validation;
  const std::string& common = training ? preset.train : preset.validation;
  source.split = !choice.split.empty() ? choice.split : own.empty() ? common : own;
  SLUICE_TRY(const std::string folder, episodes::find_dataset(*store, name));
  SLUICE_TRY(auto dataset, episodes::EpisodeDataset::open(store, folder, source.split));
  source.name = spec.name;
  source.dataset = std::make_shared<episodes::EpisodeDataset>(std::move(dataset));
  source.weight = spec.weight;
  source.offset = spec.offset;
  source.image = spec.image;
  source.action = spec.action;
  source.state = spec.state;
  source.language = spec.language;
  source.interleave = spec.parallelism;
  source.type = spec.type;
  source.where = spec.where;
  return source;
}

}  // namespace

Status check(const MixtureOptions& options) {
  SLUICE_CHECK(in_range("batch size", options.batch_size, 1, 65536));
  SLUICE_CHECK(in_range("mix block", options.mix_block, 1, 65536));
  SLUICE_CHECK(in_range("samples per episode", options.samples_per_episode, 0, 1'000'000));
  SLUICE_CHECK(in_range("image size", options.image_size, 1, 4096));
  SLUICE_CHECK(in_range("queue", options.queue, 1, 4096));
  SLUICE_CHECK(in_range("min ready", options.min_ready, 1, 1'000'000));
  SLUICE_CHECK(in_range("prime", options.prime, 0, 1'000'000));
  SLUICE_CHECK(in_range("read threads", options.read_threads, 1, 1024));
  SLUICE_CHECK(in_range("decode threads", options.decode_threads, 1, 1024));
  SLUICE_CHECK(in_range("interleave", options.interleave, 1, 65536));
  SLUICE_CHECK(in_range("prefetch", options.prefetch, 1, 256));
  if (options.batch_size % options.mix_block != 0)
    return Error{Errc::usage, fmt::format("batch size {}: a multiple of the mix block, {}, is "
                                          "accepted",
                                          options.batch_size, options.mix_block)};
  if (!(options.stall_limit_s > 0) || options.stall_limit_s > 1e6)
    return Error{Errc::usage, fmt::format("stall limit {} s: above 0, at most 1000000, is accepted",
                                          options.stall_limit_s)};
  return ok;
}

const char* to_string(Metadata metadata) {
  constexpr std::array kNames = {"full", "dataset_only", "off"};
  return kNames[static_cast<std::size_t>(metadata)];
}

const char* to_string(MixtureStage stage) {
  constexpr std::array kNames = {"read", "parse", "mix", "decode", "resize", "collate"};
  return kNames[static_cast<std::size_t>(stage)];
}

Json to_json(const MixtureStats& stats) {
  Json sources = Json::array();
  for (const SourceStats& source : stats.sources)
    sources.push_back({{"name", source.name},
                       {"requested", source.requested},
                       {"samples", source.samples},
                       {"starved", source.starved},
                       {"too_short", source.too_short},
                       {"bad_records", source.bad_records},
                       {"bad_images", source.bad_images},
                       {"first_error", source.first_error},
                       {"dropped", source.dropped},
                       {"samples_read", source.samples_read},
                       {"read_s", source.read_s},
                       {"samples_decoded", source.samples_decoded},
                       {"decode_s", source.decode_s}});
  Json cpu = Json::object();
  for (std::size_t i = 0; i < kStages; ++i)
    cpu[to_string(static_cast<MixtureStage>(i))] = stats.cpu_s[i];
  return {{"batches", stats.batches},
          {"samples", stats.samples},
          {"start_s", stats.start_s},
          {"wait_s", stats.wait_s},
          {"cpu_s", cpu},
          {"schedule_hash", stats.schedule_hash},
          {"sources", sources}};
}

Result<std::vector<SourceSpec>> preset_sources(const std::shared_ptr<storage::ObjectStore>& store,
                                               const episodes::Preset& preset,
                                               const PresetChoice& choice) {
  std::vector<SourceSpec> sources;
  for (const episodes::DatasetSpec& spec : preset.datasets) {
    if (spec.skip ||
        std::find(choice.skip.begin(), choice.skip.end(), spec.name) != choice.skip.end())
      continue;
    auto opened = open_of_preset(store, preset, spec, choice);
    if (!opened)
      return Error{opened.error().code,
                   fmt::format("{}{}",
                               spec.where.empty() || opened.error().code == Errc::interrupted
                                   ? ""
                                   : fmt::format("preset {}: data set {}: ", printable(spec.where),
                                                 spec.name),
                               opened.error().message)};
    sources.push_back(std::move(*opened));
  }
  return sources;
}

Pipeline::Pipeline(std::vector<SourceSpec> sources, const MixtureOptions& options)
    : specs_(std::move(sources)),
      options_(options),
      schedule_(weights(specs_), options.mix, options.seed),
      lanes_(specs_.size()) {}

Status Pipeline::prepare(const Json& resume) {
  for (std::size_t i = 0; i < specs_.size(); ++i) {
    SLUICE_TRY(lanes_[i].source, Source::open(specs_[i], static_cast<std::uint32_t>(i), options_));
    lanes_[i].stats.name = specs_[i].name;
    lanes_[i].stats.requested = schedule_.shares()[i];
    action_size_ = std::max(action_size_, lanes_[i].source->action_size());
    state_size_ = std::max(state_size_, lanes_[i].source->state_size());
  }
  given_schedule_ = schedule_.state();
  for (int i = 0; i < options_.prefetch + 1; ++i)  // one is with the caller
    slots_.push_back(std::make_unique<Slot>(BatchMemory(options_, action_size_, state_size_)));
  if (resume.is_null()) return ok;
  const auto wrong = [](std::string_view what) {
    return Error{Errc::invalid_input, fmt::format("state of a mixture: {}", what)};
  };
  if (!resume.is_object() || !resume.contains("request") || !resume.contains("cursors") ||
      !resume.contains("schedule") || !resume.contains("batch"))
    return wrong("not as it was written");
  if (resume["request"] != request(specs_, options_))
    return wrong("it is of other data sets or options");
  const Json& cursors = resume["cursors"];
  if (!cursors.is_array() || cursors.size() != lanes_.size() ||
      !resume["batch"].is_number_unsigned())
    return wrong("not as it was written");
  SLUICE_CHECK(schedule_.restore(resume["schedule"]));
  given_schedule_ = schedule_.state();
  for (std::size_t i = 0; i < lanes_.size(); ++i) {
    const Json& at = cursors[i];
    if (!at.is_array() || at.size() != 3 ||
        !std::all_of(at.begin(), at.end(), [](const Json& n) { return n.is_number_unsigned(); }))
      return wrong("a cursor is no list of three numbers");
    lanes_[i].given = {.epoch = at[0].get<std::uint64_t>(),
                       .episode = at[1].get<std::uint64_t>(),
                       .pair = at[2].get<std::uint64_t>()};
    lanes_[i].source->seek(lanes_[i].given);
    lanes_[i].out = schedule_.shares()[i] <= 0;
    lanes_[i].ended = lanes_[i].out;
  }
  next_mixed_ = next_given_ = resume["batch"].get<std::uint64_t>();
  return ok;
}

Result<std::unique_ptr<Pipeline>> Pipeline::make(std::vector<SourceSpec> sources,
                                                 const MixtureOptions& options,
                                                 const Json& resume) {
  SLUICE_CHECK(check(options));
  SLUICE_TRY(auto kept, usable(std::move(sources)));
  auto pipeline = std::unique_ptr<Pipeline>(new Pipeline(std::move(kept), options));
  SLUICE_CHECK(pipeline->prepare(resume));
  pipeline->run();
  return pipeline;
}

Json Pipeline::state() const {
  const std::lock_guard lock(mutex_);
  Json cursors = Json::array();
  for (const Lane& lane : lanes_)
    cursors.push_back({lane.given.epoch, lane.given.episode, lane.given.pair});
  return {{"request", request(specs_, options_)},
          {"batch", next_given_},
          {"cursors", cursors},
          {"schedule", given_schedule_}};
}

Mixture::Mixture(std::unique_ptr<Pipeline> pipeline) : pipeline_(std::move(pipeline)) {}
Mixture::~Mixture() = default;

Result<std::unique_ptr<Mixture>> Mixture::open(std::vector<SourceSpec> sources,
                                               const MixtureOptions& options, const Json& resume) {
  SLUICE_TRY(auto pipeline, Pipeline::make(std::move(sources), options, resume));
  return std::unique_ptr<Mixture>(new Mixture(std::move(pipeline)));
}

Result<const MixtureBatch*> Mixture::next(const std::function<bool()>& keep_waiting) {
  return pipeline_->next(keep_waiting);
}

void Mixture::close() {
  pipeline_->close();
}

Json Mixture::state() const {
  return pipeline_->state();
}

const std::vector<SourceSpec>& Mixture::sources() const {
  return pipeline_->sources();
}

MixtureStats Mixture::stats() const {
  return pipeline_->stats();
}

}  // namespace sluice::loader::mixture
