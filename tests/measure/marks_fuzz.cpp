// tests/measure/marks_fuzz.cpp - libFuzzer: any bytes give spans that lie in order, or are refused.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/marks.h"

#include <cstdlib>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice::measure;  // NOLINT(google-build-using-namespace): one function
  const auto marks = parse_marks({data, size}, "fuzz");
  if (!marks) {
    if (marks.error().message.find('\n') != std::string::npos) std::abort();
    return 0;
  }
  std::int64_t last = 0;
  for (const MarkedSpan& step : marks->steps) {
    if (step.begin_ns < last || step.end_ns <= step.begin_ns) std::abort();
    last = step.end_ns;
  }
  for (const MarkedSpan& phase : marks->phases)
    if (phase.end_ns < phase.begin_ns || phase.name >= marks->names.size()) std::abort();
  for (std::uint32_t kind = 0; kind < 9; ++kind) {
    const auto what = static_cast<MarkedKind>(kind);
    const ValueTable values = values_by_step(*marks, what);
    if (values.by_step.size() != marks->steps.size()) std::abort();
    for (const auto& value : values.by_step)
      if (value && what != MarkedKind::loss && !(*value >= 0)) std::abort();
  }
  for (const std::string* text :
       {&marks->framework.torch, &marks->framework.cuda, &marks->framework.python})
    if (text->find('\n') != std::string::npos) std::abort();
  (void)impossible_in(*marks, 0, std::int64_t{1} << 62);
  const PhaseTable table = phases_by_step(*marks, marks->steps.size() / 3);
  for (const auto& times : table.times_ns)
    if (times.size() != marks->steps.size() - marks->steps.size() / 3) std::abort();
  for (std::size_t step = 0; !table.times_ns.empty() && step < table.times_ns[0].size(); ++step) {
    const MarkedSpan& whole = marks->steps[step + marks->steps.size() / 3];
    std::int64_t sum = 0;
    for (const auto& times : table.times_ns)
      sum += times[step];
    if (sum < 0 || sum > whole.end_ns - whole.begin_ns) std::abort();
  }
  return 0;
}
