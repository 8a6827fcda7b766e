// sluice/cli/spin.cpp - `sluice spin`: a fixed amount of work that prints its seconds: the subject
// of `sluice selftest`.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/spin.h"

#include "sluice/cli/commands.h"
#include "sluice/cli/print.h"
#include "sluice/core/clock.h"
#include "sluice/measure/inject.h"

#include <fmt/format.h>

#include <cstdint>
#include <memory>

namespace sluice::cli {
namespace {

Result<ExitCode> run(int rounds) {
  SLUICE_TRY(const double share, measure::injected_slowdown());
  scenario::Spin spin;
  SystemClock clock;
  const std::int64_t start_ns = clock.now_ns();
  spin.turn(rounds);
  measure::stretch(clock, start_ns, share);
  const std::int64_t taken_ns = clock.now_ns() - start_ns;
  print("digest {}\n{:.9f}\n", spin.digest(), static_cast<double>(taken_ns) * 1e-9);
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
