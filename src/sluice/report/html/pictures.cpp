// sluice/report/html/pictures.cpp - which pictures a file has.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/text.h"
#include "sluice/report/format.h"
#include "sluice/report/html/parts.h"
#include "sluice/report/storage_text.h"
#include "sluice/report/training_text.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::report {
namespace {

std::string tune_bars(const results::TuneSummary& tune) {
  std::vector<results::TuneRate> rates = tune.rates;
  std::sort(rates.begin(), rates.end(), [](const results::TuneRate& a, const results::TuneRate& b) {
    return std::pair(a.setting.workers, a.setting.prefetch) <
           std::pair(b.setting.workers, b.setting.prefetch);
  });
  std::vector<Bar> bars;
  for (const results::TuneRate& one : rates) {
    if (!one.rate) continue;
    const bool chosen = one.setting.workers == tune.recommended.workers &&
                        one.setting.prefetch == tune.recommended.prefetch;
    bars.push_back({fmt::format("{} / {}", one.setting.workers, one.setting.prefetch), *one.rate,
                    fmt::format("{} samples/s", whole(*one.rate)), std::nullopt, 0, chosen});
  }
  return bar_chart("Rate by setting",
                   "Workers / prefetch; geometric mean over blocks. Bold: recommended.", bars);
}

std::string storage_bars(const std::vector<results::StorageLine>& lines) {
  std::vector<Bar> bars;
  constexpr std::size_t kMost = 40;
  for (const results::StorageLine& line : lines) {
    if (!line.mb_per_s || bars.size() == kMost) continue;
    bars.push_back(
        {fmt::format("{} {}{}, {} at once, {}", printable(line.pattern), printable(line.mode),
                     line.size == 0 ? "" : " " + bytes_text(line.size), line.concurrency,
                     printable(line.cache)),
         line.mb_per_s->point, fmt::format("{} MB/s", figure(line.mb_per_s->point)), *line.mb_per_s,
         0, false});
  }
  return bar_chart("Read rate", "10⁶ bytes per second; line: 95 % interval.", bars);
}

std::string share_bars(const results::MixtureShares& shares) {
  std::vector<Bar> bars;
  constexpr std::size_t kMost = 40;
  for (const results::ShareRow& row : shares.rows)
    if (bars.size() < kMost)
      bars.push_back(
          {printable(row.name), row.realised,
           fmt::format("{:.1f} % ({:.1f} % asked for)", row.realised * 100, row.requested * 100),
           std::nullopt, 0, false});
  return bar_chart("Shares of the data sets", "Share of samples that came.", bars);
}

std::string sweep_bars(const std::vector<results::LoaderSweepLine>& sweep) {
  std::vector<Bar> bars;
  for (const results::LoaderSweepLine& line : sweep)
    if (line.samples_per_s.value)
      bars.push_back({fmt::format("{} / {}", line.workers, line.prefetch),
                      line.samples_per_s.value->point,
                      fmt::format("{} samples/s", whole(line.samples_per_s.value->point)),
                      *line.samples_per_s.value, 0, line.optimal});
  return bar_chart("Rate by setting", "Workers / prefetch; line: 95 % interval. Bold: the optimum.",
                   bars);
}

std::string batch_bars(const std::vector<results::TrainingSweepLine>& sweep) {
  std::vector<Bar> bars;
  for (const results::TrainingSweepLine& line : sweep)
    if (line.samples_per_s.value)
      bars.push_back(
          {fmt::format("batch {} {}", line.batch, settings_of(line)), *line.samples_per_s.value,
           fmt::format("{} samples/s", figure(*line.samples_per_s.value)), std::nullopt, 0, false});
  return bars.size() < 2 ? ""
                         : bar_chart("Rate by batch and settings", "Samples per second.", bars);
}

}  // namespace

std::string pictures_html(const results::ResultFile& file) {
  std::string out;
  if (file.diagnosis) {
    if (file.diagnosis->attribution.value) out += step_bars(*file.diagnosis->attribution.value);
    out += stage_lanes(file.diagnosis->stages);
  }
  if (file.loader) {
    out += stage_lanes(file.loader->stages);
    if (file.loader->step) out += step_bars(*file.loader->step);
    out += sweep_bars(file.loader->sweep) + memory_lines(file);
    out += check_lanes("Targets", file.loader->targets) +
           check_lanes("Indicators", file.loader->indicators);
  }
  if (file.training && file.training->phases.value)
    out += phase_stack(*file.training->phases.value);
  if (file.training) out += step_memory_lines(file);
  if (file.training_summary) {
    out += work_bars(*file.training_summary);
    out += batch_bars(file.training_summary->sweep);
    out += check_lanes("Targets", file.training_summary->targets) +
           check_lanes("Indicators", file.training_summary->indicators);
  }
  if (file.resources) out += resources_html("The machine over time", *file.resources);
  if (file.tune) out += tune_bars(*file.tune);
  if (file.storage) out += storage_bars(file.storage->lines);
  if (file.mixture) out += cpu_lanes(file.mixture->stages) + share_bars(file.mixture->shares);
  return out;
}

std::string matrix_pictures(const MatrixTable& table) {
  const auto leader = leader_of(table);
  if (!leader) return {};
  std::vector<Bar> bars;
  std::size_t compared = 0;
  std::vector<std::size_t> wins(table.columns.size());
  for (const MatrixLine& line : table.lines) {
    if (!line.lead) continue;
    ++compared;
    ++wins[line.lead->first];
  }
  for (std::size_t c = 0; c < wins.size(); ++c)
    if (wins[c] > 0)
      bars.push_back({printable(table.columns[c].library), static_cast<double>(wins[c]),
                      fmt::format("{} of {}", wins[c], compared), std::nullopt, 0,
                      table.columns[c].library == leader->library});
  return ratio_strip(clip(printable(leader->library), kLongestName) +
                         " over the fastest other library, by transform",
                     leader->sum.versus) +
         (bars.size() < 2
              ? ""
              : bar_chart("Fastest how often", "Rows of the table that compare libraries.", bars));
}

}  // namespace sluice::report
