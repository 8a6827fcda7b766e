// sluice/cli/peers/check.cpp - `peers check`: starts each worker and asks what it can do.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/peers/check.h"

#include "sluice/cli/peers/peers.h"
#include "sluice/cli/print.h"
#include "sluice/core/json.h"
#include "sluice/core/text.h"
#include "sluice/measure/interrupt.h"
#include "sluice/plan/jobs.h"
#include "sluice/plan/matrix.h"
#include "sluice/plan/transforms.h"

#include <fmt/format.h>

#include <algorithm>
#include <map>
#include <memory>
#include <string>
#include <vector>

namespace sluice::cli {
namespace {

using peers::CheckReport;
using peers::Health;

/// One question for each scenario that has a set of transforms.
std::vector<peers::SupportQuestion> questions() {
  std::vector<peers::SupportQuestion> all;
  for (const plan::MatrixScenario& scenario : plan::scenarios()) {
    if (!scenario.set) continue;
    peers::SupportQuestion question{std::string(scenario.name), Json::array()};
    for (const std::string& name : plan::transform_names(*scenario.set)) {
      question.cases.push_back({{"case", plan::case_name(scenario.name, plan::Mode::micro, name)},
                                {"spec",
                                 {{"scenario", scenario.name},
                                  {"mode", plan::to_string(plan::Mode::micro)},
                                  {"transform", name},
                                  {"params", plan::find_transform(name)->params},
                                  {"channels", scenario.channels},
                                  {"clip_length", scenario.clip_length}}}});
    }
    all.push_back(std::move(question));
  }
  return all;
}

/// A library and whether the user named it: only then is its absence a failure.
struct Asked {
  const peers::Library* library;
  bool named;
};

Result<std::vector<Asked>> asked_for(const std::vector<std::string>& names) {
  std::vector<Asked> asked;
  const auto add = [&](const peers::Library* library, bool named) {
    const auto same = [&](const Asked& one) { return one.library == library; };
    if (std::none_of(asked.begin(), asked.end(), same)) asked.push_back({library, named});
  };
  if (names.empty()) {
    for (const peers::Library& library : peers::libraries())
      add(&library, false);
  }
  for (const std::string& name : names) {
    if (peers::is_group(name)) {
      for (const peers::Library* library : peers::libraries_of_group(name)) {
        if (library->home_group() == name) add(library, true);
      }
      continue;
    }
    SLUICE_CHECK(peers::require_library(name));
    for (const std::string& row : peers::rows_of_library(name))
      add(peers::find_library(row), true);
  }
  return asked;
}

/// A library stands by its first mode; the others may need a group that nobody asked for.
bool is_failure(const CheckReport& report, const Asked& asked) {
  if (report.health == Health::failed) return true;
  const bool home = report.mode == asked.library->ways.front().mode;
  return report.health == Health::not_installed && asked.named && home;
}

std::string support_text(const peers::SupportAnswer& answer) {
  return answer.reason.empty() ? fmt::format("{}/{}", answer.supported, answer.asked) : "-";
}

/// `text` with every `word` in it left out, so that reasons which differ in it alone are one.
std::string without(std::string text, const std::string& word) {
  for (std::size_t at = text.find(word); at != std::string::npos; at = text.find(word, at + 3))
    text.replace(at, word.size(), "...");
  return text;
}

/// Transforms with the same reason share a line.
void print_reasons(const CheckReport& report) {
  for (const peers::SupportAnswer& answer : report.support) {
    if (!answer.reason.empty()) print("  {}: {}\n", answer.scenario, answer.reason);
    std::map<std::string, std::vector<std::string>> by_reason;
    for (const auto& [name, reason] : answer.unsupported) {
      const std::string transform = name.substr(name.rfind('/') + 1);
      by_reason[without(reason, transform)].push_back(transform);
    }
    for (const auto& [reason, transforms] : by_reason)
      print("  {}: {}: {}\n", answer.scenario, reason, join(transforms));
  }
}

void print_reports(const std::vector<CheckReport>& reports,
                   const std::vector<peers::SupportQuestion>& asked) {
  print("{:<23} {:<9} {:<14} {:<10} {:<8}", "library", "mode", "status", "version", "threads");
  for (const peers::SupportQuestion& question : asked)
    print(" {:<10}", question.scenario);
  print("\n");
  for (const CheckReport& report : reports) {
    print("{:<23} {:<9} {:<14} {:<10} {:<8}", report.library, report.mode, to_string(report.health),
          report.version.empty() ? "-" : report.version,
          report.threads ? fmt::format("{}", *report.threads) : "-");
    for (const peers::SupportAnswer& answer : report.support)
      print(" {:<10}", support_text(answer));
    print("\n");
    if (!report.reason.empty()) print("  {}\n", report.reason);
    print_reasons(report);
  }
}

Result<ExitCode> run_check(const std::vector<std::string>& names, const Context& context) {
  SLUICE_TRY(const std::vector<Asked> asked, asked_for(names));
  SLUICE_TRY(const peers::Places places, peers::find_places());
  const std::vector<peers::SupportQuestion> transforms = questions();
  const measure::Interrupt interrupt;
  measure::ProcessLauncher launcher;
  peers::CheckOptions options;
  options.launcher = &launcher;
  options.log_folder = places.cache / "logs";
  options.cancel_fd = interrupt.fd();
  std::vector<CheckReport> reports;
  bool failed = false;
  {
    auto bar = context.globals.progress->bar("check", asked.size(), "libraries");
    for (std::size_t i = 0; i < asked.size(); ++i) {
      for (const peers::Way& way : asked[i].library->ways) {
        bar.set(i, fmt::format("{}, {}", asked[i].library->name, way.mode));
        const bool micro = way.mode == "micro";
        SLUICE_TRY(CheckReport report,
                   peers::check_worker(places, *asked[i].library, way,
                                       micro ? transforms : std::vector<peers::SupportQuestion>(),
                                       options));
        failed = failed || is_failure(report, asked[i]);
        reports.push_back(std::move(report));
      }
    }
    bar.set(asked.size());
  }
  if (context.globals.json) {
    Json rows = Json::array();
    for (const CheckReport& report : reports)
      rows.push_back(to_json(report));
    print("{}\n", dump_json({{"healthy", !failed},
                             {"logs", options.log_folder.string()},
                             {"workers", std::move(rows)}}));
  } else {
    print_reports(reports, transforms);
    print("{}; logs: {}\n", failed ? "not all are healthy" : "all are healthy",
          printable(options.log_folder.string()));
  }
  return failed ? ExitCode::regression : ExitCode::done;
}

}  // namespace

void add_peers_check(CLI::App& peers_app, Context& context) {
  auto names = std::make_shared<std::vector<std::string>>();
  CLI::App* check = add_command(
      peers_app, context, "check",
      "Start the worker of every library, and say what it supports and how it is set up",
      [names, &context] { return run_check(*names, context); });
  add_value(*check, "names", *names, "{" + join(groups_and_libraries(), ",") + "}",
            "libraries or groups, which must then be installed; default: every library");
  add_examples(*check, {"sluice peers check", "sluice peers check albumentationsx pillow --json"});
}

}  // namespace sluice::cli
