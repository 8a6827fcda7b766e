// sluice/cli/backends/slurm.cpp - a plan or a command on Slurm: submit, continue, or measure inside
// an allocation.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/backend/slurm/allocation.h"
#include "sluice/backend/slurm/submit.h"
#include "sluice/cli/backends/cluster.h"
#include "sluice/cli/print.h"
#include "sluice/core/file.h"
#include "sluice/core/log.h"
#include "sluice/core/text.h"
#include "sluice/peers/places.h"
#include "sluice/results/resume.h"
#include "sluice/results/run_folder.h"

#include <fmt/format.h>

namespace sluice::cli {
namespace {

namespace fs = std::filesystem;
using backend::Submission;
using backend::TypeSubmission;

std::string type_words(const std::string& type) {
  return type.empty() ? "" : fmt::format(" on {}", type);
}

Json to_json(const TypeSubmission& one) {
  const auto job = [](const std::string& id) { return id.empty() ? Json(nullptr) : Json(id); };
  Json scripts = Json::array();
  for (const backend::BatchStep& step : one.steps)
    scripts.push_back({{"script", step.script.string()}, {"command", step.command}});
  return {{"node_type", one.type},
          {"tasks", one.tasks},
          {"in_queue", one.in_queue},
          {"array_job", job(one.array_job)},
          {"collect_job", job(one.collect_job)},
          {"complete", one.complete},
          {"scripts", std::move(scripts)}};
}

void show(const Context& context, const fs::path& out, const std::vector<TypeSubmission>& all) {
  if (context.globals.json) {
    Json types = Json::array();
    for (const TypeSubmission& one : all)
      types.push_back(to_json(one));
    print("{}\n", dump_json({{"folder", out.string()}, {"backend", "slurm"}, {"types", types}}));
    return;
  }
  for (const TypeSubmission& one : all) {
    const std::string where = type_words(one.type);
    if (one.complete) print("all tasks{} are done and collected\n", where);
    if (!one.in_queue.empty())
      print("{} tasks{} wait or run already: {}\n", one.in_queue.size(), where,
            backend::index_list(one.in_queue));
    if (!one.array_job.empty())
      print("job {}: {} tasks{}: {}\n", one.array_job, one.tasks.size(), where,
            backend::index_list(one.tasks));
    if (!one.collect_job.empty()) print("job {}: collects them\n", one.collect_job);
  }
  print("folder: {}\n", out.string());
}

void show_dry(const Context& context, const fs::path& out, const std::vector<TypeSubmission>& all) {
  if (context.globals.json) return show(context, out, all);
  for (const TypeSubmission& one : all) {
    if (one.complete) print("# all tasks{} are done and collected\n", type_words(one.type));
    for (const backend::BatchStep& step : one.steps) {
      std::vector<std::string> words;
      for (const std::string& word : step.command)
        words.push_back(backend::shell_word(word));
      print("# {}\n{}\n# submitted with: {}\n\n", step.script.string(), step.text,
            join(words, " "));
    }
  }
}

/// The submission of a folder that is continued, if its plan or command is still this one.
Result<Submission> continued(const fs::path& out, const plan::RunConfig& config,
                             const Submission& planned) {
  SLUICE_TRY(Submission before, backend::read_submission(out));
  if (before.commands != planned.commands)
    return Error{Errc::usage,
                 fmt::format("{}: was begun as `{}`; continue that, or name a new folder",
                             shown(out), printable(join(before.argv, " ")))};
  before.node_types = planned.node_types;
  if (!planned.commands.empty()) return before;
  SLUICE_TRY(const plan::RunConfig earlier,
             plan::load_run_config(out / "resolved_config.yaml", plan::Overrides{}));
  results::ResultFile was, now;
  was.run_config = plan::to_json(earlier);
  now.run_config = plan::to_json(config);
  SLUICE_CHECK(results::check_resumable(was, now, out.string()));
  return before;
}

/// Opens or continues the folder, and leaves in it what tasks read.
Result<Submission> prepare_folder(fs::path& out, const SlurmOrder& order) {
  results::RunFolder::Options where;
  where.out = out;
  where.resume = order.resume;
  where.name = order.name;
  where.profile = "slurm";
  SLUICE_TRY(const results::RunFolder folder, results::RunFolder::open(where));
  std::error_code code;
  out = fs::absolute(folder.path(), code).lexically_normal();
  SLUICE_CHECK(backend::check_script_path(out));
  Submission submission = order.planned;
  if (folder.resumed()) {
    SLUICE_TRY(submission, continued(out, order.config, order.planned));
  }
  SLUICE_CHECK(backend::write_submission(out, submission));
  if (submission.commands.empty()) SLUICE_CHECK(folder.write_config(plan::to_yaml(order.config)));
  return submission;
}

/// As prepare_folder(), but nothing is written: what --dry-run shows.
Result<Submission> look_at_folder(fs::path& out, const SlurmOrder& order) {
  std::error_code code;
  if (out.empty()) out = "runs/FOLDER";
  out = fs::absolute(out, code).lexically_normal();
  SLUICE_CHECK(backend::check_script_path(out));
  if (!order.resume) return order.planned;
  return continued(out, order.config, order.planned);
}

Result<ExitCode> run_steps(const Context& context, const backend::ScriptContext& script,
                           const std::string& search_path) {
  const std::vector<std::string>& types = script.submission->node_types;
  if (types.size() > 1)
    return Error{Errc::usage,
                 fmt::format("cluster.node_types: {} inside an allocation, whose nodes are of one "
                             "type; name that one",
                             join(types))};
  SLUICE_TRY(const std::vector<int> missing,
             backend::missing_tasks(backend::folder_of_type(script.out, types.front()),
                                    *script.submission, *script.config));
  log::info("{} of {} tasks are missing", missing.size(), script.submission->tasks());
  const Status measured = backend::run_in_allocation(script, types.front(), missing, search_path,
                                                     *context.globals.progress);
  if (!measured && measured.error().code == Errc::interrupted)
    return Error{
        Errc::interrupted,
        fmt::format("interrupted; finished cases are kept, continue with --out {} --resume",
                    script.out.string())};
  SLUICE_CHECK(measured);
  return collect_type(*script.config, *script.submission, script.out, types.front());
}

}  // namespace

void show_submitted(const Context& context, const HandedToSlurm& handed) {
  show(context, handed.out, handed.types);
}

Result<std::optional<HandedToSlurm>> hand_to_slurm(const Context& context,
                                                   const SlurmOrder& order) {
  HandedToSlurm handed;
  handed.out = order.out;
  if (order.resume && order.out.empty())
    return Error{Errc::usage, "--resume: needs --out DIR, the folder of the run to continue"};
  SLUICE_CHECK(backend::check_script_path(order.planned.work_folder));
  SLUICE_TRY(const peers::Places places, peers::find_places());
  backend::ScriptContext script{places.program, {}, &order.config, &handed.submission};
  if (order.dry_run) {
    SLUICE_TRY(handed.submission, look_at_folder(handed.out, order));
    script.out = handed.out;
    SLUICE_TRY(const auto all, backend::show_submission(script));
    show_dry(context, handed.out, all);
    return std::optional<HandedToSlurm>();
  }
  const bool steps = backend::in_allocation();
  std::optional<backend::SlurmClient> client;
  if (!steps) {
    SLUICE_TRY(client, backend::SlurmClient::find(places.search_path));
  }
  SLUICE_TRY(handed.submission, prepare_folder(handed.out, order));
  script.out = handed.out;
  if (steps) {
    SLUICE_TRY(handed.ended, run_steps(context, script, places.search_path));
  } else {
    SLUICE_TRY(handed.types, backend::submit_missing(script, *client));
  }
  return std::optional(std::move(handed));
}

Result<ExitCode> run_on_slurm(const Context& context, const RunFlags& flags,
                              const LocalFlags& sampling) {
  SLUICE_TRY(const plan::RunConfig config, load_cluster_config(flags, context.globals));
  for (const std::string& note : config.notes)
    log::warn("{}", note);
  SLUICE_TRY(Submission planned, new_submission(config, sampling, context, "slurm"));
  const SlurmOrder order{
      config,
      std::move(planned),
      config.output.output_dir.value_or(""),
      fmt::format("{}-{}", config.scenario().name, plan::to_string(config.mode())),
      sampling.resume,
      flags.dry_run};
  SLUICE_TRY(const auto handed, hand_to_slurm(context, order));
  if (!handed) return ExitCode::done;
  if (handed->ended) return *handed->ended;
  show_submitted(context, *handed);
  return ExitCode::done;
}

}  // namespace sluice::cli
