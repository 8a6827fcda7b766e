// sluice/report/diagnose_text.cpp - the attribution of a summary as text.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/diagnose_text.h"

#include "sluice/analysis/figures.h"
#include "sluice/core/text.h"
#include "sluice/report/findings.h"

#include <fmt/format.h>

#include <cmath>

namespace sluice::report {
namespace {

std::string time_line(const Json& found, const char* title, const std::string& key) {
  const double ms = analysis::number_at(found, key.c_str());
  if (!std::isfinite(ms)) {
    const std::string reason = analysis::text_at(found, (key + "_reason").c_str());
    return reason.empty() ? "" : fmt::format("  {:<22} {:>10}     {}\n", title, "n/a", reason);
  }
  std::string line = fmt::format("  {:<22} {:>10.3f} ms", title, ms);
  if (const Json& ci = at(found, (key + "_ci95").c_str()); ci.is_object())
    line += fmt::format("  ({:.3f} to {:.3f})", analysis::number_at(ci, "low"),
                        analysis::number_at(ci, "high"));
  return line + "\n";
}

std::string share_line(const char* title, double value, const char* meaning) {
  if (!std::isfinite(value)) return "";
  return fmt::format("  {:<22} {:>10.1f} %   {}\n", title, value * 100, meaning);
}

std::string factor_line(const char* title, double value, const char* meaning) {
  if (!std::isfinite(value)) return "";
  return fmt::format("  {:<22} {:>10.2f}     {}\n", title, value, meaning);
}

}  // namespace

std::string diagnose_text(const results::ResultFile& file) {
  const Json& summary = at(file.extra, "summary");
  const Json& found = at(summary, "attribution");
  if (!found.is_object()) return "";
  std::string out =
      fmt::format("Per batch of {} ({}), 95 % intervals:\n", at(summary, "batch_size").dump(),
                  analysis::text_at(summary, "step"));
  out += time_line(found, "loader alone", "loader_ms_per_batch");
  out += time_line(found, "step alone", "step_ms_per_batch");
  out += time_line(found, "transfer alone", "transfer_ms_per_batch");
  out += time_line(found, "together", "together_ms_per_batch");
  out += time_line(found, "ideal", "ideal_ms_per_batch");
  out += factor_line("overlap", analysis::number_at(found, "overlap"),
                     "1: perfect, 0: one after the other, below: in each other's way");
  out += share_line("unexplained", analysis::number_at(found, "residual_share"),
                    "of the time together, beyond the ideal");
  out += share_line("waiting for data", analysis::number_at(found, "wait_share"),
                    "of the time together");
  out +=
      share_line("headspace", analysis::number_at(found, "headspace"), "gain if loading were free");
  out += factor_line("loader, contended", analysis::number_at(found, "loader_slowdown"),
                     "times its work per batch alone");
  out += factor_line("step, contended", analysis::number_at(found, "step_slowdown"),
                     "times its time alone");
  out += stages_text(at(summary, "stages"));
  out += findings_text(at(summary, "diagnosis"));
  return out + "\nVerdict: " + analysis::text_at(found, "statement") + "\n";
}

}  // namespace sluice::report
