// tests/loader/fake_cuda.cpp - a driver for tests without a GPU: its streams do what they are given
// as late as they may.
// SPDX-License-Identifier: Apache-2.0
//
// SLUICE_CUDA_DRIVER names it. FAKE_CUDA_GPUS: how many GPUs (2). FAKE_CUDA_INIT: what cuInit
// answers (0). Nothing runs until somebody waits; an event that was asked for often lets one more
// thing run. Memory of a device is memory of the process, poisoned when it is given back. What the
// names do not say: the functions fake_* are for tests.
#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <functional>
#include <map>
#include <mutex>
#include <set>
#include <string_view>
#include <unistd.h>
#include <utility>
#include <vector>

namespace {

constexpr int kDone = 0, kInvalid = 1, kNotInitialised = 3, kNoDevice = 101, kNoContext = 201,
              kHandle = 400, kNotReady = 600, kCapture = 900;

struct Stream {
  std::vector<std::function<void()>> work;
  std::size_t done = 0;
};
using Point = std::pair<Stream*, std::size_t>;  // so much of a stream
constexpr int kPatience = 20;                   // questions to an event before something runs
struct Event {
  std::vector<Point> points;
  bool timed = false;
  int asked = 0;
};

std::mutex lock;
pid_t started = 0;
bool capturing = false;
// Never destroyed: whoever is late at the end of a program finds them.
auto& streams = *new std::set<Stream*>;
auto& gone = *new std::vector<Stream*>;
auto& events = *new std::set<Event*>;
auto& memory = *new std::map<std::uint64_t, std::size_t>;
auto& pinned = *new std::map<std::uint64_t, std::size_t>;
auto& contexts = *new std::map<int, int>;  // of a device: how often it is retained
int places_of_contexts[16];
thread_local std::vector<void*> current;
thread_local int mode = 0;

Stream* default_stream() {
  static Stream* one = [] {
    auto* made = new Stream;
    streams.insert(made);
    return made;
  }();
  return one;
}
Stream* stream_of(void* handle) {
  if (reinterpret_cast<std::uintptr_t>(handle) <= 2) return default_stream();
  auto* stream = static_cast<Stream*>(handle);
  return streams.count(stream) != 0 ? stream : nullptr;
}
bool usable() {
  return started != 0 && ::getpid() == started;
}

void run_to(Stream* stream, std::size_t count) {
  if (streams.count(stream) == 0) return;  // it was destroyed when it had run
  while (stream->done < count) {
    const auto work = stream->work[stream->done];
    work();
    ++stream->done;
  }
}
void run_all() {
  for (Stream* stream : std::set<Stream*>(streams))
    run_to(stream, stream->work.size());
}
bool reached(const Event& event) {
  for (const auto& [stream, count] : event.points)
    if (streams.count(stream) != 0 && stream->done < count) return false;
  return true;
}
void reach(const std::vector<Point>& points) {
  for (const auto& [stream, count] : points)
    run_to(stream, count);
}
/// Checks what every call needs, and holds the lock.
template <class Work>
int call(Work work) {
  if (!usable()) return kNotInitialised;
  std::lock_guard guard(lock);
  if (current.empty()) return kNoContext;
  return work();
}
int number(const char* name, int otherwise) {
  const char* text = std::getenv(name);
  return text == nullptr ? otherwise : std::atoi(text);
}

}  // namespace

extern "C" {

int cuInit(unsigned) {
  if (const int code = number("FAKE_CUDA_INIT", 0); code != 0) return code;
  if (started == 0) started = ::getpid();
  return usable() ? kDone : kNotInitialised;
}
int cuGetErrorString(int code, const char** text) {
  static const std::map<int, const char*> texts{
      {kNoDevice, "invalid device ordinal"},
      {100, "no CUDA-capable device is detected"},
      {2, "out of memory"},
      {kNotInitialised, "initialization error"},
      {kNoContext, "invalid device context"},
      {kHandle, "invalid resource handle"},
      {kCapture, "operation not permitted when stream is capturing"}};
  const auto found = texts.find(code);
  *text = found == texts.end() ? nullptr : found->second;
  return found == texts.end() ? kInvalid : kDone;
}
int cuDeviceGetCount(int* count) {
  *count = number("FAKE_CUDA_GPUS", 2);
  return kDone;
}
int cuCtxGetDevice(int* device) {
  if (current.empty()) return kNoContext;
  *device = static_cast<int>(static_cast<int*>(current.back()) - places_of_contexts);
  return kDone;
}
int cuDevicePrimaryCtxRetain(void** context, int device) {
  if (!usable()) return kNotInitialised;
  std::lock_guard guard(lock);
  ++contexts[device];
  *context = &places_of_contexts[device];
  return kDone;
}
int cuDevicePrimaryCtxRelease_v2(int device) {
  if (!usable()) return kNotInitialised;
  std::lock_guard guard(lock);
  --contexts[device];
  return kDone;
}
int cuCtxPushCurrent_v2(void* context) {
  if (!usable()) return kNotInitialised;
  current.push_back(context);
  return kDone;
}
int cuCtxPopCurrent_v2(void** context) {
  if (current.empty()) return kNoContext;
  *context = current.back();
  current.pop_back();
  return kDone;
}
int cuThreadExchangeStreamCaptureMode(int* wanted) {
  std::swap(*wanted, mode);
  return kDone;
}
int cuCtxSynchronize() {
  return call([] {
    run_all();
    return kDone;
  });
}
#ifndef FAKE_CUDA_OLD
int cuCtxRecordEvent(void*, void* handle) {
  return call([&] {
    if (capturing) return kCapture;
    auto* event = static_cast<Event*>(handle);
    event->points.clear();
    for (Stream* stream : streams)
      event->points.emplace_back(stream, stream->work.size());
    return kDone;
  });
}
#endif
int cuStreamCreate(void** stream, unsigned) {
  return call([&] {
    auto* made = new Stream;
    streams.insert(made);
    *stream = made;
    return kDone;
  });
}
int cuStreamDestroy_v2(void* handle) {
  return call([&] {
    Stream* stream = stream_of(handle);
    if (stream == nullptr) return kHandle;
    run_to(stream, stream->work.size());
    streams.erase(stream);
    stream->work = {};
    gone.push_back(stream);  // another at its place would be taken for it by events
    return kDone;
  });
}
int cuStreamWaitEvent(void* handle, void* event, unsigned) {
  return call([&] {
    Stream* stream = stream_of(handle);
    if (stream == nullptr || events.count(static_cast<Event*>(event)) == 0) return kHandle;
    stream->work.push_back([points = static_cast<Event*>(event)->points] { reach(points); });
    return kDone;
  });
}
int cuStreamSynchronize(void* handle) {
  return call([&] {
    Stream* stream = stream_of(handle);
    if (stream == nullptr) return kHandle;
    run_to(stream, stream->work.size());
    return kDone;
  });
}
int cuEventCreate(void** event, unsigned flags) {
  return call([&] {
    auto* made = new Event;
    made->timed = flags == 0;
    events.insert(made);
    *event = made;
    return kDone;
  });
}
int cuEventDestroy_v2(void* handle) {
  return call([&] {
    auto* event = static_cast<Event*>(handle);
    if (events.erase(event) == 0) return kHandle;
    delete event;
    return kDone;
  });
}
int cuEventRecord(void* event, void* handle) {
  return call([&] {
    Stream* stream = stream_of(handle);
    if (stream == nullptr) return kHandle;
    static_cast<Event*>(event)->points = {{stream, stream->work.size()}};
    return kDone;
  });
}
int cuEventQuery(void* handle) {
  return call([&] {
    auto& event = *static_cast<Event*>(handle);
    if (reached(event)) return kDone;
    if (++event.asked <= kPatience) return kNotReady;
    for (const auto& [stream, count] : event.points)
      if (streams.count(stream) != 0 && stream->done < count) {
        run_to(stream, stream->done + 1);
        break;
      }
    return kNotReady;
  });
}
int cuEventElapsedTime(float* ms, void* begin, void* end) {
  return call([&] {
    const auto& first = *static_cast<Event*>(begin);
    const auto& last = *static_cast<Event*>(end);
    if (!first.timed || !last.timed) return kHandle;
    if (!reached(first) || !reached(last)) return kNotReady;
    *ms = 0.25F;
    return kDone;
  });
}
int cuMemAlloc_v2(std::uint64_t* address, std::size_t bytes) {
  return call([&] {
    if (static_cast<int>(memory.size()) >= number("FAKE_CUDA_MOST", 1 << 20)) return 2;
    void* made = std::malloc(bytes);
    std::memset(made, 0xcd, bytes);
    *address = reinterpret_cast<std::uint64_t>(made);
    memory[*address] = bytes;
    return kDone;
  });
}
int cuMemFree_v2(std::uint64_t address) {
  return call([&] {
    const auto found = memory.find(address);
    if (found == memory.end()) return kInvalid;
    void* made = reinterpret_cast<void*>(address);
    std::memset(made, 0xdd, found->second);
    std::free(made);
    memory.erase(found);
    return kDone;
  });
}
int cuMemHostAlloc(void** made, std::size_t bytes, unsigned) {
  return call([&] {
    *made = std::aligned_alloc(4096, (bytes + 4095) / 4096 * 4096);
    pinned[reinterpret_cast<std::uint64_t>(*made)] = bytes;
    return kDone;
  });
}
int cuMemFreeHost(void* made) {
  return call([&] {
    if (pinned.erase(reinterpret_cast<std::uint64_t>(made)) == 0) return kInvalid;
    std::free(made);
    return kDone;
  });
}
int cuMemcpyHtoDAsync_v2(std::uint64_t to, const void* from, std::size_t bytes, void* handle) {
  return call([&] {
    Stream* stream = stream_of(handle);
    if (stream == nullptr) return kHandle;
    stream->work.push_back([=] { std::memcpy(reinterpret_cast<void*>(to), from, bytes); });
    return kDone;
  });
}
int cuMemcpyDtoHAsync_v2(void* to, std::uint64_t from, std::size_t bytes, void* handle) {
  return call([&] {
    Stream* stream = stream_of(handle);
    if (stream == nullptr) return kHandle;
    stream->work.push_back([=] { std::memcpy(to, reinterpret_cast<const void*>(from), bytes); });
    return kDone;
  });
}

// For tests.
/// A stream of a consumer.
void* fake_stream() {
  std::lock_guard guard(lock);
  auto* made = new Stream;
  streams.insert(made);
  return made;
}
/// A kernel of a consumer: reads when its turn has come.
void fake_read(void* stream, const void* from, void* to, std::size_t bytes) {
  std::lock_guard guard(lock);
  stream_of(stream)->work.push_back([=] { std::memcpy(to, from, bytes); });
}
void fake_run(void* stream) {
  std::lock_guard guard(lock);
  run_to(stream_of(stream), stream_of(stream)->work.size());
}
void fake_capture(int on) {
  capturing = on != 0;
}
/// Of a kind: what is there and was not given back.
std::size_t fake_count(const char* kind) {
  std::lock_guard guard(lock);
  const std::map<std::string_view, std::size_t> counts{
      {"memory", memory.size()},
      {"pinned", pinned.size()},
      {"events", events.size()},
      {"streams", streams.size()},
      {"contexts", static_cast<std::size_t>(contexts[0] + contexts[1])}};
  return counts.at(kind);
}

}  // extern "C"
