// sluice/gate/decide.h - the verdict: what is known of a run and its baseline in, one report out.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/gate/baseline/store.h"
#include "sluice/gate/baseline/tolerances.h"
#include "sluice/gate/gate_report.h"

#include <optional>
#include <string>

namespace sluice::gate {

/// What a visit beyond the prediction fence is.
enum class FenceMode { fail, warn, off };

/// By what a run is judged.
enum class GateRule {
  pairs,  // stored numbers, weighed against pairs with the baseline's program, machine and luck
  seed,   // stored numbers and tolerances alone: no pairs, no second run, no fence, no excuses
};

struct GatePolicy {
  GateRule rule = GateRule::pairs;
  Tolerances tolerances{};
  FenceMode fence = FenceMode::fail;
  CompareScope scope{};
  bool may_pair = false;     // the program of the baseline can be run beside this one
  bool may_confirm = false;  // a second run can be taken
};

/// Everything that is known. Pairs and a second run stand in the metrics of the run, so that files
/// are judged later as they were at once.
struct Evidence {
  RunFiles current;
  Baseline baseline;
};

/// What would let the gate decide better; the visit fetches it and asks again.
enum class WantedEvidence {
  nothing,
  pairs,       // with the program of the baseline, then metrics.json has `pairs`
  second_run,  // then metrics.json has `confirmation`, see confirmed()
};

struct Decision {
  GateReport report;  // complete as far as the evidence goes; its time stamp is left empty
  WantedEvidence wanted = WantedEvidence::nothing;
};

/// Pure. Every pass gives lines; what they mean together is weighed here alone, line by line of
/// speed that fails:
/// 1. Pairs with the program of the baseline PASS: the machine was slower, the line becomes a note.
///    They could not decide, and the loss lies beyond their interval: the two contradict each
///    other, INVALID.
/// 2. The best run fails and the usual step does not: one side was lucky, WARN.
/// 3. The machine (canary, wait for cores, stolen time) explains the loss: INVALID, unless pairs
///    FAIL, since it slowed both programs.
/// By GateRule::seed none of this is asked.
Decision decide(const Evidence& evidence, const GatePolicy& policy);

/// The metrics of two runs as those of one: the faster counts, the medians of both stay, and
/// `confirmation` says so. A slow run fails only when a second one, in processes of its own, is
/// slow too.
results::TrainingMetrics confirmed(const results::TrainingMetrics& first,
                                   const results::TrainingMetrics& second);

}  // namespace sluice::gate
