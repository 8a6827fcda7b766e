// sluice/loader/trace.cpp - spans as Chrome's JSON trace.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/trace.h"

#include "sluice/core/file.h"
#include "sluice/core/trace_json.h"
#include "sluice/loader/accounting.h"

#include <fmt/format.h>

#include <algorithm>
#include <limits>

namespace sluice::loader {
namespace {

const char* name_of(int what) {
  return what >= 0 ? to_string(static_cast<Stage>(what)) : "wait";
}

double microseconds(std::int64_t ns) {
  return static_cast<double>(ns) / 1e3;
}

}  // namespace

std::vector<TraceSpan> SpanRing::in_order() const {
  std::vector<TraceSpan> result;
  const std::uint64_t kept = std::min<std::uint64_t>(added_, spans_.size());
  result.reserve(static_cast<std::size_t>(kept));
  for (std::uint64_t i = added_ - kept; i < added_; ++i)
    result.push_back(spans_[static_cast<std::size_t>(i % spans_.size())]);
  return result;
}

Status write_trace(const std::filesystem::path& path, std::span<const TraceThread> threads,
                   std::span<const TraceCounter> ready) {
  std::int64_t origin = std::numeric_limits<std::int64_t>::max();
  for (const TraceThread& thread : threads)
    if (!thread.spans.empty()) origin = std::min(origin, thread.spans.front().begin_ns);
  if (!ready.empty()) origin = std::min(origin, ready.front().at_ns);

  constexpr int kProcess = 1;
  TraceJson json(Json{{"displayTimeUnit", "ms"}});
  json.name_process(kProcess, "loader");
  for (std::size_t t = 0; t < threads.size(); ++t) {
    const TracePlace place{kProcess, static_cast<int>(t) + 1};
    json.name_thread(place, threads[t].name);
    if (threads[t].dropped > 0)
      json.instant(place, 0, fmt::format("{} older spans dropped", threads[t].dropped));
    for (const TraceSpan& span : threads[t].spans)
      json.span(place, microseconds(span.begin_ns - origin),
                microseconds(span.end_ns - span.begin_ns), name_of(span.what), {},
                fmt::format(R"({{"sample":{}}})", span.sample));
  }
  for (const TraceCounter& counter : ready)
    json.counter(kProcess, microseconds(counter.at_ns - origin), "ready batches", "ready",
                 counter.value);
  return write_file_atomic(path, std::move(json).finish(), Flush::later);
}

}  // namespace sluice::loader
