// tests/measure/support.h - subjects and clocks whose every nanosecond is scripted.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/clock.h"
#include "sluice/measure/worker/subject.h"

#include <algorithm>
#include <string>
#include <utility>
#include <vector>

namespace sluice::measure {

/// Stands still by itself, or advances by `tick_ns` at every reading; work advances it.
class ManualClock final : public Clock {
 public:
  std::int64_t now_ns() override {
    ++readings;
    return now_ += tick_ns;
  }
  void advance(std::int64_t ns) { now_ += ns; }

  std::int64_t tick_ns = 0;
  int readings = 0;

 private:
  std::int64_t now_ = 1'000'000;
};

/// Every pass takes the next of `pass_ns` on the clock, the last one for ever.
class ScriptedSubject : public Subject {
 public:
  ScriptedSubject(ManualClock& clock, std::vector<std::int64_t> pass_ns)
      : clock_(clock), pass_ns_(std::move(pass_ns)) {}

  Result<std::string> check() override { return digest; }
  void run_pass() override {
    const auto k = static_cast<std::size_t>(passes++);
    clock_.advance(pass_ns_[std::min(k, pass_ns_.size() - 1)]);
  }
  [[nodiscard]] std::int64_t items_per_pass() const override { return items; }
  [[nodiscard]] double bytes_per_item() const override { return 3.5; }
  std::int64_t run_items(std::int64_t first, std::int64_t count) override {
    if (item_ns == 0) return 0;
    last_item = first;
    items_done += count;
    clock_.advance(item_ns * count);
    return count;
  }

  std::string digest = "d1";
  std::int64_t items = 4;
  std::int64_t passes = 0;
  std::int64_t item_ns = 0;  // 0: a pass cannot be divided
  std::int64_t items_done = 0;
  std::int64_t last_item = -1;

 private:
  ManualClock& clock_;
  std::vector<std::int64_t> pass_ns_;
};

}  // namespace sluice::measure
