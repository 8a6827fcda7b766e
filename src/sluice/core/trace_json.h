// sluice/core/trace_json.h - Chrome's JSON trace format, one event after another; Perfetto and
// TensorBoard open it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"

#include <cstdint>
#include <string>
#include <string_view>

namespace sluice {

/// Where an event is drawn.
struct TracePlace {
  int process = 1;
  int thread = 0;
};

/// Times are microseconds from wherever the writer counts. Texts may hold anything.
class TraceJson {
 public:
  /// `head`: fields beside the events, an object.
  explicit TraceJson(const Json& head = Json::object());

  void name_process(int process, std::string_view name);
  void name_thread(const TracePlace& place, std::string_view name);
  /// `args`: JSON text of an object; empty: none.
  void span(const TracePlace& place, double start_us, double duration_us, std::string_view name,
            std::string_view category = {}, std::string_view args = {});
  void instant(const TracePlace& place, double at_us, std::string_view name);
  void counter(int process, double at_us, std::string_view name, std::string_view series,
               std::int64_t value);

  /// The whole document; nothing may be added afterwards.
  std::string finish() &&;

 private:
  void begin_event();

  std::string text_;
  bool first_ = true;
};

/// `text` as a JSON string, quotes included.
std::string quoted_json(std::string_view text);

}  // namespace sluice
