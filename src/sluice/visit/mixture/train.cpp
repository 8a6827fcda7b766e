// sluice/visit/mixture/train.cpp - the share of time spent waiting, said and stored.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/mixture/train.h"

#include <fmt/format.h>

namespace sluice::visit {

std::string wait_text(const scenario::MixtureSpec& spec, const scenario::MixtureRun& run) {
  if (run.step_s <= 0) return "";
  std::string text = fmt::format(
      "\nEnd to end\n----------\n  {}: {:.4f} s a step, waited {:.1f} % of the time for batches\n",
      spec.train.empty()     ? "emulated accelerator"
      : spec.device == "cpu" ? spec.train
                             : spec.train + " on " + spec.device,
      run.step_s, run.wait_fraction() * 100);
  if (run.loss > 0)
    text += fmt::format("  loss {:.4f} after the first batch, {:.4f} after the last\n",
                        run.first_loss, run.loss);
  return text;
}

void add_wait(results::MixtureMetrics& metrics, const scenario::MixtureRun& run) {
  metrics.wait_fraction = run.wait_fraction();
  if (run.step_s <= 0) return;
  metrics.step_s = run.step_s;
  if (run.loss > 0) metrics.loss = {run.first_loss, run.loss};
}

}  // namespace sluice::visit
