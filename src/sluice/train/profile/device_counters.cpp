// sluice/train/profile/device_counters.cpp - names of counters, and steps while they count.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/profile/device_counters.h"

#include "sluice/train/cuda/counters.h"
#include "sluice/train/cuda/library.h"
#include "sluice/train/profile/step_runner.h"

#include <array>

namespace sluice::train {
namespace {

constexpr int kWarmup = 4;   // the first step searches products, the second captures
constexpr int kCounted = 3;  // steps of a pass

constexpr std::array<const char*, 4> kMemory = {
    "gpu__time_duration.sum", "dram__bytes_read.sum", "dram__bytes_write.sum",
    "dram__throughput.avg.pct_of_peak_sustained_elapsed"};
// Not every chip has it under this name: its absence is no error.
constexpr std::array<const char*, 1> kTensor = {
    "sm__pipe_tensor_cycles_active.avg.pct_of_peak_sustained_elapsed"};

}  // namespace

Result<DeviceCounters> count_step(const EngineConfig& config, const BatchSource& next,
                                  bool resident) {
  SLUICE_TRY(const int index, cuda::device_index(config.device));
  SLUICE_TRY(StepRunner runner, StepRunner::make(config, next, resident));
  SLUICE_CHECK(runner.steps(kWarmup));
  const auto work = [&runner] { return runner.steps(kCounted); };
  SLUICE_TRY(const auto memory, cuda::count(index, kMemory, work));
  DeviceCounters counters;
  counters.steps = kCounted;
  counters.seconds = memory[0] * 1e-9 / kCounted;
  counters.dram_read_bytes = memory[1] / kCounted;
  counters.dram_write_bytes = memory[2] / kCounted;
  counters.dram_share = memory[3] / 100;
  if (const auto tensor = cuda::count(index, kTensor, work))
    counters.tensor_share = (*tensor)[0] / 100;
  else if (tensor.error().code != Errc::unsupported)
    return tensor.error();
  return counters;
}

Json to_json(const DeviceCounters& counters) {
  return Json{{"steps", counters.steps},
              {"step_ms", counters.seconds * 1e3},
              {"dram_read_bytes", counters.dram_read_bytes},
              {"dram_write_bytes", counters.dram_write_bytes},
              {"dram_gigabytes_per_s", counters.dram_bytes_per_s() * 1e-9},
              {"dram_share", counters.dram_share},
              {"tensor_share", counters.tensor_share ? Json(*counters.tensor_share) : Json()}};
}

}  // namespace sluice::train
