// sluice/train/cuda_module/cupti.cpp - looks for libcupti.so in the places it is installed at.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda_module/cupti.h"

#include "sluice/train/cuda/table.h"

#include <cublasLt.h>
#include <cuda_runtime_api.h>

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <vector>

namespace sluice::train::cuda {
namespace {

std::vector<std::string> candidates() {
  if (const char* named = std::getenv("SLUICE_CUPTI"); named != nullptr && *named != '\0')
    return {named};
  const std::string file = "libcupti.so." + std::to_string(CUDART_VERSION / 1000);
  std::vector<std::string> paths{file};
  Dl_info beside{};
  if (dladdr(reinterpret_cast<void*>(&cublasLtGetVersion), &beside) != 0 &&
      beside.dli_fname != nullptr) {
    const std::string library = beside.dli_fname;
    const std::size_t slash = library.rfind('/');
    const std::string folder = slash == std::string::npos ? "." : library.substr(0, slash);
    for (const char* place : {"/", "/../extras/CUPTI/lib64/", "/../extras/CUPTI/lib/",
                              "/../../../extras/CUPTI/lib64/", "/../../cuda_cupti/lib/"})
      paths.push_back(folder + place + file);
  }
  return paths;
}

template <class Function>
void find(void* library, const char* name, Function& function, std::string& why) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) why = std::string("CUPTI has no ") + name;
}

Cupti load() {
  Cupti made;
  void* library = nullptr;
  for (const std::string& path : candidates()) {
    library = dlopen(path.c_str(), RTLD_NOW | RTLD_LOCAL);
    if (library != nullptr) break;
    // The first says most: the others are guesses.
    if (made.why.empty()) made.why = std::string("CUPTI is not there: ") + dlerror();
  }
  if (library == nullptr) {
    made.why += "; SLUICE_CUPTI names the file of another";
    return made;
  }
  made.why.clear();
  made.library = library;
  find(library, "cuptiActivityRegisterCallbacks", made.register_callbacks, made.why);
  find(library, "cuptiActivityEnable", made.enable, made.why);
  find(library, "cuptiActivityDisable", made.disable, made.why);
  find(library, "cuptiActivityFlushAll", made.flush_all, made.why);
  find(library, "cuptiActivityGetNextRecord", made.next_record, made.why);
  find(library, "cuptiActivityGetNumDroppedRecords", made.dropped_records, made.why);
  find(library, "cuptiActivityPushExternalCorrelationId", made.push_id, made.why);
  find(library, "cuptiActivityPopExternalCorrelationId", made.pop_id, made.why);
  find(library, "cuptiGetTimestamp", made.timestamp, made.why);
  find(library, "cuptiGetResultString", made.result_string, made.why);
  return made;
}

}  // namespace

const Cupti& cupti() {
  static const Cupti loaded = load();
  return loaded;
}

int refuse(const char* call, CUptiResult error, char* why, std::size_t why_bytes) {
  const char* text = nullptr;
  if (cupti().result_string(error, &text) != CUPTI_SUCCESS || text == nullptr) text = "unknown";
  std::snprintf(why, why_bytes, "%s: %s%s", call, text,
                error == CUPTI_ERROR_MULTIPLE_SUBSCRIBERS_NOT_SUPPORTED
                    ? ": another profiler is attached to this process"
                    : "");
  return kFailed;
}

}  // namespace sluice::train::cuda
