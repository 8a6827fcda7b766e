// sluice/cli/flags/session.cpp - the flags of measuring commands, and the plan they describe.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/flags/session.h"

#include "sluice/cli/print.h"
#include "sluice/cli/terminal.h"
#include "sluice/core/text.h"
#include "sluice/report/diagnose_text.h"
#include "sluice/report/report.h"
#include "sluice/report/text_parts.h"
#include "sluice/report/tour_text.h"

#include <fmt/format.h>

namespace sluice::cli {
namespace {

Result<visit::Peer> parse_peer(const std::string& text) {
  const std::size_t equals = text.find('=');
  if (equals == std::string::npos || equals == 0 || equals + 1 == text.size()) {
    return Error{
        Errc::usage,
        fmt::format("--peer {}: expected NAME=PROGRAM, a worker program (docs/peer-protocol.md)",
                    printable(text))};
  }
  const std::string words = text.substr(equals + 1);
  std::vector<std::string> command{words};
  if (!std::filesystem::exists(words)) command = split(words, ' ');  // PROGRAM ARGUMENT...
  const std::filesystem::path program = command.front();
  std::error_code problem;
  if (!std::filesystem::exists(program, problem) && !problem)
    problem = std::make_error_code(std::errc::no_such_file_or_directory);
  if (problem) {
    return Error{Errc::not_found, fmt::format("--peer {}: {}", printable(text), problem.message())};
  }
  // A virtual environment is known by the path of its interpreter: links are not resolved.
  command.front() = std::filesystem::absolute(program).string();
  return visit::Peer{text.substr(0, equals), std::move(command)};
}

}  // namespace

void add_session_flags(CLI::App& command, SessionFlags& flags) {
  add_value(command, "--data-dir", flags.data_dir, "DIR",
            "folder of JPEG, PNG or WebP files; without it images are generated");
  add_number(command, "--images", flags.images, 1, 100'000, "number of images to generate");
  add_runs_flag(command, flags.runs,
                "fresh processes per row; below 3 a comparison gives no verdict");
  add_samples_flag(command, flags.samples);
  add_sampling_flags(command, flags);
  command.add_option("--cpus", flags.cpus,
                     "cores to measure on, such as 0-3,6; the harness itself stays off them");
  add_value(command, "--peer", flags.peers, "NAME=PROGRAM [ARGUMENTS]",
            "also measure this worker program, in turns with ours");
}

Result<visit::SessionPlan> make_plan(const SessionFlags& flags, const Globals& globals,
                                     const std::string& name) {
  if (flags.resume && globals.out.empty()) {
    return Error{Errc::usage, "--resume: needs --out DIR, the folder of the run to continue"};
  }
  visit::SessionPlan plan;
  plan.name = name;
  plan.data_dir = flags.data_dir;
  plan.images = flags.images;
  plan.resume = flags.resume;
  plan.policy.runs = flags.runs;
  plan.policy.samples_per_run = flags.samples;
  plan.policy.min_sample_ms = flags.sample_ms;
  plan.policy.warmup_ms = flags.warmup_ms;
  plan.policy.step_timeout_s = flags.timeout_s;
  if (globals.seed_given) plan.order_seed = globals.seed;
  plan.policy.data_seed = globals.seed;
  if (!flags.cpus.empty()) {
    SLUICE_TRY(plan.policy.cpus, measure::parse_cpu_list(flags.cpus));
  }
  for (const std::string& text : flags.peers) {
    SLUICE_TRY(visit::Peer peer, parse_peer(text));
    plan.peers.push_back(std::move(peer));
  }
  return plan;
}

Result<ExitCode> show_session(const Context& context, const visit::Visited& session, bool brief) {
  const std::vector<results::ResultFile> files{session.file};
  if (context.globals.json) {
    print("{}", results::to_text(results::to_json(session.file)));
  } else {
    report::TextOptions options = terminal_options();
    options.brief = brief;
    print("{}\n", report::text_table(files, options));
    if (const std::string text = report::diagnose_text(session.file); !brief && !text.empty())
      print("{}\n", text);
    for (const std::string& sentence : report::found_sentences(session.file))
      print("{}", report::wrapped(sentence, options.width, 0));
    print("report: {}\n", (session.folder / "report.html").string());
  }
  if (session.interrupted) {
    return Error{
        Errc::interrupted,
        fmt::format("interrupted; what was measured is kept, continue with --out {} --resume",
                    session.folder.string())};
  }
  return exit_code_of(session.file);
}

}  // namespace sluice::cli
