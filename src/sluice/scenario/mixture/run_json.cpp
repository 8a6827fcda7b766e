// sluice/scenario/mixture/run_json.cpp - a run as the details of a row, and back.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/worker/reply.h"
#include "sluice/scenario/mixture/run.h"

#include <limits>

namespace sluice::scenario {
namespace {

using loader::mixture::kStages;
using loader::mixture::MixtureStats;
using loader::mixture::SourceStats;
using measure::Reply;

struct NumberField {
  const char* key;
  double MixtureRun::*field;
};
constexpr NumberField kNumbers[] = {
    {"open_s", &MixtureRun::open_s},         {"start_s", &MixtureRun::start_s},
    {"measured_s", &MixtureRun::measured_s}, {"wall_s", &MixtureRun::wall_s},
    {"teardown_s", &MixtureRun::teardown_s}, {"mean_s", &MixtureRun::mean_s},
    {"p50_s", &MixtureRun::p50_s},           {"p90_s", &MixtureRun::p90_s},
    {"p99_s", &MixtureRun::p99_s},           {"max_s", &MixtureRun::max_s},
    {"cpu_s", &MixtureRun::cpu_s},           {"step_s", &MixtureRun::step_s}};

Status read_count(const Reply& fields, const char* key, std::uint64_t& value) {
  SLUICE_TRY(const auto number,
             fields.integer(key, 0, std::numeric_limits<std::int64_t>::max(), 0));
  value = static_cast<std::uint64_t>(number);
  return ok;
}

/// CPU seconds by stage; stages that are not named are 0.
Status read_stages(const Json& json, std::array<double, kStages>& cpu_s) {
  const Json none = Json::object();
  const Reply fields("cpu_s", json.is_object() ? json : none);
  for (std::size_t i = 0; i < kStages; ++i) {
    SLUICE_TRY(cpu_s[i],
               fields.number(to_string(static_cast<loader::mixture::MixtureStage>(i)), 0));
  }
  return ok;
}

Json stages_json(const std::array<double, kStages>& cpu_s) {
  Json json = Json::object();
  for (std::size_t i = 0; i < kStages; ++i)
    json[to_string(static_cast<loader::mixture::MixtureStage>(i))] = cpu_s[i];
  return json;
}

Result<SourceStats> read_source(const Json& json) {
  const Reply fields("sources", json);
  SourceStats source;
  SLUICE_TRY(source.name, fields.text("name"));
  SLUICE_TRY(source.requested, fields.number("requested", 0));
  SLUICE_CHECK(read_count(fields, "samples", source.samples));
  SLUICE_CHECK(read_count(fields, "starved", source.starved));
  SLUICE_CHECK(read_count(fields, "too_short", source.too_short));
  SLUICE_CHECK(read_count(fields, "bad_records", source.bad_records));
  SLUICE_CHECK(read_count(fields, "bad_images", source.bad_images));
  SLUICE_TRY(source.first_error, fields.text("first_error", ""));
  SLUICE_TRY(source.dropped, fields.boolean("dropped", false));
  SLUICE_CHECK(read_count(fields, "samples_read", source.samples_read));
  SLUICE_TRY(source.read_s, fields.number("read_s", 0));
  SLUICE_CHECK(read_count(fields, "samples_decoded", source.samples_decoded));
  SLUICE_TRY(source.decode_s, fields.number("decode_s", 0));
  return source;
}

Result<MixtureStats> read_stats(const Json& json) {
  MixtureStats stats;
  if (!json.is_object()) return stats;
  const Reply fields("stats", json);
  SLUICE_CHECK(read_count(fields, "batches", stats.batches));
  SLUICE_CHECK(read_count(fields, "samples", stats.samples));
  SLUICE_TRY(stats.start_s, fields.number("start_s", 0));
  SLUICE_TRY(stats.wait_s, fields.number("wait_s", 0));
  SLUICE_CHECK(read_stages(fields.field("cpu_s"), stats.cpu_s));
  SLUICE_TRY(stats.schedule_hash, fields.text("schedule_hash", ""));
  const Json& sources = fields.field("sources");
  if (!sources.is_array()) return stats;
  for (const Json& one : sources) {
    if (!one.is_object()) return fields.wrong("sources", "a list of objects");
    SLUICE_TRY(SourceStats source, read_source(one));
    stats.sources.push_back(std::move(source));
  }
  return stats;
}

}  // namespace

Json to_json(const MixtureRun& run) {
  Json json{{"batch_size", run.batch_size}, {"warmup", run.warmup}, {"batches", run.batches}};
  for (const NumberField& one : kNumbers)
    json[one.key] = run.*one.field;
  json["batches_per_s"] = run.batches_per_s();
  json["samples_per_s"] = run.samples_per_s();
  json["wait_fraction"] = run.wait_fraction();
  if (run.loss != 0) json["loss"] = {{"first", run.first_loss}, {"last", run.loss}};
  json["stage_cpu_s"] = stages_json(run.stage_cpu_s);
  json["peak_rss_bytes"] = run.peak_rss_bytes;
  json["batch_times"] = run.batch_times;
  json["stats"] = to_json(run.stats);
  return json;
}

Result<MixtureRun> mixture_run_from_json(const Json& json) {
  if (!json.is_object()) return Error{Errc::measurement, "the details of a mixture are no object"};
  const Reply fields("details", json);
  MixtureRun run;
  SLUICE_TRY(const auto size, fields.integer("batch_size", 0, 1'000'000, 0));
  run.batch_size = static_cast<int>(size);
  SLUICE_CHECK(read_count(fields, "warmup", run.warmup));
  SLUICE_CHECK(read_count(fields, "batches", run.batches));
  for (const NumberField& one : kNumbers) {
    SLUICE_TRY(run.*one.field, fields.number(one.key, 0));
  }
  SLUICE_CHECK(read_stages(fields.field("stage_cpu_s"), run.stage_cpu_s));
  SLUICE_TRY(run.peak_rss_bytes,
             fields.integer("peak_rss_bytes", 0, std::numeric_limits<std::int64_t>::max(), 0));
  if (const Json& loss = fields.field("loss"); loss.is_object()) {
    SLUICE_TRY(const double first, Reply("loss", loss).number("first", 0));
    SLUICE_TRY(const double last, Reply("loss", loss).number("last", 0));
    run.first_loss = static_cast<float>(first);
    run.loss = static_cast<float>(last);
  }
  SLUICE_TRY(run.batch_times, fields.text("batch_times", ""));
  SLUICE_TRY(run.stats, read_stats(fields.field("stats")));
  return run;
}

}  // namespace sluice::scenario
