// sluice/scenario/allreduce/rows.cpp - the row of `bench allreduce`: a pass adds up every size
// once.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/rng.h"
#include "sluice/scenario/allreduce/world.h"
#include "sluice/scenario/scenario.h"

#include <fmt/format.h>

#include <numeric>

namespace sluice::scenario {
namespace {

/// One world serves all sizes: MPI can be begun once, and under mpirun there is one for all. Times
/// are taken inside of a pass, without warm-up and orders, and told in measured_info().
class AllreduceSubject final : public measure::Subject {
 public:
  AllreduceSubject(AllreduceSpec spec, std::unique_ptr<AllreduceWorld> world, std::uint64_t seed)
      : spec_(std::move(spec)), world_(std::move(world)), seed_(seed) {}

  Result<std::string> check() override {
    for (const std::int64_t bytes : spec_.bytes)
      SLUICE_CHECK(world_->check(bytes));
    return fmt::format("{} sizes up to {} bytes, exact sums of {} ranks", spec_.bytes.size(),
                       spec_.bytes.back(), world_->size());
  }

  /// In another order every time, so that no size always follows the same one.
  void run_pass() override {
    std::vector<std::size_t> order(spec_.bytes.size());
    std::iota(order.begin(), order.end(), std::size_t{0});
    Rng rng(RngKey{.seed = seed_, .index = pass_++});
    rng.shuffle(std::span(order));
    times_.assign(spec_.bytes.size(), {});
    for (const std::size_t i : order) {
      const auto times = world_->time(spec_.bytes[i], clock_);
      if (!times) throw std::runtime_error(times.error().message);
      times_[i] = *times;
    }
  }

  [[nodiscard]] std::int64_t items_per_pass() const override { return 1; }
  [[nodiscard]] double bytes_per_item() const override { return 0; }

  [[nodiscard]] Json measured_info() override {
    Json sizes = Json::array();
    for (std::size_t i = 0; i < times_.size(); ++i)
      sizes.push_back(Json{{"bytes", spec_.bytes[i]},
                           {"sums", sums_of(spec_.bytes[i], spec_.sums)},
                           {"elapsed_ns", times_[i].elapsed_ns},
                           {"cpu_ns", times_[i].cpu_ns}});
    return Json{{"world_size", world_->size()},
                {"machines", world_->machines()},
                {"library", world_->library()},
                {"sizes", std::move(sizes)}};
  }

 private:
  AllreduceSpec spec_;
  std::unique_ptr<AllreduceWorld> world_;
  std::uint64_t seed_;
  std::uint64_t pass_ = 0;
  SystemClock clock_;
  std::vector<SumTimes> times_;  // of the last pass, by size
};

}  // namespace

Result<std::unique_ptr<measure::Subject>> make_allreduce(const measure::SubjectContext& context) {
  SLUICE_TRY(AllreduceSpec spec, read_allreduce_spec(context.spec));
  SLUICE_TRY(auto world, AllreduceWorld::start(spec));
  return std::unique_ptr<measure::Subject>(
      std::make_unique<AllreduceSubject>(std::move(spec), std::move(world), context.seed));
}

}  // namespace sluice::scenario
