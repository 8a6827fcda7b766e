// sluice/loader/mixture/schedule.cpp - which source gives the next block.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/mixture/schedule.h"

#include "sluice/core/rng.h"

#include <algorithm>
#include <array>
#include <cmath>
#include <limits>
#include <numeric>

namespace sluice::loader::mixture {
namespace {

constexpr int kDraws = 256;  // of a source that may not be ready, before only ready ones are drawn
constexpr std::uint32_t kStage = 0x6d6978;  // keeps draws apart from those of sources

std::optional<std::size_t> pick(double at, std::span<const double> shares,
                                std::span<const char> of) {
  double sum = 0;
  for (std::size_t i = 0; i < shares.size(); ++i)
    if (of.empty() || of[i] != 0) sum += shares[i];
  std::optional<std::size_t> last;
  double left = at * sum;
  for (std::size_t i = 0; i < shares.size(); ++i) {
    if ((!of.empty() && of[i] == 0) || shares[i] <= 0) continue;
    last = i;
    if (left < shares[i]) break;
    left -= shares[i];
  }
  return last;
}

}  // namespace

const char* to_string(Mix mix) {
  constexpr std::array kNames = {"random", "deficit"};
  return kNames[static_cast<std::size_t>(mix)];
}

Schedule::Schedule(std::vector<double> weights, Mix mix, std::uint64_t seed)
    : weights_(std::move(weights)),
      out_(weights_.size()),
      shares_(weights_.size()),
      mix_(mix),
      seed_(seed),
      taken_(weights_.size()),
      before_(weights_.size()) {
  share_out();
}

void Schedule::share_out() {
  double sum = 0;
  for (std::size_t i = 0; i < weights_.size(); ++i)
    sum += out_[i] != 0 ? 0 : weights_[i];
  for (std::size_t i = 0; i < weights_.size(); ++i)
    shares_[i] = out_[i] != 0 || sum <= 0 ? 0 : weights_[i] / sum;
  before_ = taken_;
  total_before_ = total_;
}

/// Tijdeman's rule among `ready` (empty: all). Of several due at the same block the first counts.
std::optional<std::size_t> Schedule::earliest(std::span<const char> ready) const {
  const auto n = static_cast<double>(
      std::count_if(shares_.begin(), shares_.end(), [](double share) { return share > 0; }));
  const double slack = n > 1 ? 1.0 / (2.0 * n - 2.0) : 0.5;
  const auto next = static_cast<double>(total_ - total_before_ + 1);
  // With nobody's turn among them (whose it is may not be ready) still the one due first: so ready
  // ones share by weight what the others leave, and no small source gets far ahead for long.
  std::optional<std::size_t> best, first;
  double best_deadline = std::numeric_limits<double>::infinity();
  double first_deadline = std::numeric_limits<double>::infinity();
  for (std::size_t i = 0; i < shares_.size(); ++i) {
    if (shares_[i] <= 0 || (!ready.empty() && ready[i] == 0)) continue;
    const auto has = static_cast<double>(taken_[i] - before_[i]);
    // A little less than exact, so that equal weights are not told apart by a rounding.
    const double deadline = std::ceil((has + 1.0 - slack) / shares_[i] - 1e-9);
    if (deadline < first_deadline) {
      first_deadline = deadline;
      first = i;
    }
    if (shares_[i] * next - has >= slack - 1e-9 && deadline < best_deadline) {
      best_deadline = deadline;
      best = i;
    }
  }
  return best ? best : first;
}

std::optional<std::size_t> Schedule::draw(std::span<const char> ready) const {
  Rng rng(RngKey{.seed = seed_, .index = total_, .stage = kStage});
  for (int i = 0; i < kDraws; ++i) {
    const auto drawn = pick(rng.uniform(), shares_, {});
    if (!drawn || ready.empty() || ready[*drawn] != 0) return drawn;
  }
  return pick(rng.uniform(), shares_, ready);
}

std::size_t Schedule::due() const {
  return (mix_ == Mix::deficit ? earliest({}) : draw({})).value_or(0);
}

std::optional<std::size_t> Schedule::choose(std::span<const char> ready) const {
  if (std::none_of(ready.begin(), ready.end(), [](char is) { return is != 0; }))
    return std::nullopt;
  return mix_ == Mix::deficit ? earliest(ready) : draw(ready);
}

void Schedule::take(std::size_t source) {
  ++taken_[source];
  ++total_;
}

void Schedule::leave_out(std::size_t source) {
  out_[source] = 1;
  share_out();
}

Json Schedule::state() const {
  return {{"taken", taken_},
          {"before", before_},
          {"total", total_},
          {"total_before", total_before_},
          {"out", std::vector<int>(out_.begin(), out_.end())}};
}

Status Schedule::restore(const Json& state) {
  const auto wrong = [] {
    return Error{Errc::invalid_input, "state of the schedule: not as it was written"};
  };
  const auto list = [&](const char* key, std::vector<std::uint64_t>& to) {
    const auto found = state.find(key);
    if (found == state.end() || !found->is_array() || found->size() != weights_.size())
      return false;
    for (std::size_t i = 0; i < to.size(); ++i) {
      if (!(*found)[i].is_number_unsigned()) return false;
      to[i] = (*found)[i].get<std::uint64_t>();
    }
    return true;
  };
  if (!state.is_object()) return wrong();
  std::vector<std::uint64_t> taken(weights_.size()), before(weights_.size()), out(weights_.size());
  const auto total = state.find("total"), total_before = state.find("total_before");
  if (!list("taken", taken) || !list("before", before) || !list("out", out) ||
      total == state.end() || !total->is_number_unsigned() || total_before == state.end() ||
      !total_before->is_number_unsigned() ||
      std::accumulate(taken.begin(), taken.end(), std::uint64_t{0}) != total->get<std::uint64_t>())
    return wrong();
  std::transform(out.begin(), out.end(), out_.begin(), [](std::uint64_t o) { return o != 0; });
  share_out();
  taken_ = std::move(taken);
  before_ = std::move(before);
  total_ = total->get<std::uint64_t>();
  total_before_ = total_before->get<std::uint64_t>();
  return ok;
}

}  // namespace sluice::loader::mixture
