// python/native/lease.h - a batch as arrays: the memory of its slot, until nobody looks at it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/loader/batch.h"
#include "sluice/loader/gpu/copy_feed.h"

#include "python/native/array.h"
#include <atomic>
#include <memory>
#include <mutex>
#include <nanobind/nanobind.h>
#include <vector>

namespace sluice::python {

/// Batches that Python holds at a time without a copy: the one it works with, and the next one,
/// which it is given before the first is let go. Who keeps more gets copies, so that the workers
/// always have the slots that they were promised.
inline constexpr int kHeldBatches = 2;

using HeldCount = std::shared_ptr<std::atomic<int>>;

/// Pinned slots that Python has let go, from which a GPU may still copy: workers write there again
/// after all that it had to do at the next collect().
class Returns {
 public:
  explicit Returns(std::shared_ptr<const loader::gpu::Device> device)
      : device_(std::move(device)) {}
  void let_go(loader::Batch&& batch);
  Status collect(std::atomic<int>& held);

 private:
  std::shared_ptr<const loader::gpu::Device> device_;
  std::mutex mutex_;
  std::vector<loader::Batch> let_go_;
};

/// (images, labels, indices). With the interpreter's lock held. `returns`: of pinned slots, or
/// null.
nb::tuple arrays_of(loader::Batch&& batch, const HeldCount& held,
                    const std::shared_ptr<Returns>& returns, Tensors tensors);
/// The same of a batch on a GPU; indices are of the host.
nb::tuple arrays_of(const std::shared_ptr<loader::gpu::Arrival>& arrival, Tensors tensors);

}  // namespace sluice::python
