// sluice/scenario/allreduce/host_sums.cpp - sums where the numbers are.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/allreduce/rank_sums.h"

#include <utility>

namespace sluice::scenario {
namespace {

class HostSums final : public RankSums {
 public:
  HostSums(train::Communicator& ranks, std::string library)
      : ranks_(ranks), library_(std::move(library)) {}

  [[nodiscard]] std::string library() const override { return library_; }
  Status take(std::span<float> values) override {
    values_ = values;
    return ok;
  }
  Status add_up(int times) override {
    for (int i = 0; i < times; ++i) {
      SLUICE_CHECK(ranks_.start_sum(values_));
      SLUICE_CHECK(ranks_.finish());
    }
    return ok;
  }
  Status give_back() override { return ok; }

 private:
  train::Communicator& ranks_;
  std::string library_;
  std::span<float> values_;
};

}  // namespace

std::unique_ptr<RankSums> host_sums(train::Communicator& ranks, std::string library) {
  return std::make_unique<HostSums>(ranks, std::move(library));
}

}  // namespace sluice::scenario
