// sluice/scenario/empty.cpp - a subject that does nothing: what is left is the harness itself.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/scenario.h"

namespace sluice::scenario {
namespace {

class EmptySubject final : public measure::Subject {
 public:
  Result<std::string> check() override { return std::string("empty"); }
  void run_pass() override {}
  [[nodiscard]] std::int64_t items_per_pass() const override { return 1; }
  [[nodiscard]] double bytes_per_item() const override { return 0; }
};

}  // namespace

Scenario empty() {
  Scenario scenario;
  scenario.name = "harness/empty";
  scenario.doc = "A pass that does nothing: the overhead of the harness per iteration.";
  scenario.kind = Kind::harness;
  scenario.unit = "pass/s";
  scenario.threads_axis = false;
  scenario.make = [](const measure::SubjectContext&) -> Result<std::unique_ptr<measure::Subject>> {
    return std::unique_ptr<measure::Subject>(std::make_unique<EmptySubject>());
  };
  return scenario;
}

}  // namespace sluice::scenario
