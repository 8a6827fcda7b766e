// sluice/report/diagnose_text.cpp - the attribution of a summary as text.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/diagnose_text.h"

#include "sluice/analysis/bottleneck.h"
#include "sluice/core/text.h"
#include "sluice/report/findings.h"

#include <fmt/format.h>

#include <cmath>

namespace sluice::report {
namespace {

std::string time_line(const char* title, const stats::Estimate& ms) {
  if (!std::isfinite(ms.point)) return "";
  std::string line = fmt::format("  {:<22} {:>10.3f} ms", title, ms.point);
  if (ms.confidence > 0) line += fmt::format("  ({:.3f} to {:.3f})", ms.low, ms.high);
  return line + "\n";
}

std::string transfer_line(const results::StepTimes& times) {
  constexpr const char* kTitle = "transfer alone";
  if (times.transfer) return time_line(kTitle, *times.transfer);
  if (times.no_transfer.empty()) return "";
  return fmt::format("  {:<22} {:>10}     {}\n", kTitle, "n/a", printable(times.no_transfer));
}

std::string share_line(const char* title, double value, const char* meaning) {
  if (!std::isfinite(value)) return "";
  return fmt::format("  {:<22} {:>10.1f} %   {}\n", title, value * 100, meaning);
}

std::string factor_line(const char* title, double value, const char* meaning) {
  if (!std::isfinite(value)) return "";
  return fmt::format("  {:<22} {:>10.2f}     {}\n", title, value, meaning);
}

std::string outcome_text(const results::AdviceOutcome& outcome) {
  const char* kept = outcome.gain.low >= outcome.promised.low ? "more than promised, or as much"
                     : outcome.gain.high >= outcome.promised.low
                         ? "as promised, within the interval"
                         : "less than promised";
  return fmt::format(
      "Tried: {}\n  promised {:.2f} to {:.2f} x, measured {:.2f} x ({:.2f} to {:.2f}, {} pairs): "
      "{}\n",
      printable(outcome.what), outcome.promised.low, outcome.promised.high, outcome.gain.point,
      outcome.gain.low, outcome.gain.high, outcome.pairs, kept);
}

/// Verdict, what to do, and what that brought where it was tried. The first finding is the verdict.
std::string answer_text(const results::Diagnosis& diagnosis, const results::Attribution& found) {
  std::string out = "Verdict: " + printable(found.statement) + "\n";
  for (std::size_t i = 0; i < found.could_also_be.size(); ++i)
    out += fmt::format("{}{}", i == 0 ? "  within the intervals it could also be " : " or ",
                       to_string(found.could_also_be[i]));
  if (!found.could_also_be.empty()) out += "\n";
  if (!diagnosis.findings.empty())
    for (const std::string& solution : diagnosis.findings.front().solutions)
      out += "  - " + printable(solution) + "\n";
  if (diagnosis.outcome) out += outcome_text(*diagnosis.outcome);
  return out;
}

}  // namespace

std::string diagnose_text(const results::ResultFile& file) {
  if (!file.diagnosis || !file.diagnosis->attribution.value) return "";
  const results::Attribution& found = *file.diagnosis->attribution.value;
  const results::StepTimes& times = found.times;
  std::string out = answer_text(*file.diagnosis, found);
  out += fmt::format("\nPer batch of {} ({}), 95 % intervals:\n",
                     file.diagnosis->batch_size.value_or(0), printable(file.diagnosis->step));
  out += time_line("loader alone", times.loader);
  out += time_line("step alone", times.model);
  out += transfer_line(times);
  out += time_line("loader + model", times.together);
  out += time_line("ideal", analysis::exactly(found.ideal_ms));
  out += factor_line("overlap", found.overlap,
                     "1: perfect, 0: one after the other, below: slowing each other down");
  out += share_line("unexplained", found.residual_share, "of a step, beyond the ideal");
  out += share_line("waiting for data", times.wait_share.point, "of a step");
  out += share_line("headroom", found.headspace, "gain if loading were free");
  out += factor_line("loader, contended", times.loader_slowdown.value_or(NAN),
                     "times its work per batch alone");
  out += factor_line("step, contended", times.model_slowdown.value_or(NAN), "times its time alone");
  out += stages_text(file.diagnosis->stages);
  const std::vector<results::Finding>& all = file.diagnosis->findings;
  return all.empty() ? out : out + findings_text({all.begin() + 1, all.end()});
}

}  // namespace sluice::report
