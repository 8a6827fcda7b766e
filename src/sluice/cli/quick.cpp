// sluice/cli/quick.cpp - `sluice quick`: the tour, on generated data, no flags needed.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/commands.h"
#include "sluice/cli/flags/session.h"
#include "sluice/report/tour_text.h"
#include "sluice/visit/tour/tour.h"

#include <memory>

namespace sluice::cli {
namespace {

/// The parts that follow our own rows, and what all of it comes to.
Status go_on(const visit::LaterPart& part, const measure::Policy& session,
             const visit::TourPeers& peers) {
  part.file.tour = results::TourSummary{peers.reason, {}};
  SLUICE_CHECK(visit::tour_transforms(part, session, peers));
  SLUICE_CHECK(visit::tour_training(part, session));
  SLUICE_CHECK(visit::tour_accelerator(part, session));
  part.file.tour->found = report::tour_sentences(part.file);
  return ok;
}

Result<visit::SessionPlan> quick_plan(const SessionFlags& flags, const Globals& globals) {
  SLUICE_TRY(visit::SessionPlan plan, make_plan(flags, globals, "quick"));
  plan.kinds = {scenario::Kind::canary, scenario::Kind::bench};
  plan.scenarios = {"decode/jpeg/threads=1", "pipeline/rrc224", "loader/rrc224-antialias"};
  const visit::TourPeers peers = visit::find_tour_peers();
  plan.peers.insert(plan.peers.end(), peers.decoders.begin(), peers.decoders.end());
  plan.later_rows = visit::tour_rows(peers);
  plan.afterwards = [policy = plan.policy, peers](const visit::LaterPart& part) {
    return go_on(part, policy, peers);
  };
  return plan;
}

}  // namespace

void add_quick(CLI::App& root, Context& context) {
  auto flags = std::make_shared<SessionFlags>();
  flags->runs = 4;     // the tour has 90 s
  flags->samples = 1;  // only runs are compared
  flags->images = 32;  // each run's fresh process reads and checks all of them before it measures
  CLI::App* command = add_command(
      root, context, "quick",
      "Take the tour: decode and transforms beside Pillow and OpenCV, loader, training",
      [flags, &context]() -> Result<ExitCode> {
        SLUICE_TRY(const visit::SessionPlan plan, quick_plan(*flags, context.globals));
        SLUICE_TRY(const visit::Visited session, visit::run_session(context.globals, plan));
        return show_session(context, session, true);
      });
  add_session_flags(*command, *flags);
  add_examples(*command, {"sluice quick",
                          "sluice quick --out first && sluice quick --out second && "
                          "sluice compare first second",
                          "sluice quick --data-dir photos --runs 7 --json > result.json",
                          "sluice quick --out first --resume      (continue after Ctrl-C)"});
}

}  // namespace sluice::cli
