// sluice/train/world/reducer.cpp - buckets begun as soon as backward has finished them.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/world/reducer.h"

#include "sluice/train/phase.h"

#include <span>

namespace sluice::train {

GradientReducer::GradientReducer(const Program& program, std::byte* memory, Communicator& world,
                                 std::size_t bucket_bytes)
    : memory_(memory), world_(world), buckets_(gradient_buckets(program, bucket_bytes)) {}

Status GradientReducer::after(std::size_t index) {
  const std::int64_t start_ns = now_ns();
  if (index == 0) {
    next_ = 0;
    times_ = {};
  }
  bool begun = false;
  for (; next_ < buckets_.size() && buckets_[next_].ready <= index; ++next_) {
    if (next_ == 0) began_ns_ = start_ns;
    const Bucket& bucket = buckets_[next_];
    SLUICE_CHECK(
        world_.start_sum({reinterpret_cast<float*>(memory_ + bucket.offset), bucket.elements}));
    times_.bytes += static_cast<std::int64_t>(bucket.elements * sizeof(float));
    begun = true;
  }
  if (!begun && next_ > 0) SLUICE_CHECK(world_.advance());
  times_.exposed_ns += now_ns() - start_ns;
  return ok;
}

Status GradientReducer::finish() {
  const std::int64_t start_ns = now_ns();
  SLUICE_CHECK(world_.finish());
  const std::int64_t end_ns = now_ns();
  times_.waited_ns = end_ns - start_ns;
  times_.exposed_ns += times_.waited_ns;
  times_.in_flight_ns = end_ns - began_ns_;
  return ok;
}

}  // namespace sluice::train
