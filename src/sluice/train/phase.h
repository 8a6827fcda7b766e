// sluice/train/phase.h - the named parts of a training step, the same on every backend.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <array>
#include <chrono>
#include <cstdint>
#include <string_view>

namespace sluice::train {

/// In the order of a step. data: waiting for a batch; transfer: its copy to where the engine reads
/// it; grad_sync: between ranks (zero on one).
enum class Phase : std::uint8_t {
  data,
  transfer,
  forward,
  loss,
  backward,
  grad_sync,
  optimizer_step
};
inline constexpr std::array<Phase, 7> kPhases{
    Phase::data,     Phase::transfer,  Phase::forward,       Phase::loss,
    Phase::backward, Phase::grad_sync, Phase::optimizer_step};
constexpr std::string_view to_string(Phase phase) {
  constexpr std::array<std::string_view, 7> kNames{"data",     "transfer",  "forward",       "loss",
                                                   "backward", "grad_sync", "optimizer_step"};
  return kNames[static_cast<std::size_t>(phase)];
}

/// The clock of every time in this room, nanoseconds.
inline std::int64_t now_ns() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

/// Nanoseconds of one step by phase.
using PhaseTimes = std::array<std::int64_t, kPhases.size()>;

/// One op that ran: for profiles. `name` and `category` outlive the engine's program.
struct OpSpan {
  const char* name = nullptr;
  const char* category = nullptr;
  std::int64_t start_ns = 0;
  std::int64_t end_ns = 0;
};
/// Times are std::chrono::steady_clock's, device events moved onto it.
/// Receives every phase and op of a step while it is set on the engine (profile pass); never in a
/// measured one.
class StepObserver {
 public:
  virtual ~StepObserver() = default;
  virtual void phase(Phase phase, std::int64_t start_ns, std::int64_t end_ns) = 0;
  virtual void op(const OpSpan& span) = 0;
};

}  // namespace sluice::train
