// sluice/stats/sign_flip.cpp - exact and Monte-Carlo sign-flip test.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/stats/sign_flip.h"

#include "sluice/core/rng.h"

#include <fmt/format.h>

#include <cmath>

namespace sluice::stats {
namespace {

constexpr std::uint32_t kSignFlipStage = 0x464c4950;

// Sums that differ by rounding alone are equal: the observed pattern must count itself in whatever
// order it is summed.
class Extreme {
 public:
  Extreme(Sample differences, Alternative alternative) : alternative_(alternative) {
    double magnitude = 0;
    for (const double d : differences) {
      observed_ += d;
      magnitude += std::abs(d);
    }
    slack_ = 1e-12 * magnitude;
  }
  [[nodiscard]] double observed() const { return observed_; }
  [[nodiscard]] bool operator()(double sum) const {
    switch (alternative_) {
      case Alternative::less:
        return sum <= observed_ + slack_;
      case Alternative::greater:
        return sum >= observed_ - slack_;
      case Alternative::two_sided:
        break;
    }
    return std::abs(sum) >= std::abs(observed_) - slack_;
  }

 private:
  Alternative alternative_;
  double observed_ = 0;
  double slack_ = 0;
};

std::int64_t count_extreme(Sample rest, double sum, const Extreme& extreme) {
  if (rest.empty()) return extreme(sum) ? 1 : 0;
  return count_extreme(rest.subspan(1), sum + rest[0], extreme) +
         count_extreme(rest.subspan(1), sum - rest[0], extreme);
}

}  // namespace

Result<SignFlip> sign_flip(Sample differences, const SignFlipOptions& options) {
  SLUICE_CHECK(require_sample(differences, 1, "sign-flip test"));
  const Extreme extreme(differences, options.alternative);
  SLUICE_CHECK(require_finite(extreme.observed(), "sign-flip test"));
  if (differences.size() <= kSignFlipExactLimit) {
    const auto hits = static_cast<double>(count_extreme(differences, 0, extreme));
    return SignFlip{std::ldexp(hits, -static_cast<int>(differences.size())), true};
  }
  if (options.draws < 100) {
    return Error{
        Errc::invalid_input,
        fmt::format("sign-flip test: {} draws asked for, at least 100 needed", options.draws)};
  }
  int hits = 0;
  for (int draw = 0; draw < options.draws; ++draw) {
    Rng rng(RngKey{
        .seed = options.seed, .index = static_cast<std::uint64_t>(draw), .stage = kSignFlipStage});
    double sum = 0;
    std::uint32_t bits = 0;
    for (std::size_t i = 0; i < differences.size(); ++i) {
      if (i % 32 == 0) bits = rng.next_u32();
      sum += (bits & 1U) != 0 ? differences[i] : -differences[i];
      bits >>= 1U;
    }
    if (extreme(sum)) ++hits;
  }
  return SignFlip{(1.0 + hits) / (1.0 + options.draws), false};
}

}  // namespace sluice::stats
