// sluice/visit/gate/ab.cpp - runs the pairs and reads their values.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/gate/ab.h"

#include "sluice/backend/visit.h"
#include "sluice/core/clock.h"
#include "sluice/core/file.h"
#include "sluice/core/folder_guard.h"
#include "sluice/core/rng.h"
#include "sluice/core/text.h"
#include "sluice/core/utc.h"
#include "sluice/core/version.h"
#include "sluice/env/core_time.h"
#include "sluice/env/machine.h"
#include "sluice/env/noise.h"
#include "sluice/results/result_file.h"

#include <fmt/format.h>

#include <chrono>
#include <unistd.h>
#include <utility>

namespace sluice::visit {
namespace fs = std::filesystem;
using gate::GateStatus;
namespace {

constexpr std::size_t kMostPaddingBytes = 4096;
constexpr std::uint32_t kOrderStage = 1, kPaddingStage = 2;
constexpr const char* kOutWord = "{out}";

std::string with_folder(std::string command, const fs::path& folder) {
  const std::string word = kOutWord;
  const std::string path = peers::shell_quoted(folder.string());
  for (std::size_t at = command.find(word); at != std::string::npos;
       at = command.find(word, at + path.size()))
    command.replace(at, word.size(), path);
  return command;
}

/// What else the cores did while the pairs ran.
class CoresWatch {
 public:
  /// Findings of a noise check, with steal and other programs as they were over all pairs; `own_s`
  /// is the CPU time of the commands.
  [[nodiscard]] std::vector<std::string> causes(double own_s, double elapsed_s) const {
    const env::CoreTime after = env::core_time(env::SystemRoot{}, cpus_);
    env::NoiseFacts facts = env::measure_noise({}, env::system_noise_clock());
    facts.steal = env::share_of_cores(before_.steal_s, after.steal_s, 0, elapsed_s, cpus_.size());
    facts.others =
        env::share_of_cores(before_.busy_s, after.busy_s, own_s, elapsed_s, cpus_.size());
    std::vector<std::string> found;
    for (const env::Finding& finding : env::score_noise(facts).findings)
      found.push_back(finding.value);
    return found;
  }

 private:
  std::vector<int> cpus_ = env::allowed_cpus(env::SystemRoot{});
  env::CoreTime before_ = env::core_time(env::SystemRoot{}, cpus_);
};

}  // namespace

Result<CommandPairs::Value> CommandPairs::printed_value(const AbSide& side,
                                                        const peers::CommandRun& done) const {
  const std::string& printed = done.printed;
  const auto number = peers::last_number(printed);
  const auto claimed_s = peers::last_seconds(printed);
  if (claimed_s && *claimed_s > done.wall_s)
    return Error{
        Errc::measurement,
        fmt::format("{} ({}): printed {:g} s, but ran for {:.6f} s: no part of it can have "
                    "taken longer",
                    side.name, printable(side.command), *claimed_s, done.wall_s)};
  if (number) return Value{*number, {}, plan_.stdout_better};
  const std::string line = peers::last_line(printed);
  return Error{Errc::invalid_input,
               fmt::format("{} ({}): printed no number last; {}; --metric stdout needs one in the "
                           "last line",
                           side.name, printable(side.command),
                           line.empty() ? "stdout is empty" : "its last line is '" + line + "'")};
}

Result<std::vector<CommandPairs::Value>> CommandPairs::run(const AbSide& side,
                                                           std::uint64_t padding,
                                                           gate::CpuTime& cpu) {
  const FolderGuard out(scratch_ / fmt::format("{}", runs_++));
  SLUICE_CHECK(create_folders(out.path()));
  peers::TimedCommand command;
  command.name = side.name;
  command.command = with_folder(side.command, out.path());
  command.folder = side.folder;
  command.environment = side.environment;
  command.environment["SLUICE_AB_OUT"] = out.path().string();
  // Another size of the environment every time, so that luck of the layout is noise and no bias.
  command.environment["SLUICE_PADDING"] = std::string(padding, 'x');
  command.timeout_s = plan_.timeout_s;
  command.cancel_fd = context_.cancel_fd;
  SystemClock clock;
  const std::int64_t start_ns = clock.now_ns();
  SLUICE_TRY(const peers::CommandRun done, peers::run_timed(command));
  const std::int64_t end_ns = clock.now_ns();
  cpu = {done.user_s, done.system_s};
  std::optional<analysis::ResultSet> set;
  std::vector<Value> values;
  for (const AbMetric& metric : plan_.metrics) {
    if (metric.name == kWallMetric) {
      values.push_back({done.wall_s, "s", measure::Better::lower});
      continue;
    }
    if (metric.name == kCpuMetric) {
      values.push_back({cpu.total(), "s", measure::Better::lower});
      continue;
    }
    if (metric.name == kStdoutMetric) {
      SLUICE_TRY(Value value, printed_value(side, done));
      values.push_back(std::move(value));
      continue;
    }
    if (!set) {
      if (fs::is_empty(out.path()))
        return Error{
            Errc::invalid_input,
            fmt::format("{} ({}): wrote no result file; --metric {} reads one from the "
                        "folder that {} stands for in the command",
                        side.name, printable(side.command), printable(metric.name), kOutWord)};
      SLUICE_TRY(set, analysis::read_set(out.path()));
      set->name = fmt::format("result of {}", side.name);
      SLUICE_CHECK(fresh_.add(*set, start_ns, end_ns));
    }
    SLUICE_TRY(gate::RowValue row, gate::row_value(*set, metric.name));
    values.push_back({row.value, std::move(row.unit), row.better});
  }
  return values;
}

Result<std::vector<gate::PairedMetric>> CommandPairs::prepare() {
  const auto start = std::chrono::steady_clock::now();
  SLUICE_TRY(const auto a, run(plan_.a, 0, last_cpu_.a));
  SLUICE_TRY(const auto b, run(plan_.b, 0, last_cpu_.b));
  pair_s_ = std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  std::vector<gate::PairedMetric> metrics;
  for (std::size_t i = 0; i < plan_.metrics.size(); ++i) {
    const AbMetric& metric = plan_.metrics[i];
    if (a[i].unit != b[i].unit || a[i].better != b[i].better)
      return Error{Errc::invalid_input,
                   fmt::format("{}: {} in A and {} in B; expected the same unit and sense",
                               printable(metric.name), printable(a[i].unit), printable(b[i].unit))};
    metrics.push_back({.name = metric.name,
                       .unit = a[i].unit,
                       .better = a[i].better,
                       .blocking = metric.blocking,
                       .tau = plan_.tau_given ? plan_.gate.tau : gate::default_tau(metric.name)});
  }
  return metrics;
}

Result<std::vector<gate::PairValue>> CommandPairs::take(int index) {
  const auto number = static_cast<std::uint64_t>(index);
  Rng order(RngKey{.seed = plan_.seed, .index = number, .stage = kOrderStage});
  Rng padding(RngKey{.seed = plan_.seed, .index = number, .stage = kPaddingStage});
  const bool b_first = order.below(2) == 1;
  gate::PairCpu& cpu = last_cpu_;
  SLUICE_TRY(auto first, run(b_first ? plan_.b : plan_.a, padding.below(kMostPaddingBytes),
                             b_first ? cpu.b : cpu.a));
  SLUICE_TRY(auto second, run(b_first ? plan_.a : plan_.b, padding.below(kMostPaddingBytes),
                              b_first ? cpu.a : cpu.b));
  orders_.emplace_back(b_first ? "ba" : "ab");
  if (b_first) std::swap(first, second);
  std::vector<gate::PairValue> values;
  for (std::size_t i = 0; i < first.size(); ++i)
    values.push_back({first[i].value, second[i].value});
  return values;
}

Result<AbResult> run_ab(const AbPlan& plan, const AbContext& context) {
  SLUICE_CHECK(gate::check_options(plan.gate));
  for (const AbSide* side : {&plan.a, &plan.b}) {
    if (side->command.find_first_not_of(" \t\n") == std::string::npos)
      return Error{Errc::usage, fmt::format("{}: no command; expected one for the shell, such as "
                                            "'./program --flag'",
                                            side->name)};
  }
  const FolderGuard scratch(fs::temp_directory_path() / fmt::format("sluice-ab-{}", getpid()));
  CommandPairs pairs(plan, context, scratch.path());
  SLUICE_TRY(const std::vector<gate::PairedMetric> metrics, pairs.prepare());
  auto bar = context.progress->bar(
      "pairs", static_cast<std::uint64_t>(plan.gate.looks.back().pairs), "pairs");
  const auto start = std::chrono::steady_clock::now();
  const CoresWatch cores;
  std::vector<gate::PairCpu> cpu;  // of the main series
  double own_s = 0;                // CPU time of all commands
  std::optional<Progress::Bar> confirming_bar;
  const gate::TakePair take = [&](int index, bool confirming) {
    if (confirming && !confirming_bar)
      confirming_bar.emplace(context.progress->bar("confirming", 0, "pairs"));
    auto values = pairs.take(index);
    if (values && !confirming) cpu.push_back(pairs.last_cpu());
    own_s += pairs.last_cpu().a.total() + pairs.last_cpu().b.total();
    (confirming ? *confirming_bar : bar).add(1);
    return values;
  };
  SLUICE_TRY(const gate::PairedOutcome outcome, gate::run_pairs(metrics, plan.gate, take));
  AbResult result;
  result.report = gate::report_of(outcome);
  const double elapsed_s =
      std::chrono::duration<double>(std::chrono::steady_clock::now() - start).count();
  result.background = gate::background_of(outcome, result.report, cpu, elapsed_s);
  if (result.report.status == GateStatus::inconclusive)
    result.background.causes = cores.causes(own_s, elapsed_s);
  SLUICE_TRY(result.report.machine_profile, backend::profile_of_visit({}));
  result.report.timestamp = utc_now();
  result.report.base_name = plan.a.command;
  result.report.candidate_name = plan.b.command;
  result.document = gate::to_json(result.report);
  result.document["schema_version"] = results::kSchemaVersion;
  result.document["tool"] = {{"version", version::kProgram}, {"git", version::git()}};
  result.document["design"] = gate::to_json(plan.gate);
  result.document["order_seed"] = plan.seed;
  result.document["order"] = pairs.orders();
  result.document["pairs"] = gate::pairs_json(outcome);
  result.document["background"] = gate::to_json(result.background);
  result.document["elapsed_s"] = elapsed_s;
  return result;
}

}  // namespace sluice::visit
