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

}  // namespace

std::string diagnose_text(const results::ResultFile& file) {
  if (!file.diagnosis || !file.diagnosis->attribution.value) return "";
  const results::Attribution& found = *file.diagnosis->attribution.value;
  const results::StepTimes& times = found.times;
  std::string out =
      fmt::format("Per batch of {} ({}), 95 % intervals:\n", file.diagnosis->batch_size.value_or(0),
                  printable(file.diagnosis->step));
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
  out += findings_text(file.diagnosis->findings);
  return out + "\nVerdict: " + printable(found.statement) + "\n";
}

}  // namespace sluice::report
