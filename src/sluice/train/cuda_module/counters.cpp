// sluice/train/cuda_module/counters.cpp - one range around the work, the work again for every pass
// that its counters need.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda_module/counters.h"

#include "sluice/train/cuda_module/cupti.h"

#include <cuda_runtime_api.h>

#include <cstdio>
#include <cupti_profiler_host.h>
#include <cupti_profiler_target.h>
#include <cupti_range_profiler.h>
#include <cupti_target.h>
#include <dlfcn.h>
#include <exception>
#include <vector>

namespace sluice::train::cuda {
namespace {

constexpr int kMostPasses = 64;

struct Why {
  char* text;
  std::size_t bytes;
  int refuse(const char* format, const char* value) const {
    std::snprintf(text, bytes, format, value);
    return kFailed;
  }
};

template <class Params>
Params sized(std::size_t bytes) {
  Params params{};
  params.structSize = bytes;
  return params;
}
#define SLUICE_CUPTI_PARAMS(type) sized<type>(type##_STRUCT_SIZE)

/// A function of CUPTI by name, called with its one argument.
template <class Params>
int call(const char* name, CUptiResult (*)(Params*), Params& params, const Why& why) {
  const auto function = reinterpret_cast<CUptiResult (*)(Params*)>(dlsym(cupti().library, name));
  if (function == nullptr) return why.refuse("CUPTI has no %s", name);
  const CUptiResult result = function(&params);
  return result == CUPTI_SUCCESS ? int{kDone} : refuse(name, result, why.text, why.bytes);
}
// The declaration gives the type, the name finds the function.
#define SLUICE_CUPTI_CALL(function, params, why) \
  call(#function, static_cast<decltype(&function)>(nullptr), params, why)

int context_of(int index, CUcontext* context, const Why& why) {
  cudaError_t error = cudaSetDevice(index);
  if (error == cudaSuccess) error = cudaFree(nullptr);  // makes the context where there is none
  if (error != cudaSuccess) return why.refuse("counters: %s", cudaGetErrorString(error));
  void* driver = dlopen("libcuda.so.1", RTLD_NOW | RTLD_LOCAL);
  const auto current =
      driver == nullptr
          ? nullptr
          : reinterpret_cast<decltype(&cuCtxGetCurrent)>(dlsym(driver, "cuCtxGetCurrent"));
  if (current == nullptr || current(context) != CUDA_SUCCESS || *context == nullptr)
    return why.refuse("counters: %s has no current context", "the driver");
  return kDone;
}

/// What is counted, as CUPTI plans it for a chip.
class Plan {
 public:
  ~Plan() {
    if (host_ == nullptr) return;
    auto params = SLUICE_CUPTI_PARAMS(CUpti_Profiler_Host_Deinitialize_Params);
    params.pHostObject = host_;
    char ignored[64];
    static_cast<void>(
        SLUICE_CUPTI_CALL(cuptiProfilerHostDeinitialize, params, (Why{ignored, sizeof ignored})));
  }
  Plan() = default;
  Plan(const Plan&) = delete;
  Plan& operator=(const Plan&) = delete;

  int make(int index, std::vector<const char*> names, const Why& why) {
    names_ = std::move(names);
    auto chip = SLUICE_CUPTI_PARAMS(CUpti_Device_GetChipName_Params);
    chip.deviceIndex = static_cast<std::size_t>(index);
    if (const int failed = SLUICE_CUPTI_CALL(cuptiDeviceGetChipName, chip, why)) return failed;
    auto host = SLUICE_CUPTI_PARAMS(CUpti_Profiler_Host_Initialize_Params);
    host.profilerType = CUPTI_PROFILER_TYPE_RANGE_PROFILER;
    host.pChipName = chip.pChipName;
    if (const int failed = SLUICE_CUPTI_CALL(cuptiProfilerHostInitialize, host, why)) return failed;
    host_ = host.pHostObject;
    auto add = SLUICE_CUPTI_PARAMS(CUpti_Profiler_Host_ConfigAddMetrics_Params);
    add.pHostObject = host_;
    add.ppMetricNames = names_.data();
    add.numMetrics = names_.size();
    if (const int failed = SLUICE_CUPTI_CALL(cuptiProfilerHostConfigAddMetrics, add, why))
      return failed;
    auto size = SLUICE_CUPTI_PARAMS(CUpti_Profiler_Host_GetConfigImageSize_Params);
    size.pHostObject = host_;
    if (const int failed = SLUICE_CUPTI_CALL(cuptiProfilerHostGetConfigImageSize, size, why))
      return failed;
    image_.resize(size.configImageSize);
    auto image = SLUICE_CUPTI_PARAMS(CUpti_Profiler_Host_GetConfigImage_Params);
    image.pHostObject = host_;
    image.configImageSize = image_.size();
    image.pConfigImage = image_.data();
    return SLUICE_CUPTI_CALL(cuptiProfilerHostGetConfigImage, image, why);
  }

  int values_of(const std::vector<std::uint8_t>& data, double* values, const Why& why) {
    auto evaluate = SLUICE_CUPTI_PARAMS(CUpti_Profiler_Host_EvaluateToGpuValues_Params);
    evaluate.pHostObject = host_;
    evaluate.pCounterDataImage = data.data();
    evaluate.counterDataImageSize = data.size();
    evaluate.ppMetricNames = names_.data();
    evaluate.numMetrics = names_.size();
    evaluate.pMetricValues = values;
    return SLUICE_CUPTI_CALL(cuptiProfilerHostEvaluateToGpuValues, evaluate, why);
  }

  [[nodiscard]] const std::vector<std::uint8_t>& image() const { return image_; }
  std::vector<const char*>& names() { return names_; }

 private:
  CUpti_Profiler_Host_Object* host_ = nullptr;
  std::vector<const char*> names_;
  std::vector<std::uint8_t> image_;
};

/// The counters of a context are ours while this lives.
class Counting {
 public:
  ~Counting() {
    if (profiler_ == nullptr) return;
    auto params = SLUICE_CUPTI_PARAMS(CUpti_RangeProfiler_Disable_Params);
    params.pRangeProfilerObject = profiler_;
    char ignored[64];
    static_cast<void>(
        SLUICE_CUPTI_CALL(cuptiRangeProfilerDisable, params, (Why{ignored, sizeof ignored})));
  }
  Counting() = default;
  Counting(const Counting&) = delete;
  Counting& operator=(const Counting&) = delete;

  int begin(CUcontext context, Plan& plan, const Why& why) {
    auto enable = SLUICE_CUPTI_PARAMS(CUpti_RangeProfiler_Enable_Params);
    enable.ctx = context;
    if (const int failed = SLUICE_CUPTI_CALL(cuptiRangeProfilerEnable, enable, why)) return failed;
    profiler_ = enable.pRangeProfilerObject;
    auto size = SLUICE_CUPTI_PARAMS(CUpti_RangeProfiler_GetCounterDataSize_Params);
    size.pRangeProfilerObject = profiler_;
    size.pMetricNames = plan.names().data();
    size.numMetrics = plan.names().size();
    size.maxNumOfRanges = 1;
    size.maxNumRangeTreeNodes = 1;
    if (const int failed = SLUICE_CUPTI_CALL(cuptiRangeProfilerGetCounterDataSize, size, why))
      return failed;
    data_.resize(size.counterDataSize);
    auto clear = SLUICE_CUPTI_PARAMS(CUpti_RangeProfiler_CounterDataImage_Initialize_Params);
    clear.pRangeProfilerObject = profiler_;
    clear.counterDataSize = data_.size();
    clear.pCounterData = data_.data();
    if (const int failed =
            SLUICE_CUPTI_CALL(cuptiRangeProfilerCounterDataImageInitialize, clear, why))
      return failed;
    auto config = SLUICE_CUPTI_PARAMS(CUpti_RangeProfiler_SetConfig_Params);
    config.pRangeProfilerObject = profiler_;
    config.configSize = plan.image().size();
    config.pConfig = plan.image().data();
    config.counterDataImageSize = data_.size();
    config.pCounterDataImage = data_.data();
    config.range = CUPTI_UserRange;
    config.replayMode = CUPTI_UserReplay;
    config.maxRangesPerPass = 1;
    config.numNestingLevels = 1;
    config.minNestingLevel = 1;
    return SLUICE_CUPTI_CALL(cuptiRangeProfilerSetConfig, config, why);
  }

  /// The work once; `*complete`: every counter has been read.
  int pass(CountedWork* work, void* context, bool* complete, const Why& why) {
    auto start = SLUICE_CUPTI_PARAMS(CUpti_RangeProfiler_Start_Params);
    start.pRangeProfilerObject = profiler_;
    if (const int failed = SLUICE_CUPTI_CALL(cuptiRangeProfilerStart, start, why)) return failed;
    auto push = SLUICE_CUPTI_PARAMS(CUpti_RangeProfiler_PushRange_Params);
    push.pRangeProfilerObject = profiler_;
    push.pRangeName = "work";
    if (const int failed = SLUICE_CUPTI_CALL(cuptiRangeProfilerPushRange, push, why)) return failed;
    const int worked = work(context);
    auto pop = SLUICE_CUPTI_PARAMS(CUpti_RangeProfiler_PopRange_Params);
    pop.pRangeProfilerObject = profiler_;
    const int popped = SLUICE_CUPTI_CALL(cuptiRangeProfilerPopRange, pop, why);
    auto stop = SLUICE_CUPTI_PARAMS(CUpti_RangeProfiler_Stop_Params);
    stop.pRangeProfilerObject = profiler_;
    const int stopped = SLUICE_CUPTI_CALL(cuptiRangeProfilerStop, stop, why);
    if (worked != kDone) return why.refuse("counters: %s failed", "the work");
    *complete = stop.isAllPassSubmitted != 0;
    return popped != kDone ? popped : stopped;
  }

  int decode(const Why& why) {
    auto params = SLUICE_CUPTI_PARAMS(CUpti_RangeProfiler_DecodeData_Params);
    params.pRangeProfilerObject = profiler_;
    return SLUICE_CUPTI_CALL(cuptiRangeProfilerDecodeData, params, why);
  }
  [[nodiscard]] const std::vector<std::uint8_t>& data() const { return data_; }

 private:
  CUpti_RangeProfiler_Object* profiler_ = nullptr;
  std::vector<std::uint8_t> data_;
};

int count_with(CUcontext context, Plan& plan, CountedWork* work, void* work_context, double* values,
               const Why& why) {
  Counting counting;
  if (const int failed = counting.begin(context, plan, why)) return failed;
  bool complete = false;
  for (int pass = 0; !complete; ++pass) {
    if (pass == kMostPasses) return why.refuse("counters: %s than 64 passes are needed", "more");
    if (const int failed = counting.pass(work, work_context, &complete, why)) return failed;
  }
  if (const int failed = counting.decode(why)) return failed;
  return plan.values_of(counting.data(), values, why);
}

}  // namespace

int count(int index, const char* const* names, std::size_t number, CountedWork* work, void* context,
          double* values, char* why_text, std::size_t why_bytes) {
  const Why why{why_text, why_bytes};
  if (!cupti().why.empty()) return why.refuse("%s", cupti().why.c_str());
  try {
    CUcontext current = nullptr;
    if (const int failed = context_of(index, &current, why)) return failed;
    auto initialize = SLUICE_CUPTI_PARAMS(CUpti_Profiler_Initialize_Params);
    if (const int failed = SLUICE_CUPTI_CALL(cuptiProfilerInitialize, initialize, why))
      return failed;
    int result = kDone;
    {
      Plan plan;
      result = plan.make(index, {names, names + number}, why);
      if (result == kDone) result = count_with(current, plan, work, context, values, why);
    }
    char ignored[64];
    auto finish = SLUICE_CUPTI_PARAMS(CUpti_Profiler_DeInitialize_Params);
    static_cast<void>(
        SLUICE_CUPTI_CALL(cuptiProfilerDeInitialize, finish, (Why{ignored, sizeof ignored})));
    return result;
  } catch (const std::exception& error) {
    why.refuse("out of host memory: %s", error.what());
    return kOutOfMemory;
  }
}

}  // namespace sluice::train::cuda
