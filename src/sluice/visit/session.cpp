// sluice/visit/session.cpp - the life of a measuring command, top to bottom.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/session.h"

#include "sluice/analysis/peer_ratio.h"
#include "sluice/core/folder_guard.h"
#include "sluice/core/log.h"
#include "sluice/core/thread_pool.h"
#include "sluice/image/dataset.h"
#include "sluice/image/inputs/photo_dataset.h"
#include "sluice/image/simd.h"
#include "sluice/peers/places.h"
#include "sluice/results/resume.h"
#include "sluice/visit/resumed.h"
#include "sluice/visit/visit.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

namespace sluice::visit {
namespace {

namespace fs = std::filesystem;

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
  for (measure::SubjectSpec& spec : scenario::plan(plan.kinds, places.worker(), data_dir, cores)) {
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
  return Json{{"command", plan.name},
              {"data", plan.data_dir.empty() ? "generated" : "given"},
              {"images", plan.data_dir.empty() ? Json(plan.images) : Json(nullptr)},
              {"simd", image::simd_target()},
              {"policy", policy_json(plan.policy)},
              {"cases", std::move(cases)}};
}

/// Everything about the visit that is known before the first sample.
Status describe(results::ResultFile& file, const SessionPlan& plan, const fs::path& data_dir,
                const std::vector<measure::SubjectSpec>& subjects) {
  file.run_config = run_config_of(plan, subjects);
  SLUICE_TRY(const image::DatasetInfo dataset, image::inspect_dataset(data_dir, {}));
  file.dataset = {dataset.hash, static_cast<std::int64_t>(dataset.count),
                  static_cast<std::int64_t>(dataset.bytes)};
  file.timing = {.scope = "per case, see run_config",
                 .data_source = "memory",
                 .includes_decode = true,
                 .includes_collate = true};
  file.block_order_seed = plan.policy.seed;
  return ok;
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

}  // namespace

Result<Visited> run_session(const Caller& caller, const SessionPlan& asked) {
  Visit visit(caller, asked.name);
  SessionPlan plan = asked;
  plan.policy.seed = plan.order_seed.value_or(std::random_device{}());
  if (!plan.policy.data_seed) plan.policy.data_seed = caller.seed;
  if (!plan.data_dir.empty()) SLUICE_CHECK(image::list_images(plan.data_dir));  // before any file

  // Generated data will lie in the run folder, so that is whose storage counts then.
  SLUICE_CHECK(
      visit.open({.storage = plan.data_dir.empty() ? caller.out : plan.data_dir}, plan.resume));
  std::optional<results::ResultFile> earlier;
  if (visit.folder().resumed()) {
    SLUICE_TRY(earlier, results::read(visit.result_path()));
    plan.policy.seed = earlier->block_order_seed;
  }

  std::optional<FolderGuard> generated;  // goes when the run ends
  fs::path data_dir = plan.data_dir;
  if (data_dir.empty()) {
    generated.emplace(visit.path() / "data");
    data_dir = generated->path();
    SLUICE_CHECK(image::make_photo_dataset(
        {.folder = data_dir, .count = plan.images, .seed = caller.seed}, *caller.progress));
  }
  SLUICE_TRY(const auto subjects, subjects_of(plan, data_dir));
  SLUICE_CHECK(visit.begin());
  SLUICE_CHECK(describe(visit.file, plan, data_dir, subjects));
  std::vector<measure::Row> so_far;
  if (earlier) {
    SLUICE_CHECK(results::check_resumable(*earlier, visit.file, visit.result_path().string()));
    so_far = rows_for(subjects, *earlier);
    visit.last = later_rows(subjects, *earlier);
  }
  SLUICE_CHECK(visit.described());
  SLUICE_CHECK(keep_off(plan.policy.cpus));
  SLUICE_CHECK(visit.start());
  Status measured = visit.measure(subjects, plan.policy, std::move(so_far));
  if (measured && plan.afterwards)
    measured = plan.afterwards(
        {visit.file, data_dir, visit.path(), visit.runner, [&] { return visit.keep(); }});
  SLUICE_TRY(const bool interrupted, is_interrupted(measured));
  visit.file.peer_ratios = analysis::peer_ratios(visit.file);
  return visit.finish(interrupted);
}

}  // namespace sluice::visit
