// sluice/scenario/spin.cpp - the work, and a worker's subject made of it.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/spin.h"

#include "sluice/core/json.h"
#include "sluice/scenario/scenario.h"

#include <fmt/format.h>

#include <numeric>

namespace sluice::scenario {
namespace {

constexpr int kMostRounds = 100'000'000;
constexpr std::size_t kWords = std::size_t{1} << 16;
constexpr const char* kDigestOfFirstRound = "601723df51e5cdb7";

class SpinSubject final : public measure::Subject {
 public:
  explicit SpinSubject(int rounds) : rounds_(rounds) {}
  Result<std::string> check() override {
    std::string digest = Spin().digest();
    if (digest == kDigestOfFirstRound) return digest;
    return Error{Errc::measurement, fmt::format("spin gave {}, not {}: this machine or build "
                                                "computes wrongly",
                                                digest, kDigestOfFirstRound)};
  }
  void run_pass() override { spin_.turn(rounds_); }
  [[nodiscard]] std::int64_t items_per_pass() const override { return 1; }
  [[nodiscard]] double bytes_per_item() const override { return 0; }

 private:
  Spin spin_;
  int rounds_;
};

}  // namespace

Spin::Spin() : words_(kWords) {
  std::iota(words_.begin(), words_.end(), 1);
  turn(1);
}

void Spin::turn(int rounds) {
  std::uint64_t carry = 0x9e3779b97f4a7c15U;
  for (int round = 0; round < rounds; ++round) {
    for (std::uint64_t& word : words_) {
      carry = (carry ^ word) * 0xbf58476d1ce4e5b9U;
      carry ^= carry >> 29U;
      word += carry;
    }
  }
}

std::string Spin::digest() const {
  return fmt::format("{:016x}", std::accumulate(words_.begin(), words_.end(), std::uint64_t{0}));
}

Result<std::unique_ptr<measure::Subject>> make_spin(const measure::SubjectContext& context) {
  const Json& rounds = at(context.spec, "rounds");
  if (!rounds.is_number_integer() || rounds < 1 || rounds > kMostRounds)
    return Error{Errc::usage, fmt::format("{}: rounds {}: expected 1 to {}", kSpinCase,
                                          dump_json(rounds, -1), kMostRounds)};
  return std::unique_ptr<measure::Subject>(std::make_unique<SpinSubject>(rounds.get<int>()));
}

}  // namespace sluice::scenario
