// sluice/gate/baseline/proof.cpp - figures computed again, and the first that is not the same.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/gate/baseline/proof.h"

#include "sluice/analysis/training_metrics.h"
#include "sluice/analysis/validate.h"
#include "sluice/core/file.h"
#include "sluice/core/text.h"
#include "sluice/gate/baseline/pairs.h"
#include "sluice/gate/pairs/paired_gate.h"
#include "sluice/gate/pairs/paired_report.h"
#include "sluice/stats/summary.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>
#include <cstdint>
#include <system_error>

namespace sluice::gate {
namespace {

namespace fs = std::filesystem;
using results::TrainingMetrics;

/// Two ways to sum the same nanoseconds.
constexpr double kSameFigure = 1e-6;

bool same_figure(double a, double b) {
  return std::fabs(a - b) <= kSameFigure * std::max(std::fabs(a), std::fabs(b));
}

Error differs(const fs::path& run, const std::string& what) {
  return Error{Errc::invalid_input,
               fmt::format("{}: {}; such a run is not judged: give one whose files are as it left "
                           "them",
                           shown(run / "metrics.json"), what)};
}

/// A result file and the row that its metrics are of: our fastest.
struct Source {
  fs::path path;
  results::ResultFile file;
  const measure::Row* row = nullptr;
  analysis::TrainingUse use{};
};

double rate_of(const measure::Row& row, const analysis::TrainingUse& use) {
  return static_cast<double>(row.items_per_sample) / *stats::median(use.step_s);
}

/// Nothing: none of the files at `folder` concluded metrics of a training step.
Result<std::optional<Source>> source_at(const fs::path& folder) {
  SLUICE_TRY(const auto paths, results::find(folder));
  SLUICE_TRY(auto files, analysis::read_sound(paths));
  for (std::size_t i = 0; i < files.size(); ++i) {
    if (!files[i].training) continue;
    std::optional<Source> source(Source{paths[i], std::move(files[i])});
    for (const measure::Row& row : source->file.rows) {
      const bool ours = row.library == "sluice" || row.library == "program";  // or watched
      if (!ours || row.status != measure::RowStatus::ok) continue;
      auto use = analysis::training_use(row);
      if (!use ||
          (source->row != nullptr && rate_of(row, *use) <= rate_of(*source->row, source->use)))
        continue;
      source->row = &row;
      source->use = std::move(*use);
    }
    if (source->row == nullptr)
      return Error{
          Errc::invalid_input,
          fmt::format("{}: has metrics, but no row that they could be of", shown(source->path))};
    return source;
  }
  return std::optional<Source>();
}

/// What is judged, as the samples give it.
TrainingMetrics computed(const Source& source) {
  analysis::TrainingFacts facts;
  facts.use = source.use;
  facts.samples_per_step = static_cast<double>(source.row->items_per_sample);
  facts.tokens_per_step =
      static_cast<double>(source.file.training->throughput.tokens_per_step.value_or(0));
  return analysis::training_metrics(facts);
}

Status check_figures(const fs::path& run, const TrainingMetrics& claimed, const Source& source) {
  using Value = TrainingMetrics::Figure;
  struct Judged {
    const char* name;
    const Value& (*of)(const TrainingMetrics&);
  };
  static constexpr Judged kJudged[] = {
      {"tokens_per_sec_p50",
       [](const TrainingMetrics& m) -> const Value& { return m.throughput.tokens_p50; }},
      {"step_time_p50_s", [](const TrainingMetrics& m) -> const Value& { return m.timing.p50; }},
      {"step_time_p90_s", [](const TrainingMetrics& m) -> const Value& { return m.timing.p90; }},
      {"peak_allocated_bytes",
       [](const TrainingMetrics& m) -> const Value& { return m.memory.peak_allocated_bytes; }},
      {"loss_slope", [](const TrainingMetrics& m) -> const Value& { return m.loss.slope; }},
      {"waited_share",
       [](const TrainingMetrics& m) -> const Value& { return m.timing.waited_share; }}};
  const TrainingMetrics again = computed(source);
  const auto text = [](const std::optional<double>& value) {
    return value ? fmt::format("{:.6g}", *value) : std::string("none");
  };
  for (const Judged& one : kJudged) {
    const auto& stored = one.of(claimed).value;
    const auto& found = one.of(again).value;
    const bool same = stored && found ? same_figure(*stored, *found) : !stored && !found;
    if (!same)
      return differs(run, fmt::format("{} is {}, the samples of {} give {}", one.name, text(stored),
                                      shown(source.path), text(found)));
  }
  const std::vector<double> medians = claimed.timing.run_p50.value_or(source.use.medians_s);
  if (!std::ranges::equal(medians, source.use.medians_s, same_figure))
    return differs(run, fmt::format("run_p50_s does not hold the medians of the {} runs in {}",
                                    source.use.medians_s.size(), shown(source.path)));
  return ok;
}

/// What the run concluded, without what the gate put there afterwards.
Json conclusion_of(const TrainingMetrics& metrics) {
  Json json = results::to_json(metrics);
  json.erase("pairs");
  json.erase("confirmation");
  return json;
}

Status check_same(const fs::path& run, const TrainingMetrics& claimed, const Source& source) {
  const Json patch = Json::diff(conclusion_of(*source.file.training), conclusion_of(claimed));
  if (patch.empty()) return ok;
  return differs(run, fmt::format("{} is not what {} has", string_at(patch.front(), "path"),
                                  shown(source.path)));
}

Status check_confirmation(const fs::path& run, const TrainingMetrics::Confirmation& claimed,
                          const Source& first, const Source& second) {
  std::vector<double> medians = first.use.medians_s;
  medians.insert(medians.end(), second.use.medians_s.begin(), second.use.medians_s.end());
  if (std::ranges::equal(medians, claimed.run_p50_s, same_figure)) return ok;
  return differs(run, fmt::format("confirmation.run_p50_s does not hold the medians of {} and {}",
                                  shown(first.path), shown(second.path)));
}

std::vector<double> numbers_at(const Json& json, const char* key) {
  std::vector<double> numbers;
  const Json& list = at(json, key);
  if (!list.is_array()) return numbers;
  for (const Json& one : list)
    numbers.push_back(one.is_number() ? one.get<double>() : 0);
  return numbers;
}

using Steps = std::vector<std::int64_t>;

/// Values of every pair of runs in pairs.json, by the rule that `pairs` names, each side sorted:
/// which of them confirmed is not told by the rows.
Result<std::array<std::vector<double>, 2>> sorted_values(const std::vector<measure::Row>& rows,
                                                         const Json& pairs) {
  const Json& turn = at(pairs, kStepsPerTurn);
  std::array<std::vector<double>, 2> sides;
  const auto median_s = [](const Steps& samples) {
    const std::vector<double> ns(samples.begin(), samples.end());
    return ns.empty() ? 0 : *stats::median(ns) * 1e-9;
  };
  const std::size_t count = std::max(rows[0].runs.size(), rows[1].runs.size());
  for (std::size_t i = 0; i < count; ++i) {
    const Steps a = i < rows[0].runs.size() ? rows[0].runs[i].samples_ns : Steps{};
    const Steps b = i < rows[1].runs.size() ? rows[1].runs[i].samples_ns : Steps{};
    PairValue value{median_s(a), median_s(b)};
    if (!turn.is_null()) {
      if (!turn.is_number_integer())
        return Error{Errc::invalid_input, fmt::format("{} is no whole number", kStepsPerTurn)};
      SLUICE_TRY(value, value_of_rounds(a, b, turn.get<int>()));
    }
    sides[0].push_back(value.a);
    sides[1].push_back(value.b);
  }
  for (auto& side : sides)
    std::ranges::sort(side);
  return sides;
}

/// The series that the pairs say they are, judged once more.
Result<GateStatus> judged_again(const Json& values, double tau, std::uint64_t seed) {
  PairedOptions options;
  options.tau = options.floor = tau;
  options.seed = seed;
  const std::vector<double> a[] = {numbers_at(values, "a"), numbers_at(values, "confirm_a")};
  const std::vector<double> b[] = {numbers_at(values, "b"), numbers_at(values, "confirm_b")};
  std::size_t next[] = {0, 0};
  const TakePair take = [&](int, bool confirming) -> Result<std::vector<PairValue>> {
    const std::size_t which = confirming ? 1 : 0;
    const std::size_t i = next[which]++;
    if (i >= a[which].size() || i >= b[which].size())
      return Error{Errc::invalid_input, "pairs ends before its own rule does"};
    return std::vector<PairValue>{{a[which][i], b[which][i]}};
  };
  SLUICE_TRY(const PairedOutcome outcome,
             run_pairs({{.name = kPairedStep, .unit = "s", .better = measure::Better::lower}},
                       options, take));
  return report_of(outcome).lines.front().status;
}

Status check_pairs(const fs::path& run, const Json& pairs) {
  SLUICE_TRY(const auto files, analysis::read_sound({run / "pairs.json"}));
  const results::ResultFile& file = files.front();
  const auto report = gate_report_from_json(pairs);
  if (!report || report->lines.size() != 1 || file.rows.size() != 2)
    return differs(run, "pairs is no report of one line about the two rows of pairs.json");
  const GateLine& line = report->lines.front();
  const Json& values = at(at(pairs, "pairs"), line.metric.c_str());
  const auto sides = sorted_values(file.rows, pairs);
  if (!sides) return differs(run, "pairs.json: " + sides.error().message);
  for (const std::size_t i : {std::size_t{0}, std::size_t{1}}) {
    const char* side = i == 0 ? "a" : "b";
    std::vector<double> claimed = numbers_at(values, side);
    const std::vector<double> fresh = numbers_at(values, i == 0 ? "confirm_a" : "confirm_b");
    claimed.insert(claimed.end(), fresh.begin(), fresh.end());
    std::ranges::sort(claimed);
    if (!std::ranges::equal(claimed, (*sides)[i], same_figure))
      return differs(run,
                     fmt::format("pairs.{} does not hold the values of the {} runs of {} in "
                                 "pairs.json",
                                 side, file.rows[i].runs.size(), printable(file.rows[i].library)));
  }
  const Json& tau = at(line.details, "tau");
  const auto status =
      judged_again(values, tau.is_number() ? tau.get<double>() : 0, file.block_order_seed);
  if (!status) return differs(run, "pairs: " + status.error().message);
  if (*status != line.status)
    return differs(run, fmt::format("pairs says {}, its own values give {}", to_string(line.status),
                                    to_string(*status)));
  return ok;
}

}  // namespace

Result<bool> metrics_are_proven(const fs::path& run, const RunFiles& files) {
  std::error_code ignored;
  if (!files.metrics || !fs::is_directory(run / "results", ignored)) return false;
  const TrainingMetrics& claimed = *files.metrics;
  SLUICE_TRY(std::optional<Source> source, source_at(run));
  if (source && claimed.confirmation) {
    SLUICE_TRY(std::optional<Source> second, source_at(run / "confirm"));
    if (!second) return differs(run, "confirmation: there is no second run in confirm/");
    SLUICE_CHECK(check_confirmation(run, *claimed.confirmation, *source, *second));
    if (claimed.confirmation->kept == "second") source = std::move(second);
  }
  if (!source) return differs(run, "no result file beside it has metrics");
  SLUICE_CHECK(check_figures(run, claimed, *source));
  SLUICE_CHECK(check_same(run, claimed, *source));
  if (!claimed.pairs.is_null()) SLUICE_CHECK(check_pairs(run, claimed.pairs));
  return true;
}

}  // namespace sluice::gate
