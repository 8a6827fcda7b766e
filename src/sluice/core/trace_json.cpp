// sluice/core/trace_json.cpp - events as text, without a tree of them in memory.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/trace_json.h"

#include <fmt/format.h>

#include <cassert>
#include <iterator>

namespace sluice {

std::string quoted_json(std::string_view text) {
  return dump_json(Json(std::string(text)), -1);
}

TraceJson::TraceJson(const Json& head) {
  assert(head.is_object());
  text_ = dump_json(head, -1);
  text_.pop_back();  // its brace
  text_ += head.empty() ? R"("traceEvents":[)" : R"(,"traceEvents":[)";
}

void TraceJson::begin_event() {
  if (!first_) text_ += ",\n";
  first_ = false;
}

void TraceJson::name_process(int process, std::string_view name) {
  begin_event();
  fmt::format_to(std::back_inserter(text_),
                 R"({{"ph":"M","pid":{},"name":"process_name","args":{{"name":{}}}}})", process,
                 quoted_json(name));
}

void TraceJson::name_thread(const TracePlace& place, std::string_view name) {
  begin_event();
  fmt::format_to(std::back_inserter(text_),
                 R"({{"ph":"M","pid":{},"tid":{},"name":"thread_name","args":{{"name":{}}}}})",
                 place.process, place.thread, quoted_json(name));
}

void TraceJson::span(const TracePlace& place, double start_us, double duration_us,
                     std::string_view name, std::string_view category, std::string_view args) {
  begin_event();
  auto out = std::back_inserter(text_);
  fmt::format_to(out, R"({{"ph":"X","pid":{},"tid":{},"ts":{:.3f},"dur":{:.3f},"name":{})",
                 place.process, place.thread, start_us, duration_us, quoted_json(name));
  if (!category.empty()) fmt::format_to(out, R"(,"cat":{})", quoted_json(category));
  if (!args.empty()) fmt::format_to(out, R"(,"args":{})", args);
  text_ += '}';
}

void TraceJson::instant(const TracePlace& place, double at_us, std::string_view name) {
  begin_event();
  fmt::format_to(std::back_inserter(text_),
                 R"({{"ph":"i","s":"t","pid":{},"tid":{},"ts":{:.3f},"name":{}}})", place.process,
                 place.thread, at_us, quoted_json(name));
}

void TraceJson::counter(int process, double at_us, std::string_view name, std::string_view series,
                        std::int64_t value) {
  begin_event();
  fmt::format_to(std::back_inserter(text_),
                 R"({{"ph":"C","pid":{},"ts":{:.3f},"name":{},"args":{{{}:{}}}}})", process, at_us,
                 quoted_json(name), quoted_json(series), value);
}

std::string TraceJson::finish() && {
  text_ += "]}\n";
  return std::move(text_);
}

}  // namespace sluice
