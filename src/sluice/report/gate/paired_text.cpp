// sluice/report/gate/paired_text.cpp - pairs as an aligned table.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/gate/paired_text.h"

#include "sluice/core/text.h"
#include "sluice/report/format.h"
#include "sluice/report/paint.h"
#include "sluice/report/text_parts.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>
#include <vector>

namespace sluice::report {
namespace {

using gate::GateLine;
using gate::GateStatus;

constexpr std::size_t kPairedColumns = 9;
constexpr std::array<const char*, kPairedColumns> kPairedTitles = {
    "metric", "A", "B", "speed", "interval", "p", "MDE", "pairs (needed)", "verdict"};
constexpr std::array<bool, kPairedColumns> kPairedRightAligned = {false, true, true, true, true,
                                                                  true,  true, true, false};
using PairedCells = std::array<std::string, kPairedColumns>;

std::optional<double> number_if(const Json& json, const char* key) {
  if (!json.is_object()) return std::nullopt;
  const auto at = json.find(key);
  return at != json.end() && at->is_number() ? std::optional(at->get<double>()) : std::nullopt;
}

std::string scaled_cell(const std::optional<double>& value, const GateLine& line) {
  if (!value) return std::string(kNone);
  const Scale scale(line.baseline.value_or(*value), line.unit);
  const std::string text = scale.number(*value);
  return scale.unit().empty() ? text : text + " " + scale.unit();
}

std::string speed_percent(const std::optional<double>& share) {
  return share ? fmt::format("{:+.2f} %", 100 * *share) : std::string(kNone);
}

PairedCells paired_cells(const GateLine& line) {
  const Json& details = line.details;
  const Json speed =
      details.is_object() && details.contains("speed_change") ? details["speed_change"] : Json();
  const auto low = number_if(speed, "low");
  const auto high = number_if(speed, "high");
  const auto p = number_if(details, "p_holm");
  const auto mde = number_if(details, "mde");
  const auto pairs = number_if(details, "pairs");
  const auto needed = number_if(details, "needed_pairs");
  PairedCells cells;
  cells.fill(std::string(kNone));
  cells[0] = printable(line.metric) + (line.blocking ? "" : " (beside)");
  cells[1] = scaled_cell(line.baseline, line);
  cells[2] = scaled_cell(line.current, line);
  cells[3] = speed_percent(number_if(speed, "point"));
  if (low && high) cells[4] = fmt::format("{:+.2f} to {:+.2f} %", 100 * *low, 100 * *high);
  if (p) cells[5] = fmt::format("{:.2g}", *p);
  if (mde) cells[6] = fmt::format("{:.2f} %", 100 * *mde);
  if (pairs) cells[7] = fmt::format("{:.0f}", *pairs);
  if (pairs && needed) cells[7] += fmt::format(" ({:.0f})", *needed);
  cells[8] = gate::to_string(line.status);
  return cells;
}

std::string scaled_seconds(double seconds) {
  const Scale scale(seconds, "s");
  return scale.number(seconds) + " " + scale.unit();
}

std::string cpu_side(const gate::CpuTime& time) {
  const Scale scale(time.total(), "s");
  return fmt::format("{} + {} {}", scale.number(time.user_s), scale.number(time.system_s),
                     scale.unit());
}

/// "12 s", "7 min", "3.5 h".
std::string about(double seconds) {
  if (seconds < 90) return fmt::format("{:.0f} s", seconds);
  if (seconds < 5400) return fmt::format("{:.0f} min", seconds / 60);
  return fmt::format("{:.1f} h", seconds / 3600);
}

std::string background_text(const gate::PairedBackground& background,
                            const gate::GateReport& report, const TextOptions& options) {
  std::string text = fmt::format("CPU time of a run, user + system: A {}, B {}\n",
                                 cpu_side(background.a), cpu_side(background.b));
  if (report.status != GateStatus::inconclusive) return text;
  const std::string varies =
      fmt::format("the speed ratio of a pair varies by {:.1f} % (sd)", 100 * background.pair_sd);
  text += wrapped("why: " + varies +
                      (background.causes.empty() ? "; this machine was quiet: the commands "
                                                   "themselves vary"
                                                 : "; " + join(background.causes, "; ")),
                  options.width, 0);
  if (background.needed_pairs > 0)
    text +=
        wrapped(fmt::format("to decide by more pairs: --pairs {}, about {} ({} a pair)",
                            background.needed_pairs,
                            about(static_cast<double>(background.needed_pairs) * background.pair_s),
                            scaled_seconds(background.pair_s)),
                options.width, 0);
  if (!background.cpu_helps) return text;
  return text + wrapped(fmt::format("to decide now: --metric cpu. CPU time of the same pairs says "
                                    "{} ({:+.1f} to {:+.1f} %); it does not count waiting for "
                                    "disks, locks or other programs",
                                    gate::to_string(background.cpu_status),
                                    100 * gate::speed_change(background.cpu->low),
                                    100 * gate::speed_change(background.cpu->high)),
                        options.width, 0);
}

}  // namespace

std::string paired_text(const gate::GateReport& report, const TextOptions& options,
                        const gate::PairedBackground* background) {
  const Paint paint(options.colour);
  std::vector<PairedCells> rows;
  for (const GateLine& line : report.lines)
    rows.push_back(paired_cells(line));
  std::array<std::size_t, kPairedColumns> widths{};
  for (std::size_t c = 0; c < kPairedColumns; ++c) {
    widths[c] = display_width(kPairedTitles[c]);
    for (const PairedCells& row : rows)
      widths[c] = std::max(widths[c], display_width(row[c]));
  }
  std::string text = fmt::format("A  {}\nB  {}\n\n", printable(report.base_name),
                                 printable(report.candidate_name));
  std::string titles;
  for (std::size_t c = 0; c < kPairedColumns; ++c)
    titles += (c == 0 ? "" : "  ") + padded(kPairedTitles[c], widths[c], kPairedRightAligned[c]);
  text += paint(kBold, without_trailing_space(titles)) + "\n";
  for (std::size_t r = 0; r < rows.size(); ++r) {
    for (std::size_t c = 0; c + 1 < kPairedColumns; ++c)
      text += padded(rows[r][c], widths[c], kPairedRightAligned[c]) + "  ";
    text += paint(colour_of(report.lines[r].status), rows[r][kPairedColumns - 1]) + "\n";
    text += wrapped(report.lines[r].reason, options.width, 2);
    if (text.back() != '\n') text += "\n";
  }
  if (background != nullptr) text += "\n" + background_text(*background, report, options);
  text += "\n" + paint(colour_of(report.status), report.summary) + "\n";
  return report.reproduce.empty() ? text : text + "again: " + printable(report.reproduce) + "\n";
}

}  // namespace sluice::report
