// sluice/cli/judge/baseline.cpp - `sluice baseline list|show|promote|prune`: what the gate compares
// with.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/commands.h"
#include "sluice/cli/print.h"
#include "sluice/core/log.h"
#include "sluice/core/text.h"
#include "sluice/core/user_folders.h"
#include "sluice/core/utc.h"
#include "sluice/env/git.h"
#include "sluice/gate/baseline/pairs.h"
#include "sluice/gate/baseline/promotion.h"
#include "sluice/gate/baseline/workload.h"
#include "sluice/measure/interrupt.h"
#include "sluice/visit/gate/kept_program.h"

#include <fmt/format.h>

#include <memory>

namespace sluice::cli {
namespace {

namespace fs = std::filesystem;

struct BaselineFlags {
  fs::path dir = gate::kBaselineDir;
  fs::path run;
  std::string key;
  bool maintainer = false;
  std::string reason;
  std::string main_branch = "main";
  bool without_eval = false;
  std::optional<int> keep;
  bool all = false;
};

void add_dir_flag(CLI::App& command, BaselineFlags& flags) {
  add_value(command, "--baseline-dir", flags.dir, "DIR", "folder of stored baselines")
      ->capture_default_str();
}

void add_authority_flags(CLI::App& command, BaselineFlags& flags) {
  command.add_flag("--maintainer", flags.maintainer, "allow it from any branch, given a --reason");
  add_value(command, "--reason", flags.reason, "TEXT", "reason, which the history keeps");
  add_value(command, "--main-branch", flags.main_branch, "NAME",
            "branch on which baselines may change")
      ->capture_default_str();
}

gate::Authority authority_of(const BaselineFlags& flags) {
  env::GitOptions git;
  git.time_limit = std::chrono::seconds(5);
  const env::Known<std::string> branch = env::read_branch(git);
  return {branch.value, branch.reason, flags.main_branch, flags.maintainer, flags.reason};
}

Json to_json(const gate::BaselineInfo& info) {
  Json json{{"key", info.key},       {"machine_profile", info.profile},
            {"work", info.work},     {"timestamp", info.timestamp},
            {"commit", info.commit}, {"eval", info.has_eval},
            {"visits", info.visits}};
  if (!info.problem.empty()) json["problem"] = info.problem;
  return json;
}

Result<ExitCode> run_list(const BaselineFlags& flags, const Globals& globals) {
  SLUICE_TRY(const auto list, gate::list_baselines(flags.dir));
  if (globals.json) {
    Json json = Json::array();
    for (const gate::BaselineInfo& info : list)
      json.push_back(to_json(info));
    print("{}\n", dump_json(Json{{"baselines", std::move(json)}}));
    return ExitCode::done;
  }
  for (const gate::BaselineInfo& info : list) {
    if (!info.problem.empty()) {
      print("{}  cannot be read: {}\n", info.key, info.problem);
      continue;
    }
    print("{}  {}{}{}  commit {}  {}, {} stored run{}\n", info.key, info.work,
          info.work.empty() ? "" : "  ", printable(info.timestamp),
          printable(info.commit).substr(0, 12),
          info.has_eval ? "metrics and eval" : "metrics alone", info.visits,
          info.visits == 1 ? "" : "s");
  }
  if (list.empty()) print("{}: no baselines\n", printable(flags.dir.string()));
  return ExitCode::done;
}

/// What was named, or the only one there is, of that machine if one is named.
Result<std::string> chosen_key(const BaselineFlags& flags) {
  SLUICE_TRY(const auto list, gate::list_baselines(flags.dir));
  std::vector<std::string> names;
  for (const gate::BaselineInfo& info : list) {
    if (info.key == flags.key) return info.key;
    if (flags.key.empty() || info.profile == flags.key) names.push_back(info.key);
  }
  if (names.size() == 1) return names.front();
  const std::string where = printable(flags.dir.string());
  if (list.empty()) return Error{Errc::not_found, where + ": no baselines"};
  if (names.empty())
    return Error{Errc::not_found, fmt::format("{}: no baseline {}", where, printable(flags.key))};
  return Error{Errc::usage, fmt::format("{}: name one of {}", where, join(names))};
}

Result<ExitCode> run_show(const BaselineFlags& flags, const Globals& globals) {
  SLUICE_TRY(const std::string key, chosen_key(flags));
  SLUICE_TRY(const gate::Baseline baseline, gate::read_baseline(flags.dir, key));
  const std::string profile = printable(baseline.files.machine_profile());
  const gate::Visit visit = gate::visit_of(baseline.files);
  if (globals.json) {
    Json history = Json::array();
    for (const gate::Visit& one : baseline.history)
      history.push_back(gate::to_json(one));
    print("{}\n", dump_json(Json{{"key", key},
                                 {"machine_profile", profile},
                                 {"metrics", results::to_json(*baseline.files.metrics)},
                                 {"eval", baseline.files.eval.value_or(Json())},
                                 {"history", std::move(history)}}));
    return ExitCode::done;
  }
  print("baseline         {}\nmachine profile  {}\n", key, profile);
  for (const auto& [name, value] : gate::workload_of(baseline.files))
    print("work             {} {}\n", printable(name), printable(value));
  print("measured         {}\ncommit           {}{}\nstored runs      {}\n",
        printable(visit.timestamp), printable(visit.commit), visit.dirty ? ", with changes" : "",
        baseline.history.size());
  for (const auto& [name, value] : visit.figures)
    print("{:<32} {:.6g}\n", printable(name), value);
  if (visit.canary) {
    for (const auto& [part, speed] : visit.canary->parts)
      print("{:<32} {:.6g} passes/s\n", printable(visit.canary->version + "/" + part), speed);
  }
  return ExitCode::done;
}

/// So that later gates can run it beside a newer one. A copy that cannot be made only costs that.
void keep_program_of(const fs::path& run) {
  const auto files = gate::read_run_files(run);
  const std::string measured_by = files ? gate::program_of(*files) : std::string();
  if (measured_by.empty()) return;
  const auto digest = visit::own_digest();
  if (!digest || *digest != measured_by) {
    log::warn(
        "{}: another program than this measured it; later gates compare with its numbers only",
        printable(run.string()));
    return;
  }
  const auto cache = user_cache_folder();
  const Status kept = cache ? visit::keep_own_program(*digest, *cache) : Status(cache.error());
  if (!kept) log::warn("the program is not kept: {}", kept.error().message);
}

Result<ExitCode> run_promote(const BaselineFlags& flags, const Globals& globals) {
  gate::Promotion promotion;
  promotion.run = flags.run;
  promotion.dir = flags.dir;
  promotion.authority = authority_of(flags);
  promotion.without_eval = flags.without_eval;
  promotion.utc = utc_now();
  const measure::Interrupt interrupt;
  promotion.cancel_fd = interrupt.fd();
  SLUICE_TRY(const gate::Promoted done, gate::promote(promotion));
  for (const std::string& doubt : done.doubts)
    log::warn("{}: promoted, but {}", printable(flags.run.string()), doubt);
  keep_program_of(flags.run);
  if (globals.json) {
    print("{}\n", dump_json(Json{
                      {"key", done.key},
                      {"machine_profile", done.profile},
                      {"metrics", done.paths.metrics.string()},
                      {"eval", flags.without_eval ? Json(nullptr) : Json(done.paths.eval.string())},
                      {"history", done.paths.history.string()},
                      {"visits", done.visits},
                      {"doubts", done.doubts}}));
    return ExitCode::done;
  }
  print("promoted: {} is the baseline {} ({} stored run{} in its history)\n",
        printable(flags.run.string()), done.key, done.visits, done.visits == 1 ? "" : "s");
  return ExitCode::done;
}

Result<ExitCode> run_prune(const BaselineFlags& flags, const Globals& globals) {
  if (flags.keep.has_value() == flags.all)
    return Error{Errc::usage, "baseline prune: give either --keep N or --all"};
  SLUICE_CHECK(gate::check(authority_of(flags)));
  SLUICE_TRY(const std::string key, chosen_key(flags));
  std::size_t gone = 0;
  const measure::Interrupt interrupt;
  if (flags.all) {
    SLUICE_CHECK(gate::remove_baseline(flags.dir, key, interrupt.fd()));
  } else {
    SLUICE_TRY(gone, gate::prune_history(flags.dir, key, static_cast<std::size_t>(*flags.keep),
                                         interrupt.fd()));
  }
  if (globals.json)
    print("{}\n", dump_json(Json{{"key", key}, {"removed", flags.all}, {"visits_removed", gone}}));
  else if (flags.all)
    print("removed: the baseline {}\n", key);
  else
    print("removed: {} stored run{} of {}\n", gone, gone == 1 ? "" : "s", key);
  return ExitCode::done;
}

using Action = Result<ExitCode> (*)(const BaselineFlags&, const Globals&);

}  // namespace

void add_baseline(CLI::App& root, Context& context) {
  CLI::App* baseline =
      add_family(root, "baseline", "List, show, promote and prune stored baselines");
  const auto add = [&](const char* name, const char* text, Action action) {
    auto flags = std::make_shared<BaselineFlags>();
    CLI::App* command = add_command(*baseline, context, name, text, [flags, action, &context] {
      return action(*flags, context.globals);
    });
    add_dir_flag(*command, *flags);
    return std::pair(command, flags);
  };
  const auto list =
      add("list", "List the baselines: of every machine profile and of what is trained on it",
          run_list);
  add_examples(*list.first, {"sluice baseline list", "sluice baseline list --json"});
  const auto show =
      add("show", "Show the work, the figures and the stored runs of one baseline", run_show);
  add_value(
      *show.first, "baseline", show.second->key, "KEY",
      "baseline as `list` names it, or a machine profile that has one; default: the only one");
  add_examples(*show.first, {"sluice baseline show", "sluice baseline show --json"});
  const auto promote =
      add("promote", "Make a run the baseline of its machine profile and its work", run_promote);
  add_value(*promote.first, "run", promote.second->run, "RUN",
            "run folder with metrics.json and eval.json")
      ->required();
  promote.first->add_flag("--without-eval", promote.second->without_eval,
                          "store the metrics alone, for a run without eval.json");
  add_authority_flags(*promote.first, *promote.second);
  add_examples(*promote.first,
               {"sluice baseline promote runs/first   # on branch main",
                "sluice baseline promote runs/first --maintainer --reason 'new machine'"});
  const auto prune = add("prune", "Shorten a history, or remove a baseline", run_prune);
  add_value(
      *prune.first, "baseline", prune.second->key, "KEY",
      "baseline as `list` names it, or a machine profile that has one; default: the only one");
  add_value(*prune.first, "--keep", prune.second->keep, "N",
            "number of newest stored runs that stay in the history")
      ->check(CLI::Range(0, 1'000'000));
  prune.first->add_flag("--all", prune.second->all, "remove the baseline and its history");
  add_authority_flags(*prune.first, *prune.second);
  add_examples(*prune.first,
               {"sluice baseline prune --keep 200",
                "sluice baseline prune OLD_PROFILE --all --maintainer --reason gone"});
}

}  // namespace sluice::cli
