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
#include "sluice/env/host.h"
#include "sluice/measure/usage.h"
#include "sluice/visit/gpu_watch.h"
#include "sluice/visit/mixture/artifacts.h"
#include "sluice/visit/mixture/rows.h"
#include "sluice/visit/mixture/run.h"
#include "sluice/visit/study/record.h"
#include "sluice/visit/visit.h"

#include <fmt/format.h>

#include <algorithm>
#include <numeric>
#include <random>

namespace sluice::visit {
namespace {

namespace fs = std::filesystem;

/// CPU seconds of this process and of those it has waited for.
double own_cpu_s() {
  return 1e-9 * static_cast<double>(measure::usage_now().cpu_ns + measure::children_usage().cpu_ns);
}

double mean_value(const std::vector<double>& values) {
  return std::accumulate(values.begin(), values.end(), 0.0) / static_cast<double>(values.size());
}

std::optional<analysis::MixtureRunUse> mean_use(const results::ResourceUse& seen) {
  if (seen.cpu.empty()) return std::nullopt;
  analysis::MixtureRunUse use;
  use.cpu = mean_value(seen.cpu);
  use.ram_bytes = mean_value(seen.ram);
  if (!seen.gpu.empty()) use.gpu = mean_value(seen.gpu);
  if (!seen.gpu_ram.empty()) use.gpu_ram_bytes = mean_value(seen.gpu_ram);
  use.no_gpu = seen.no_gpu;
  return use;
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
    const bool untrained =
        std::any_of(record_.trained.begin(), record_.trained.end(), [&](const auto& one) {
          return machine_of(one.run) == machine_ && !one.run.failure.empty();
        });
    const bool failed =
        untrained || std::any_of(record_.runs.begin(), record_.runs.end(), [&](const auto& one) {
          return machine_of(one) == machine_ && !one.failure.empty();
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
    spec.options.prime = std::max(study_.prime ? 1 : 0, study_.prime_samples);
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
    host_ = env::host_hash(env::SystemRoot{});
    machine_ = analysis::machine_name(visit_.file.machine_profile, host_);
    // A run that failed before is measured again.
    std::erase_if(record_.runs, [&](const auto& one) {
      return machine_of(one) == machine_ && !one.failure.empty();
    });
    record_.remarks[machine_] = fitted_.remarks;
    facts_ = facts_of(study_);
    facts_.remarks = record_.remarks;
    facts_.planned = record_.runs.size() + to_do().size();
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
      if (request_.only_repeat > 0 && repeat != request_.only_repeat) continue;
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
    return train_best(scratch.path());
  }

  /// The best settings of this machine that say which data set a sample is of, each once more with
  /// a model behind it. What was trained before is not trained again.
  Status train_best(const fs::path& scratch) {
    const ThenTrain& then = request_.then_train;
    if (then.settings == 0) return ok;
    std::erase_if(record_.trained, [&](const auto& one) {
      return machine_of(one.run) == machine_ && !one.run.failure.empty();
    });
    int left = then.settings;
    for (const analysis::StudyVerdict& verdict : analysis::judge_study(record_.runs, facts_.base)) {
      if (verdict.machine != machine_) continue;
      for (const analysis::StudySetting& setting : verdict.settings) {  // fastest first
        if (left == 0) break;
        const auto found =
            std::find_if(fitted_.cases.begin(), fitted_.cases.end(),
                         [&](const StudyCase& one) { return one.knobs == setting.knobs; });
        if (setting.knobs.metadata == "off" || found == fitted_.cases.end()) continue;
        --left;
        if (is_trained(setting.knobs)) continue;
        SLUICE_CHECK(train_one(*found, scratch));
        SLUICE_CHECK(write());
      }
    }
    return ok;
  }

  [[nodiscard]] bool is_trained(const analysis::MixtureKnobs& knobs) const {
    return std::any_of(record_.trained.begin(), record_.trained.end(), [&](const auto& one) {
      return machine_of(one.run) == machine_ && one.run.knobs == knobs &&
             one.model == request_.then_train.model && one.device == request_.then_train.device;
    });
  }

  Status train_one(const StudyCase& one, const fs::path& scratch) {
    SLUICE_TRY(scenario::MixtureSpec spec, spec_of(one));
    spec.train = request_.then_train.model;
    spec.device = request_.then_train.device;
    analysis::MixtureTrainedRun trained;
    trained.model = spec.train;
    trained.device = spec.device;
    SLUICE_TRY(const MixtureTake take, measure_spec(trained.run, one, spec, order_seed_, scratch));
    if (trained.run.failure.empty()) {
      const double samples = static_cast<double>(take.run.batches) * take.run.batch_size;
      trained.trained_per_s = take.run.wall_s > 0 ? samples / take.run.wall_s : 0;
      trained.wait_fraction = take.run.wait_fraction();
      trained.step_s = take.run.step_s;
      trained.first_loss = take.run.first_loss;
      trained.loss = take.run.loss;
    }
    trained.run.id = fmt::format("t{:02}", record_.trained.size() + 1);
    record_.trained.push_back(std::move(trained));
    return ok;
  }

  /// A failed run is one of the record; an Error is what ends the study.
  Status measure_one(const ToDo& next, const fs::path& scratch) {
    SLUICE_TRY(const scenario::MixtureSpec spec, spec_of(*next.one));
    analysis::MixtureStudyRun run;
    run.id = fmt::format("r{}.{:02}", next.repeat, next.place);
    run.repeat = next.repeat;
    SLUICE_TRY(const MixtureTake take,
               measure_spec(run, *next.one, spec, order_seed_ + next.place, scratch));
    if (run.failure.empty()) SLUICE_CHECK(keep_batches(run, take));
    record_.runs.push_back(std::move(run));
    return ok;
  }

  /// One run in a process of its own. Without a `failure` in it the take is what it left.
  Result<MixtureTake> measure_spec(analysis::MixtureStudyRun& run, const StudyCase& one,
                                   const scenario::MixtureSpec& spec, std::uint64_t seed,
                                   const fs::path& scratch) {
    SLUICE_TRY(const measure::SubjectSpec row, mixture_row(spec, "sluice", {}, scratch));
    const measure::Policy policy = mixture_policy(spec, 1, seed);
    run.date = utc_now("%Y-%m-%d %H:%M:%S");
    run.machine = visit_.file.machine_profile;
    run.host = host_;
    run.labels = one.labels;
    run.knobs = one.knobs;
    run.seed = one.seed;
    SLUICE_TRY(const int gpu_index, gpu_of_mixture(spec));
    const OthersWatch watch(spec.cpus, *visit_.runner.clock);
    ResourceWatch resources(gpu_index);
    SLUICE_TRY(const measure::WaveResult wave, measure::run_wave({row}, policy, visit_.runner));
    run.use = mean_use(resources.stop());
    run.others = watch.share();
    if (wave.interrupted) return Error{Errc::interrupted, "interrupted"};
    return fill(run, wave.rows.front(), spec);
  }

  static Result<MixtureTake> fill(analysis::MixtureStudyRun& run, const measure::Row& row,
                                  const scenario::MixtureSpec& spec) {
    if (row.status != measure::RowStatus::ok || row.runs.empty()) {
      run.failure = row.reason.empty() ? "no run was measured" : row.reason;
      return MixtureTake{};
    }
    SLUICE_TRY(std::vector<MixtureTake> takes, mixture_takes({row}));
    if (takes.empty()) {
      run.failure = "the worker said nothing of its run";
      return MixtureTake{};
    }
    MixtureTake take = std::move(takes.front());
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
    return take;
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
  std::string host_;
  std::string machine_;  // its profile, and which of those alike
  StudyRecord record_;
  report::StudyFacts facts_;
  std::uint64_t order_seed_ = caller_.seed_given ? caller_.seed : std::random_device{}();
};

}  // namespace

Result<StudyResult> run_study(const Caller& caller, const StudyRequest& request) {
  return StudyVisit(caller, request).run();
}

}  // namespace sluice::visit
