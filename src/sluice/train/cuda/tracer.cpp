// sluice/train/cuda/tracer.cpp - the module's records as ours.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda/tracer.h"

#include "sluice/train/cuda/library.h"

#include <fmt/format.h>

#include <array>
#include <utility>

namespace sluice::train::cuda {
namespace {

void add(void* to, const Activity* activity) {
  DeviceRecord record;
  record.work = activity->kind == ActivityKind::kernel ? DeviceWork::kernel
                : activity->kind == ActivityKind::copy ? DeviceWork::copy
                                                       : DeviceWork::clear;
  record.name = activity->name;
  record.op = activity->range;
  record.start_ns = activity->start_ns;
  record.end_ns = activity->end_ns;
  record.stream = activity->stream;
  record.bytes = activity->bytes;
  record.in_graph = activity->in_graph;
  static_cast<std::vector<DeviceRecord>*>(to)->push_back(std::move(record));
}

}  // namespace

Result<Tracer> Tracer::begin(bool ops) {
  SLUICE_TRY(const Table* table, library());
  std::array<char, 512> why{};
  if (table->begin_trace(ops, why.data(), why.size()) != kDone)
    return Error{Errc::unsupported, why.data()};
  return Tracer();
}

Tracer::Tracer(Tracer&& other) noexcept : running_(std::exchange(other.running_, false)) {}

Tracer::~Tracer() {
  if (!running_) return;
  std::array<char, 512> why{};
  static_cast<void>((*library())->end_trace(nullptr, nullptr, why.data(), why.size()));
}

Result<Tracer::Records> Tracer::end() {
  Records records;
  std::array<char, 512> why{};
  running_ = false;
  if ((*library())->end_trace(add, &records.list, why.data(), why.size()) != kDone)
    return Error{Errc::measurement, fmt::format("records of the GPU: {}", why.data())};
  records.note = why.data();
  return records;
}

}  // namespace sluice::train::cuda
