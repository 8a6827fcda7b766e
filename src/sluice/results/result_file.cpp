// sluice/results/result_file.cpp - a result file as JSON text, laid out so that a person can read
// and diff it.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/results/result_file.h"

#include "sluice/core/file.h"
#include "sluice/results/sections.h"

#include <algorithm>
#include <cmath>

namespace sluice::results {
namespace {

/// Not measured is null, and `<key>_reason` says why.
void put_null(Json& json, const char* key, const std::string& reason) {
  json[key] = nullptr;
  json[std::string(key) + "_reason"] = reason;
}

void put_number(Json& json, const char* key, double value, bool known, const char* reason) {
  if (known && std::isfinite(value)) {
    json[key] = value;
  } else {
    put_null(json, key, known ? "the value is not finite" : reason);
  }
}

Json run_to_json(const measure::Run& run) {
  Json json = {{"run_id", run.run_id},
               {"pid", run.pid},
               {"block", run.block},
               {"position", run.position},
               {"start_ns", run.start_ns},
               {"idle_before_ms", run.idle_before_ms},
               {"warmup_discarded", run.warmup_discarded},
               {"samples_ns", run.samples_ns},
               {"cpu_ns", run.cpu_ns},
               {"involuntary_switches", run.involuntary_switches},
               {"major_faults", run.major_faults},
               {"throttled", run.throttled}};
  if (const auto& counters = run.counters.value) {
    json["counters"] = {{"cycles", counters->cycles},
                        {"instructions", counters->instructions},
                        {"cache_misses", counters->cache_misses},
                        {"branch_misses", counters->branch_misses}};
  } else {
    put_null(json, "counters", run.counters.reason.empty() ? "not counted" : run.counters.reason);
  }
  if (!run.details.is_null()) json["details"] = run.details;
  return json;
}

constexpr const char* kSummaryNumbers[] = {"median", "mean", "sd",  "cv",
                                           "p10",    "p50",  "p90", "p99"};

void put_summary(Json& json, const measure::Row& row) {
  if (!row.summary || !std::isfinite(row.summary->median)) {
    for (const char* key : kSummaryNumbers)
      json[key] = nullptr;
    json["ci95"] = nullptr;
    std::size_t samples = 0;
    for (const auto& run : row.runs)
      samples += run.samples_ns.size();
    json["n_runs"] = row.runs.size();
    json["n_samples"] = samples;
    json["unstable"] = nullptr;
    return;
  }
  const measure::Summary& summary = *row.summary;
  const double numbers[] = {summary.median, summary.mean, summary.sd,  summary.cv,
                            summary.p10,    summary.p50,  summary.p90, summary.p99};
  for (std::size_t i = 0; i < std::size(numbers); ++i)
    put_number(json, kSummaryNumbers[i], numbers[i], true, "");
  const auto& ci = summary.ci95;
  if (ci && std::isfinite(ci->low) && std::isfinite(ci->high)) {
    json["ci95"] = {
        {"low", ci->low}, {"high", ci->high}, {"method", ci->method}, {"over", ci->over}};
  } else {
    put_null(json, "ci95", ci ? "the value is not finite" : "too few samples for an interval");
  }
  json["n_runs"] = summary.n_runs;
  json["n_samples"] = summary.n_samples;
  json["unstable"] = summary.unstable;
}

Json row_to_json(const measure::Row& row) {
  Json json = {{"case", row.case_name},
               {"params", Json(row.params)},
               {"library", row.library},
               {"library_version", row.library_version}};
  Json policy = {{"asked", row.thread_policy.asked}, {"in_force", row.thread_policy.in_force}};
  put_number(policy, "cpu_per_wall", row.thread_policy.cpu_per_wall,
             row.thread_policy.cpu_per_wall > 0, "not measured");
  if (!row.thread_policy.name.empty()) policy["name"] = row.thread_policy.name;
  json["thread_policy"] = std::move(policy);
  json["status"] = to_string(row.status);
  json["reason"] = row.reason;
  json["unit"] = row.unit;
  json["better"] = to_string(row.better);
  if (row.items_per_sample > 0) {
    json["items_per_sample"] = row.items_per_sample;
  } else {
    put_null(json, "items_per_sample", "not known");
  }
  put_number(json, "bytes_per_item", row.bytes_per_item, row.bytes_per_item > 0, "not known");
  json["runs"] = Json::array();
  for (const auto& run : row.runs)
    json["runs"].push_back(run_to_json(run));
  put_summary(json, row);
  if (row.peak_rss_bytes) {
    json["peak_rss_bytes"] = *row.peak_rss_bytes;
  } else {
    put_null(json, "peak_rss_bytes", "not sampled");
  }
  if (row.gpu_memory) {
    json["gpu_memory"] = {{"peak_allocated_bytes", row.gpu_memory->peak_allocated_bytes},
                          {"peak_reserved_bytes", row.gpu_memory->peak_reserved_bytes}};
  } else {
    put_null(json, "gpu_memory", "no worker told of a GPU's memory");
  }
  if (row.output_digest.empty()) {
    put_null(json, "output_digest", "no output was checked");
  } else {
    json["output_digest"] = row.output_digest;
  }
  if (row.preflight_item_s) json["preflight_item_s"] = *row.preflight_item_s;
  if (!row.not_comparable.empty()) json["not_comparable"] = row.not_comparable;
  return json;
}

Json rows_to_json(const std::vector<measure::Row>& rows) {
  Json json = Json::array();
  for (const auto& row : rows)
    json.push_back(row_to_json(row));
  return json;
}

/// Objects and arrays of containers one entry per line; arrays of scalars (samples) on one line.
void append_text(std::string& out, const Json& json, int depth) {
  const auto new_line = [&](int level) {
    out.append("\n").append(static_cast<std::size_t>(level) * 2, ' ');
  };
  const auto scalar = [](const Json& value) { return !value.is_structured() || value.empty(); };
  const bool flat =
      scalar(json) || (json.is_array() && std::all_of(json.begin(), json.end(), scalar));
  if (flat) {
    // Paths and reasons may hold bytes that are no UTF-8; a result file is UTF-8 whatever happens.
    out += json.dump(-1, ' ', false, Json::error_handler_t::replace);
    return;
  }
  out += json.is_object() ? '{' : '[';
  bool first = true;
  for (auto it = json.begin(); it != json.end(); ++it) {
    if (!first) out += ',';
    first = false;
    new_line(depth + 1);
    if (json.is_object())
      out += Json(it.key()).dump(-1, ' ', false, Json::error_handler_t::replace) + ": ";
    append_text(out, *it, depth + 1);
  }
  new_line(depth);
  out += json.is_object() ? '}' : ']';
}

}  // namespace

Json to_json(const ResultFile& file) {
  Json json = {{"schema_version", file.schema_version},
               {"tool", {{"version", file.tool.version}, {"git", file.tool.git}}},
               {"environment", file.environment.is_object() ? file.environment : Json::object()},
               {"machine_profile", file.machine_profile},
               {"run_config", file.run_config.is_object() ? file.run_config : Json::object()}};
  if (file.dataset.hash.empty()) {
    put_null(json, "dataset", "the cases read no dataset");
  } else {
    json["dataset"] = {
        {"hash", file.dataset.hash}, {"count", file.dataset.count}, {"bytes", file.dataset.bytes}};
  }
  const Timing& timing = file.timing;
  json["timing"] = {{"clock", timing.clock},
                    {"scope", timing.scope},
                    {"data_source", timing.data_source},
                    {"includes_decode", timing.includes_decode},
                    {"includes_collate", timing.includes_collate},
                    {"includes_transfer", timing.includes_transfer}};
  json["argv"] = file.argv;
  json["session_id"] = file.session_id;
  json["block_order_seed"] = file.block_order_seed;
  json["canary"] = rows_to_json(file.canary);
  json["rows"] = rows_to_json(file.rows);
  write_sections(json, file);
  return json;
}

std::string to_text(const Json& json) {
  std::string text;
  append_text(text, json, 0);
  return text += '\n';
}

Result<ResultFile> read(const std::filesystem::path& path) {
  SLUICE_TRY(const std::string text, read_text_file(path));
  SLUICE_TRY(const Json json, parse_json(text, path.string()));
  return from_json(json, path.string());
}

Status write(const std::filesystem::path& path, const ResultFile& file) {
  if (path.has_parent_path()) SLUICE_CHECK(create_folders(path.parent_path()));
  return write_file_atomic(path, to_text(to_json(file)));
}

bool has_failed_row(const ResultFile& file) {
  return std::any_of(file.rows.begin(), file.rows.end(), [](const measure::Row& row) {
    return row.status == measure::RowStatus::failed;
  });
}

}  // namespace sluice::results
