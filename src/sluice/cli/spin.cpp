// sluice/cli/spin.cpp - `sluice spin`: a fixed amount of work that prints its seconds: the subject
// of `sluice selftest`.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/commands.h"
#include "sluice/cli/print.h"
#include "sluice/core/clock.h"
#include "sluice/measure/inject.h"

#include <fmt/format.h>

#include <cstdint>
#include <memory>
#include <numeric>
#include <vector>

namespace sluice::cli {
namespace {

constexpr std::size_t kWords = std::size_t{1} << 16;  // 512 KiB: a second-level cache

/// One round reads, mixes and writes every word.
void mix(std::vector<std::uint64_t>& words, int rounds) {
  std::uint64_t carry = 0x9e3779b97f4a7c15U;
  for (int round = 0; round < rounds; ++round) {
    for (std::uint64_t& word : words) {
      carry = (carry ^ word) * 0xbf58476d1ce4e5b9U;
      carry ^= carry >> 29U;
      word += carry;
    }
  }
}

Result<ExitCode> run(int rounds) {
  SLUICE_TRY(const double share, measure::injected_slowdown());
  std::vector<std::uint64_t> words(kWords);
  std::iota(words.begin(), words.end(), 1);
  mix(words, 1);  // every page touched before the clock starts
  SystemClock clock;
  const std::int64_t start_ns = clock.now_ns();
  mix(words, rounds);
  measure::stretch(clock, start_ns, share);
  const std::int64_t taken_ns = clock.now_ns() - start_ns;
  print("digest {:016x}\n{:.9f}\n", std::accumulate(words.begin(), words.end(), std::uint64_t{0}),
        static_cast<double>(taken_ns) * 1e-9);
  return ExitCode::done;
}

}  // namespace

void add_spin(CLI::App& root, Context& context) {
  auto rounds = std::make_shared<int>(1000);
  CLI::App* sub = add_command(root, context, "spin",
                              "Do a fixed amount of work and print its seconds (docs/selftest.md)",
                              [rounds] { return run(*rounds); });
  add_number(*sub, "--rounds", *rounds, 1, 100'000'000, "how much work: rounds over 512 KiB");
}

}  // namespace sluice::cli
