// sluice/visit/once.cpp - hello, configure, load, prepare, check, measure, bye.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/once.h"

#include "sluice/measure/schedule.h"
#include "sluice/measure/summary.h"
#include "sluice/measure/worker/session.h"

namespace sluice::visit {

namespace {

Status take(measure::Row& row, const measure::SubjectSpec& spec, std::int64_t passes,
            const measure::RunnerContext& context, double timeout_s, std::uint64_t seed) {
  measure::WorkerSession session;
  SLUICE_CHECK(session.start(measure::session_options(spec, context, timeout_s, seed), context));
  row.library_version = session.hello().version;
  row.thread_policy.in_force = session.configured().threads;
  SLUICE_TRY(const auto prepared,
             session.ask(measure::Prepare{spec.case_name, spec.spec}, timeout_s));
  row.bytes_per_item = prepared.bytes_per_item;
  SLUICE_TRY(const auto checked, session.ask(measure::Check{}, timeout_s));
  row.output_digest = checked.digest;
  SLUICE_TRY(row.items_per_sample, measure::items_per_sample(prepared.items_per_pass, passes));
  measure::Run run = measure::new_run(context.session_id, row, 0, session.pid());
  SLUICE_TRY(const auto answer,
             session.ask(measure::Measure{spec.case_name, passes, 0, 0}, timeout_s));
  SLUICE_CHECK(measure::add_sample(run, answer, row.items_per_sample));
  row.runs.push_back(std::move(run));
  session.stop();
  return ok;
}

}  // namespace

Result<measure::Row> measure_once(const measure::SubjectSpec& spec, std::int64_t passes,
                                  const measure::RunnerContext& context, double timeout_s,
                                  std::uint64_t seed) {
  measure::Row row;
  measure::put_spec(row, spec);
  const Status taken = take(row, spec, passes, context, timeout_s, seed);
  if (!taken && taken.error().code == Errc::interrupted) return taken.error();
  if (!taken) return measure::refused_row(spec, taken.error());
  measure::summarise(row, 1);
  return row;
}

}  // namespace sluice::visit
