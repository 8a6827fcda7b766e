// sluice/report/tour_text.cpp - rows and summary of a tour in words.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/tour_text.h"

#include "sluice/analysis/peer_ratio.h"
#include "sluice/analysis/versus.h"
#include "sluice/core/text.h"
#include "sluice/report/format.h"
#include "sluice/report/sections.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>
#include <cstdlib>
#include <set>

namespace sluice::report {
namespace {

using measure::Row;
using measure::RowStatus;

constexpr double kFelt = 1.05;          // a step this much longer is one that a user would feel
constexpr double kManyUnstable = 0.25;  // share of the rows

bool fit(const Row& row) {
  return row.status == RowStatus::ok && row.summary && row.summary->median > 0;
}

const Row* ours(const results::ResultFile& file, std::string_view prefix) {
  for (const Row& row : file.rows)
    if (row.library == kOurs && row.case_name.starts_with(prefix)) return &row;
  return nullptr;
}

/// "a, b and c".
std::string listed(const std::vector<std::string>& words) {
  if (words.size() < 2) return join(words);
  return join({words.begin(), words.end() - 1}) + " and " + words.back();
}

/// Rows that compute the same in several libraries.
std::vector<Row> comparable_rows(const results::ResultFile& file) {
  std::set<std::string> shared;
  for (const Row& row : file.rows)
    if (row.library != kOurs && row.not_comparable.empty()) shared.insert(row.case_name);
  std::vector<Row> rows;
  for (const Row& row : file.rows)
    if (shared.contains(row.case_name) && row.not_comparable.empty()) rows.push_back(row);
  return rows;
}

std::vector<std::string> measured_peers(const std::vector<Row>& rows) {
  std::vector<std::string> peers;
  for (const Row& row : rows)
    if (row.library != kOurs && fit(row) &&
        std::find(peers.begin(), peers.end(), row.library) == peers.end())
      peers.push_back(printable(row.library));
  return peers;
}

std::string peers_reason(const results::ResultFile& file) {
  return file.tour ? printable(file.tour->peers_reason) : "";
}

std::string beside_sentence(const results::ResultFile& file) {
  const std::vector<Row> rows = comparable_rows(file);
  const std::vector<std::string> peers = measured_peers(rows);
  if (peers.empty()) {
    const std::string reason = peers_reason(file);
    return reason.empty() ? "Only our own rows were measured."
                          : fmt::format("Nothing was measured beside us: {}.", reason);
  }
  std::vector<analysis::Versus> list = analysis::versus_fastest(rows);
  std::erase_if(list, [](const analysis::Versus& one) { return !one.ratio; });
  if (list.empty())
    return fmt::format("Beside {} there were too few runs for a ratio.", listed(peers));
  const analysis::VersusSummary sum = analysis::summarise(list, rows);
  std::string out =
      fmt::format("Beside {}, ours is faster in {} of {} cases, level in {} and slower in {}",
                  listed(peers), sum.wins, sum.rows, sum.ties, sum.losses);
  if (!sum.geomean) return out + ".";
  out += fmt::format(": {} times the fastest of them", significant(sum.geomean->point, 3));
  if (sum.rows == 1) return out + ".";
  return out + fmt::format(" in the geometric mean ({} to {} between cases), least in {} ({}).",
                           significant(sum.geomean->low, 3), significant(sum.geomean->high, 3),
                           printable(sum.slowest_case), significant(sum.slowest_ratio, 3));
}

/// "a step of vit5-tiny takes 339 ms for 8 samples (23.6 samples/s)".
std::string step_clause(const Row& row) {
  const auto batch = row.params.find("batch_size");
  const double given = batch == row.params.end() ? 0 : std::strtod(batch->second.c_str(), nullptr);
  const double samples = given > 0 ? given : 1;
  return fmt::format("A training step of {} takes {} ms for {:g} images on this CPU ({} {})",
                     printable(row.case_name.substr(row.case_name.find('/') + 1)),
                     significant(1e3 * samples / row.summary->median, 3), samples,
                     significant(row.summary->median, 3), printable(row.unit));
}

std::string fed_clause(const Row& step, const Row& fed) {
  const auto ratio = analysis::row_ratio(step, fed, true);  // how many times as long when fed
  if (!ratio) return "";
  const char* meaning = ratio->high <= kFelt ? "loading is hidden behind it"
                        : ratio->low > kFelt
                            ? "loading costs it cores"
                            : "more runs would tell whether loading costs anything";
  return fmt::format(", fed by the loader {} times that ({} to {}): {}",
                     significant(ratio->point, 3), significant(ratio->low, 3),
                     significant(ratio->high, 3), meaning);
}

const results::Attribution* attribution_of(const results::ResultFile& file) {
  const bool there = file.diagnosis && file.diagnosis->attribution.value;
  return there ? &*file.diagnosis->attribution.value : nullptr;
}

std::string accelerator_clause(const results::ResultFile& file) {
  const results::Attribution* found = attribution_of(file);
  if (found == nullptr) return "";
  const double share = found->times.wait_share.point;
  std::string out = fmt::format("; {} ", printable(file.diagnosis->step));
  if (found->verdict == results::Bottleneck::input && std::isfinite(share))
    out += fmt::format("would wait for our loader {:.0f} % of the time", share * 100);
  else if (found->verdict == results::Bottleneck::compute)
    out += "would be kept busy by our loader";
  else
    out += "would be limited so: " + printable(found->statement);
  return out + (found->could_also_be.empty() ? "" : ", which these runs do not settle");
}

std::string limit_sentence(const results::ResultFile& file) {
  const Row* step = ours(file, "training/");
  const Row* fed = ours(file, "end-to-end/");
  std::string out;
  if (step == nullptr)
    out = "Training was not measured";
  else if (!fit(*step))
    out = fmt::format("Training was not measured: {}",
                      step->reason.empty() ? to_string(step->status) : printable(step->reason));
  else
    out = step_clause(*step) + (fed != nullptr && fit(*fed) ? fed_clause(*step, *fed) : "");
  return out + accelerator_clause(file) + ".";
}

std::string next_sentence(const results::ResultFile& file) {
  std::vector<std::string> next;
  const auto share = [&](auto holds) {
    return static_cast<double>(std::count_if(file.rows.begin(), file.rows.end(), holds)) /
           static_cast<double>(std::max<std::size_t>(1, file.rows.size()));
  };
  if (share([](const Row& row) { return row.status == RowStatus::failed; }) > 0)
    next.emplace_back("the folder logs of this run says why rows failed");
  if (share([](const Row& row) { return row.summary && row.summary->unstable; }) > kManyUnstable)
    next.emplace_back("`sluice env` says what disturbs this machine");
  if (!peers_reason(file).empty())
    next.emplace_back("`sluice peers install light` gives the next tour libraries to compare with");
  const results::Attribution* limit = attribution_of(file);
  if (limit != nullptr && limit->verdict == results::Bottleneck::input)
    next.emplace_back("`sluice tune --input DIR` finds loader settings for your own images");
  else if (limit != nullptr)
    next.emplace_back("`sluice bench dataloader --input DIR` does it with your own images");
  if (const Row* step = ours(file, "training/"); step != nullptr && fit(*step))
    next.push_back(fmt::format("`sluice profile --model {} --gpu cpu` shows where a step goes",
                               printable(step->case_name.substr(step->case_name.find('/') + 1))));
  next.emplace_back("`sluice bench transforms` measures all transforms beside what is installed");
  constexpr std::size_t kMost = 3;
  next.resize(std::min(next.size(), kMost));
  return fmt::format("Next: {}.", join(next, "; "));
}

}  // namespace

std::vector<std::string> tour_sentences(const results::ResultFile& file) {
  return {beside_sentence(file), limit_sentence(file), next_sentence(file)};
}

std::vector<std::string> found_sentences(const results::ResultFile& file) {
  std::vector<std::string> sentences;
  if (!file.tour) return sentences;
  for (const std::string& one : file.tour->found)
    sentences.push_back(printable(one));
  return sentences;
}

}  // namespace sluice::report
