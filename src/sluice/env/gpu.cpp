// sluice/env/gpu.cpp - the list of GPUs from NVML's answers, and which of them CUDA would show.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/text.h"
#include "sluice/env/nvml.h"
#include "sluice/env/system_root.h"

#include <fmt/format.h>

#include <algorithm>
#include <type_traits>

namespace sluice::env {
namespace {

// Converts an answer, or keeps why there is none.
template <class T, class U, class Convert>
Known<T> known(const Result<U>& answer, Convert convert) {
  if (answer) return Known<T>(convert(*answer));
  return Known<T>::unknown(answer.error().message);
}
template <class T>
Known<T> known(const Result<T>& answer) {
  return known<T>(answer, [](const T& value) { return value; });
}
Known<std::int64_t> whole(const Result<unsigned>& answer) {
  return known<std::int64_t>(answer, [](unsigned n) { return std::int64_t{n}; });
}

Gpu read_gpu(Nvml& nvml, unsigned index) {
  Gpu gpu;
  gpu.index = index;
  gpu.name = known(nvml.name(index));
  gpu.memory_bytes = known(nvml.memory_bytes(index));
  gpu.compute_capability = known<std::string>(nvml.compute_capability(index), [](int capability) {
    return fmt::format("{}.{}", capability / 10, capability % 10);
  });
  gpu.sm_clock_mhz = whole(nvml.clock_mhz(index, Nvml::Clock::sm));
  gpu.max_sm_clock_mhz = whole(nvml.max_clock_mhz(index, Nvml::Clock::sm));
  gpu.max_memory_clock_mhz = whole(nvml.max_clock_mhz(index, Nvml::Clock::memory));
  gpu.power_limit_w =
      known<double>(nvml.power_limit_mw(index), [](unsigned mw) { return mw / 1000.0; });
  gpu.ecc = known(nvml.ecc(index));
  gpu.mig = known(nvml.mig(index));
  gpu.persistence = known(nvml.persistence(index));
  return gpu;
}

// CUDA takes entries up to the first that names no device, and nothing at all when one is named
// twice. An entry is an index, or the beginning of a UUID that fits exactly one device.
std::vector<unsigned> visible_indices(Nvml& nvml, unsigned count, const std::string& list) {
  std::vector<unsigned> visible;
  for (const std::string& raw : split(list, ',')) {
    const std::string entry(trim(raw));
    std::vector<unsigned> matches;
    if (const auto number = parse_int(entry)) {
      if (*number >= 0 && *number < std::int64_t{count}) {
        matches.push_back(static_cast<unsigned>(*number));
      }
    } else if (entry.starts_with("MIG-")) {
      // A slice: which card it belongs to is not told, so all cards that are sliced stay visible.
      for (unsigned i = 0; i < count; ++i) {
        const auto mig = nvml.mig(i);
        if (mig && *mig) visible.push_back(i);
      }
      break;
    } else if (entry.starts_with("GPU-")) {
      for (unsigned i = 0; i < count; ++i) {
        const auto uuid = nvml.uuid(i);
        if (uuid && uuid->starts_with(entry)) matches.push_back(i);
      }
    }
    if (matches.size() != 1) break;
    if (std::find(visible.begin(), visible.end(), matches[0]) != visible.end()) return {};
    visible.push_back(matches[0]);
  }
  return visible;
}

}  // namespace

Gpus no_gpus(const std::string& why) {
  Gpus gpus;
  gpus.driver_version = gpus.cuda_version = Known<std::string>::unknown(why);
  return gpus;
}

Gpus read_gpus(Nvml& nvml, const std::optional<std::string>& visible_devices) {
  constexpr unsigned kMostGpus = 1024;
  Gpus gpus;
  gpus.driver_version = known(nvml.driver_version());
  gpus.cuda_version = known<std::string>(nvml.cuda_version(), [](int version) {
    return fmt::format("{}.{}", version / 1000, version % 1000 / 10);
  });
  const auto answer = nvml.count();
  const unsigned count = answer ? std::min(*answer, kMostGpus) : 0;
  for (unsigned i = 0; i < count; ++i)
    gpus.devices.push_back(read_gpu(nvml, i));
  if (!visible_devices) return gpus;
  const std::vector<unsigned> visible = visible_indices(nvml, count, *visible_devices);
  for (Gpu& gpu : gpus.devices) {
    gpu.visible = std::find(visible.begin(), visible.end(), static_cast<unsigned>(gpu.index)) !=
                  visible.end();
  }
  return gpus;
}

}  // namespace sluice::env
