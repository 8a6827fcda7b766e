// sluice/backend/members.h - a plan in the terms of a crew: who, what, under which policy.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/measure/cpu_list.h"
#include "sluice/peers/crew.h"
#include "sluice/plan/jobs.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::backend {

/// How long and where samples are taken; what the plan does not say.
struct Sampling {
  double min_sample_ms = 100;
  double warmup_ms = 50;
  double step_timeout_s = 120;
  measure::CpuList cpus;
  int threads = 1;  // of the policy micro-threads
};

/// One member per row library of the jobs. A library that cannot be had is a member that says why.
std::vector<peers::Member> members_of(const plan::Plan& plan);

/// Everything but the members.
peers::CrewOptions crew_options_of(const plan::Plan& plan, const measure::Load& load,
                                   std::uint64_t seed, const Sampling& sampling);

/// Case `number` of the plan, with the libraries that are known not to work in it.
peers::CrewCase crew_case_of(const plan::Plan& plan, std::size_t number);

/// CPU-only image rows are not measured on GPU machines unless the configuration asks for it.
Status check_host_rows(const plan::Plan& plan, bool gpu_here);
bool gpu_here();

/// Some library of the plan works on a device, so that the machine's GPU is part of its profile.
bool on_device(const plan::Plan& plan);

}  // namespace sluice::backend
