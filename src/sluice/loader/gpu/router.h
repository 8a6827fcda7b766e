// sluice/loader/gpu/router.h - which samples a GPU decodes and which the CPU: shares found at run
// time, counted.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/loader/gpu/jpeg_header.h"

#include <array>
#include <atomic>
#include <cstdint>
#include <string_view>

namespace sluice::loader::gpu {

enum class LanePolicy : std::uint8_t {
  cpu,     // the CPU decodes everything
  gpu,     // engines decode what they take
  hybrid,  // both, each as much as it can
};
const char* to_string(LanePolicy policy);
Result<LanePolicy> lane_policy(std::string_view name);  // usage

struct LaneCounts {
  std::uint64_t gpu = 0;  // samples given to the engines
  std::uint64_t cpu = 0;
  /// Of those of the CPU, why engines could not have them: by Refusal; [none]: they could.
  std::array<std::uint64_t, kRefusals> refusals{};
  std::uint64_t large = 0;  // more bytes than a place holds, or too many pixels
  std::uint64_t late = 0;   // given to the engines, refused there, decoded by the CPU
};
Json to_json(const LaneCounts& counts);

/// Thread-safe, without locks. Time is measured where it is spent: by workers for a sample of
/// either lane, by who feeds the device for a batch. The share p of the engines, in what they take,
/// makes both sides take as long: p * engine = (forced + (1 - p) * cpu + p * copy) / workers, all
/// per sample that they take; forced: what workers spend on samples that the engines do not take.
class LaneRouter {
 public:
  LaneRouter(LanePolicy policy, int workers);

  /// For workers: whether the engines shall have this sample, which they take.
  bool take();
  void made_for_gpu(std::int64_t ns);
  /// `look`: what kept it from the engines, if anything did.
  void made_by_cpu(std::int64_t ns, Refusal look, bool large);

  /// For who feeds the device.
  void decoded(std::uint64_t samples, std::int64_t ns);
  void refused_late(std::uint64_t samples);

  [[nodiscard]] LanePolicy policy() const { return policy_; }
  [[nodiscard]] double share() const;  // of the engines, in what they take
  [[nodiscard]] LaneCounts counts() const;

 private:
  void find_share();

  static constexpr std::uint32_t kWhole = 1024;  // of a share
  LanePolicy policy_;
  int workers_;
  std::atomic<std::uint32_t> share_, due_{0};
  // Sums, and what they were when the share was last found.
  std::atomic<std::uint64_t> gpu_{0}, cpu_{0};  // of what the engines take
  std::atomic<std::uint64_t> forced_{0};        // by the CPU, since the engines do not take it
  std::atomic<std::uint64_t> late_{0}, large_{0};
  std::array<std::atomic<std::uint64_t>, kRefusals> refusals_{};
  std::atomic<std::int64_t> gpu_ns_{0}, cpu_ns_{0}, forced_ns_{0};
  struct Seen {
    std::uint64_t gpu = 0, cpu = 0;
    std::int64_t gpu_ns = 0, cpu_ns = 0, forced_ns = 0;
    std::uint64_t decoded = 0;
    std::int64_t decoded_ns = 0;
  };
  Seen seen_;  // of the thread that feeds
  std::uint64_t decoded_ = 0;
  std::int64_t decoded_ns_ = 0;
};

}  // namespace sluice::loader::gpu
