// sluice/visit/diagnose/peer.cpp - the loader alone, with the step, and with other numbers of
// workers, in one wave.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/diagnose/peer.h"

#include "sluice/analysis/peer_step.h"
#include "sluice/core/thread_pool.h"
#include "sluice/report/torch_line.h"
#include "sluice/visit/loader/peers.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::visit {
namespace {

constexpr int kMostTriedWorkers = 64;

/// What is used now first, then one worker per core, and twice as many.
std::vector<int> workers_to_try(int now) {
  const int cores = static_cast<int>(usable_cores());
  std::vector<int> list{now};
  for (const int more : {cores, 2 * cores})
    if (more > now && more <= kMostTriedWorkers && list.size() < 3) list.push_back(more);
  return list;
}

class PeerDiagnosis {
 public:
  PeerDiagnosis(const Caller& caller, const DiagnosePlan& plan)
      : plan_(plan), visit_(caller, "diagnose") {
    rows_.loader = plan.loader;
    rows_.policy = plan.policy;
  }

  Result<Visited> run() {
    SLUICE_TRY(input_, inspect_input(plan_.loader));
    if (input_.arrays)
      return Error{Errc::usage, fmt::format("--library {}: reads folders of JPEG files; the input "
                                            "holds arrays, which sluice alone reads",
                                            plan_.library)};
    SLUICE_TRY(const auto subjects, subjects_of());  // before anything is written
    SLUICE_CHECK(visit_.open({.storage = storage_of(plan_.loader)}));
    SLUICE_CHECK(visit_.begin());
    describe();
    SLUICE_CHECK(visit_.described());
    SLUICE_CHECK(visit_.start());
    SLUICE_TRY(const bool interrupted, is_interrupted(visit_.measure(subjects, plan_.policy)));
    if (!interrupted) SLUICE_CHECK(conclude());
    return visit_.finish(interrupted);
  }

 private:
  [[nodiscard]] Result<measure::SubjectSpec> row(int workers, double step_ms) const {
    const RowMaker maker{rows_, input_, {}, measure::subject_seed(plan_.policy)};
    std::map<std::string, std::string> axes{{"workers", std::to_string(workers)}};
    if (step_ms > 0) axes["step_ms"] = fmt::format("{:g}", step_ms);
    SLUICE_TRY(measure::SubjectSpec spec,
               peer_row(maker, plan_.library, workers, plan_.loader.prefetch, axes));
    spec.spec["step_ms"] = step_ms;
    return spec;
  }

  /// The loader alone; then with the step, one row per number of workers.
  [[nodiscard]] Result<std::vector<measure::SubjectSpec>> subjects_of() const {
    std::vector<measure::SubjectSpec> list(1);
    SLUICE_TRY(list.front(), row(plan_.loader.workers, 0));
    for (const int workers : workers_to_try(plan_.loader.workers)) {
      SLUICE_TRY(list.emplace_back(), row(workers, plan_.model_time_ms));
    }
    return list;
  }

  void describe() {
    visit_.file.run_config = Json{{"command", "diagnose"},
                                  {"library", plan_.library},
                                  {"input", "local"},
                                  {"batch_size", plan_.loader.batch_size},
                                  {"num_workers", plan_.loader.workers},
                                  {"prefetch", plan_.loader.prefetch},
                                  {"model_time_ms", plan_.model_time_ms},
                                  {"policy", policy_json(plan_.policy)}};
    visit_.file.dataset = dataset_of(input_);
    visit_.file.timing = loader_timing(plan_.loader, input_);
    visit_.file.block_order_seed = plan_.policy.seed;
  }

  Status conclude() {
    const std::vector<int> workers = workers_to_try(plan_.loader.workers);
    std::vector<analysis::LoaderTry> tried;
    for (std::size_t i = 0; i < workers.size(); ++i)
      tried.push_back({workers[i], report::torch_loader_line({workers[i], plan_.loader.prefetch}),
                       visit_.file.rows[i + 1]});
    SLUICE_TRY(results::Diagnosis found,
               analysis::peer_diagnosis(visit_.file.rows.front(), tried, plan_.model_time_ms,
                                        plan_.loader.batch_size));
    found.step = fmt::format("{} before an emulated accelerator that takes {:g} ms", plan_.library,
                             plan_.model_time_ms);
    found.is_the_verdict = true;
    visit_.file.diagnosis = std::move(found);
    return ok;
  }

  const DiagnosePlan& plan_;
  DataloaderPlan rows_;
  InputFacts input_;
  Visit visit_;
};

}  // namespace

Result<Visited> run_peer_diagnose(const Caller& caller, const DiagnosePlan& plan) {
  return PeerDiagnosis(caller, plan).run();
}

}  // namespace sluice::visit
