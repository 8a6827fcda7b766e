// sluice/backend/cluster/folder.cpp - submission.json, markers and attempts, read and written.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/backend/cluster/folder.h"

#include "sluice/core/file.h"
#include "sluice/core/file_lock.h"
#include "sluice/core/stop.h"
#include "sluice/core/text.h"
#include "sluice/core/utc.h"

#include <fmt/format.h>

#include <array>
#include <cstdlib>
#include <unistd.h>

namespace sluice::backend {
namespace {

namespace fs = std::filesystem;

constexpr int kSubmissionVersion = 1;

/// Of a task on Slurm or Kubernetes: what says which job, which attempt, where.
constexpr std::array<std::pair<const char*, const char*>, 12> kVariables = {{
    {"job_id", "SLURM_JOB_ID"},
    {"array_job_id", "SLURM_ARRAY_JOB_ID"},
    {"array_task_id", "SLURM_ARRAY_TASK_ID"},
    {"step_id", "SLURM_STEP_ID"},
    {"restart_count", "SLURM_RESTART_COUNT"},
    {"cluster", "SLURM_CLUSTER_NAME"},
    {"partition", "SLURM_JOB_PARTITION"},
    {"cpus_on_node", "SLURM_CPUS_ON_NODE"},
    {"gpus", "SLURM_JOB_GPUS"},
    {"completion_index", "JOB_COMPLETION_INDEX"},
    {"pod", "SLUICE_POD"},
    {"node_name", "SLUICE_NODE"},
}};

std::string four_digits(int task) {
  return fmt::format("{:04}", task);
}

fs::path attempts_of(const fs::path& type_folder, int task) {
  return type_folder / "tasks" / (four_digits(task) + ".jsonl");
}

}  // namespace

int Submission::tasks() const {
  return static_cast<int>(commands.empty() ? slices.size() : commands.size());
}

std::string Submission::describe(int task) const {
  const auto at = static_cast<std::size_t>(task);
  return join(commands.empty() ? slices[at] : commands[at], " ");
}

Json to_json(const Submission& one) {
  Json json{{"schema_version", kSubmissionVersion},
            {"backend", one.backend},
            {"token", one.token},
            {"node_types", one.node_types},
            {"slices", one.slices},
            {"work_folder", one.work_folder.string()},
            {"argv", one.argv},
            {"sample_ms", one.sample_ms},
            {"warmup_ms", one.warmup_ms},
            {"timeout_s", one.timeout_s},
            {"cpus", one.cpus}};
  if (one.commands.empty()) return json;
  json["commands"] = one.commands;
  json["continues"] = one.continues;
  json["collect_command"] = one.collect_command;
  return json;
}

Result<Submission> read_submission(const fs::path& out) {
  const fs::path path = out / "submission.json";
  std::error_code code;
  if (!fs::exists(path, code))
    return Error{
        Errc::not_found,
        fmt::format("{}: no run on a cluster was begun in this folder (no submission.json)",
                    shown(out))};
  SLUICE_TRY(const std::string text, read_text_file(path));
  SLUICE_TRY(const Json json, parse_json(text, shown(path)));
  Submission one;
  try {
    if (json.at("schema_version").get<int>() != kSubmissionVersion)
      return Error{Errc::invalid_input,
                   fmt::format("{}: schema_version {} is not {}", shown(path),
                               json.at("schema_version").dump(), kSubmissionVersion)};
    json.at("backend").get_to(one.backend);
    json.at("token").get_to(one.token);
    json.at("node_types").get_to(one.node_types);
    json.at("slices").get_to(one.slices);
    one.work_folder = json.at("work_folder").get<std::string>();
    json.at("argv").get_to(one.argv);
    json.at("sample_ms").get_to(one.sample_ms);
    json.at("warmup_ms").get_to(one.warmup_ms);
    json.at("timeout_s").get_to(one.timeout_s);
    json.at("cpus").get_to(one.cpus);
    if (json.contains("commands")) {
      json.at("commands").get_to(one.commands);
      json.at("continues").get_to(one.continues);
      json.at("collect_command").get_to(one.collect_command);
    }
  } catch (const Json::exception& wrong) {
    return Error{Errc::invalid_input, fmt::format("{}: {}", shown(path), printable(wrong.what()))};
  }
  if (one.tasks() == 0 || one.node_types.empty())
    return Error{Errc::invalid_input, fmt::format("{}: names no task", shown(path))};
  return one;
}

Status write_submission(const fs::path& out, const Submission& submission) {
  return write_file_atomic(out / "submission.json", dump_json(to_json(submission)) + "\n");
}

fs::path folder_of_type(const fs::path& out, const std::string& type) {
  return type.empty() ? out : out / type;
}
fs::path folder_of_task(const fs::path& type_folder, int task) {
  return type_folder / "tasks" / four_digits(task);
}
fs::path marker_of_task(const fs::path& type_folder, int task) {
  return type_folder / "done" / (four_digits(task) + ".json");
}
fs::path marker_of_collect(const fs::path& type_folder) {
  return type_folder / "done" / "collect.json";
}

std::string node_here() {
  for (const char* name : {"SLURMD_NODENAME", "SLUICE_NODE"})
    if (const char* value = std::getenv(name)) return value;
  std::array<char, 256> host{};
  return gethostname(host.data(), host.size() - 1) == 0 ? host.data() : "unknown";
}

Json place_here() {
  Json place = {{"node", node_here()}};
  for (const auto& [key, variable] : kVariables)
    if (const char* value = std::getenv(variable)) place[key] = to_utf8(value);
  return place;
}

Status note_attempt(const fs::path& type_folder, int task, const Json& line) {
  const fs::path path = attempts_of(type_folder, task);
  SLUICE_CHECK(create_folders(path.parent_path()));
  std::string text;
  std::error_code code;
  if (fs::exists(path, code)) {
    SLUICE_TRY(text, read_text_file(path));
  }
  return write_file_atomic(path, text + dump_json(line, -1) + "\n");
}

std::string last_error(const fs::path& type_folder, int task) {
  const auto text = read_text_file(attempts_of(type_folder, task));
  if (!text) return "";
  const std::vector<std::string> lines = split(trimmed(*text), '\n');
  if (lines.empty()) return "";
  const auto json = parse_json(lines.back(), "attempt");
  return json ? string_at(*json, "error") : "";
}

Status write_marker(const fs::path& type_folder, const Marker& marker) {
  const fs::path path = marker_of_task(type_folder, marker.task);
  SLUICE_CHECK(create_folders(path.parent_path()));
  const Json json = {{"task", marker.task},
                     {"num_runs", marker.num_runs},
                     {"failed_rows", marker.failed_rows},
                     {"machine_profile", marker.machine_profile},
                     {"place", marker.place},
                     {"exit_code", marker.exit_code},
                     {"finished", utc_now()}};
  return write_file_atomic(path, dump_json(json) + "\n");
}

std::optional<Marker> read_marker(const fs::path& type_folder, int task) {
  const auto text = read_text_file(marker_of_task(type_folder, task));
  if (!text) return std::nullopt;
  const auto json = parse_json(*text, "marker");
  if (!json) return std::nullopt;
  Marker marker;
  try {
    json->at("task").get_to(marker.task);
    json->at("num_runs").get_to(marker.num_runs);
    json->at("failed_rows").get_to(marker.failed_rows);
    json->at("machine_profile").get_to(marker.machine_profile);
    marker.place = json->at("place");
    marker.exit_code = json->value("exit_code", 0);
  } catch (const Json::exception&) {
    return std::nullopt;
  }
  return marker.task == task ? std::optional(marker) : std::nullopt;
}

bool is_done(const std::optional<Marker>& marker, const Submission& submission,
             const plan::RunConfig& config) {
  if (!marker || marker->failed_rows > 0) return false;
  return !submission.commands.empty() || marker->num_runs >= config.execution.num_runs;
}

Result<std::vector<int>> missing_tasks(const fs::path& type_folder, const Submission& submission,
                                       const plan::RunConfig& config) {
  std::vector<int> missing;
  for (int task = 0; task < submission.tasks(); ++task) {
    bool done = is_done(read_marker(type_folder, task), submission, config);
    const fs::path folder = folder_of_task(type_folder, task);
    std::error_code code;
    if (done && !submission.commands.empty()) {
      done = fs::is_directory(folder, code);
    } else if (done) {
      SLUICE_TRY(const plan::Plan part,
                 plan::make_plan(config_of(config, submission.slices[static_cast<size_t>(task)])));
      for (const fs::path& output : part.expected_outputs)
        done = done && fs::exists(folder / "results" / output, code);
    }
    if (!done) missing.push_back(task);
  }
  return missing;
}

Status wait_until_free(const fs::path& folder, double limit_s) {
  SLUICE_CHECK(create_folders(folder));
  LockWait wait;
  wait.limit_s = limit_s;
  wait.stop = stop_requested;
  SLUICE_TRY(const FileLock lock,
             FileLock::take(folder / kLockInFolder, shown(folder), wait, LockFile::kept));
  return ok;
}

}  // namespace sluice::backend
