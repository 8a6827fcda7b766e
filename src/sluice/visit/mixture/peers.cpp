// sluice/visit/mixture/peers.cpp - samples of two workers, side by side.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/mixture/peers.h"

#include "sluice/measure/worker/session.h"
#include "sluice/peers/auditor.h"
#include "sluice/scenario/mixture/peer.h"
#include "sluice/visit/loader/peers.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::visit {
namespace {

using Pictures = std::vector<peers::Picture>;

Result<Pictures> pairs_of(const measure::SubjectSpec& row, std::int64_t items,
                          const measure::RunnerContext& context, const std::filesystem::path& file,
                          double timeout_s) {
  if (context.interrupted && context.interrupted()) return Error{Errc::interrupted, "interrupted"};
  measure::WorkerSession session;
  SLUICE_CHECK(session.start(measure::session_options(row, context, timeout_s, 0), context));
  SLUICE_CHECK(session.ask(measure::Prepare{row.case_name, row.spec}, timeout_s));
  SLUICE_TRY(const auto checked, session.ask(measure::Check{{{file, items, 1}}}, timeout_s));
  session.stop();
  return peers::read_samples(file, checked.shapes, static_cast<std::size_t>(items));
}

}  // namespace

Result<double> compare_pairs(const measure::SubjectSpec& ours, const measure::SubjectSpec& theirs,
                             const measure::RunnerContext& context,
                             const std::filesystem::path& scratch, double timeout_s) {
  const Json& spec = theirs.spec;
  const auto items = std::min<std::int64_t>(
      static_cast<std::int64_t>(spec.at("sources").size()),
      spec.at("steps").get<std::int64_t>() * spec.at("batch_size").get<std::int64_t>());
  const auto file = std::filesystem::absolute(scratch / "pairs.f32");
  SLUICE_TRY(const Pictures mine, pairs_of(ours, items, context, file, timeout_s));
  SLUICE_TRY(const Pictures other, pairs_of(theirs, items, context, file, timeout_s));
  const double difference = mean_difference(mine, other);
  if (difference <= scenario::kMostPairLevels) return difference;
  return Error{Errc::measurement,
               fmt::format("not comparable: the first pairs of {} data sets differ from ours by "
                           "{:.2f} levels in the mean, at most {:g} is accepted",
                           items, difference, scenario::kMostPairLevels)};
}

}  // namespace sluice::visit
