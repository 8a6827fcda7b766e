// python/native/lease.cpp - arrays over the slot of a batch, or over a copy of it.
// SPDX-License-Identifier: Apache-2.0
#include "python/native/lease.h"

#include <array>
#include <cstring>
#include <unistd.h>
#include <utility>
#include <vector>

namespace sluice::python {
namespace {

using loader::Batch;
using loader::BatchType;

nb::dlpack::dtype dtype_of(BatchType type) {
  using Code = nb::dlpack::dtype_code;
  switch (type) {
    case BatchType::u8:
      return {static_cast<std::uint8_t>(Code::UInt), 8, 1};
    case BatchType::f32:
      return {static_cast<std::uint8_t>(Code::Float), 32, 1};
    case BatchType::f16:
      return {static_cast<std::uint8_t>(Code::Float), 16, 1};
    case BatchType::bf16:
      return {static_cast<std::uint8_t>(Code::Bfloat), 16, 1};
    case BatchType::i32:
      return {static_cast<std::uint8_t>(Code::Int), 32, 1};
  }
  return {};
}

/// Gives the slot back, by `returns` where there are any. In a process that forked off, the ring's
/// lock may be held by a thread that is not there: the slot is left alone.
class Lease {
 public:
  Lease(Batch&& batch, HeldCount held, std::shared_ptr<Returns> returns)
      : batch_(std::make_unique<Batch>(std::move(batch))),
        held_(std::move(held)),
        returns_(std::move(returns)) {}
  Lease(const Lease&) = delete;
  Lease& operator=(const Lease&) = delete;
  ~Lease() {
    if (::getpid() != process_) {
      (void)batch_.release();
      return;
    }
    if (returns_ != nullptr) {
      returns_->let_go(std::move(*batch_));
      return;
    }
    batch_->release();
    held_->fetch_sub(1);
  }

 private:
  std::unique_ptr<Batch> batch_;
  HeldCount held_;
  std::shared_ptr<Returns> returns_;
  pid_t process_ = ::getpid();
};

struct Copy {
  std::unique_ptr<std::byte[]> pixels;
  std::vector<std::int64_t> labels;
  std::vector<std::uint64_t> indices;
};

std::shared_ptr<Copy> copy_of(const Batch& batch) {
  nb::gil_scoped_release others_may_run;
  auto copy = std::make_shared<Copy>();
  const std::span<const std::byte> pixels = batch.data();
  copy->pixels = std::make_unique_for_overwrite<std::byte[]>(pixels.size());
  std::memcpy(copy->pixels.get(), pixels.data(), pixels.size());
  copy->labels.assign(batch.labels().begin(), batch.labels().end());
  copy->indices.assign(batch.indices().begin(), batch.indices().end());
  return copy;
}

}  // namespace

void Returns::let_go(Batch&& batch) {
  std::lock_guard lock(mutex_);
  let_go_.push_back(std::move(batch));
}

Status Returns::collect(std::atomic<int>& held) {
  std::lock_guard lock(mutex_);
  if (let_go_.empty()) return ok;
  SLUICE_TRY(const auto reached, device_->record_all());
  for (Batch& batch : let_go_) {
    batch.set_event(reached);
    batch.release();
    held.fetch_sub(1);
  }
  let_go_.clear();
  return ok;
}

nb::tuple arrays_of(Batch&& batch, const HeldCount& held, const std::shared_ptr<Returns>& returns,
                    Tensors tensors) {
  std::array<std::size_t, 4> shape{};
  for (std::size_t i = 0; i < shape.size(); ++i)
    shape[i] = static_cast<std::size_t>(batch.shape()[i]);
  const std::array<std::size_t, 1> count{shape[0]};
  const nb::dlpack::dtype type = dtype_of(batch.spec().type);

  void* pixels = batch.data().data();
  auto* labels = const_cast<std::int64_t*>(batch.labels().data());
  auto* indices = const_cast<std::uint64_t*>(batch.indices().data());
  Where where = batch.pinned() ? Where::pinned : Where::host;
  std::shared_ptr<void> owner;
  if (held->fetch_add(1) < kHeldBatches) {
    owner = std::make_shared<Lease>(std::move(batch), held, returns);
  } else {
    held->fetch_sub(1);
    auto copy = copy_of(batch);
    batch.release();
    pixels = copy->pixels.get();
    labels = copy->labels.data();
    indices = copy->indices.data();
    where = Where::host;
    owner = std::move(copy);
  }
  return nb::make_tuple(
      array_of({pixels, shape, type, owner, where}, tensors),
      array_of({labels, count, nb::dtype<std::int64_t>(), owner}, tensors),
      // neither torch nor jax (as it is set up) has all of uint64
      array_of({indices, count, nb::dtype<std::uint64_t>(), owner}, Tensors::numpy));
}

nb::tuple arrays_of(const std::shared_ptr<loader::gpu::Arrival>& arrival, Tensors tensors) {
  std::array<std::size_t, 4> shape{};
  for (std::size_t i = 0; i < shape.size(); ++i)
    shape[i] = static_cast<std::size_t>(arrival->shape()[i]);
  const std::array<std::size_t, 1> count{shape[0]};
  // of their own: who keeps the indices shall not keep memory of the device
  const auto indices = std::make_shared<std::vector<std::uint64_t>>(std::move(arrival->indices()));
  return nb::make_tuple(
      array_of({arrival->images(), shape, dtype_of(arrival->type()), arrival, Where::device},
               tensors),
      array_of({arrival->labels(), count, nb::dtype<std::int64_t>(), arrival, Where::device},
               tensors),
      array_of({indices->data(), count, nb::dtype<std::uint64_t>(), indices}, Tensors::numpy));
}

}  // namespace sluice::python
