// sluice/cli/backends/slice.cpp - `sluice slice` (hidden): one task of a run on a cluster, or the
// job that collects them.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/backend/cluster/command.h"
#include "sluice/backend/members.h"
#include "sluice/cli/backends/cluster.h"
#include "sluice/cli/commands.h"
#include "sluice/cli/print.h"
#include "sluice/core/file.h"
#include "sluice/core/text.h"
#include "sluice/core/utc.h"
#include "sluice/peers/places.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstdlib>
#include <optional>

namespace sluice::cli {
namespace {

namespace fs = std::filesystem;

struct SliceFlags {
  fs::path folder;
  fs::path from;
  std::string type;
  std::optional<int> index;
  bool collect = false;
  bool then_collect = false;
};

/// The number of this task: the flag, or what Slurm or Kubernetes calls it.
Result<int> index_of(const SliceFlags& flags) {
  if (flags.index) return *flags.index;
  for (const char* name : {"SLURM_ARRAY_TASK_ID", "JOB_COMPLETION_INDEX"}) {
    const char* value = std::getenv(name);
    if (value == nullptr) continue;
    const std::string_view text(value);
    int index = -1;
    const auto [end, wrong] = std::from_chars(text.data(), text.data() + text.size(), index);
    if (wrong == std::errc() && end == text.data() + text.size()) return index;
  }
  return Error{Errc::usage,
               "--index: needed where neither SLURM_ARRAY_TASK_ID nor JOB_COMPLETION_INDEX is set"};
}

constexpr std::string_view kOurName = "sluice: ";  // before a line that an error ends with

class Task {
 public:
  Task(const Context& context, const plan::RunConfig& config, const backend::Submission& submission,
       fs::path type_folder, int index)
      : context_(context),
        config_(config),
        submission_(submission),
        folder_(std::move(type_folder)),
        index_(index) {}

  Result<ExitCode> run() {
    const auto marker = backend::read_marker(folder_, index_);
    if (backend::is_done(marker, submission_, config_)) {
      print("task {} was done before\n", index_);
      return ExitCode::done;
    }
    const Json place = backend::place_here();
    SLUICE_CHECK(backend::note_attempt(folder_, index_, {{"began", utc_now()}, {"place", place}}));
    Result<ExitCode> ended = submission_.commands.empty() ? measure(place) : run_command(place);
    Json note = {{"ended", utc_now()}, {"place", place}};
    if (!ended) note["error"] = named(ended.error()).message;
    SLUICE_CHECK(backend::note_attempt(folder_, index_, note));
    if (!ended) return named(ended.error());
    return *ended;
  }

 private:
  /// Whoever reads it looks at many tasks on many nodes.
  [[nodiscard]] Error named(const Error& error) const {
    return {error.code,
            fmt::format("node {}: task {}: {}", backend::node_here(), index_, error.message)};
  }

  Result<ExitCode> measure(const Json& place) {
    SLUICE_TRY(const plan::Plan plan,
               plan::make_plan(backend::config_of(
                   config_, submission_.slices[static_cast<std::size_t>(index_)])));
    SLUICE_CHECK(backend::check_host_rows(plan, backend::gpu_here()));
    const fs::path out = backend::folder_of_task(folder_, index_);
    constexpr double kEndingTaskS = 120;  // that was killed, and still holds the folder
    SLUICE_CHECK(backend::wait_until_free(out, kEndingTaskS));
    LocalFlags sampling;
    sampling.sample_ms = submission_.sample_ms;
    sampling.warmup_ms = submission_.warmup_ms;
    sampling.timeout_s = submission_.timeout_s;
    sampling.cpus = submission_.cpus;
    sampling.resume = true;
    SLUICE_TRY(const backend::LocalOptions options,
               local_options(context_, sampling, out, "slice"));
    SLUICE_TRY(const backend::LocalResult run,
               backend::run_local(plan, options, *context_.globals.progress));
    if (run.interrupted) return Error{Errc::interrupted, "interrupted; finished cases are kept"};
    SLUICE_CHECK(check_sound(run.files, plan));
    backend::Marker marker;
    marker.task = index_;
    marker.num_runs = config_.execution.num_runs;
    for (const results::ResultFile& file : run.files)
      marker.failed_rows += std::count_if(file.rows.begin(), file.rows.end(), [](const auto& row) {
        return row.status == measure::RowStatus::failed;
      });
    marker.machine_profile = run.files.front().machine_profile;
    marker.place = place;
    SLUICE_CHECK(backend::write_marker(folder_, marker));
    print("task {}: {} cases, {} of them finished before\n", index_, plan.jobs.front().cases.size(),
          run.kept_cases);
    return marker.failed_rows > 0 ? ExitCode::invalid : ExitCode::done;
  }

  /// Codes of a verdict or of invalid rows are ends; after any other the task is not done.
  Result<ExitCode> run_command(const Json& place) {
    SLUICE_TRY(const peers::Places places, peers::find_places());
    SLUICE_TRY(const int code,
               backend::run_command_task(places.program, submission_, folder_, index_));
    const auto ended = static_cast<ExitCode>(code);
    constexpr std::array kEnds{ExitCode::done, ExitCode::regression, ExitCode::inconclusive,
                               ExitCode::no_baseline, ExitCode::invalid};
    if (std::find(kEnds.begin(), kEnds.end(), ended) == kEnds.end()) return failed(code);
    SLUICE_TRY(const std::string printed,
               read_text_file(backend::printed_by_task(folder_, index_)));
    print_text(printed);
    backend::Marker marker;
    marker.task = index_;
    marker.failed_rows = ended == ExitCode::invalid ? 1 : 0;
    marker.place = place;
    marker.exit_code = code;
    SLUICE_CHECK(backend::write_marker(folder_, marker));
    return ended;
  }

  /// With the last line that it complained of.
  [[nodiscard]] Error failed(int code) const {
    const auto text = read_text_file(backend::complaints_of_task(folder_, index_));
    std::string line;
    if (text) line = split(trimmed(*text), '\n').back();
    if (line.starts_with(kOurName)) line.erase(0, kOurName.size());
    const Errc kind = code == static_cast<int>(ExitCode::usage)     ? Errc::usage
                      : code == static_cast<int>(ExitCode::timeout) ? Errc::timeout
                                                                    : Errc::measurement;
    return {kind, line.empty() ? fmt::format("the command ended with exit code {}", code)
                               : printable(line)};
  }

  const Context& context_;
  const plan::RunConfig& config_;
  const backend::Submission& submission_;
  fs::path folder_;
  int index_;
};

/// Whether the task that just ended was the last.
bool all_done(const fs::path& folder, const backend::Submission& submission) {
  for (int task = 0; task < submission.tasks(); ++task)
    if (!backend::read_marker(folder, task)) return false;
  return true;
}

Result<ExitCode> run_slice(Context& context, const SliceFlags& flags) {
  const fs::path from = flags.from.empty() ? flags.folder : flags.from;
  SLUICE_TRY(const backend::Submission submission, backend::read_submission(from));
  plan::RunConfig config;  // of a plan
  if (submission.commands.empty()) {
    SLUICE_TRY(config, plan::load_run_config(from / "resolved_config.yaml", plan::Overrides{}));
  }
  const auto& types = submission.node_types;
  if (std::find(types.begin(), types.end(), flags.type) == types.end())
    return Error{Errc::usage, fmt::format("--type '{}': is none of this run; accepted: {}",
                                          printable(flags.type), join(types))};
  if (flags.collect) return collect_type(config, submission, flags.folder, flags.type);
  SLUICE_TRY(const int index, index_of(flags));
  if (index < 0 || index >= submission.tasks())
    return Error{Errc::usage, fmt::format("--index {}: the run has tasks 0 to {}", index,
                                          submission.tasks() - 1)};
  const fs::path folder = backend::folder_of_type(flags.folder, flags.type);
  SLUICE_TRY(const ExitCode ended, Task(context, config, submission, folder, index).run());
  if (!flags.then_collect || !all_done(folder, submission)) return ended;
  SLUICE_TRY(const ExitCode collected, collect_type(config, submission, flags.folder, flags.type));
  return ended == ExitCode::done ? collected : ended;
}

}  // namespace

void add_slice(CLI::App& root, Context& context) {
  auto [command, flags] = add_command<SliceFlags>(
      root, context, "slice", "Measure one task of a run on a cluster, or collect all of them",
      run_slice);
  add_value(command, "folder", flags.folder, "DIR", "folder of the run")->required();
  add_value(command, "--type", flags.type, "NAME", "node type, where the run has several");
  add_value(command, "--index", flags.index, "N",
            "number of the task; default: of the array or of the Indexed Job");
  command.add_flag("--collect", flags.collect, "put the results of all tasks together");
  command.add_flag("--then-collect", flags.then_collect, "collect when this was the last task");
  add_value(command, "--from", flags.from, "DIR",
            "folder of submission.json and resolved_config.yaml; default: that of the run");
}

}  // namespace sluice::cli
