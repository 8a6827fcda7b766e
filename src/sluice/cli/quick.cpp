// sluice/cli/quick.cpp - `sluice quick`: the tour, on generated data, no flags needed.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/commands.h"
#include "sluice/cli/diagnose_run.h"
#include "sluice/cli/session.h"
#include "sluice/core/log.h"
#include "sluice/core/thread_pool.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>

namespace sluice::cli {
namespace {

constexpr int kTourBatch = 32;
/// ResNet-50 on an H100, as MLPerf Storage emulates it: 400 images in 0.224 s.
constexpr double kAcceleratorMsPerImage = 0.56;

/// Raw times of rows that are no rows of the file: they are short, and no comparison reads them.
Json raw_rows(const std::vector<measure::Row>& rows) {
  Json list = Json::array();
  for (const measure::Row& row : rows) {
    Json runs = Json::array();
    for (const measure::Run& run : row.runs)
      runs.push_back(Json{{"samples_ns", run.samples_ns}, {"details", run.details}});
    list.push_back(Json{{"case", row.case_name},
                        {"items_per_sample", row.items_per_sample},
                        {"runs", std::move(runs)}});
  }
  return list;
}

/// Would this machine's loader feed an accelerator? A few seconds; a failure is a line, not the end
/// of the tour.
Status look_at_loader(results::ResultFile& file, const std::filesystem::path& data_dir,
                      measure::RunnerContext runner, const measure::Policy& session) {
  DiagnosePlan plan;
  plan.loader.input = data_dir.string();
  plan.loader.batch_size = static_cast<int>(
      std::min<std::int64_t>(kTourBatch, std::max<std::int64_t>(1, file.dataset.count)));
  plan.loader.workers =
      static_cast<int>(session.cpus.empty() ? usable_cores() : session.cpus.size());
  SLUICE_TRY(plan.engine.model, train::find_model("vit5-tiny"));
  plan.engine.batch = plan.loader.batch_size;
  plan.model_time_ms = kAcceleratorMsPerImage * plan.loader.batch_size;
  plan.policy = session;
  plan.policy.runs = std::min(3, session.runs);
  plan.policy.samples_per_run = 1;
  plan.policy.min_sample_ms = 2.5 * session.min_sample_ms;  // a batch takes longer than an image
  plan.policy.slow_item_s = 0;
  plan.policy.stop = measure::StopKind::count;
  runner.on_block = {};
  auto found = diagnose(plan, runner);
  Json summary = file.extra.is_object() && file.extra.contains("summary") ? file.extra["summary"]
                                                                          : Json::object();
  if (found && !found->interrupted) {
    summary.update(found->summary);
    summary["step"] = fmt::format("an emulated accelerator that trains {:.0f} images/s",
                                  1e3 / kAcceleratorMsPerImage);
    summary["step_rows"] = raw_rows(found->rows);
  } else {
    const std::string reason = found ? "interrupted" : found.error().message;
    summary["attribution"] = nullptr;
    summary["attribution_reason"] = reason;
    log::warn("no diagnosis of loader and accelerator: {}", reason);
  }
  file.extra["summary"] = std::move(summary);
  return ok;
}

}  // namespace

void add_quick(CLI::App& root, Context& context) {
  auto flags = std::make_shared<SessionFlags>();
  CLI::App* command = add_command(
      root, context, "quick",
      "Measure this machine: canary, decode, resize, normalise, pipeline; is it the loader?",
      [flags, &context]() -> Result<ExitCode> {
        SLUICE_TRY(SessionPlan plan, make_plan(*flags, context.globals, "quick"));
        plan.kinds = {scenario::Kind::canary, scenario::Kind::bench};
        plan.afterwards = [policy = plan.policy](results::ResultFile& file,
                                                 const std::filesystem::path& data_dir,
                                                 measure::RunnerContext runner) {
          return look_at_loader(file, data_dir, std::move(runner), policy);
        };
        SLUICE_TRY(const SessionResult session, run_session(context, plan));
        return show_session(context, session);
      });
  add_session_flags(*command, *flags);
  add_examples(*command, {"sluice quick",
                          "sluice quick --out first && sluice quick --out second && "
                          "sluice compare first second",
                          "sluice quick --data-dir photos --runs 7 --json > result.json",
                          "sluice quick --out first --resume      (continue after Ctrl-C)"});
}

}  // namespace sluice::cli
