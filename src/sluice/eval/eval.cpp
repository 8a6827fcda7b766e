// sluice/eval/eval.cpp - one evaluation: the model, the shard, the probe sets, in this order.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/eval/eval.h"

namespace sluice::eval {

Result<EvalResult> run_eval(const EvalConfig& config, Progress& /*progress*/) {
  SLUICE_CHECK(check_config(config));
  return Error{Errc::unsupported, "eval: this build cannot evaluate a model yet"};
}

}  // namespace sluice::eval
