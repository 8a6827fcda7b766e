// sluice/loader/batch.cpp - looking at a leased slot and giving it back.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/batch.h"

#include "sluice/loader/ring.h"

#include <cassert>
#include <utility>

namespace sluice::loader {

Batch::Batch(std::shared_ptr<Ring> ring, Slot& slot) : ring_(std::move(ring)), slot_(&slot) {}

Batch::Batch(Batch&& other) noexcept
    : ring_(std::move(other.ring_)), slot_(std::exchange(other.slot_, nullptr)) {}

Batch& Batch::operator=(Batch&& other) noexcept {
  if (this == &other) return *this;
  release();
  ring_ = std::move(other.ring_);
  slot_ = std::exchange(other.slot_, nullptr);
  return *this;
}

std::uint32_t Batch::size() const {
  return slot_->range.count;
}

const OutputSpec& Batch::spec() const {
  return ring_->output();
}

std::array<std::int64_t, 4> Batch::shape() const {
  const OutputSpec& spec = ring_->output();
  if (spec.layout == Layout::hwc) return {size(), spec.height, spec.width, spec.channels};
  return {size(), spec.channels, spec.height, spec.width};
}

std::array<std::int64_t, 4> Batch::strides() const {
  const auto dims = shape();
  return {dims[1] * dims[2] * dims[3], dims[2] * dims[3], dims[3], 1};
}

std::span<std::byte> Batch::data() const {
  return slot_->data.first(ring_->sample_bytes() * size());
}

std::span<const std::byte> Batch::sample(std::uint32_t i) const {
  assert(i < size());
  return data().subspan(ring_->sample_bytes() * i, ring_->sample_bytes());
}

std::span<const std::int64_t> Batch::labels() const {
  return std::span(slot_->labels).first(size());
}

std::span<const std::uint64_t> Batch::indices() const {
  return std::span(slot_->indices).first(size());
}

std::uint64_t Batch::epoch() const {
  return slot_->plan->epoch;
}

std::uint64_t Batch::step() const {
  return slot_->step;
}

bool Batch::pinned() const {
  return ring_->pinned();
}

void Batch::set_event(std::shared_ptr<SlotEvent> event) {
  slot_->event = std::move(event);
}

void Batch::release() {
  if (slot_ == nullptr) return;
  ring_->release(*std::exchange(slot_, nullptr));
  ring_.reset();
}

}  // namespace sluice::loader
