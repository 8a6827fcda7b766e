// sluice/visit/session.cpp - the life of a measuring command, top to bottom.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/session.h"

#include "sluice/analysis/peer_ratio.h"
#include "sluice/backend/visit.h"
#include "sluice/config/emit.h"
#include "sluice/config/from_json.h"
#include "sluice/core/folder_guard.h"
#include "sluice/core/log.h"
#include "sluice/core/thread_pool.h"
#include "sluice/image/dataset.h"
#include "sluice/image/photo_dataset.h"
#include "sluice/image/simd.h"
#include "sluice/measure/local_runner.h"
#include "sluice/measure/runner.h"
#include "sluice/peers/places.h"
#include "sluice/report/report.h"
#include "sluice/results/resume.h"
#include "sluice/results/run_folder.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

namespace sluice::visit {
namespace {

namespace fs = std::filesystem;

bool is_canary(const std::string& case_name) {
  return case_name.rfind("canary-", 0) == 0;
}

bool chosen(const SessionPlan& plan, const std::string& case_name) {
  if (plan.scenarios.empty() || is_canary(case_name)) return true;
  return std::any_of(plan.scenarios.begin(), plan.scenarios.end(), [&](const std::string& name) {
    return case_name == name || case_name.rfind(name + "/", 0) == 0;
  });
}

/// Our rows, and a copy of each for every peer, next to it.
Result<std::vector<measure::SubjectSpec>> subjects_of(const SessionPlan& plan,
                                                      const fs::path& data_dir) {
  SLUICE_TRY(const peers::Places places, peers::find_places());
  const unsigned cores =
      plan.policy.cpus.empty() ? usable_cores() : static_cast<unsigned>(plan.policy.cpus.size());
  std::vector<measure::SubjectSpec> subjects;
  for (measure::SubjectSpec& spec :
       scenario::plan(plan.kinds, {places.program.string(), "worker"}, data_dir, cores)) {
    if (!chosen(plan, spec.case_name)) continue;
    subjects.push_back(spec);
    if (is_canary(spec.case_name)) continue;
    for (const Peer& peer : plan.peers) {
      if (!peer.only_case.empty() && peer.only_case != spec.case_name) continue;
      measure::SubjectSpec beside = spec;
      beside.library = peer.name;
      beside.command = peer.command;
      beside.environment = peer.environment;
      beside.thread_policy = peer.thread_policy;
      beside.spec = peer.spec;
      subjects.push_back(std::move(beside));
    }
  }
  return subjects;
}

Json run_config_of(const SessionPlan& plan, const std::vector<measure::SubjectSpec>& subjects) {
  Json cases = Json::array();
  for (const measure::SubjectSpec& spec : subjects)
    cases.push_back(spec.case_name + " in " + spec.library);
  for (const std::string& row : plan.later_rows)
    cases.push_back(row);
  Json policy = measure::to_json(plan.policy);
  policy.erase("seed");  // is block_order_seed, which differs from visit to visit
  return Json{{"command", plan.name},
              {"data", plan.data_dir.empty() ? "generated" : "given"},
              {"images", plan.data_dir.empty() ? Json(plan.images) : Json(nullptr)},
              {"simd", image::simd_target()},
              {"policy", std::move(policy)},
              {"cases", std::move(cases)}};
}

/// Everything about the visit that is known before the first sample.
Result<results::ResultFile> describe_visit(const SessionPlan& plan,
                                           const backend::VisitOptions& visit,
                                           const fs::path& data_dir,
                                           const std::vector<measure::SubjectSpec>& subjects) {
  SLUICE_TRY(results::ResultFile file, backend::begin_visit(visit));
  file.run_config = run_config_of(plan, subjects);
  SLUICE_TRY(const image::DatasetInfo dataset, image::inspect_dataset(data_dir, {}));
  file.dataset = {dataset.hash, static_cast<std::int64_t>(dataset.count),
                  static_cast<std::int64_t>(dataset.bytes)};
  file.timing = {.scope = "per case, see run_config",
                 .data_source = "memory",
                 .includes_decode = true,
                 .includes_collate = true};
  file.block_order_seed = plan.policy.seed;
  return file;
}

/// `later`: rows that an earlier visit took after its wave.
void put_rows(results::ResultFile& file, const std::vector<measure::Row>& rows,
              const std::vector<measure::Row>& later) {
  file.canary.clear();
  file.rows.clear();
  for (const measure::Row& row : rows)
    (is_canary(row.case_name) ? file.canary : file.rows).push_back(row);
  file.rows.insert(file.rows.end(), later.begin(), later.end());
}

/// With peers beside us, the ratio to each.
void put_ratios(results::ResultFile& file) {
  Json ratios = Json::array();
  for (const analysis::PeerRatio& ratio : analysis::peer_ratios(file))
    ratios.push_back(analysis::to_json(ratio));
  if (!ratios.empty()) file.extra["summary"]["peer_ratios"] = std::move(ratios);
}

/// Rows of an earlier visit, in the order of `subjects`; a row that is not there yet is empty.
std::vector<measure::Row> rows_for(const std::vector<measure::SubjectSpec>& subjects,
                                   const results::ResultFile& file) {
  std::vector<measure::Row> rows(subjects.size());
  for (std::size_t i = 0; i < subjects.size(); ++i) {
    for (const auto* list : {&file.canary, &file.rows}) {
      for (const measure::Row& row : *list) {
        if (row.case_name == subjects[i].case_name && row.library == subjects[i].library)
          rows[i] = row;
      }
    }
  }
  return rows;
}

/// Rows of an earlier visit that are none of `subjects`.
std::vector<measure::Row> later_rows(const std::vector<measure::SubjectSpec>& subjects,
                                     const results::ResultFile& file) {
  std::vector<measure::Row> rows;
  for (const measure::Row& row : file.rows) {
    const auto same = [&](const measure::SubjectSpec& spec) {
      return row.case_name == spec.case_name && row.library == spec.library;
    };
    if (std::none_of(subjects.begin(), subjects.end(), same)) rows.push_back(row);
  }
  return rows;
}

Status keep_off(const measure::CpuList& subject_cpus) {
  if (subject_cpus.empty()) return ok;
  const measure::CpuList rest = measure::without(measure::allowed_cpus(), subject_cpus);
  if (rest.empty()) {
    log::warn("--cpus {} leaves no core for the harness: it shares them",
              measure::to_string(subject_cpus));
    return ok;
  }
  if (!measure::pin_to(rest))
    return Error{Errc::io, "the harness could not be moved off the cores of --cpus"};
  return ok;
}

Status write_reports(const results::RunFolder& folder, const results::ResultFile& file) {
  const std::vector<results::ResultFile> files{file};
  return folder.write_report(report::markdown(files), report::html(files));
}

}  // namespace

Result<SessionResult> run_session(const Caller& caller, const SessionPlan& asked) {
  measure::LocalRunner local;
  SessionPlan plan = asked;
  plan.policy.seed = plan.order_seed.value_or(std::random_device{}());
  const fs::path result_name = plan.name + ".json";
  if (!plan.data_dir.empty()) {  // before anything is written
    SLUICE_TRY(const auto files, image::list_images(plan.data_dir));
    (void)files;
  }

  // Generated data will lie in the run folder, so that is whose storage counts then.
  const fs::path& storage = plan.data_dir.empty() ? caller.out : plan.data_dir;
  const backend::VisitOptions visit{storage.empty() ? fs::path(".") : storage,
                                    env::ProfileDevice::cpu,  // our subjects never touch the GPU
                                    caller.argv};
  results::RunFolder::Options where;
  where.out = caller.out;
  where.resume = plan.resume;
  where.name = plan.name;
  SLUICE_TRY(where.profile, backend::profile_of_visit(visit));
  SLUICE_TRY(results::RunFolder folder, results::RunFolder::open(where));
  std::optional<results::ResultFile> earlier;
  if (folder.resumed()) {
    SLUICE_TRY(earlier, results::read(folder.results() / result_name));
    plan.policy.seed = earlier->block_order_seed;
  }

  std::optional<FolderGuard> generated;  // goes when the run ends
  fs::path data_dir = plan.data_dir;
  if (data_dir.empty()) {
    generated.emplace(folder.path() / "data");
    data_dir = generated->path();
    image::PhotoDatasetOptions photos;
    photos.folder = data_dir;
    photos.count = plan.images;
    photos.seed = caller.seed;
    SLUICE_TRY(const auto made, image::make_photo_dataset(photos, *caller.progress));
    (void)made;
  }
  SLUICE_TRY(const auto subjects, subjects_of(plan, data_dir));
  SLUICE_TRY(results::ResultFile file, describe_visit(plan, visit, data_dir, subjects));
  std::vector<measure::Row> so_far, later;
  if (earlier) {
    SLUICE_CHECK(
        results::check_resumable(*earlier, file, (folder.results() / result_name).string()));
    so_far = rows_for(subjects, *earlier);
    later = later_rows(subjects, *earlier);
  }
  SLUICE_CHECK(folder.write_environment(file.environment));
  SLUICE_CHECK(folder.write_config(config::to_yaml(config::from_json(file.run_config))));
  SLUICE_CHECK(keep_off(plan.policy.cpus));

  SLUICE_TRY(measure::RunnerContext runner,
             local.context(*caller.progress, file.session_id, folder.path() / "logs"));
  runner.on_block = [&](const std::vector<measure::Row>& rows) -> Status {
    put_rows(file, rows, later);
    return folder.write_result(result_name, file);
  };
  SLUICE_TRY(measure::WaveResult wave,
             measure::run_wave(subjects, plan.policy, runner, std::move(so_far)));
  put_rows(file, wave.rows, later);
  bool interrupted = wave.interrupted;
  if (plan.afterwards && !interrupted) {
    runner.on_block = {};
    const Status done = plan.afterwards({file, data_dir, folder.path(), runner,
                                         [&] { return folder.write_result(result_name, file); }});
    if (!done && done.error().code != Errc::interrupted) return done.error();
    interrupted = !done;
  }
  put_ratios(file);
  SLUICE_CHECK(folder.write_result(result_name, file));
  SLUICE_CHECK(write_reports(folder, file));
  return SessionResult{std::move(file), folder.path(), interrupted};
}

}  // namespace sluice::visit
