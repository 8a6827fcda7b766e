// sluice/results/from_json.cpp - a result file out of JSON that nobody vouches for.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/text.h"
#include "sluice/results/fields.h"
#include "sluice/results/result_file.h"
#include "sluice/results/sections.h"

#include <fmt/format.h>

#include <cmath>
#include <limits>
#include <map>
#include <tuple>

namespace sluice::results {
namespace {

using measure::Better;
using measure::RowStatus;

template <class T, std::size_t N>
void read_enum(const Fields& fields, const char* key, Problem& problem, const T (&values)[N],
               T& out) {
  const Json* json = fields.find(key);
  if (json == nullptr) return;
  std::string accepted;
  for (const T value : values) {
    if (json->is_string() && json->get_ref<const std::string&>() == to_string(value)) {
      out = value;
      return;
    }
    accepted += (accepted.empty() ? "" : ", ") + std::string(to_string(value));
  }
  problem.wrong(fields.at(key), "one of " + accepted, *json);
}

template <class Body>
void each(const Fields& fields, const char* key, Problem& problem, Body body) {
  const Json* array = fields.array(key);
  if (array == nullptr) return;
  const Where where = fields.at(key);
  for (std::size_t i = 0; i < array->size() && !problem.found(); ++i) {
    body((*array)[i], Where{&where, {}, static_cast<std::int64_t>(i)});
  }
}

const Json* object(const Fields& fields, const char* key, Problem& problem) {
  const Json* value = fields.find(key);
  if (value == nullptr || value->is_object()) return value;
  problem.wrong(fields.at(key), "an object", *value);
  return nullptr;
}

void read_counters(const Fields& run, Problem& problem,
                   measure::Measured<measure::HardwareCounters>& out) {
  const Json* json = run.find_unless_null("counters", &out.reason);
  if (json == nullptr) return;
  const Where where = run.at("counters");
  const Fields fields(*json, where, problem);
  measure::HardwareCounters& counters = out.value.emplace();
  fields.read("cycles", counters.cycles);
  fields.read("instructions", counters.instructions);
  fields.read("cache_misses", counters.cache_misses);
  fields.read("branch_misses", counters.branch_misses);
}

measure::Run read_run(const Json& json, const Where& where, Problem& problem) {
  measure::Run run;
  const Fields fields(json, where, problem);
  fields.read("run_id", run.run_id);
  fields.read("pid", run.pid);
  fields.read("block", run.block);
  fields.read("position", run.position);
  fields.read("start_ns", run.start_ns);
  fields.read("idle_before_ms", run.idle_before_ms);
  fields.read("warmup_discarded", run.warmup_discarded);
  each(fields, "samples_ns", problem, [&](const Json& sample, const Where& at) {
    read_value(sample, at, problem, run.samples_ns.emplace_back());
  });
  fields.read("cpu_ns", run.cpu_ns);
  fields.read("involuntary_switches", run.involuntary_switches);
  fields.read("major_faults", run.major_faults);
  fields.read("throttled", run.throttled);
  read_counters(fields, problem, run.counters);
  if (json.is_object() && json.contains("details")) {
    if (const Json* details = fields.array("details")) run.details = *details;
  }
  return run;
}

void read_interval(const Fields& row, Problem& problem, std::optional<measure::Interval>& out) {
  const Json* json = row.find_unless_null("ci95");
  if (json == nullptr) return;
  const Where where = row.at("ci95");
  const Fields fields(*json, where, problem);
  measure::Interval& interval = out.emplace();
  fields.read("low", interval.low);
  fields.read("high", interval.high);
  fields.read("method", interval.method);
  fields.read("over", interval.over);
  if (problem.found()) return;
  if (interval.over != "run" && interval.over != "block" && interval.over != "iteration") {
    problem.wrong(fields.at("over"), "one of run, block, iteration", (*json)["over"]);
  }
  if (interval.low > interval.high) {
    problem.report(where, fmt::format("low {} is above high {}", interval.low, interval.high));
  }
}

/// A null `median` means that the row has no summary; its `reason` then says why.
void read_summary(const Fields& row, Problem& problem, std::optional<measure::Summary>& out) {
  const Json* median = row.find("median");
  if (median == nullptr || median->is_null()) return;
  measure::Summary& summary = out.emplace();
  row.read("median", summary.median);
  const std::pair<const char*, double*> numbers[] = {
      {"mean", &summary.mean}, {"sd", &summary.sd},   {"cv", &summary.cv},  {"p10", &summary.p10},
      {"p50", &summary.p50},   {"p90", &summary.p90}, {"p99", &summary.p99}};
  for (const auto& [key, number] : numbers) {
    if (!row.read_unless_null(key, *number)) *number = std::numeric_limits<double>::quiet_NaN();
  }
  read_interval(row, problem, summary.ci95);
  row.read("n_runs", summary.n_runs);
  row.read("n_samples", summary.n_samples);
  row.read("unstable", summary.unstable);
}

void read_params(const Fields& row, Problem& problem, std::map<std::string, std::string>& out) {
  const Json* json = object(row, "params", problem);
  if (json == nullptr) return;
  const Where where = row.at("params");
  for (const auto& [key, value] : json->items()) {
    read_value(value, Where{&where, key, -1}, problem, out[key]);
  }
}

measure::Row read_row(const Json& json, const Where& where, Problem& problem) {
  measure::Row row;
  const Fields fields(json, where, problem);
  fields.read("case", row.case_name);
  read_params(fields, problem, row.params);
  fields.read("library", row.library);
  fields.read("library_version", row.library_version);
  if (const Json* policy = object(fields, "thread_policy", problem)) {
    const Where at = fields.at("thread_policy");
    const Fields threads(*policy, at, problem);
    threads.read("asked", row.thread_policy.asked);
    threads.read("in_force", row.thread_policy.in_force);
    threads.read_unless_null("cpu_per_wall", row.thread_policy.cpu_per_wall);
    if (policy->contains("name")) threads.read("name", row.thread_policy.name);
  }
  constexpr RowStatus kStatuses[] = {RowStatus::ok, RowStatus::early_stopped,
                                     RowStatus::unsupported, RowStatus::failed, RowStatus::skipped};
  read_enum(fields, "status", problem, kStatuses, row.status);
  fields.read("reason", row.reason);
  fields.read("unit", row.unit);
  constexpr Better kBetter[] = {Better::higher, Better::lower};
  read_enum(fields, "better", problem, kBetter, row.better);
  fields.read_unless_null("items_per_sample", row.items_per_sample);
  fields.read_unless_null("bytes_per_item", row.bytes_per_item);
  each(fields, "runs", problem,
       [&](const Json& run, const Where& at) { row.runs.push_back(read_run(run, at, problem)); });
  read_summary(fields, problem, row.summary);
  std::int64_t peak = 0;
  if (fields.read_unless_null("peak_rss_bytes", peak)) row.peak_rss_bytes = peak;
  if (const Json* memory = fields.find_unless_null("gpu_memory")) {
    const Where at = fields.at("gpu_memory");
    const Fields bytes(*memory, at, problem);
    measure::GpuMemory& peak_memory = row.gpu_memory.emplace();
    bytes.read("peak_allocated_bytes", peak_memory.peak_allocated_bytes);
    bytes.read("peak_reserved_bytes", peak_memory.peak_reserved_bytes);
  }
  fields.read_unless_null("output_digest", row.output_digest);
  if (json.is_object() && json.contains("preflight_item_s"))
    fields.read("preflight_item_s", row.preflight_item_s.emplace());
  if (json.is_object() && json.contains("not_comparable"))
    fields.read("not_comparable", row.not_comparable);
  return row;
}

/// Of two rows of one case nobody can say which counts.
void check_repeats(const Where& where, const std::vector<measure::Row>& rows, Problem& problem) {
  std::map<std::tuple<std::string, std::string, std::map<std::string, std::string>>, std::size_t>
      seen;
  for (std::size_t i = 0; i < rows.size(); ++i) {
    const measure::Row& row = rows[i];
    const auto [first, fresh] = seen.try_emplace({row.case_name, row.library, row.params}, i);
    if (fresh) continue;
    problem.report(Where{&where, {}, static_cast<std::int64_t>(i)},
                   fmt::format("repeats rows[{}], {} of {}; one row per case, library and params "
                               "is accepted",
                               first->second, printable(row.case_name), printable(row.library)));
  }
}

/// Before anything else: a newer file may mean something else by every other key.
void check_version(const Json& json, Problem& problem, int& version) {
  const Where root;
  const Fields fields(json, root, problem);
  fields.read("schema_version", version);
  if (problem.found()) return;
  if (version > kSchemaVersion) {
    problem.report(
        root,
        fmt::format(
            "schema_version {} is newer than {}, which this program reads; use a newer sluice",
            version, kSchemaVersion));
  } else if (version < 1) {
    problem.report(root, fmt::format("schema_version {} does not exist; this program reads 1 to {}",
                                     version, kSchemaVersion));
  }
}

void read_dataset(const Fields& root, Problem& problem, Dataset& out) {
  const Json* json = root.find_unless_null("dataset");
  if (json == nullptr) return;
  const Where where = root.at("dataset");
  const Fields fields(*json, where, problem);
  fields.read("hash", out.hash);
  fields.read("count", out.count);
  fields.read("bytes", out.bytes);
}

void read_timing(const Fields& root, Problem& problem, Timing& out) {
  const Json* json = object(root, "timing", problem);
  if (json == nullptr) return;
  const Where where = root.at("timing");
  const Fields fields(*json, where, problem);
  fields.read("clock", out.clock);
  fields.read("scope", out.scope);
  fields.read("data_source", out.data_source);
  fields.read("includes_decode", out.includes_decode);
  fields.read("includes_collate", out.includes_collate);
  fields.read("includes_transfer", out.includes_transfer);
}

void read_head(const Fields& root, const Json& json, Problem& problem, ResultFile& file) {
  if (const Json* tool = object(root, "tool", problem)) {
    const Where where = root.at("tool");
    const Fields fields(*tool, where, problem);
    fields.read("version", file.tool.version);
    fields.read("git", file.tool.git);
  }
  if (const Json* environment = object(root, "environment", problem))
    file.environment = *environment;
  root.read("machine_profile", file.machine_profile);
  if (const Json* config = object(root, "run_config", problem)) file.run_config = *config;
  read_dataset(root, problem, file.dataset);
  read_timing(root, problem, file.timing);
  each(root, "argv", problem, [&](const Json& word, const Where& at) {
    read_value(word, at, problem, file.argv.emplace_back());
  });
  root.read("session_id", file.session_id);
  root.read("block_order_seed", file.block_order_seed);
  read_sections(json, problem, file);
}

}  // namespace

Result<ResultFile> from_json(const Json& json, const std::string& name) {
  Problem problem(name);
  ResultFile file;
  check_version(json, problem, file.schema_version);
  if (problem.found()) return problem.error();
  const Where where;
  const Fields root(json, where, problem);
  read_head(root, json, problem, file);
  const auto rows = [&](std::vector<measure::Row>& out) {
    return [&](const Json& row, const Where& at) { out.push_back(read_row(row, at, problem)); };
  };
  each(root, "canary", problem, rows(file.canary));
  each(root, "rows", problem, rows(file.rows));
  check_repeats(root.at("rows"), file.rows, problem);
  if (problem.found()) return problem.error();
  return file;
}

}  // namespace sluice::results
