// sluice/visit/once.cpp - hello, configure, load, prepare, check, measure, bye.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/once.h"

#include "sluice/measure/protocol.h"
#include "sluice/measure/reply.h"
#include "sluice/measure/summary.h"

#include <fmt/format.h>

namespace sluice::visit {

using measure::Reply;

peers::StartOptions start_options(const measure::SubjectSpec& spec,
                                  const measure::RunnerContext& context, double timeout_s,
                                  std::uint64_t seed) {
  peers::StartOptions how;
  how.launch.command = spec.command;
  how.launch.environment = spec.environment;
  if (!context.log_dir.empty()) how.launch.log_file = context.log_dir / (spec.library + ".log");
  how.launch.cancel_fd = context.cancel_fd;
  how.configure = Json{{"threads", spec.threads}, {"device", "cpu"}, {"seed", seed}};
  if (!spec.thread_policy.empty()) how.configure["thread_policy"] = spec.thread_policy;
  how.load = Json{{"data_dir", spec.data_dir.string()}};
  how.timeout_s = timeout_s;
  return how;
}

namespace {

Status take(measure::Row& row, const measure::SubjectSpec& spec, std::int64_t passes,
            const measure::RunnerContext& context, double timeout_s, std::uint64_t seed) {
  peers::Seat seat;
  peers::Greeting greeting;
  SLUICE_CHECK(seat.start(start_options(spec, context, timeout_s, seed), *context.launcher,
                          *context.clock, greeting));
  seat.resume(*context.clock);
  row.library_version = greeting.version;
  row.thread_policy.in_force = greeting.threads_in_force;
  SLUICE_TRY(
      const Json prepared,
      seat.ask({{"type", "prepare"}, {"case", spec.case_name}, {"spec", spec.spec}}, timeout_s));
  SLUICE_TRY(const auto items, Reply("prepare", prepared).integer("items_per_pass", 1));
  SLUICE_TRY(row.bytes_per_item, Reply("prepare", prepared).number("bytes_per_item", 0));
  SLUICE_TRY(const Json checked, seat.ask({{"type", "check"}}, timeout_s));
  SLUICE_TRY(row.output_digest, Reply("check", checked).text("digest"));
  if (__builtin_mul_overflow(items, passes, &row.items_per_sample))
    return Error{Errc::measurement, "prepare: items_per_pass is too large to be counted"};
  measure::Run run;
  run.run_id = fmt::format("{}/{}/{}/0", context.session_id, spec.case_name, spec.library);
  run.pid = seat.pid();
  SLUICE_TRY(const Json reply, seat.ask({{"type", "measure"},
                                         {"case", spec.case_name},
                                         {"passes", passes},
                                         {"warmup_ms", 0},
                                         {"warmup_limit_ms", 0}},
                                        timeout_s));
  SLUICE_CHECK(measure::add_sample(run, Reply("measure", reply), row.items_per_sample));
  row.runs.push_back(std::move(run));
  seat.leave();
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
