// sluice/loader/gpu_module/nvjpeg_abi.cpp - looks for libnvjpeg where toolkits and Python packages
// put it.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/gpu_module/nvjpeg_abi.h"

#include <cstdio>
#include <cstdlib>
#include <dlfcn.h>
#include <glob.h>
#include <string>

namespace sluice::loader::gpu::nvjpeg {
namespace {

constexpr const char* kNames[] = {"libnvjpeg.so.13", "libnvjpeg.so.12"};

/// Patterns of glob(3), the likeliest first. Wheels of torchvision carry a copy of their own.
std::string usual_places() {
  std::string all =
      "/usr/local/cuda*/targets/*/lib/libnvjpeg.so.1[23]\n"
      "/usr/local/cuda*/lib64/libnvjpeg.so.1[23]\n"
      "/usr/lib/*/libnvjpeg.so.1[23]\n";
  const auto packages = [&](const std::string& root) {
    all += root + "/lib/python3*/site-packages/nvidia/*/lib/libnvjpeg.so.1[23]\n";
    all += root + "/lib/python3*/site-packages/torchvision.libs/libnvjpeg*.so.1[23]\n";
  };
  if (const char* root = std::getenv("VIRTUAL_ENV")) packages(root);
  for (const char* root : {"/opt/*", "/opt/*/.venv", "/usr", "/usr/local"})
    packages(root);
  return all;
}

void* find(char* path, std::size_t path_bytes) {
  for (const char* name : kNames)
    if (void* library = dlopen(name, RTLD_NOW | RTLD_LOCAL)) {
      std::snprintf(path, path_bytes, "%s", name);
      return library;
    }
  const std::string places = usual_places();
  for (std::size_t begin = 0; begin < places.size();) {
    const std::size_t end = places.find('\n', begin);
    glob_t found{};
    void* library = nullptr;
    if (glob(places.substr(begin, end - begin).c_str(), 0, nullptr, &found) == 0)
      for (std::size_t i = found.gl_pathc; i > 0 && library == nullptr; --i) {  // 13 before 12
        std::snprintf(path, path_bytes, "%s", found.gl_pathv[i - 1]);
        library = dlopen(found.gl_pathv[i - 1], RTLD_NOW | RTLD_LOCAL);
      }
    globfree(&found);
    if (library != nullptr) return library;
    begin = end + 1;
  }
  return nullptr;
}

template <class Function>
bool take(void* library, const char* name, Function& function, char* why, std::size_t why_bytes) {
  function = reinterpret_cast<Function>(dlsym(library, name));
  if (function == nullptr) std::snprintf(why, why_bytes, "libnvjpeg has no %s", name);
  return function != nullptr;
}

}  // namespace

const char* status_name(int status) {
  constexpr const char* kStatus[] = {
      "success",          "not initialised",   "invalid parameter",   "bad JPEG",
      "JPEG unsupported", "allocator failure", "execution failed",    "architecture mismatch",
      "internal error",   "not implemented",   "incomplete bitstream"};
  constexpr int kCount = sizeof kStatus / sizeof kStatus[0];
  return status >= 0 && status < kCount ? kStatus[status] : "unknown status";
}

bool load(const char* file, Functions& functions, char* path, std::size_t path_bytes, char* why,
          std::size_t why_bytes) {
  if (file == nullptr || *file == '\0') file = std::getenv("SLUICE_NVJPEG");
  void* library = nullptr;
  if (file != nullptr && *file != '\0') {
    std::snprintf(path, path_bytes, "%s", file);
    library = dlopen(file, RTLD_NOW | RTLD_LOCAL);
    if (library == nullptr) {
      const char* text = dlerror();
      std::snprintf(why, why_bytes, "libnvjpeg cannot be loaded: %s", text != nullptr ? text : "?");
      return false;
    }
  } else {
    library = find(path, path_bytes);
    if (library == nullptr) {
      std::snprintf(why, why_bytes,
                    "libnvjpeg.so.13 or .12 is not found; it comes with the CUDA toolkit or the "
                    "Python package nvidia-nvjpeg (SLUICE_NVJPEG names its file)");
      return false;
    }
  }
  Functions& f = functions;
  return take(library, "nvjpegGetProperty", f.GetProperty, why, why_bytes) &&
         take(library, "nvjpegCreateEx", f.CreateEx, why, why_bytes) &&
         take(library, "nvjpegDestroy", f.Destroy, why, why_bytes) &&
         take(library, "nvjpegGetHardwareDecoderInfo", f.GetHardwareDecoderInfo, why, why_bytes) &&
         take(library, "nvjpegJpegStateCreate", f.JpegStateCreate, why, why_bytes) &&
         take(library, "nvjpegJpegStateDestroy", f.JpegStateDestroy, why, why_bytes) &&
         take(library, "nvjpegDecodeBatchedInitialize", f.DecodeBatchedInitialize, why,
              why_bytes) &&
         take(library, "nvjpegDecodeBatched", f.DecodeBatched, why, why_bytes);
}

}  // namespace sluice::loader::gpu::nvjpeg
