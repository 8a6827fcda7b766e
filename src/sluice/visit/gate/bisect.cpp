// sluice/visit/gate/bisect.cpp - the life of a search: history, trees, pairs, record.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/gate/bisect.h"

#include "sluice/backend/visit.h"
#include "sluice/core/file.h"
#include "sluice/core/file_lock.h"
#include "sluice/core/folder_guard.h"
#include "sluice/core/log.h"
#include "sluice/core/rng.h"
#include "sluice/core/text.h"
#include "sluice/core/user_folders.h"
#include "sluice/core/utc.h"
#include "sluice/measure/interrupt.h"
#include "sluice/peers/timed_command.h"
#include "sluice/results/result_file.h"
#include "sluice/visit/gate/kept_trees.h"
#include "sluice/visit/gate/repository.h"

#include <fmt/format.h>

#include <chrono>
#include <optional>
#include <unistd.h>
#include <utility>

namespace sluice::visit {
namespace fs = std::filesystem;
namespace {

constexpr std::uint32_t kRevisionStage = 3;
constexpr std::size_t kShownDigits = 12;

std::string short_of(const std::string& sha) {
  return sha.substr(0, kShownDigits);
}

/// What is wrong with one revision and not with the search.
bool is_of_revision(Errc code) {
  return code == Errc::measurement || code == Errc::usage || code == Errc::invalid_input ||
         code == Errc::not_found || code == Errc::timeout;
}

class BisectVisit {
 public:
  BisectVisit(const BisectPlan& plan, const Caller& caller)
      : plan_(plan),
        caller_(caller),
        scratch_(fs::temp_directory_path() / fmt::format("sluice-bisect-{}", getpid())) {}

  Result<BisectResult> run() {
    if (trimmed(plan_.command).empty())
      return Error{Errc::usage, "--run: no command; expected one for the shell"};
    SLUICE_CHECK(gate::check_options(plan_.search));
    SLUICE_CHECK(read_history());
    SLUICE_TRY(record_.machine_profile, backend::profile_of_visit({}));
    SLUICE_CHECK(open_folder());
    SLUICE_CHECK(begin_or_go_on());
    if (record_.state.asked() == nullptr) return finished(false);
    SLUICE_TRY(const fs::path cache, user_cache_folder());
    SLUICE_TRY(KeptTrees trees, KeptTrees::open(cache, root_, plan_.build));
    trees_ = &trees;
    SLUICE_CHECK(save(Flush::now));
    const Status searched = search();
    if (!searched && searched.error().code != Errc::interrupted) {
      SLUICE_CHECK(save(Flush::now));
      return searched.error();
    }
    SLUICE_CHECK(save(Flush::now));
    trees.remove_oldest(plan_.kept_trees);
    return finished(!searched);
  }

 private:
  [[nodiscard]] Result<std::string> ask_git(const std::string& arguments) const {
    return git(arguments, root_, interrupt_.fd());
  }

  /// Are both there, one above the other, and which commits lie between?
  Status read_history() {
    SLUICE_TRY(root_, repository_root("bisect", interrupt_.fd()));
    SLUICE_TRY(prefix_, git("rev-parse --show-prefix", {}, interrupt_.fd()));
    SLUICE_TRY(const std::string good, commit_of(plan_.good, "GOOD", interrupt_.fd()));
    SLUICE_TRY(const std::string bad, commit_of(plan_.bad, "BAD", interrupt_.fd()));
    if (good == bad)
      return Error{Errc::usage, fmt::format("GOOD {} and BAD {} are the same commit; expected two",
                                            printable(plan_.good), printable(plan_.bad))};
    SLUICE_CHECK(check_ancestry(good, bad));
    SLUICE_CHECK(create_folders(scratch_.path()));
    const fs::path list = scratch_.path() / "commits";
    SLUICE_CHECK(
        ask_git(fmt::format("log --no-show-signature --first-parent --reverse "
                            "--format='%H %s' {}..{} > {}",
                            good, bad, peers::shell_quoted(list.string()))));
    SLUICE_TRY(const std::string subject,
               ask_git("log --no-show-signature -1 --format=%s " + good));
    SLUICE_TRY(const std::string commits, read_text_file(list));
    record_.commits = {{good, to_utf8(subject)}};
    for (const std::string& line : split(commits, '\n')) {
      const std::size_t end = line.find(' ');
      if (end != std::string::npos)
        record_.commits.push_back({line.substr(0, end), to_utf8(line.substr(end + 1))});
    }
    SLUICE_TRY(
        const std::string changes,
        ask_git("-c core.fsmonitor=false status --porcelain --untracked-files=no | head -n 1"));
    if (!changes.empty())
      log::warn("bisect: uncommitted changes ({}) belong to no commit and are not measured",
                printable(changes));
    return ok;
  }

  [[nodiscard]] Status check_ancestry(const std::string& good, const std::string& bad) const {
    const auto asked = ask_git(fmt::format("merge-base --is-ancestor {} {}", good, bad));
    if (asked) return ok;
    if (asked.error().code != Errc::measurement) return asked.error();
    const bool swapped =
        ask_git(fmt::format("merge-base --is-ancestor {} {}", bad, good)).has_value();
    return Error{Errc::usage,
                 fmt::format("GOOD {} is no ancestor of BAD {}; {}", printable(plan_.good),
                             printable(plan_.bad),
                             swapped ? "BAD is one of GOOD: give them the other way round"
                                     : "expected two commits of one line of history")};
  }

  Status open_folder() {
    fs::path folder = caller_.out;
    if (folder.empty())
      folder = fs::path("runs") /
               fmt::format("{}-bisect-{}", utc_now("%Y%m%dT%H%M%SZ"), record_.machine_profile);
    SLUICE_CHECK(create_folders(folder));
    SLUICE_TRY(FileLock lock, FileLock::take(folder / kLockInFolder, shown(folder)));
    lock_.emplace(std::move(lock));
    file_ = folder / kBisectFile;
    return ok;
  }

  Status begin_or_go_on() {
    record_.question = {.good = record_.commits.front().sha,
                        .bad = record_.commits.back().sha,
                        .commits = record_.commits.size() - 1,
                        .build = plan_.build.command,
                        .command = plan_.command,
                        .folder = prefix_,
                        .metric = plan_.metric.name,
                        .better = plan_.stdout_better,
                        .alpha = plan_.search.alpha,
                        .tau = plan_.search.tau,
                        .floor = plan_.search.floor,
                        .most_pairs = plan_.search.looks.back().pairs};
    record_.order_seed = plan_.seed;
    gate::BisectOptions options = plan_.search;
    if (!fs::exists(file_)) return begin(options);
    SLUICE_TRY(const std::string text, read_text_file(file_));
    if (!plan_.resume) {
      const auto json = parse_json(text, shown(file_));
      if (!plan_.begin_anew && json && at(*json, "result").is_null())
        return Error{Errc::usage, fmt::format("{}: holds a search that has not ended; go on with "
                                              "--resume, or begin anew with --force",
                                              shown(file_))};
      return begin(options);
    }
    SLUICE_TRY(const Json json, parse_json(text, shown(file_)));
    SLUICE_TRY(const gate::StoredBisect stored,
               gate::stored_bisect(json, record_.question, file_.string()));
    record_.order_seed = stored.order_seed;
    record_.unit = stored.unit;
    record_.better = stored.better;
    before_s_ = stored.elapsed_s;
    SLUICE_CHECK(begin(options));
    return replay(stored);
  }

  Status begin(gate::BisectOptions options) {
    options.seed = record_.order_seed;
    SLUICE_TRY(record_.state, gate::begin_bisect(record_.question.commits, options));
    return ok;
  }

  /// The stored pairs give the same answers again; what was in hand is in hand again.
  Status replay(const gate::StoredBisect& stored) {
    gate::BisectState& state = record_.state;
    for (const gate::StoredProbe& probe : stored.probes) {
      const gate::BisectProbe* asked = state.asked();
      if (asked == nullptr || asked->revision != probe.revision)
        return Error{Errc::invalid_input,
                     fmt::format("{}: probe of revision {} does not follow from the pairs before "
                                 "it; expected a search that sluice bisect wrote",
                                 shown(file_), probe.revision)};
      record_.pairs.resize(state.probes.size());
      record_.pairs.back() = probe.pairs;
      const auto ratios = gate::log_ratios(probe.pairs.a, probe.pairs.b, record_.better);
      while (state.asked() != nullptr && state.asked()->revision == probe.revision &&
             static_cast<std::size_t>(state.wanted_pairs()) <= ratios.size()) {
        SLUICE_CHECK(gate::answer(
            state, stats::Sample(ratios).first(static_cast<std::size_t>(state.wanted_pairs()))));
      }
      if (!probe.skipped.empty()) SLUICE_CHECK(gate::pass_over(state, probe.skipped));
    }
    return ok;
  }

  Status search() {
    const gate::BisectState& state = record_.state;
    const int steps = 1 + gate::halvings(record_.question.commits);  // BAD is the first
    auto bar = caller_.progress->bar("search", static_cast<std::uint64_t>(steps), "steps");
    SLUICE_TRY(const fs::path good,
               trees_->tree(record_.commits[0].sha, *caller_.progress, interrupt_.fd()));
    while (const gate::BisectProbe* asked = record_.state.asked()) {
      record_.pairs.resize(record_.state.probes.size());
      const std::size_t revision = asked->revision;
      const Status measured = measure_revision(good, revision);
      if (!measured) {
        const bool must = record_.state.border == 0;  // BAD
        if (must || !is_of_revision(measured.error().code)) return measured.error();
        SLUICE_CHECK(gate::pass_over(record_.state, measured.error().message));
      }
      SLUICE_CHECK(save(Flush::now));
      if (!caller_.quiet) say(*record_.state.probe_of(revision));
      // A revision that was passed over or left open is no step.
      if (state.border != 0)
        bar.set(static_cast<std::uint64_t>(steps - gate::halvings(state.bad - state.good)));
    }
    return ok;
  }

  void say(const gate::BisectProbe& probe) const {
    const gate::BisectCommit& commit = record_.commits[probe.revision];
    const std::string what =
        probe.verdict == gate::ProbeVerdict::skipped
            ? probe.reason
            : fmt::format("{} after {} pairs", gate::change_in_words(probe.estimate), probe.pairs);
    caller_.progress->print(fmt::format("bisect: {} is {}: {}\n", short_of(commit.sha),
                                        gate::to_string(probe.verdict), printable(what)));
  }

  /// Until the asked revision has its verdict.
  Status measure_revision(const fs::path& good, std::size_t revision) {
    const std::string& sha = record_.commits[revision].sha;
    SLUICE_TRY(const fs::path tree, trees_->tree(sha, *caller_.progress, interrupt_.fd()));
    const AbPlan plan = plan_of(good, tree, revision);
    CommandPairs pairs(plan, {caller_.progress, interrupt_.fd()}, scratch_.path());
    SLUICE_TRY(const std::vector<gate::PairedMetric> metrics, pairs.prepare());
    record_.unit = metrics.front().unit;
    record_.better = metrics.front().better;
    gate::BisectPairs& taken = record_.pairs.back();
    auto bar =
        caller_.progress->bar("pairs of " + short_of(sha),
                              static_cast<std::uint64_t>(plan_.search.looks.back().pairs), "pairs");
    while (record_.state.asked() != nullptr && record_.state.asked()->revision == revision) {
      const auto wanted = static_cast<std::size_t>(record_.state.wanted_pairs());
      while (taken.a.size() < wanted) {
        SLUICE_TRY(const auto values, pairs.take(static_cast<int>(taken.a.size())));
        SLUICE_CHECK(check_value(values.front(), metrics.front().name));
        taken.a.push_back(values.front().a);
        taken.b.push_back(values.front().b);
        taken.order.push_back(pairs.orders().back());
        bar.set(taken.a.size());
        SLUICE_CHECK(save(Flush::later));
      }
      SLUICE_CHECK(gate::answer(record_.state, gate::log_ratios(taken.a, taken.b, record_.better)));
    }
    return ok;
  }

  static Status check_value(const gate::PairValue& value, const std::string& metric) {
    if (value.a > 0 && value.b > 0) return ok;
    return Error{Errc::measurement,
                 fmt::format("{} is {} beside {}: pairs are compared as ratios, so numbers above 0 "
                             "are needed",
                             printable(metric), value.b, value.a)};
  }

  [[nodiscard]] AbPlan plan_of(const fs::path& good, const fs::path& tree,
                               std::size_t revision) const {
    AbPlan plan;
    plan.a = {.name = "GOOD", .command = plan_.command, .folder = good / prefix_};
    plan.b = {.name = "revision " + short_of(record_.commits[revision].sha),
              .command = plan_.command,
              .folder = tree / prefix_};
    for (AbSide* side : {&plan.a, &plan.b}) {
      side->environment = outside_hooks();
      // A kept tree is in no repository; one around the cache is not its own.
      side->environment["GIT_CEILING_DIRECTORIES"] = trees_->folder().string();
    }
    plan.metrics = {plan_.metric};
    plan.stdout_better = plan_.stdout_better;
    plan.timeout_s = plan_.timeout_s;
    plan.seed = Rng(RngKey{.seed = record_.order_seed, .index = revision, .stage = kRevisionStage})
                    .next_u64();
    return plan;
  }

  Status save(Flush flush) {
    record_.timestamp = utc_now();
    record_.elapsed_s =
        before_s_ +
        std::chrono::duration<double>(std::chrono::steady_clock::now() - start_).count();
    return write_file_atomic(file_, results::to_text(gate::to_json(record_)), flush);
  }

  BisectResult finished(bool interrupted) {
    if (record_.timestamp.empty()) {  // an ended one, read again
      record_.timestamp = utc_now();
      record_.elapsed_s = before_s_;
    }
    return {std::move(record_), file_, interrupted};
  }

  const BisectPlan& plan_;
  const Caller& caller_;
  FolderGuard scratch_;
  measure::Interrupt interrupt_;
  fs::path root_;
  std::string prefix_;
  std::optional<FileLock> lock_;
  fs::path file_;
  KeptTrees* trees_ = nullptr;
  gate::BisectRecord record_;
  double before_s_ = 0;  // of the visits before
  std::chrono::steady_clock::time_point start_ = std::chrono::steady_clock::now();
};

}  // namespace

Result<BisectResult> run_bisect(const BisectPlan& plan, const Caller& caller) {
  return BisectVisit(plan, caller).run();
}

}  // namespace sluice::visit
