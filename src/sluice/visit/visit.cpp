// sluice/visit/visit.cpp - the steps of a visit, each once.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/visit.h"

#include "sluice/config/emit.h"
#include "sluice/config/from_json.h"
#include "sluice/core/file.h"
#include "sluice/report/report.h"

#include <algorithm>

namespace sluice::visit {

namespace fs = std::filesystem;

Status Visit::open(backend::VisitOptions machine, bool resume) {
  machine_ = std::move(machine);
  if (machine_.storage.empty()) machine_.storage = ".";
  machine_.argv = caller_.argv;
  SLUICE_TRY(const std::string profile, backend::profile_of_visit(machine_));
  SLUICE_TRY(own_, open_run_folder(caller_, name_, profile, resume));
  folder_ = &*own_;
  return ok;
}

void Visit::open_in(const results::RunFolder& folder, backend::VisitOptions machine) {
  machine_ = std::move(machine);
  machine_.argv = caller_.argv;
  folder_ = &folder;
}

Status Visit::begin() {
  SLUICE_TRY(file, backend::begin_visit(machine_));
  return ok;
}

Status Visit::described() const {
  if (machine_.check_noise) SLUICE_CHECK(write_environment());
  return folder_->write_config(config::to_yaml(config::from_json(file.run_config)));
}

Status Visit::write_environment() const {
  return folder_->write_environment(file.environment);
}

Status Visit::start(Progress& progress) {
  SLUICE_TRY(runner, local_.context(progress, file.session_id, path() / "logs"));
  return ok;
}

void Visit::watch_resources(int gpu_index) {
  resources_.emplace(gpu_index);
}

void Visit::keep_resources() {
  if (!resources_) return;
  file.resources = resources_->stop();
  resources_.reset();
}

void Visit::put(const std::vector<measure::Row>& wave) {
  file.rows.resize(done_);
  std::vector<measure::Row> canary;
  for (const measure::Row& row : wave)
    (is_canary(row.case_name) ? canary : file.rows).push_back(row);
  if (!canary.empty()) file.canary = std::move(canary);
  file.rows.insert(file.rows.end(), last.begin(), last.end());
}

void Visit::add(const std::vector<measure::Row>& rows) {
  put(rows);
  done_ = file.rows.size() - last.size();
}

Status Visit::measure(const std::vector<measure::SubjectSpec>& subjects,
                      const measure::Policy& policy, std::vector<measure::Row> so_far) {
  measure::RunnerContext context = runner;
  context.on_block = [&](const std::vector<measure::Row>& wave) { return keep(wave); };
  SLUICE_TRY(const measure::WaveResult wave,
             measure::run_wave(subjects, policy, context, std::move(so_far)));
  add(wave.rows);
  if (wave.interrupted) return Error{Errc::interrupted, "interrupted"};
  return ok;
}

Status Visit::keep() const {
  return folder_->write_result(name_ + ".json", file);
}

Status Visit::keep(const std::vector<measure::Row>& wave) {
  put(wave);
  if (after_block) SLUICE_CHECK(after_block());
  return keep();
}

Result<Visited> Visit::finish(bool was_interrupted) {
  keep_resources();
  SLUICE_CHECK(keep());
  if (file.training) SLUICE_CHECK(write_metrics(path(), *file.training));
  const std::vector<results::ResultFile> files{file};
  SLUICE_CHECK(folder_->write_report(report::markdown(files), report::html(files)));
  return Visited{std::move(file), path(), was_interrupted};
}

fs::path Visit::result_path() const {
  return folder_->results() / (name_ + ".json");
}

Result<results::RunFolder> open_run_folder(const Caller& caller, const std::string& name,
                                           const std::string& profile, bool resume) {
  return results::RunFolder::open(
      {.out = caller.out, .resume = resume, .name = name, .profile = profile});
}

Result<bool> is_interrupted(const Status& measured) {
  if (!measured && measured.error().code != Errc::interrupted) return measured.error();
  return !measured;
}

Json policy_json(const measure::Policy& policy) {
  Json json = measure::to_json(policy);
  json.erase("seed");
  json.erase("data_seed");  // stands in the command where it is not 0
  return json;
}

bool is_canary(const std::string& case_name) {
  return case_name.starts_with("canary-");
}

Status write_metrics(const fs::path& folder, const results::TrainingMetrics& metrics) {
  return write_file_atomic(folder / "metrics.json", dump_json(results::to_json(metrics)) + "\n");
}

}  // namespace sluice::visit
