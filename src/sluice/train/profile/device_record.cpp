// sluice/train/profile/device_record.cpp - records into steps, ops onto the kernels of graphs.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/profile/device_record.h"

#include <algorithm>
#include <cstddef>
#include <utility>

namespace sluice::train {
namespace {

bool by_start(const DeviceRecord& a, const DeviceRecord& b) {
  return a.start_ns != b.start_ns ? a.start_ns < b.start_ns : a.end_ns < b.end_ns;
}

template <class Step>
auto kernels_of(Step& step) {
  std::vector<decltype(step.records.data())> kernels;
  for (auto& record : step.records)
    if (record.work == DeviceWork::kernel) kernels.push_back(&record);
  return kernels;
}

}  // namespace

void sort_into_steps(std::vector<DeviceRecord> records, std::vector<DeviceStep>& steps) {
  std::sort(records.begin(), records.end(), by_start);
  for (DeviceStep& step : steps) {
    const auto first = std::find_if(records.begin(), records.end(), [&](const DeviceRecord& one) {
      return one.start_ns >= step.start_ns;
    });
    const auto last = std::find_if(
        first, records.end(), [&](const DeviceRecord& one) { return one.start_ns >= step.end_ns; });
    step.records.assign(first, last);
  }
}

bool label_by_order(DeviceStep& step, const DeviceStep& issued) {
  const auto to = kernels_of(step);
  const auto from = kernels_of(issued);
  if (to.size() != from.size()) return false;
  for (std::size_t i = 0; i < to.size(); ++i)
    if (to[i]->name != from[i]->name) return false;
  for (std::size_t i = 0; i < to.size(); ++i)
    to[i]->op = from[i]->op;
  return true;
}

}  // namespace sluice::train
