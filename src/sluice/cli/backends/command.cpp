// sluice/cli/backends/command.cpp - a command as a job: submitted, waited for, its end brought
// back; or its manifest.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/backends/command.h"

#include "sluice/backend/cluster/collect.h"
#include "sluice/backend/cluster/command.h"
#include "sluice/backend/slurm/client.h"
#include "sluice/cli/backends/cluster.h"
#include "sluice/cli/print.h"
#include "sluice/core/file.h"
#include "sluice/core/stop.h"
#include "sluice/core/text.h"
#include "sluice/measure/interrupt.h"
#include "sluice/peers/places.h"
#include "sluice/plan/where.h"
#include "sluice/visit/study/file.h"
#include "sluice/visit/study/record.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <chrono>
#include <memory>

namespace sluice::cli {
namespace {

namespace fs = std::filesystem;

struct JobFlags {
  std::string backend = "local";
  std::vector<std::string> set;
  bool dry_run = false, wait = false;
  bool resume = false;     // where the command has no such flag
  bool continues = false;  // it has
};

constexpr auto kBetweenLooks = std::chrono::seconds(2);  // at the queue

/// "bench training".
std::vector<std::string> path_of(const CLI::App& command) {
  std::vector<std::string> names;
  for (const CLI::App* app = &command; app->get_parent() != nullptr; app = app->get_parent())
    names.insert(names.begin(), app->get_name());
  return names;
}

bool is_study(const CLI::App& command) {
  const CLI::Option* study = command.get_option_no_throw("--study");
  return study != nullptr && study->count() > 0;
}

/// The repeats of a study are tasks: each is measured on one node, since settings are compared.
Status divide_study(const CLI::App& command, backend::Submission& one) {
  if (command.count("--then-train") > 0)
    return usage_error(
        "--then-train: follows a study on the machine that measured it; not with "
        "--backend " +
        one.backend);
  const std::vector<std::string> words = one.commands.front();
  SLUICE_TRY(const visit::StudyFile study,
             visit::read_study(command.get_option("--study")->as<std::string>()));
  const int repeats =
      command.count("--repeats") > 0 ? command.get_option("--repeats")->as<int>() : study.repeats;
  one.commands.assign(static_cast<std::size_t>(repeats), words);
  for (int repeat = 1; repeat <= repeats; ++repeat) {
    auto& task = one.commands[static_cast<std::size_t>(repeat - 1)];
    task.insert(task.end(), {"--only-repeat", std::to_string(repeat)});
  }
  one.collect_command = words;
  one.collect_command.emplace_back("--merge-repeats");
  return ok;
}

Result<backend::Submission> submission_of(const Context& context, const CLI::App& command,
                                          const JobFlags& flags, const plan::Cluster& cluster) {
  backend::Submission one;
  one.backend = flags.backend;
  one.node_types = cluster.node_types;
  if (one.node_types.empty()) one.node_types.emplace_back();
  std::error_code code;
  one.work_folder = fs::current_path(code);
  one.argv = context.globals.argv;
  one.continues = flags.continues;
  one.commands = {words_of_job(one.argv)};
  one.token = new_token(join(one.argv, " "));
  if (is_study(command)) SLUICE_CHECK(divide_study(command, one));
  return one;
}

/// How the command ended on one node type, and where what it printed lies. Nothing: it has not.
struct TypeEnd {
  ExitCode code = ExitCode::done;
  fs::path printed, run;
};
Result<std::optional<TypeEnd>> end_of_type(const HandedToSlurm& handed, const std::string& type) {
  const fs::path folder = backend::folder_of_type(handed.out, type);
  if (!handed.submission.collects()) {
    const auto marker = backend::read_marker(folder, 0);
    if (!marker) return std::optional<TypeEnd>();
    return std::optional(TypeEnd{static_cast<ExitCode>(marker->exit_code),
                                 backend::printed_by_task(folder, 0),
                                 backend::folder_of_task(folder, 0)});
  }
  std::error_code code;
  const fs::path marker = backend::marker_of_collect(folder);
  if (!fs::exists(marker, code)) return std::optional<TypeEnd>();
  SLUICE_TRY(const std::string text, read_text_file(marker));
  SLUICE_TRY(const Json json, parse_json(text, shown(marker)));
  return std::optional(TypeEnd{static_cast<ExitCode>(json.value("exit_code", 0)),
                               folder / visit::kStudyAdvice, folder});
}

/// What it printed, and its exit code; of several node types the first that is not 0.
Result<std::optional<ExitCode>> bring_back(const Context& context, const HandedToSlurm& handed) {
  std::string text;
  Json types = Json::array();
  ExitCode ended = ExitCode::done;
  for (const std::string& type : handed.submission.node_types) {
    SLUICE_TRY(const auto one, end_of_type(handed, type));
    if (!one) return std::optional<ExitCode>();
    SLUICE_TRY(const std::string printed, read_text_file(one->printed));
    if (!type.empty()) text += fmt::format("{}:\n", type);
    text += fmt::format("{}exit code {}: {}\n", printed, static_cast<int>(one->code),
                        one->run.string());
    types.push_back({{"node_type", type},
                     {"exit_code", static_cast<int>(one->code)},
                     {"run", one->run.string()}});
    if (ended == ExitCode::done) ended = one->code;
  }
  if (context.globals.json)
    print("{}\n",
          dump_json({{"folder", handed.out.string()}, {"backend", "slurm"}, {"types", types}}));
  else
    print_text(text);
  return std::optional(ended);
}

/// Until the queue holds none of its jobs.
Status wait_for_jobs(const HandedToSlurm& handed) {
  SLUICE_TRY(const peers::Places places, peers::find_places());
  SLUICE_TRY(const backend::SlurmClient client, backend::SlurmClient::find(places.search_path));
  std::vector<std::string> names;
  for (const std::string& type : handed.submission.node_types) {
    names.push_back(backend::array_name(handed.submission, type));
    names.push_back(backend::collect_name(handed.submission, type));
  }
  const measure::Interrupt interrupt;
  for (;;) {
    SLUICE_TRY(const auto jobs, client.queued(names));
    if (jobs.empty()) return ok;
    if (!sleep_unless_stopped(kBetweenLooks))
      return Error{Errc::interrupted,
                   fmt::format("interrupted; its jobs go on, wait again with --out {} --resume "
                               "--wait",
                               handed.out.string())};
  }
}

Error never_ended(const HandedToSlurm& handed) {
  for (const std::string& type : handed.submission.node_types)
    if (const auto done = backend::markers_of_all(handed.submission, handed.out, type, 0); !done)
      return done.error();
  return {Errc::measurement, fmt::format("{}: the results were not put together; the log is in {}",
                                         shown(handed.out), shown(handed.out / "logs"))};
}

Result<ExitCode> on_slurm(const Context& context, const CLI::App& command, const JobFlags& flags) {
  SLUICE_TRY(const plan::RunConfig config, plan::read_where(flags.set));
  SLUICE_TRY(backend::Submission planned, submission_of(context, command, flags, config.cluster));
  const bool resume = flags.continues ? command.count("--resume") > 0 : flags.resume;
  const SlurmOrder order{
      config, std::move(planned), context.globals.out, join(path_of(command), "-"),
      resume, flags.dry_run};
  SLUICE_TRY(const auto handed, hand_to_slurm(context, order));
  if (!handed) return ExitCode::done;
  const bool complete = std::all_of(handed->types.begin(), handed->types.end(),
                                    [](const auto& one) { return one.complete; });
  if (!handed->ended && !complete) {
    if (!flags.wait || !context.globals.json) show_submitted(context, *handed);
    if (!flags.wait) return ExitCode::done;
    SLUICE_CHECK(wait_for_jobs(*handed));
  }
  SLUICE_TRY(const auto ended, bring_back(context, *handed));
  if (!ended) return never_ended(*handed);
  return *ended;
}

Result<ExitCode> on_k8s(const Context& context, const CLI::App& command, const JobFlags& flags) {
  SLUICE_CHECK(check_k8s_flags(flags.dry_run,
                               flags.continues ? command.count("--resume") > 0 : flags.resume));
  if (flags.wait) return usage_error("--wait: belongs to --backend slurm");
  SLUICE_TRY(const plan::RunConfig config, plan::read_where(flags.set));
  SLUICE_TRY(backend::Submission planned, submission_of(context, command, flags, config.cluster));
  fs::path out = context.globals.out;
  if (out.empty()) out = join(path_of(command), "-");
  const std::string about = fmt::format("{} {}", out.lexically_normal().filename().string(),
                                        join(words_of_job(planned.argv), " "));
  return write_manifest(context, config, std::move(planned), out, about);
}

/// Flags that say something of a job, given without one.
Status check_here(const CLI::App& command, const JobFlags& flags) {
  for (const char* name : {"--set", "--dry-run"})
    if (command.count(name) > 0)
      return usage_error(fmt::format("{}: belongs to --backend slurm or k8s", name));
  if (flags.wait) return usage_error("--wait: belongs to --backend slurm");
  if (flags.resume)
    return usage_error("--resume: belongs to --backend slurm; here this command begins anew");
  return ok;
}

void add_job_flags(CLI::App& command, JobFlags& flags) {
  begin_group(command, "Where it runs");
  add_choice(command, "--backend", flags.backend, {"local", "slurm", "k8s"},
             "machine that measures (docs/slurm.md)");
  add_value(command, "--set", flags.set, "KEY.PATH=VALUE",
            "slurm, k8s: a key of the sections cluster, slurm and k8s; may be repeated")
      ->allow_extra_args(false);
  command.add_flag("--dry-run", flags.dry_run,
                   "slurm, k8s: print the script, or the manifest, and submit nothing");
  command.add_flag("--wait", flags.wait,
                   "slurm: wait for the job, print what it printed and exit as it did");
  flags.continues = command.get_option_no_throw("--resume") != nullptr;
  if (!flags.continues)
    command.add_flag("--resume", flags.resume,
                     "slurm: submit what is missing in the folder that --out names");
}

}  // namespace

std::vector<std::string> words_of_job(const std::vector<std::string>& argv) {
  constexpr std::array kWithValue{"--backend", "--set", "--out", "--output"};
  constexpr std::array kAlone{"--dry-run", "--wait", "--resume", "--json"};
  const auto is_one_of = [](const auto& names, const std::string& name) {
    return std::find(names.begin(), names.end(), name) != names.end();
  };
  std::vector<std::string> words;
  for (std::size_t i = 1; i < argv.size(); ++i) {
    if (argv[i] == "--") {  // what follows is of another program
      words.insert(words.end(), argv.begin() + static_cast<std::ptrdiff_t>(i), argv.end());
      break;
    }
    const std::string name = argv[i].substr(0, argv[i].find('='));
    if (is_one_of(kAlone, argv[i])) continue;
    if (!is_one_of(kWithValue, name)) {
      words.push_back(argv[i]);
    } else if (name == argv[i]) {
      ++i;
    }
  }
  return words;
}

void add_command_backends(Context& context) {
  for (Command& command : context.commands) {
    const std::vector<std::string> path = path_of(*command.app);
    if (path.front() != "gate" && path.front() != "bench") continue;
    const auto flags = std::make_shared<JobFlags>();
    add_job_flags(*command.app, *flags);
    command.run = [run = command.run, flags, app = command.app, &context]() -> Result<ExitCode> {
      if (flags->backend == "slurm") return on_slurm(context, *app, *flags);
      if (flags->backend == "k8s") return on_k8s(context, *app, *flags);
      SLUICE_CHECK(check_here(*app, *flags));
      return run();
    };
  }
}

}  // namespace sluice::cli
