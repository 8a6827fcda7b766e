// sluice/report/torch_line.cpp - arguments of torch's DataLoader, and when to change them.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/torch_line.h"

#include <fmt/format.h>

namespace sluice::report {
namespace {

constexpr double kWorthSaying = 0.1;  // of a step

}  // namespace

std::string torch_loader_line(const results::TuneSetting& setting) {
  if (setting.workers == 0) return "DataLoader(num_workers=0)";
  return fmt::format("DataLoader(num_workers={}, prefetch_factor={}, persistent_workers=True)",
                     setting.workers, setting.prefetch);
}

std::string waiting_advice(double share) {
  if (!(share >= kWorthSaying)) return "";
  return fmt::format(
      "\nThe program waits for data in {:.0f} % of a step. With PyTorch, give its DataLoader more "
      "workers and keep them alive: a larger num_workers, and persistent_workers=True.\n"
      "`sluice tune --library torch --input FOLDER` finds the numbers for this machine.\n",
      100 * share);
}

}  // namespace sluice::report
