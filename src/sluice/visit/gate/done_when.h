// sluice/visit/gate/done_when.h - `sluice selftest --gates`: is the gate itself fit for work? Three
// gates.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/visit/caller.h"
#include "sluice/visit/training/plan.h"

#include <filesystem>
#include <string>
#include <vector>

namespace sluice::visit {

struct DoneWhenCheck {
  std::string text;  // what must hold
  bool passed = false;
  std::string reason;  // why it does not
};
struct DoneWhenGate {
  std::string name;  // "Gate 1: ..."
  std::vector<DoneWhenCheck> checks;
  [[nodiscard]] bool passed() const;
};

/// 1: a benchmark and an evaluation leave sound files, and the usual step of repeated runs is
/// within 3 %. 2: the profile that `plan` asks for ("trace") left traces that can be opened, with
/// every region. 3: a comparison passes what is within the tolerances, fails what is not, skips
/// without a baseline. `plan`: a small step, fed by itself. Writes under `folder`, which is new or
/// empty. A step that cannot be carried out is a check that fails; Errors: interrupted, and a
/// folder that cannot be written.
Result<std::vector<DoneWhenGate>> run_done_when(const Caller& caller, const TrainingPlan& plan,
                                                const std::filesystem::path& folder);

/// "Gate 1: ...: PASS" for each with its failed checks, then "OVERALL: PASS".
std::string done_when_text(const std::vector<DoneWhenGate>& gates);
Json to_json(const std::vector<DoneWhenGate>& gates);
bool all_passed(const std::vector<DoneWhenGate>& gates);

}  // namespace sluice::visit
