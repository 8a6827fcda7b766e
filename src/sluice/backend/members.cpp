// sluice/backend/members.cpp - commands, thread limits, exclusions.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/backend/members.h"

#include "sluice/core/free_memory.h"
#include "sluice/core/thread_pool.h"
#include "sluice/env/variables.h"
#include "sluice/peers/launch.h"
#include "sluice/plan/policy.h"

#include <algorithm>
#include <filesystem>

namespace sluice::backend {
namespace {

constexpr double kCpuSlack = 1.05;           // of the threads that a policy asks for
constexpr double kMemoryShare = 0.7;         // of what is free, unless told
constexpr double kPipelineSampleMs = 0.001;  // one epoch, whatever it takes

std::string device_of(const std::string& asked) {
  if (asked == "none") return "cpu";
  if (asked != "auto") return asked;
  return gpu_here() ? "cuda" : "cpu";
}

peers::Member member_of(const plan::Job& job, const std::string& library) {
  peers::Member member;
  member.library = library;
  member.device = device_of(job.device);
  if (!job.command.empty()) {
    member.command = job.command;
    member.environment =
        peers::worker_variables(env::process_variables(), job.thread_policy, false);
    return member;
  }
  auto command = peers::worker_command(library, plan::to_string(job.mode), job.thread_policy);
  if (!command) {
    member.absent = command.error().message;
    return member;
  }
  member.command = command->command;
  member.environment = command->environment;
  return member;
}

}  // namespace

bool on_device(const plan::Plan& plan) {
  return std::any_of(plan.jobs.begin(), plan.jobs.end(), [](const plan::Job& job) {
    return device_of(job.device) != "cpu" || !job.copy_to.empty();
  });
}

Status check_host_rows(const plan::Plan& plan, bool gpu_here) {
  const plan::Execution& execution = plan.config.execution;
  const bool images = plan.config.scenario().media == plan::Media::image;
  if (!gpu_here || !images || on_device(plan) || execution.host_rows_on_gpu_machine) return ok;
  return Error{Errc::usage,
               "execution.device is none and this machine has a GPU: image rows of the CPU belong "
               "on a machine without; --device cuda, or --set "
               "execution.host_rows_on_gpu_machine=true, is accepted"};
}

bool gpu_here() {
  return std::filesystem::exists("/dev/nvidia0");
}

std::vector<peers::Member> members_of(const plan::Plan& plan) {
  std::vector<peers::Member> members;
  for (const plan::Job& job : plan.jobs) {
    for (const std::string& library : job.row_libraries)
      members.push_back(member_of(job, library));
  }
  return members;
}

peers::CrewOptions crew_options_of(const plan::Plan& plan, const measure::Load& load,
                                   std::uint64_t seed, const Sampling& sampling) {
  const plan::RunConfig& config = plan.config;
  const plan::Job& job = plan.jobs.front();
  const plan::MediaPolicy& media = plan::media_policy(config.scenario().media);
  const bool pipeline = config.mode() == plan::Mode::pipeline;
  peers::CrewOptions options;
  options.policy.runs = static_cast<int>(config.execution.num_runs);
  options.policy.samples_per_run = 1;
  options.policy.seed = seed;
  options.policy.min_sample_ms = pipeline ? kPipelineSampleMs : sampling.min_sample_ms;
  options.policy.warmup_ms = sampling.warmup_ms;
  options.policy.step_timeout_s = sampling.step_timeout_s;
  options.policy.cpus = sampling.cpus;
  options.policy.slow_item_s =
      config.execution.disable_slow_skip
          ? 0
          : config.execution.slow_threshold_sec_per_item.value_or(media.slow_item_s);
  options.preflight_items =
      static_cast<int>(config.execution.slow_preflight_items.value_or(media.preflight_items));
  options.preflight_limit_s = media.max_preflight_s;
  options.thread_policy = job.thread_policy;
  const auto workers = static_cast<int>(config.execution.workers);
  if (job.thread_policy == "micro-single") {
    options.threads = 1;
    options.cpu_limit = kCpuSlack;
  } else if (job.thread_policy == "micro-threads") {
    options.threads = sampling.threads;
    options.cpu_limit = kCpuSlack * sampling.threads;
  } else if (job.thread_policy == "pipeline-single-worker") {
    options.threads = std::max(1, workers);
    options.cpu_limit = kCpuSlack * (workers + 1);  // the loader's own process collates
  } else {
    options.threads = static_cast<int>(usable_cores());
  }
  options.load = load;
  options.unit = job.unit;
  options.memory_limit_bytes =
      config.execution.memory_limit
          ? static_cast<std::int64_t>(*config.execution.memory_limit)
          : static_cast<std::int64_t>(kMemoryShare * static_cast<double>(free_memory_bytes()));
  return options;
}

peers::CrewCase crew_case_of(const plan::Plan& plan, std::size_t number) {
  const plan::Case& one = plan.jobs.front().cases[number];
  peers::CrewCase result{one.name, one.params, one.spec, {}};
  for (const plan::Job& job : plan.jobs) {
    const auto& excluded = job.cases[number].excluded;
    if (!excluded) continue;
    for (const std::string& library : job.row_libraries)
      result.excluded[library] = {excluded->status, excluded->reason};
  }
  return result;
}

}  // namespace sluice::backend
