// sluice/backend/local.cpp - the life of `sluice run`, top to bottom.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/backend/local.h"

#include "sluice/backend/file_set.h"
#include "sluice/backend/media.h"
#include "sluice/backend/members.h"
#include "sluice/backend/visit.h"
#include "sluice/core/folder_guard.h"
#include "sluice/core/log.h"
#include "sluice/measure/local_runner.h"
#include "sluice/measure/runner.h"
#include "sluice/peers/crew.h"
#include "sluice/peers/places.h"
#include "sluice/peers/semantics.h"
#include "sluice/plan/published.h"
#include "sluice/scenario/scenario.h"

#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <optional>

namespace sluice::backend {
namespace {

namespace fs = std::filesystem;

results::Timing timing_of(const plan::RunConfig& config) {
  const bool pipeline = config.mode() == plan::Mode::pipeline;
  const bool decodes = decodes_in_time(config);
  results::Timing timing;
  timing.scope = pipeline ? plan::to_string(config.execution.pipeline_scope)
                          : (decodes ? "decode" : "augmentation_only");
  timing.data_source = decodes ? "file" : "memory";
  timing.includes_decode = decodes;
  timing.includes_collate = pipeline;
  timing.includes_transfer = pipeline && (config.execution.device != "none" ||
                                          config.execution.pipeline_scope ==
                                              plan::Scope::decode_dataloader_augment_batch_copy);
  return timing;
}

/// What is said once per file beside its rows.
results::MatrixRemarks remarks_of(const plan::Job& job, const Media& media) {
  results::MatrixRemarks remarks;
  remarks.device = job.device;
  if (job.scenario == "image-rgb" && job.mode == plan::Mode::micro && job.device == "none") {
    for (const plan::Case& one : job.cases) {
      const auto rate = plan::published_rate(one.transform, job.library);
      if (rate && !rate->early_stopped) remarks.published.emplace_back(one.transform, rate->rate);
    }
  }
  remarks.labels = job.labels;
  remarks.skipped_files = media.skipped;
  if (!media.not_colour.empty()) remarks.grey_files = media.not_colour.size();
  return remarks;
}

class LocalRun {
 public:
  LocalRun(const plan::Plan& plan, const LocalOptions& options, Progress& progress)
      : plan_(plan), options_(options), progress_(progress) {}

  Result<LocalResult> run() {
    const plan::RunConfig& config = plan_.config;
    SLUICE_TRY(auto audit, peers::read_audit(options_.semantics));
    const VisitOptions visit{
        config.data.data_dir.value_or("."),
        on_device(plan_) ? env::ProfileDevice::automatic : env::ProfileDevice::cpu, options_.argv};
    results::RunFolder::Options where;
    where.out = options_.out;
    where.resume = options_.resume;
    where.name = options_.name;
    SLUICE_TRY(where.profile, profile_of_visit(visit));
    SLUICE_TRY(const results::RunFolder folder, results::RunFolder::open(where));

    const FolderGuard scratch(folder.path() / "inputs");  // may be gigabytes
    SLUICE_TRY(const Media media, prepare_media(config, scratch.path(), progress_));
    SLUICE_TRY(results::ResultFile head, begin_visit(visit));
    head.run_config = plan::to_json(config);
    head.dataset = media.dataset;
    head.timing = timing_of(config);
    head.block_order_seed = config.execution.seed;
    SLUICE_TRY(FileSet files, FileSet::open(folder, plan_, head));
    files.set_remarks([&](const plan::Job& job) { return remarks_of(job, media); });
    SLUICE_CHECK(folder.write_environment(head.environment));
    SLUICE_CHECK(folder.write_config(plan::to_yaml(config)));
    SLUICE_TRY(const measure::RunnerContext context,
               local_.context(progress_, files.files().front().session_id, folder.path() / "logs"));

    LocalResult result;
    result.folder = folder.path();
    result.kept_cases = kept(files);
    const int begun = to_continue(files);
    const Status measured = measure_all(files, media, audit, context);
    if (!measured && measured.error().code != Errc::interrupted) return measured.error();
    result.interrupted = !measured;
    result.continued_cases = begun - to_continue(files);  // those that an interruption left are not
    SLUICE_CHECK(files.write_all());
    result.files = files.files();
    return result;
  }

 private:
  /// Cases that have runs, and miss some.
  int to_continue(const FileSet& files) const {
    return static_cast<int>(
        std::count_if(cases().begin(), cases().end(),
                      [&](const plan::Case& one) { return !files.so_far(one.name).empty(); }));
  }
  [[nodiscard]] const std::vector<plan::Case>& cases() const { return plan_.jobs.front().cases; }

  [[nodiscard]] int kept(const FileSet& files) const {
    return static_cast<int>(
        std::count_if(cases().begin(), cases().end(),
                      [&](const plan::Case& one) { return files.finished(one.name); }));
  }

  Status measure_all(FileSet& files, const Media& media, const std::optional<peers::Audit>& audit,
                     const measure::RunnerContext& context) {
    std::vector<peers::Member> members = members_of(plan_);
    if (kept(files) == static_cast<int>(cases().size())) return ok;
    if (options_.canary && files.files().front().canary.empty())
      SLUICE_CHECK(measure_canary(files, context));
    while (!members.empty()) {  // more than one round only where memory does not hold all
      peers::CrewOptions crew_options =
          crew_options_of(plan_, media.load, files.seed(),
                          {options_.min_sample_ms, options_.warmup_ms, options_.step_timeout_s,
                           options_.cpus, options_.threads});
      crew_options.members = members;
      peers::Crew crew(crew_options, context);
      SLUICE_TRY(const std::vector<std::string> left_out, crew.start());
      std::vector<std::string> here;
      std::vector<peers::Member> later;
      for (peers::Member& member : members) {
        const bool out =
            std::find(left_out.begin(), left_out.end(), member.library) != left_out.end();
        if (!out) here.push_back(member.library);
        if (out) later.push_back(std::move(member));
      }
      if (!later.empty())
        log::warn(
            "memory holds {} of {} libraries at once; the others follow in a group of "
            "their own",
            here.size(), here.size() + later.size());
      SLUICE_CHECK(measure_group(crew, here, files, audit));
      members = std::move(later);
    }
    return ok;
  }

  Status measure_group(peers::Crew& crew, const std::vector<std::string>& libraries, FileSet& files,
                       const std::optional<peers::Audit>& audit) {
    auto bar =
        progress_.bar(plan_.config.mode() == plan::Mode::decode
                          ? std::string("decoders")
                          : fmt::format("{} transforms", plan::to_string(plan_.config.mode())),
                      cases().size(), "cases");
    for (std::size_t c = 0; c < cases().size(); ++c) {
      const plan::Case& one = cases()[c];
      bar.set(c, one.transform.empty() ? one.name : one.transform);
      if (files.finished(one.name, libraries)) continue;
      SLUICE_TRY(std::vector<measure::Row> rows,
                 crew.measure(crew_case_of(plan_, c), static_cast<int>(c), files.so_far(one.name)));
      for (measure::Row& row : rows) {
        if (audit)
          row.not_comparable =
              audit->not_comparable(std::string(plan_.config.scenario().name), one.transform,
                                    row.library, plan::to_string(plan_.config.mode()));
      }
      SLUICE_CHECK(files.add(rows));
    }
    bar.set(cases().size());
    return ok;
  }

  Status measure_canary(FileSet& files, const measure::RunnerContext& context) {
    measure::Policy policy;
    policy.runs = static_cast<int>(std::clamp<std::int64_t>(plan_.config.execution.num_runs, 1, 3));
    policy.samples_per_run = 1;
    policy.min_sample_ms = options_.min_sample_ms;
    policy.warmup_ms = options_.warmup_ms;
    policy.seed = files.seed();
    policy.cpus = options_.cpus;
    SLUICE_TRY(const peers::Places places, peers::find_places());
    const auto subjects = scenario::plan({scenario::Kind::canary}, places.worker(), fs::path(), 1);
    SLUICE_TRY(const measure::WaveResult wave, measure::run_wave(subjects, policy, context));
    if (wave.interrupted) return Error{Errc::interrupted, "interrupted"};
    files.set_canary(wave.rows);
    return ok;
  }

  const plan::Plan& plan_;
  const LocalOptions& options_;
  Progress& progress_;
  measure::LocalRunner local_;
};

}  // namespace

Result<LocalResult> run_local(const plan::Plan& plan, const LocalOptions& options,
                              Progress& progress) {
  if (plan.jobs.empty() || plan.jobs.front().cases.empty())
    return Error{Errc::invalid_config, "the plan is empty: no library, or no transform, is chosen"};
  return LocalRun(plan, options, progress).run();
}

}  // namespace sluice::backend
