// sluice/train/cuda_module/cupti.h - the functions of CUPTI that we call, found at run time: it
// costs tens of milliseconds to load and is not on every machine.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cupti.h>
#include <string>

namespace sluice::train::cuda {

struct Cupti {
  decltype(&cuptiActivityRegisterCallbacks) register_callbacks = nullptr;
  decltype(&cuptiActivityEnable) enable = nullptr;
  decltype(&cuptiActivityDisable) disable = nullptr;
  decltype(&cuptiActivityFlushAll) flush_all = nullptr;
  decltype(&cuptiActivityGetNextRecord) next_record = nullptr;
  decltype(&cuptiActivityGetNumDroppedRecords) dropped_records = nullptr;
  decltype(&cuptiActivityPushExternalCorrelationId) push_id = nullptr;
  decltype(&cuptiActivityPopExternalCorrelationId) pop_id = nullptr;
  decltype(&cuptiGetTimestamp) timestamp = nullptr;
  decltype(&cuptiGetResultString) result_string = nullptr;
  std::string why;  // empty: all of the above are there
  void* library = nullptr;
};

/// Loaded once, from the file in SLUICE_CUPTI where that is set; otherwise where the loader finds
/// it, beside cuBLASLt, or where the toolkit and PyPI's packages put it relative to that.
const Cupti& cupti();

/// "call: what CUPTI says" into `why`; kFailed.
int refuse(const char* call, CUptiResult error, char* why, std::size_t why_bytes);

}  // namespace sluice::train::cuda
