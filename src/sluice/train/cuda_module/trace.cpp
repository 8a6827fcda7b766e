// sluice/train/cuda_module/trace.cpp - CUPTI's buffers of activity records, kept until somebody
// asks for them.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda_module/trace.h"

#include "sluice/train/cuda_module/cupti.h"

#include <chrono>
#include <cstdio>
#include <cstdlib>
#include <exception>
#include <limits>
#include <mutex>
#include <set>
#include <string>
#include <unordered_map>
#include <vector>

namespace sluice::train::cuda {
namespace {

// Later versions of these records only grew at their end.
using KernelRecord = CUpti_ActivityKernel9;
using CopyRecord = CUpti_ActivityMemcpy5;
using ClearRecord = CUpti_ActivityMemset4;
using RangeRecord = CUpti_ActivityExternalCorrelation;

constexpr CUpti_ActivityKind kWork[] = {CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL,
                                        CUPTI_ACTIVITY_KIND_MEMCPY, CUPTI_ACTIVITY_KIND_MEMSET};
// Ranges are tied to calls of the API, and only those that are recorded.
constexpr CUpti_ActivityKind kRanges[] = {CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION,
                                          CUPTI_ACTIVITY_KIND_RUNTIME, CUPTI_ACTIVITY_KIND_DRIVER};
constexpr CUpti_ExternalCorrelationKind kOurs = CUPTI_EXTERNAL_CORRELATION_KIND_CUSTOM0;
constexpr std::size_t kBufferBytes = std::size_t{4} << 20;
constexpr std::size_t kBufferAlignment = 8;

struct Kept {
  ActivityKind kind = ActivityKind::kernel;
  const std::string* name = nullptr;
  std::uint64_t start = 0, end = 0;  // CUPTI's clock
  std::uint32_t stream = 0, correlation = 0;
  std::uint64_t bytes = 0;
  bool in_graph = false;
};

/// CUPTI calls back from a thread of its own, so what it gives is under the mutex.
struct State {
  std::mutex mutex;
  std::set<std::string> names;
  std::vector<Kept> kept;
  std::unordered_map<std::uint32_t, std::uint64_t> range_of;  // correlation -> range, from 1
  std::size_t lost = 0;                                       // records without times, or dropped
  std::string failure;                                        // of a callback

  // Of the thread that launches.
  bool registered = false, on = false, with_ranges = false;
  std::vector<std::string> ranges;
  std::int64_t offset = 0;  // steady_clock minus CUPTI's, at the begin
};

State& state() {
  static State one;
  return one;
}

const char* copy_name(std::uint8_t kind) {
  switch (kind) {
    case CUPTI_ACTIVITY_MEMCPY_KIND_HTOD:
      return "copy host to device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOH:
      return "copy device to host";
    case CUPTI_ACTIVITY_MEMCPY_KIND_DTOD:
      return "copy within the device";
    case CUPTI_ACTIVITY_MEMCPY_KIND_PTOP:
      return "copy between devices";
    default:
      return "copy";
  }
}

template <class Record>
Kept kept_of(State& in, const Record& record, ActivityKind kind, const char* name) {
  Kept kept;
  kept.kind = kind;
  kept.name = &*in.names.emplace(name == nullptr ? "unnamed" : name).first;
  kept.start = record.start;
  kept.end = record.end;
  kept.stream = record.streamId;
  kept.correlation = record.correlationId;
  kept.in_graph = record.graphNodeId != 0;
  return kept;
}

void keep(State& in, const CUpti_Activity* record) {
  switch (record->kind) {
    case CUPTI_ACTIVITY_KIND_KERNEL:
    case CUPTI_ACTIVITY_KIND_CONCURRENT_KERNEL: {
      const auto& kernel = *reinterpret_cast<const KernelRecord*>(record);
      in.kept.push_back(kept_of(in, kernel, ActivityKind::kernel, kernel.name));
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMCPY: {
      const auto& copy = *reinterpret_cast<const CopyRecord*>(record);
      in.kept.push_back(kept_of(in, copy, ActivityKind::copy, copy_name(copy.copyKind)));
      in.kept.back().bytes = copy.bytes;
      break;
    }
    case CUPTI_ACTIVITY_KIND_MEMSET: {
      const auto& clear = *reinterpret_cast<const ClearRecord*>(record);
      in.kept.push_back(kept_of(in, clear, ActivityKind::clear, "clear"));
      in.kept.back().bytes = clear.bytes;
      break;
    }
    case CUPTI_ACTIVITY_KIND_EXTERNAL_CORRELATION: {
      const auto& range = *reinterpret_cast<const RangeRecord*>(record);
      if (range.externalKind == kOurs) in.range_of[range.correlationId] = range.externalId;
      break;
    }
    default:
      break;  // calls of the API: they only carry the ranges
  }
}

void CUPTIAPI give_buffer(std::uint8_t** buffer, std::size_t* bytes, std::size_t* most_records) {
  *buffer = static_cast<std::uint8_t*>(std::aligned_alloc(kBufferAlignment, kBufferBytes));
  *bytes = *buffer == nullptr ? 0 : kBufferBytes;
  *most_records = 0;  // as many as there is room for
}

void CUPTIAPI take_buffer(CUcontext context, std::uint32_t stream, std::uint8_t* buffer,
                          std::size_t /*bytes*/, std::size_t valid) {
  State& in = state();
  const std::lock_guard lock(in.mutex);
  try {
    CUpti_Activity* record = nullptr;
    while (valid > 0 && cupti().next_record(buffer, valid, &record) == CUPTI_SUCCESS)
      keep(in, record);
    std::size_t dropped = 0;
    if (cupti().dropped_records(context, stream, &dropped) == CUPTI_SUCCESS) in.lost += dropped;
  } catch (const std::exception& error) {
    in.failure = error.what();
  }
  std::free(buffer);
}

std::int64_t steady_ns() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::nanoseconds>(since).count();
}

/// steady_clock minus CUPTI's clock, by the closest of a few pairs of readings.
std::int64_t clock_offset() {
  std::int64_t best = 0, closest = std::numeric_limits<std::int64_t>::max();
  for (int i = 0; i < 20; ++i) {
    std::uint64_t there = 0;
    const std::int64_t before = steady_ns();
    if (cupti().timestamp(&there) != CUPTI_SUCCESS) continue;
    const std::int64_t after = steady_ns();
    if (after - before >= closest) continue;
    closest = after - before;
    best = before + (after - before) / 2 - static_cast<std::int64_t>(there);
  }
  return best;
}

void disable_all() {
  for (const CUpti_ActivityKind kind : kWork)
    static_cast<void>(cupti().disable(kind));
  if (state().with_ranges)
    for (const CUpti_ActivityKind kind : kRanges)
      static_cast<void>(cupti().disable(kind));
}

void forget(State& in) {
  const std::lock_guard lock(in.mutex);
  in.kept.clear();
  in.range_of.clear();
  in.lost = 0;
  in.failure.clear();
}

/// What the sink is given: CUPTI's times on our clock, ranges by name.
void give(State& in, std::int64_t offset, ActivitySink* sink, void* context) {
  const std::lock_guard lock(in.mutex);
  for (const Kept& kept : in.kept) {
    if (kept.start == 0 || kept.end < kept.start) {
      ++in.lost;
      continue;
    }
    Activity activity;
    activity.kind = kept.kind;
    activity.name = kept.name->c_str();
    activity.start_ns = static_cast<std::int64_t>(kept.start) + offset;
    activity.end_ns = static_cast<std::int64_t>(kept.end) + offset;
    activity.stream = kept.stream;
    activity.bytes = kept.bytes;
    activity.in_graph = kept.in_graph;
    if (const auto range = in.range_of.find(kept.correlation);
        range != in.range_of.end() && range->second >= 1 && range->second <= in.ranges.size())
      activity.range = in.ranges[range->second - 1].c_str();
    sink(context, &activity);
  }
}

}  // namespace

int begin_trace(bool ranges, char* why, std::size_t why_bytes) {
  State& in = state();
  if (!cupti().why.empty()) {
    std::snprintf(why, why_bytes, "%s", cupti().why.c_str());
    return kFailed;
  }
  if (in.on) {
    std::snprintf(why, why_bytes, "a trace is running already");
    return kFailed;
  }
  if (!in.registered) {
    if (const CUptiResult error = cupti().register_callbacks(give_buffer, take_buffer))
      return refuse("cuptiActivityRegisterCallbacks", error, why, why_bytes);
    in.registered = true;
  }
  forget(in);
  in.ranges.clear();
  in.with_ranges = ranges;
  for (const CUpti_ActivityKind kind : kWork)
    if (const CUptiResult error = cupti().enable(kind)) {
      disable_all();
      return refuse("cuptiActivityEnable", error, why, why_bytes);
    }
  if (ranges)
    for (const CUpti_ActivityKind kind : kRanges)
      if (const CUptiResult error = cupti().enable(kind)) {
        disable_all();
        return refuse("cuptiActivityEnable", error, why, why_bytes);
      }
  in.offset = clock_offset();
  in.on = true;
  return kDone;
}

int end_trace(ActivitySink* sink, void* context, char* why, std::size_t why_bytes) {
  State& in = state();
  if (!in.on) {
    std::snprintf(why, why_bytes, "no trace is running");
    return kFailed;
  }
  in.on = false;
  const std::int64_t offset = in.offset + (clock_offset() - in.offset) / 2;  // the clocks drift
  // What is complete, then the rest.
  CUptiResult flushed = cupti().flush_all(0);
  if (flushed == CUPTI_SUCCESS) flushed = cupti().flush_all(CUPTI_ACTIVITY_FLAG_FLUSH_FORCED);
  disable_all();
  if (flushed != CUPTI_SUCCESS) return refuse("cuptiActivityFlushAll", flushed, why, why_bytes);
  int result = kDone;
  if (why_bytes > 0) *why = '\0';
  try {
    if (sink != nullptr) give(in, offset, sink, context);
  } catch (const std::exception& error) {
    std::snprintf(why, why_bytes, "out of host memory: %s", error.what());
    result = kOutOfMemory;
  }
  if (result == kDone && !in.failure.empty()) {
    std::snprintf(why, why_bytes, "out of host memory: %s", in.failure.c_str());
    result = kOutOfMemory;
  } else if (result == kDone && in.lost > 0 && sink != nullptr) {
    std::snprintf(why, why_bytes, "CUPTI lost %zu records", in.lost);
  }
  forget(in);
  return result;
}

void trace_push(const char* range) {
  State& in = state();
  if (!in.on || !in.with_ranges) return;
  try {
    in.ranges.emplace_back(range);
  } catch (const std::exception&) {
    return;  // launches without a range are only not known
  }
  static_cast<void>(cupti().push_id(kOurs, in.ranges.size()));
}

void trace_pop() {
  const State& in = state();
  if (!in.on || !in.with_ranges) return;
  std::uint64_t last = 0;
  static_cast<void>(cupti().pop_id(kOurs, &last));
}

}  // namespace sluice::train::cuda
