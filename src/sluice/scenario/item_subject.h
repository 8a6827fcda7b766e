// sluice/scenario/item_subject.h - a subject that does the same work for every item, on the threads
// it was given.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/thread_pool.h"
#include "sluice/measure/worker/subject.h"

namespace sluice::scenario {

/// run_item(index, worker) must write its output to memory that belongs to `index`, and keep its
/// state by `worker`.
class ItemSubject : public measure::Subject {
 public:
  ItemSubject(std::size_t items, int threads)
      : items_(items), pool_(static_cast<unsigned>(threads)) {}

  void run_pass() final {
    pool_.parallel_for(items_,
                       [this](std::size_t index, unsigned worker) { run_item(index, worker); });
  }
  [[nodiscard]] std::int64_t items_per_pass() const final {
    return static_cast<std::int64_t>(items_);
  }

 protected:
  virtual void run_item(std::size_t index, unsigned worker) = 0;

  [[nodiscard]] unsigned workers() const { return pool_.size(); }

 private:
  std::size_t items_;
  ThreadPool pool_;
};

}  // namespace sluice::scenario
