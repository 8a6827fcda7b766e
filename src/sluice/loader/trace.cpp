// sluice/loader/trace.cpp - spans as Chrome's JSON trace.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/trace.h"

#include "sluice/core/file.h"
#include "sluice/loader/accounting.h"

#include <fmt/format.h>

#include <algorithm>
#include <iterator>
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

  std::string text = R"({"displayTimeUnit":"ms","traceEvents":[)";
  auto out = std::back_inserter(text);
  fmt::format_to(out, R"({{"ph":"M","pid":1,"name":"process_name","args":{{"name":"loader"}}}})");
  for (std::size_t t = 0; t < threads.size(); ++t) {
    fmt::format_to(out,
                   ",\n"
                   R"({{"ph":"M","pid":1,"tid":{},"name":"thread_name","args":{{"name":"{}"}}}})",
                   t + 1, threads[t].name);
    if (threads[t].dropped > 0)
      fmt::format_to(
          out,
          ",\n"
          R"({{"ph":"i","s":"t","pid":1,"tid":{},"ts":0,"name":"{} older spans dropped"}})",
          t + 1, threads[t].dropped);
    for (const TraceSpan& span : threads[t].spans)
      fmt::format_to(
          out,
          ",\n"
          R"({{"ph":"X","pid":1,"tid":{},"ts":{:.3f},"dur":{:.3f},"name":"{}","args":{{"sample":{}}}}})",
          t + 1, microseconds(span.begin_ns - origin), microseconds(span.end_ns - span.begin_ns),
          name_of(span.what), span.sample);
  }
  for (const TraceCounter& counter : ready)
    fmt::format_to(
        out,
        ",\n"
        R"({{"ph":"C","pid":1,"ts":{:.3f},"name":"ready batches","args":{{"ready":{}}}}})",
        microseconds(counter.at_ns - origin), counter.value);
  text += "]}\n";
  return write_file_atomic(path, text, Flush::later);
}

}  // namespace sluice::loader
