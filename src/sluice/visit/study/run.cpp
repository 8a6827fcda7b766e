// sluice/visit/study/run.cpp - the life of `sluice bench mixture --study`, top to bottom.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/study/run.h"

#include "sluice/analysis/mixture/analysis.h"
#include "sluice/core/file.h"
#include "sluice/core/folder_guard.h"
#include "sluice/core/log.h"
#include "sluice/core/rng.h"
#include "sluice/core/text.h"
#include "sluice/core/utc.h"
#include "sluice/env/core_time.h"
#include "sluice/measure/usage.h"
#include "sluice/visit/mixture/artifacts.h"
#include "sluice/visit/mixture/rows.h"
#include "sluice/visit/mixture/run.h"
#include "sluice/visit/study/record.h"
#include "sluice/visit/visit.h"

#include <fmt/format.h>

#include <algorithm>
#include <random>

namespace sluice::visit {
namespace {

namespace fs = std::filesystem;

/// CPU seconds of this process and of those it has waited for.
double own_cpu_s() {
  return 1e-9 * static_cast<double>(measure::usage_now().cpu_ns + measure::children_usage().cpu_ns);
}

/// What others take of some cores while it lives.
class OthersWatch {
 public:
  OthersWatch(const measure::CpuList& cpus, Clock& clock)
      : cpus_(cpus),
        clock_(clock),
        start_ns_(clock.now_ns()),
        own_s_(own_cpu_s()),
        before_(env::core_time(env::SystemRoot{}, cpus)) {}

  [[nodiscard]] std::optional<double> share() const {
    const env::CoreTime after = env::core_time(env::SystemRoot{}, cpus_);
    const double elapsed_s = 1e-9 * static_cast<double>(clock_.now_ns() - start_ns_);
    const auto busy = env::share_of_cores(before_.busy_s, after.busy_s, own_cpu_s() - own_s_,
                                          elapsed_s, cpus_.size());
    const auto stolen =
        env::share_of_cores(before_.steal_s, after.steal_s, 0, elapsed_s, cpus_.size());
    if (!busy) return std::nullopt;
    return std::min(1.0, *busy + stolen.value_or(0));
  }

 private:
  measure::CpuList cpus_;
  Clock& clock_;
  std::int64_t start_ns_;
  double own_s_;
  env::CoreTime before_;
};

class StudyVisit {
 public:
  StudyVisit(const Caller& caller, const StudyRequest& request)
      : caller_(caller),
        request_(request),
        study_(request.study),
        visit_(caller, "study-" + request.study.name) {}

  Result<StudyResult> run() {
    SLUICE_CHECK(prepare());
    SLUICE_CHECK(open_folder());
    SLUICE_TRY(const bool interrupted, is_interrupted(measure_all()));
    SLUICE_CHECK(write());
    const bool failed = std::any_of(record_.runs.begin(), record_.runs.end(), [&](const auto& one) {
      return one.machine == machine_ && !one.failure.empty();
    });
    return StudyResult{std::move(record_), visit_.path(), failed, interrupted, facts_.planned};
  }

 private:
  /// Everything that can be refused before a folder is made.
  Status prepare() {
    cpus_ = measure::allowed_cpus();
    fitted_ = fit_study(study_, {.cpus = static_cast<int>(cpus_.size()), .steps = request_.steps});
    for (const StudyCase& one : fitted_.cases) {
      SLUICE_TRY(const auto spec, spec_of(one));
      const Status checked = check(spec);
      if (!checked)
        return Error{checked.error().code,
                     fmt::format("{}: {}: {}", printable(request_.file.string()),
                                 printable(join(one.labels)), checked.error().message)};
    }
    SLUICE_TRY(const auto spec, spec_of(fitted_.cases.front()));
    SLUICE_CHECK(look_at_mixture(spec));
    return ok;
  }

  Result<scenario::MixtureSpec> spec_of(const StudyCase& one) const {
    scenario::MixtureSpec spec = request_.data;
    spec.preset = study_.preset;
    spec.options.batch_size = study_.batch_size;
    spec.options.interleave = study_.pipeline_interleave;
    spec.options.min_ready = study_.min_ready;
    spec.options.prime = study_.prime;
    spec.options.samples_per_episode = one.knobs.samples_per_episode;
    spec.options.decode_threads = one.knobs.decode;
    spec.options.read_threads = one.knobs.interleave;
    spec.options.mix_block = one.knobs.mix_block;
    spec.options.queue = one.knobs.queue;
    spec.options.seed = one.seed;
    spec.warmup = one.knobs.warmup;
    spec.steps = one.knobs.steps;
    spec.cpus = measure::CpuList(cpus_.begin(), cpus_.begin() + one.knobs.cpus);
    spec.options.mix = study_.order;
    SLUICE_TRY(spec.options.metadata, scenario::parse_metadata(one.knobs.metadata));
    return spec;
  }

  Status read_record() {
    SLUICE_TRY(StudyRecord found, read_study_record(caller_.out / kStudyRecord));
    if (found.study != record_.study)
      return Error{Errc::usage,
                   fmt::format("{}: holds another study ({}); name a new folder with --out",
                               printable(caller_.out.string()),
                               printable(found.study.value("name", std::string("no name"))))};
    record_ = std::move(found);
    return ok;
  }

  Status open_folder() {
    record_.study = study_json(study_);
    const fs::path& out = caller_.out;
    std::error_code code;
    const bool resume = !out.empty() && fs::exists(out / kStudyRecord, code);
    if (resume) SLUICE_CHECK(read_record());  // one of another study gets no lock file
    const scenario::MixtureSpec& data = request_.data;
    SLUICE_CHECK(visit_.open({.storage = fs::path(data.remote() ? "." : data.root)}, resume));
    if (resume) SLUICE_CHECK(read_record());  // locked now: with what was added until then
    SLUICE_CHECK(visit_.begin());
    SLUICE_CHECK(visit_.write_environment());
    machine_ = visit_.file.machine_profile;
    // A run that failed before is measured again.
    std::erase_if(record_.runs,
                  [&](const auto& one) { return one.machine == machine_ && !one.failure.empty(); });
    record_.remarks[machine_] = fitted_.remarks;
    facts_ = {.name = study_.name,
              .preset = study_.preset,
              .batch_size = study_.batch_size,
              .base = study_.base,
              .repeats = study_.repeats,
              .target_samples_per_s = study_.target_samples_per_s,
              .remarks = record_.remarks,
              .planned = record_.runs.size() + to_do().size()};
    return ok;
  }

  struct ToDo {
    const StudyCase* one;
    int repeat;
    std::size_t place;  // in the order of its repeat
  };

  /// Repeat by repeat, each in an order of its own.
  [[nodiscard]] std::vector<ToDo> to_do() const {
    std::vector<ToDo> list;
    for (int repeat = 1; repeat <= study_.repeats; ++repeat) {
      std::vector<ToDo> order;
      for (const StudyCase& one : fitted_.cases)
        order.push_back({&one, repeat, 0});
      Rng rng({.seed = order_seed_, .index = static_cast<std::uint64_t>(repeat)});
      rng.shuffle(std::span(order));
      for (std::size_t i = 0; i < order.size(); ++i) {
        order[i].place = i + 1;
        if (!is_finished(record_, machine_, *order[i].one, repeat)) list.push_back(order[i]);
      }
    }
    return list;
  }

  Status measure_all() {
    SLUICE_CHECK(visit_.start(Progress::silent()));
    const FolderGuard scratch(visit_.path() / "scratch");
    SLUICE_CHECK(create_folders(scratch.path()));
    const std::vector<ToDo> list = to_do();
    Progress::Bar bar = caller_.progress->bar("study " + study_.name, list.size(), "runs");
    for (const ToDo& next : list) {
      bar.add(0, analysis::describe(next.one->knobs));
      SLUICE_CHECK(measure_one(next, scratch.path()));
      SLUICE_CHECK(write());
      bar.add();
    }
    return ok;
  }

  /// A failed run is one of the record; an Error is what ends the study.
  Status measure_one(const ToDo& next, const fs::path& scratch) {
    SLUICE_TRY(const scenario::MixtureSpec spec, spec_of(*next.one));
    SLUICE_TRY(const measure::SubjectSpec row, mixture_row(spec, "sluice", {}, scratch));
    const measure::Policy policy = mixture_policy(spec, 1, order_seed_ + next.place);
    analysis::MixtureStudyRun run;
    run.id = fmt::format("r{}.{:02}", next.repeat, next.place);
    run.date = utc_now("%Y-%m-%d %H:%M:%S");
    run.machine = machine_;
    run.labels = next.one->labels;
    run.knobs = next.one->knobs;
    run.seed = next.one->seed;
    run.repeat = next.repeat;
    const OthersWatch watch(spec.cpus, *visit_.runner.clock);
    SLUICE_TRY(const measure::WaveResult wave, measure::run_wave({row}, policy, visit_.runner));
    run.others = watch.share();
    if (wave.interrupted) return Error{Errc::interrupted, "interrupted"};
    SLUICE_CHECK(fill(run, wave.rows.front(), spec));
    record_.runs.push_back(std::move(run));
    return ok;
  }

  Status fill(analysis::MixtureStudyRun& run, const measure::Row& row,
              const scenario::MixtureSpec& spec) const {
    if (row.status != measure::RowStatus::ok || row.runs.empty()) {
      run.failure = row.reason.empty() ? "no run was measured" : row.reason;
      return ok;
    }
    SLUICE_TRY(const std::vector<MixtureTake> takes, mixture_takes({row}));
    if (takes.empty()) {
      run.failure = "the worker said nothing of its run";
      return ok;
    }
    const MixtureTake& take = takes.front();
    run.throttled = row.runs.front().throttled;
    run.batches_per_s = take.run.batches_per_s();
    run.samples_per_s = take.run.samples_per_s();
    run.p50_s = take.run.p50_s;
    run.p90_s = take.run.p90_s;
    run.p99_s = take.run.p99_s;
    run.start_s = take.run.start_s;
    run.teardown_s = take.run.teardown_s;
    if (const auto analysis =
            analysis::analyse_mixture(take.batches, mixture_facts_of(take, spec))) {
      run.switch_rate = analysis->switch_rate;
      run.dominants = static_cast<std::int64_t>(analysis->dominants.size());
    }
    return keep_batches(run, take);
  }

  /// Every run's batches; drawings of the long ones.
  Status keep_batches(const analysis::MixtureStudyRun& run, const MixtureTake& take) const {
    const fs::path folder =
        visit_.path() / "batch_times" / results::file_name_part(machine_ + "-" + run.id);
    SLUICE_CHECK(create_folders(folder));
    SLUICE_CHECK(results::write_batch_times(folder / results::kBatchTimesFile, take.batches));
    std::error_code ignored;
    fs::remove(take.run.batch_times, ignored);
    if (run.knobs.steps < analysis::kLongSteps || run.knobs.metadata == "off") return ok;
    const auto drawn = write_mixture_artifacts(folder, take.batches, request_.drawing);
    if (!drawn) log::warn("{}: nothing is drawn: {}", run.id, drawn.error().message);
    return ok;
  }

  Status write() const { return write_study(visit_.path(), record_, facts_); }

  const Caller& caller_;
  const StudyRequest& request_;
  const StudyFile& study_;
  Visit visit_;
  FittedStudy fitted_;
  measure::CpuList cpus_;
  std::string machine_;  // its profile
  StudyRecord record_;
  report::StudyFacts facts_;
  std::uint64_t order_seed_ = caller_.seed_given ? caller_.seed : std::random_device{}();
};

}  // namespace

Result<StudyResult> run_study(const Caller& caller, const StudyRequest& request) {
  return StudyVisit(caller, request).run();
}

}  // namespace sluice::visit
