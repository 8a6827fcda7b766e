// sluice/loader/gpu/router.cpp - lanes by turns, in the share that makes both sides take as long.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/gpu/router.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sluice::loader::gpu {
namespace {

constexpr double kFirstShare = 0.75;
// Neither lane is given up: what is not used is not measured.
constexpr double kLeastShare = 1.0 / 64;
constexpr std::uint64_t kSamplesPerLook = 512;
constexpr std::uint64_t kLeastOfLane = 8;
constexpr double kWeight = 0.5;  // of a new look

}  // namespace

const char* to_string(LanePolicy policy) {
  switch (policy) {
    case LanePolicy::cpu:
      return "cpu";
    case LanePolicy::gpu:
      return "gpu";
    case LanePolicy::hybrid:
      return "hybrid";
  }
  return "?";
}

Result<LanePolicy> lane_policy(std::string_view name) {
  for (const LanePolicy policy : {LanePolicy::cpu, LanePolicy::gpu, LanePolicy::hybrid})
    if (name == to_string(policy)) return policy;
  return Error{Errc::usage, fmt::format("loader '{}'; accepted: cpu, gpu, hybrid", name)};
}

Json to_json(const LaneCounts& counts) {
  Json refusals = Json::object();
  for (std::size_t i = 1; i < counts.refusals.size(); ++i)
    refusals[to_string(static_cast<Refusal>(i))] = counts.refusals[i];
  const double all = static_cast<double>(counts.gpu + counts.cpu);
  return Json{{"gpu", counts.gpu},
              {"cpu", counts.cpu},
              {"gpu_share", all > 0 ? static_cast<double>(counts.gpu) / all : 0},
              {"not_for_engines", refusals},
              {"too_large", counts.large},
              {"refused_by_decoder", counts.late}};
}

LaneRouter::LaneRouter(LanePolicy policy, int workers)
    : policy_(policy),
      workers_(std::max(workers, 1)),
      share_(static_cast<std::uint32_t>(kFirstShare * kWhole)) {
  if (policy == LanePolicy::cpu) share_ = 0;
  if (policy == LanePolicy::gpu) share_ = kWhole;
}

bool LaneRouter::take() {
  const std::uint32_t share = share_.load(std::memory_order_relaxed);
  if (share == 0 || share == kWhole) return share == kWhole;
  return due_.fetch_add(share, std::memory_order_relaxed) % kWhole + share >= kWhole;
}

void LaneRouter::made_for_gpu(std::int64_t ns) {
  gpu_.fetch_add(1, std::memory_order_relaxed);
  gpu_ns_.fetch_add(ns, std::memory_order_relaxed);
}

void LaneRouter::made_by_cpu(std::int64_t ns, Refusal look, bool large) {
  const bool forced = large || look != Refusal::none;
  (forced ? forced_ : cpu_).fetch_add(1, std::memory_order_relaxed);
  (forced ? forced_ns_ : cpu_ns_).fetch_add(ns, std::memory_order_relaxed);
  refusals_[static_cast<std::size_t>(look)].fetch_add(1, std::memory_order_relaxed);
  if (large) large_.fetch_add(1, std::memory_order_relaxed);
}

void LaneRouter::decoded(std::uint64_t samples, std::int64_t ns) {
  decoded_ += samples;
  decoded_ns_ += ns;
  if (policy_ == LanePolicy::hybrid && decoded_ - seen_.decoded >= kSamplesPerLook) find_share();
}

void LaneRouter::refused_late(std::uint64_t samples) {
  late_.fetch_add(samples, std::memory_order_relaxed);
}

void LaneRouter::find_share() {
  Seen now;
  now.gpu = gpu_.load(std::memory_order_relaxed);
  now.cpu = cpu_.load(std::memory_order_relaxed);
  now.gpu_ns = gpu_ns_.load(std::memory_order_relaxed);
  now.cpu_ns = cpu_ns_.load(std::memory_order_relaxed);
  now.forced_ns = forced_ns_.load(std::memory_order_relaxed);
  now.decoded = decoded_;
  now.decoded_ns = decoded_ns_;
  const std::uint64_t by_gpu = now.gpu - seen_.gpu, by_cpu = now.cpu - seen_.cpu;
  if (by_gpu < kLeastOfLane || by_cpu < kLeastOfLane) return;
  const auto mean = [](std::int64_t ns, std::uint64_t samples) {
    return static_cast<double>(ns) / static_cast<double>(samples);
  };
  const double copy = mean(now.gpu_ns - seen_.gpu_ns, by_gpu);
  const double cpu = mean(now.cpu_ns - seen_.cpu_ns, by_cpu);
  const double forced = mean(now.forced_ns - seen_.forced_ns, by_gpu + by_cpu);
  const double engine = mean(now.decoded_ns - seen_.decoded_ns, now.decoded - seen_.decoded);
  seen_ = now;
  const double fair = (forced + cpu) / std::max(workers_ * engine + cpu - copy, 1.0);
  const double next = (1 - kWeight) * share() + kWeight * fair;
  share_.store(static_cast<std::uint32_t>(
                   std::lround(std::clamp(next, kLeastShare, 1 - kLeastShare) * kWhole)),
               std::memory_order_relaxed);
}

double LaneRouter::share() const {
  return static_cast<double>(share_.load(std::memory_order_relaxed)) / kWhole;
}

LaneCounts LaneRouter::counts() const {
  LaneCounts counts;
  counts.gpu = gpu_.load(std::memory_order_relaxed);
  counts.cpu = cpu_.load(std::memory_order_relaxed) + forced_.load(std::memory_order_relaxed);
  counts.large = large_.load(std::memory_order_relaxed);
  counts.late = late_.load(std::memory_order_relaxed);
  for (std::size_t i = 0; i < refusals_.size(); ++i)
    counts.refusals[i] = refusals_[i].load(std::memory_order_relaxed);
  return counts;
}

}  // namespace sluice::loader::gpu
