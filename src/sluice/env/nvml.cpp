// sluice/env/nvml.cpp - libnvidia-ml.so.1 through dlopen, so that one program runs with and without
// a driver.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/env/nvml.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <array>
#include <dlfcn.h>

namespace sluice::env {
namespace {

// The part of NVML's C interface we call; nvml.h is not in every toolkit. The interface is
// versioned by symbol name, so these declarations hold for every driver that has the symbol.
using Return = int;  // 0: success
using Device = struct DeviceTag*;
struct MemoryInfo {
  unsigned long long total, free, used;
};
struct Utilisation {
  unsigned gpu, memory;
};
constexpr unsigned kInitWithoutGpus = 1;  // a driver without a card is not an error

class LoadedNvml final : public Nvml {
 public:
  static Result<std::unique_ptr<Nvml>> load() {
    auto self = std::unique_ptr<LoadedNvml>(new LoadedNvml());
    self->library_ = ::dlopen("libnvidia-ml.so.1", RTLD_NOW | RTLD_LOCAL);
    if (self->library_ == nullptr) {
      return Error{Errc::unsupported, "libnvidia-ml.so.1 could not be loaded: no NVIDIA driver"};
    }
    SLUICE_CHECK(self->call("nvmlInitWithFlags", kInitWithoutGpus));
    self->initialised_ = true;
    return std::unique_ptr<Nvml>(std::move(self));
  }
  LoadedNvml(const LoadedNvml&) = delete;
  LoadedNvml& operator=(const LoadedNvml&) = delete;
  ~LoadedNvml() override {
    if (initialised_) (void)call("nvmlShutdown");
    if (library_ != nullptr) ::dlclose(library_);
  }

  Result<std::string> driver_version() override {
    std::array<char, 96> text{};
    SLUICE_CHECK(call("nvmlSystemGetDriverVersion", text.data(), unsigned{text.size()}));
    return printable(text.data());
  }
  Result<int> cuda_version() override {
    int version = 0;
    SLUICE_CHECK(call("nvmlSystemGetCudaDriverVersion_v2", &version));
    return version;
  }
  Result<unsigned> count() override {
    unsigned count = 0;
    SLUICE_CHECK(call("nvmlDeviceGetCount_v2", &count));
    return count;
  }
  Result<std::string> name(unsigned index) override {
    std::array<char, 96> text{};
    SLUICE_CHECK(call_on(index, "nvmlDeviceGetName", text.data(), unsigned{text.size()}));
    return printable(text.data());
  }
  Result<std::string> uuid(unsigned index) override {
    std::array<char, 96> text{};
    SLUICE_CHECK(call_on(index, "nvmlDeviceGetUUID", text.data(), unsigned{text.size()}));
    return std::string(text.data());
  }
  Result<std::int64_t> memory_bytes(unsigned index) override {
    MemoryInfo info{};
    SLUICE_CHECK(call_on(index, "nvmlDeviceGetMemoryInfo", &info));
    return static_cast<std::int64_t>(info.total);
  }
  Result<int> compute_capability(unsigned index) override {
    int major = 0;
    int minor = 0;
    SLUICE_CHECK(call_on(index, "nvmlDeviceGetCudaComputeCapability", &major, &minor));
    return 10 * major + minor;
  }
  Result<unsigned> clock_mhz(unsigned index, Clock clock) override {
    unsigned mhz = 0;
    SLUICE_CHECK(call_on(index, "nvmlDeviceGetClockInfo", static_cast<int>(clock), &mhz));
    return mhz;
  }
  Result<unsigned> max_clock_mhz(unsigned index, Clock clock) override {
    unsigned mhz = 0;
    SLUICE_CHECK(call_on(index, "nvmlDeviceGetMaxClockInfo", static_cast<int>(clock), &mhz));
    return mhz;
  }
  Result<unsigned> power_limit_mw(unsigned index) override {
    unsigned milliwatts = 0;
    SLUICE_CHECK(call_on(index, "nvmlDeviceGetEnforcedPowerLimit", &milliwatts));
    return milliwatts;
  }
  Result<bool> ecc(unsigned index) override {
    int current = 0;
    int pending = 0;
    SLUICE_CHECK(call_on(index, "nvmlDeviceGetEccMode", &current, &pending));
    return current != 0;
  }
  Result<bool> mig(unsigned index) override {
    unsigned current = 0;
    unsigned pending = 0;
    SLUICE_CHECK(call_on(index, "nvmlDeviceGetMigMode", &current, &pending));
    return current != 0;
  }
  Result<unsigned> utilisation_percent(unsigned index) override {
    Utilisation use{};
    SLUICE_CHECK(call_on(index, "nvmlDeviceGetUtilizationRates", &use));
    return use.gpu;
  }
  Result<std::int64_t> used_bytes(unsigned index) override {
    MemoryInfo info{};
    SLUICE_CHECK(call_on(index, "nvmlDeviceGetMemoryInfo", &info));
    return static_cast<std::int64_t>(info.used);
  }
  Result<unsigned> power_mw(unsigned index) override {
    unsigned milliwatts = 0;
    SLUICE_CHECK(call_on(index, "nvmlDeviceGetPowerUsage", &milliwatts));
    return milliwatts;
  }
  Result<bool> held_by_power(unsigned index) override {
    constexpr unsigned long long kPowerCap = 0x4, kPowerBrake = 0x80;
    unsigned long long reasons = 0;
    SLUICE_CHECK(call_on(index, "nvmlDeviceGetCurrentClocksThrottleReasons", &reasons));
    return (reasons & (kPowerCap | kPowerBrake)) != 0;
  }
  Result<bool> persistence(unsigned index) override {
    int mode = 0;
    SLUICE_CHECK(call_on(index, "nvmlDeviceGetPersistenceMode", &mode));
    return mode != 0;
  }

 private:
  LoadedNvml() = default;

  /// Null when the driver does not have it. (Not a Result: g++ 12 calls its members shadowed by
  /// functions.)
  template <class Signature>
  Signature* symbol(const char* name) {
    return reinterpret_cast<Signature*>(::dlsym(library_, name));
  }
  Error failure(const char* name, Return code) {
    auto* const text = symbol<const char*(Return)>("nvmlErrorString");
    const char* why = text != nullptr ? text(code) : nullptr;
    return Error{Errc::unsupported, why != nullptr ? fmt::format("{}: {}", name, printable(why))
                                                   : fmt::format("{}: error {}", name, code)};
  }
  template <class... Args>
  Status call(const char* name, Args... args) {
    auto* const function = symbol<Return(Args...)>(name);
    if (function == nullptr) {
      return Error{Errc::unsupported, fmt::format("the driver has no {}", name)};
    }
    if (const Return code = function(args...); code != 0) return failure(name, code);
    return ok;
  }
  template <class... Args>
  Status call_on(unsigned index, const char* name, Args... args) {
    Device device = nullptr;
    SLUICE_CHECK(call("nvmlDeviceGetHandleByIndex_v2", index, &device));
    return call(name, device, args...);
  }

  void* library_ = nullptr;
  bool initialised_ = false;
};

}  // namespace

Result<unsigned> Nvml::utilisation_percent(unsigned) {
  return Error{Errc::unsupported, "the utilisation is not known"};
}

Result<std::int64_t> Nvml::used_bytes(unsigned) {
  return Error{Errc::unsupported, "the memory in use is not known"};
}

Result<unsigned> Nvml::power_mw(unsigned) {
  return Error{Errc::unsupported, "the power is not known"};
}

Result<bool> Nvml::held_by_power(unsigned) {
  return Error{Errc::unsupported, "what holds the clock is not known"};
}

Result<std::unique_ptr<Nvml>> load_nvml() {
  return LoadedNvml::load();
}

}  // namespace sluice::env
