// sluice/loader/gpu/driver.cpp - finds libcuda.so.1; its codes become errors.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/gpu/driver.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <chrono>
#include <cstdlib>
#include <dlfcn.h>
#include <thread>
#include <unistd.h>
#include <utility>

namespace sluice::loader::gpu {
namespace {

constexpr const char* kDriverFile = "libcuda.so.1";

template <class Function>
void find(void* library, const char* name, Function& function, std::string& missing) {
  function = reinterpret_cast<Function>(::dlsym(library, name));
  if (function == nullptr && missing.empty()) missing = name;
}

Result<Driver> load_driver() {
  const char* named = std::getenv("SLUICE_CUDA_DRIVER");
  const std::string file = named != nullptr && *named != '\0' ? named : kDriverFile;
  void* library = ::dlopen(file.c_str(), RTLD_NOW | RTLD_LOCAL);
  if (library == nullptr)
    return usage_error(
        fmt::format("there is no NVIDIA driver ({} cannot be loaded)", printable(file)));
  Driver driver{};
  std::string missing;
  find(library, "cuInit", driver.init, missing);
  find(library, "cuDeviceGetCount", driver.device_count, missing);
  find(library, "cuCtxGetDevice", driver.current_device, missing);
  find(library, "cuDevicePrimaryCtxRetain", driver.retain, missing);
  find(library, "cuDevicePrimaryCtxRelease_v2", driver.release, missing);
  find(library, "cuCtxPushCurrent_v2", driver.push, missing);
  find(library, "cuCtxPopCurrent_v2", driver.pop, missing);
  find(library, "cuCtxSynchronize", driver.synchronize, missing);
  find(library, "cuThreadExchangeStreamCaptureMode", driver.exchange_capture_mode, missing);
  find(library, "cuStreamCreate", driver.stream_create, missing);
  find(library, "cuStreamDestroy_v2", driver.stream_destroy, missing);
  find(library, "cuStreamWaitEvent", driver.stream_wait, missing);
  find(library, "cuStreamSynchronize", driver.stream_synchronize, missing);
  find(library, "cuEventCreate", driver.event_create, missing);
  find(library, "cuEventDestroy_v2", driver.event_destroy, missing);
  find(library, "cuEventRecord", driver.event_record, missing);
  find(library, "cuEventQuery", driver.event_query, missing);
  find(library, "cuEventElapsedTime", driver.event_elapsed, missing);
  find(library, "cuMemAlloc_v2", driver.allocate, missing);
  find(library, "cuMemFree_v2", driver.free, missing);
  find(library, "cuMemHostAlloc", driver.pin, missing);
  find(library, "cuMemFreeHost", driver.unpin, missing);
  find(library, "cuMemcpyHtoDAsync_v2", driver.copy_to_device, missing);
  find(library, "cuMemcpyDtoHAsync_v2", driver.copy_to_host, missing);
  find(library, "cuGetErrorString", driver.error_text, missing);
  if (!missing.empty())
    return usage_error(fmt::format("the NVIDIA driver {} has no {}", printable(file), missing));
  find(library, "cuCtxRecordEvent", driver.context_record, missing);
  return driver;
}

/// Loaded once: a driver is never unloaded.
const Result<Driver>& the_driver() {
  static const Result<Driver> loaded = load_driver();
  return loaded;
}

std::string text_of(const Driver& driver, int code) {
  const char* text = nullptr;
  if (driver.error_text(code, &text) != 0 || text == nullptr)
    return fmt::format("error {} of the driver", code);
  return printable(text);
}

class DevicePinned final : public PinnedAllocator {
 public:
  explicit DevicePinned(std::shared_ptr<const Device> device) : device_(std::move(device)) {}
  Result<std::span<std::byte>> allocate(std::size_t bytes) override {
    const Device::Entered inside(*device_);
    void* memory = nullptr;
    SLUICE_CHECK(device_->status(device_->driver().pin(&memory, bytes, Driver::kPortable),
                                 fmt::format("{} bytes of pinned memory", bytes)));
    return std::span(static_cast<std::byte*>(memory), bytes);
  }
  void free(std::span<std::byte> memory) override {
    if (!device_->here()) return;
    const Device::Entered inside(*device_);
    (void)device_->driver().synchronize();  // whoever still copies from it
    (void)device_->driver().unpin(memory.data());
  }

 private:
  std::shared_ptr<const Device> device_;
};

}  // namespace

Device::Device(const Driver* driver, int index, void* context)
    : driver_(driver), index_(index), context_(context), process_(::getpid()) {}

Result<std::shared_ptr<const Device>> Device::open(int index, std::string_view asked,
                                                   std::string_view otherwise) {
  const Result<Driver>& loaded = the_driver();
  const auto refused = [&](const std::string& why) {
    return usage_error(fmt::format("{}, and {}; accepted: {}", asked, why, otherwise));
  };
  if (!loaded) return refused(loaded.error().message);
  const Driver& driver = *loaded;
  int count = 0;
  int code = driver.init(0);
  if (code == 0) code = driver.device_count(&count);
  if (code != 0)
    return refused(fmt::format("the NVIDIA driver does not start: {}", text_of(driver, code)));
  if (count == 0) return refused("the NVIDIA driver has no GPU");
  if (index < 0 && driver.current_device(&index) != 0) index = 0;
  if (index < 0 || index >= count)
    return usage_error(fmt::format("{}; accepted: {}, cuda, cuda:0{}", asked, otherwise,
                                   count > 1 ? fmt::format(" to cuda:{}", count - 1) : ""));
  void* context = nullptr;
  code = driver.retain(&context, index);
  if (code != 0)
    return refused(fmt::format("cuda:{} does not start: {}", index, text_of(driver, code)));
  return std::shared_ptr<const Device>(new Device(&driver, index, context));
}

Device::~Device() {
  if (here()) (void)driver_->release(index_);
}

bool Device::here() const {
  return ::getpid() == process_;
}

Status Device::status(int code, std::string_view what) const {
  if (code == 0) return ok;
  return Error{Errc::measurement,
               fmt::format("cuda:{}, {}: {}", index_, what,
                           here() ? text_of(*driver_, code) : "a forked process")};
}

Result<std::shared_ptr<Event>> Device::record_all() const {
  const Entered inside(*this);
  if (driver_->context_record != nullptr) {
    SLUICE_TRY(auto event, Event::make(shared_from_this(), false));
    const int code = driver_->context_record(context_, event->handle());
    if (code == 0) return event;
    if (code == Driver::kCapturing) SLUICE_CHECK(status(code, "marking its work"));
  }
  SLUICE_CHECK(status(driver_->synchronize(), "waiting for its work"));
  return std::shared_ptr<Event>();
}

std::shared_ptr<PinnedAllocator> Device::pinned_allocator() const {
  return std::make_shared<DevicePinned>(shared_from_this());
}

Device::Entered::Entered(const Device& device) : driver_(device.driver()) {
  pushed_ = driver_.push(device.context_) == 0;
  (void)driver_.exchange_capture_mode(&mode_);
}

Device::Entered::~Entered() {
  (void)driver_.exchange_capture_mode(&mode_);
  void* context = nullptr;
  if (pushed_) (void)driver_.pop(&context);
}

Event::Event(std::shared_ptr<const Device> device, void* event)
    : device_(std::move(device)), event_(event) {}

Result<std::shared_ptr<Event>> Event::make(std::shared_ptr<const Device> device, bool timed) {
  const Device::Entered inside(*device);
  void* event = nullptr;
  SLUICE_CHECK(device->status(device->driver().event_create(&event, timed ? 0 : Driver::kNoTiming),
                              "an event"));
  return std::shared_ptr<Event>(new Event(std::move(device), event));
}

Event::~Event() {
  if (!device_->here()) return;
  const Device::Entered inside(*device_);
  (void)device_->driver().event_destroy(event_);
}

Status Event::record(void* stream) {
  const Device::Entered inside(*device_);
  return device_->status(device_->driver().event_record(event_, stream), "an event");
}

Status Event::hold(void* stream) const {
  const Device::Entered inside(*device_);
  return device_->status(device_->driver().stream_wait(stream, event_, 0), "a stream that waits");
}

bool Event::ready() {
  if (!device_->here()) return true;
  const Device::Entered inside(*device_);
  return device_->driver().event_query(event_) != Driver::kNotReady;
}

void Event::wait() {
  using Time = std::chrono::steady_clock;
  const auto limit = Time::now() + std::chrono::duration<double>(kLongest_s);
  while (!ready() && Time::now() < limit)
    std::this_thread::sleep_for(std::chrono::microseconds(50));
}

std::int64_t Event::ns_since(const Event& begin) const {
  const Device::Entered inside(*device_);
  float ms = 0;
  if (device_->driver().event_elapsed(&ms, begin.event_, event_) != 0) return -1;
  return static_cast<std::int64_t>(static_cast<double>(ms) * 1e6);
}

}  // namespace sluice::loader::gpu
