// sluice/backend/gcp/waves.cpp - first fit, stage by stage.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/backend/gcp/waves.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <numeric>

namespace sluice::backend::gcp {
namespace {

constexpr const char* kC4 = "c4";

/// What of `load` is more than `quota`, in words; empty: it fits.
std::string excess(const Load& load, const Quota& quota) {
  if (load.vcpus > quota.vcpus) return fmt::format("{} vCPU of {}", load.vcpus, quota.vcpus);
  if (load.c4_vcpus > quota.c4_vcpus)
    return fmt::format("{} C4 vCPU of {}", load.c4_vcpus, quota.c4_vcpus);
  if (load.gpus > quota.gpus) return fmt::format("{} GPU of {}", load.gpus, quota.gpus);
  if (load.disk_gb > quota.disk_gb)
    return fmt::format("{} GB of Hyperdisk of {}", load.disk_gb, quota.disk_gb);
  return {};
}

}  // namespace

int stage_of(const plan::RunConfig& config) {
  constexpr std::array<std::string_view, 3> kScenarios = {"image-rgb", "image-9ch", "video-16f"};
  const auto found = std::find(kScenarios.begin(), kScenarios.end(), config.scenario().name);
  const auto scenario = static_cast<int>(found - kScenarios.begin());
  return scenario * 3 + static_cast<int>(config.mode());
}

void Load::add(const Wanted& machine) {
  vcpus += machine.shape.vcpus;
  if (machine.shape.family == kC4) c4_vcpus += machine.shape.vcpus;
  gpus += machine.shape.gpus;
  if (machine.shape.hyperdisk) disk_gb += machine.disk_gb;
}

std::string to_text(const Load& load) {
  return fmt::format("{} vCPU, {} of C4, {} GPU, {} GB Hyperdisk", load.vcpus, load.c4_vcpus,
                     load.gpus, load.disk_gb);
}

Result<std::vector<Wave>> make_waves(const std::vector<Wanted>& wanted, const Quota& quota) {
  for (const Wanted& machine : wanted) {
    Load alone;
    alone.add(machine);
    if (const std::string over = excess(alone, quota); !over.empty()) {
      return usage_error(
          fmt::format("{}: {} alone takes {}: no wave holds it; a larger --quota, a smaller "
                      "cloud.machine_type or cloud.disk_size_gb is accepted",
                      printable(machine.name), printable(machine.machine_type), over));
    }
  }
  std::vector<std::size_t> order(wanted.size());
  std::iota(order.begin(), order.end(), std::size_t{0});
  std::stable_sort(order.begin(), order.end(),
                   [&](std::size_t a, std::size_t b) { return wanted[a].stage < wanted[b].stage; });
  std::vector<Wave> waves;
  std::vector<Load> loads;
  std::size_t first_of_stage = 0;
  for (std::size_t i = 0; i < order.size(); ++i) {
    const Wanted& machine = wanted[order[i]];
    if (i > 0 && wanted[order[i - 1]].stage != machine.stage) first_of_stage = waves.size();
    std::size_t wave = first_of_stage;
    for (; wave < waves.size(); ++wave) {
      Load together = loads[wave];
      together.add(machine);
      if (excess(together, quota).empty()) break;
    }
    if (wave == waves.size()) {
      waves.emplace_back();
      loads.emplace_back();
    }
    waves[wave].push_back(order[i]);
    loads[wave].add(machine);
  }
  return waves;
}

}  // namespace sluice::backend::gcp
