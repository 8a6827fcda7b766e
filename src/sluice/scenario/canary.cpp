// sluice/scenario/canary.cpp - the frozen canary of the measure room, one scenario per part.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/canary_v1.h"
#include "sluice/scenario/scenario.h"

#include <fmt/format.h>

namespace sluice::scenario {
namespace {

namespace v1 = sluice_canary_v1;

class CanarySubject final : public measure::Subject {
 public:
  explicit CanarySubject(int part) : part_(part) {}
  Result<std::string> check() override {
    const std::uint64_t digest = v1::run(part_);
    if (digest != v1::expected_digest(part_)) {
      return Error{
          Errc::measurement,
          fmt::format("canary {} gave {:016x}, not {:016x}: this machine or build computes "
                      "wrongly",
                      v1::part_name(part_), digest, v1::expected_digest(part_))};
    }
    return fmt::format("{:016x}", digest);
  }
  void run_pass() override { sink_ = v1::run(part_); }
  [[nodiscard]] std::int64_t items_per_pass() const override { return 1; }
  [[nodiscard]] double bytes_per_item() const override { return 0; }

 private:
  int part_;
  volatile std::uint64_t sink_ = 0;
};

}  // namespace

std::vector<Scenario> canary() {
  std::vector<Scenario> parts;
  for (int part = 0; part < v1::kParts; ++part) {
    Scenario scenario;
    scenario.name = std::string("canary-v1/") + v1::part_name(part);
    scenario.doc = "Frozen yardstick: tells a slower machine from slower code.";
    scenario.kind = Kind::canary;
    scenario.unit = "pass/s";
    scenario.threads_axis = false;
    scenario.make =
        [part](const measure::SubjectContext&) -> Result<std::unique_ptr<measure::Subject>> {
      if (!v1::prepare(part))
        return Error{Errc::measurement, "the canary's memory could not be had"};
      return std::unique_ptr<measure::Subject>(std::make_unique<CanarySubject>(part));
    };
    parts.push_back(std::move(scenario));
  }
  return parts;
}

}  // namespace sluice::scenario
