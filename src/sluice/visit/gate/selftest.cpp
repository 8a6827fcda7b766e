// sluice/visit/gate/selftest.cpp - sizes the subject, runs the trials, writes what they gave.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/gate/selftest.h"

#include "sluice/backend/visit.h"
#include "sluice/core/file.h"
#include "sluice/core/folder_guard.h"
#include "sluice/core/rng.h"
#include "sluice/core/utc.h"
#include "sluice/core/version.h"
#include "sluice/measure/inject.h"
#include "sluice/measure/local_runner.h"
#include "sluice/peers/places.h"
#include "sluice/peers/timed_command.h"
#include "sluice/results/result_file.h"
#include "sluice/visit/gate/ab.h"
#include "sluice/visit/gate/spin_pairs.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <functional>
#include <unistd.h>

namespace sluice::visit {
namespace fs = std::filesystem;
namespace {

using SteadyClock = std::chrono::steady_clock;
constexpr double kSubjectTimeoutS = 60;
constexpr std::uint32_t kTrialStage = 1;

double seconds_since(SteadyClock::time_point start) {
  return std::chrono::duration<double>(SteadyClock::now() - start).count();
}

std::string in_words(double seconds) {
  if (seconds < 120) return fmt::format("{:.0f} s", seconds);
  if (seconds < 7200) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

/// What makes B slower by this share of its speed, as SLUICE_INJECT_SLOWDOWN takes it.
std::string slowdown_of_time(double share) {
  return fmt::format("{:.6f}%", 100 * share / (1 - share));
}

class SelftestVisit {
 public:
  SelftestVisit(const SelftestPlan& plan, const Caller& caller)
      : plan_(plan),
        caller_(caller),
        scratch_(fs::temp_directory_path() / fmt::format("sluice-selftest-{}", getpid())) {
    result_.conditions = gate::selftest_conditions(plan.trials, plan.power_trials, plan.slowdowns);
  }

  Result<SelftestResult> run() {
    if (!plan_.out.empty()) SLUICE_CHECK(create_folders(plan_.out));
    SLUICE_TRY(const peers::Places places, peers::find_places());
    program_ = places.program.string();
    worker_ = places.worker();
    SLUICE_TRY(runner_, local_.context(Progress::silent(), "selftest", {}));
    SLUICE_TRY(profile_, backend::profile_of_visit({}));
    SLUICE_CHECK(size_subject());
    announce();
    SLUICE_CHECK(run_trials());
    if (trials_.empty())
      return Error{Errc::measurement,
                   fmt::format("selftest: the budget of {} is too short for one trial, which takes "
                               "about {}",
                               in_words(plan_.budget_s), in_words(trial_s(0)))};
    SLUICE_CHECK(conclude());
    return std::move(result_);
  }

 private:
  [[nodiscard]] std::string command() const {
    return fmt::format("{} spin --rounds {}", peers::shell_quoted(program_), rounds_);
  }

  [[nodiscard]] int rounds_of_turn() const { return std::max(1, rounds_ / plan_.turns); }

  /// Rounds that take about the asked time: doubled until the clock is coarse no more, then scaled
  /// by the fastest of a few runs, which met the least of other programs.
  Status size_subject() {
    constexpr int kSizings = 5;
    for (rounds_ = 64; rounds_ < 50'000'000; rounds_ *= 2) {
      SLUICE_TRY(Sizing best, run_once());
      if (best.taken_s < plan_.subject_s / 4) continue;
      for (int i = 1; i < kSizings; ++i) {
        SLUICE_TRY(const Sizing again, run_once());
        if (again.taken_s < best.taken_s) best = again;
      }
      rounds_ =
          std::max(1, static_cast<int>(std::lround(rounds_ * plan_.subject_s / best.taken_s)));
      pair_s_ = 2 * (plan_.subject_s + best.overhead_s);
      return ok;
    }
    return Error{Errc::measurement, "selftest: the subject cannot be made long enough"};
  }

  struct Sizing {
    double taken_s = 0;
    double overhead_s = 0;  // of the process
  };
  Result<Sizing> run_once() {
    const auto start = SteadyClock::now();
    peers::TimedCommand once{.name = "subject", .command = command()};
    once.environment[measure::kInjectVariable] = std::nullopt;
    once.timeout_s = kSubjectTimeoutS;
    once.cancel_fd = local_.interrupt().fd();
    SLUICE_TRY(const peers::CommandRun done, peers::run_timed(once));
    const auto taken_s = peers::last_number(done.printed);
    if (!taken_s || *taken_s <= 0)
      return Error{Errc::internal, "selftest: the subject printed no time"};
    return Sizing{*taken_s, std::max(0.0, seconds_since(start) - *taken_s)};
  }

  [[nodiscard]] double trial_s(std::size_t condition) const {
    const gate::SelftestCondition& one = result_.conditions[condition];
    const double pairs = one.trials > 0 ? static_cast<double>(one.pairs) / one.trials
                                        : gate::expected_pairs(one, plan_.gate);
    return pairs * pair_s_ / (1 - one.slowdown / 2);
  }

  void announce() {
    double total_s = 0;
    for (std::size_t i = 0; i < result_.conditions.size(); ++i)
      total_s += trial_s(i) * result_.conditions[i].target;
    predicted_s_ = total_s;
    if (caller_.quiet) return;
    const std::string cut =
        total_s <= plan_.budget_s
            ? std::string()
            : fmt::format("; --budget {} ends it after about {:.0f} % of each",
                          in_words(plan_.budget_s), 100 * plan_.budget_s / total_s);
    caller_.progress->print(fmt::format(
        "selftest: {} trials of A against itself and {} with each of {} slowdowns take "
        "about {}{}\n",
        plan_.trials, plan_.power_trials, plan_.slowdowns.size(), in_words(total_s), cut));
  }

  Status run_trials() {
    std::uint64_t wanted = 0;
    for (const auto& condition : result_.conditions)
      wanted += static_cast<std::uint64_t>(condition.target);
    auto bar = caller_.progress->bar("trials", wanted, "trials");
    start_ = SteadyClock::now();
    while (const auto condition = gate::next_condition(result_.conditions)) {
      if (seconds_since(start_) + trial_s(*condition) > plan_.budget_s) return ok;
      const auto began = SteadyClock::now();
      auto outcome = run_trial(*condition);
      if (!outcome && outcome.error().code == Errc::timeout &&
          seconds_since(start_) > plan_.budget_s)
        return ok;  // the trial in hand is dropped
      if (!outcome && outcome.error().code == Errc::interrupted && !trials_.empty()) {
        result_.interrupted = true;
        return ok;
      }
      if (!outcome) return outcome.error();
      gate::record(result_.conditions[*condition], *outcome);
      const int pairs = outcome->pairs + outcome->confirm_pairs;
      trials_.push_back({*condition, std::move(*outcome)});
      pair_s_ = seconds_since(began) / pairs;
      SLUICE_CHECK(write_document());
      bar.add(1);
    }
    complete_ = true;
    return ok;
  }

  /// Its own seed, its own processes: nothing is shared with another trial.
  Result<gate::PairedOutcome> run_trial(std::size_t condition) {
    gate::PairedOptions options = plan_.gate;
    options.seed =
        Rng(RngKey{.seed = plan_.seed, .index = trials_.size(), .stage = kTrialStage}).next_u64();
    const double share = result_.conditions[condition].slowdown;
    const std::string slowdown = share > 0 ? slowdown_of_time(share) : std::string();
    if (plan_.turns > 1) {
      SpinPairs pairs({worker_, rounds_of_turn(), plan_.turns, slowdown, options.seed}, runner_);
      return decide(options, [&pairs](int index) { return pairs.take(index); });
    }
    AbPlan plan;
    plan.a = {.name = "A", .command = command()};
    plan.b = {.name = "B", .command = command()};
    plan.a.environment[measure::kInjectVariable] = std::nullopt;
    plan.b.environment[measure::kInjectVariable] = std::nullopt;
    if (!slowdown.empty()) plan.b.environment[measure::kInjectVariable] = slowdown;
    plan.metrics = {{kStdoutMetric, true}};
    plan.timeout_s = kSubjectTimeoutS;
    plan.seed = options.seed;
    CommandPairs pairs(plan, {caller_.progress, local_.interrupt().fd()}, scratch_.path());
    return decide(options, [&pairs](int index) { return pairs.take(index); });
  }

  using Take = std::function<Result<std::vector<gate::PairValue>>(int index)>;
  Result<gate::PairedOutcome> decide(const gate::PairedOptions& options, const Take& take) {
    return gate::run_pairs({{.name = kStdoutMetric, .unit = "s", .better = measure::Better::lower}},
                           options,
                           [&take, this](int index, bool) -> Result<std::vector<gate::PairValue>> {
                             if (seconds_since(start_) > plan_.budget_s)
                               return Error{Errc::timeout, "selftest: the budget is spent"};
                             return take(index);
                           });
  }

  [[nodiscard]] Json document() const {
    Json trials = Json::array();
    for (const gate::SelftestTrial& trial : trials_)
      trials.push_back(gate::to_json(trial, result_.conditions));
    Json out{{"schema_version", results::kSchemaVersion},
             {"tool", {{"version", version::kProgram}, {"git", version::git()}}},
             {"machine_profile", profile_},
             {"timestamp", utc_now()},
             {"rule", "selftest of pairs"},
             {"design", gate::to_json(plan_.gate)},
             {"subject",
              {{"command", fmt::format("sluice spin --rounds {}", rounds_of_turn())},
               {"seconds", plan_.subject_s},
               {"turns", plan_.turns},
               {"metric", kStdoutMetric}}},
             {"seed", plan_.seed},
             {"budget_s", plan_.budget_s},
             {"predicted_s", predicted_s_},
             {"elapsed_s", seconds_since(start_)},
             {"complete", complete_},
             {"false_alarms", gate::to_json(gate::failed_share(result_.conditions.front()))},
             {"slowdowns_are", "drops in speed"},
             {"conditions", gate::to_json(result_.conditions)},
             {"noise", nullptr},
             {"cries_wolf", gate::cries_wolf(result_.conditions, plan_.gate)},
             {"trials", std::move(trials)}};
    if (const auto noise = gate::noise_of(trials_, plan_.gate))
      out["noise"] = gate::to_json(*noise);
    return out;
  }

  [[nodiscard]] Status write_document() const {
    if (plan_.out.empty()) return ok;
    return write_file_atomic(plan_.out / "selftest.json", results::to_text(document()),
                             Flush::later);
  }

  Status conclude() {
    SLUICE_TRY(result_.noise, gate::noise_of(trials_, plan_.gate));
    result_.document = document();
    return write_document();
  }

  const SelftestPlan& plan_;
  const Caller& caller_;
  FolderGuard scratch_;
  measure::LocalRunner local_;
  measure::RunnerContext runner_;
  std::string program_;
  std::vector<std::string> worker_;
  std::string profile_;
  int rounds_ = 0;
  double pair_s_ = 0;
  double predicted_s_ = 0;
  bool complete_ = false;
  SteadyClock::time_point start_ = SteadyClock::now();
  std::vector<gate::SelftestTrial> trials_;
  SelftestResult result_;
};

}  // namespace

Result<SelftestResult> run_selftest(const SelftestPlan& plan, const Caller& caller) {
  return SelftestVisit(plan, caller).run();
}

}  // namespace sluice::visit
