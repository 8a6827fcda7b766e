// sluice/storage/remote/latency.cpp - logarithmic steps, and the rule for hedging.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/remote/latency.h"

#include <algorithm>
#include <bit>
#include <cmath>

namespace sluice::storage {

namespace {

constexpr double kFirst_s = 1e-6;
constexpr double kStepsPerOctave = 8;

}  // namespace

void LatencyHistogram::add(double seconds) {
  const double step = kStepsPerOctave * std::log2(std::max(seconds, kFirst_s) / kFirst_s);
  const auto index = std::min(static_cast<std::size_t>(step), kSteps - 1);
  steps_[index].fetch_add(1, std::memory_order_relaxed);
  count_.fetch_add(1, std::memory_order_relaxed);
}

double LatencyHistogram::quantile(double q) const {
  const std::uint64_t total = count();
  if (total == 0) return 0;
  const double wanted = std::max(1.0, std::ceil(q * static_cast<double>(total)));
  double seen = 0;
  for (std::size_t i = 0; i < kSteps; ++i) {
    seen += static_cast<double>(steps_[i].load(std::memory_order_relaxed));
    if (seen >= wanted) return kFirst_s * std::exp2(static_cast<double>(i + 1) / kStepsPerOctave);
  }
  return kFirst_s * std::exp2(static_cast<double>(kSteps) / kStepsPerOctave);
}

std::size_t HedgePolicy::class_of(std::size_t size) {
  const auto octave = static_cast<std::size_t>(std::bit_width(size / kSmall));
  return std::min(octave, kClasses - 1);
}

double HedgePolicy::after_s(std::size_t size) const {
  const LatencyHistogram& like = classes_[class_of(size)];
  const double small = size < kSmall ? kSmallAfter_s : -1;
  if (like.count() < kEnough) return small;
  const double slow = std::max(kFloor_s, like.quantile(0.99));
  return small < 0 ? slow : std::min(small, slow);
}

void HedgePolicy::add(std::size_t size, double total_s) {
  classes_[class_of(size)].add(total_s);
  requests_.fetch_add(1, std::memory_order_relaxed);
}

bool HedgePolicy::take() {
  const auto allowed =
      10 + static_cast<std::uint64_t>(
               kMaxShare * static_cast<double>(requests_.load(std::memory_order_relaxed)));
  if (hedges_.load(std::memory_order_relaxed) >= allowed) return false;
  hedges_.fetch_add(1, std::memory_order_relaxed);
  return true;
}

}  // namespace sluice::storage
