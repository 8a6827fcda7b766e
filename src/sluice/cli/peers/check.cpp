// sluice/cli/peers/check.cpp - `peers check`: starts each worker and asks what it can do.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/peers/check.h"

#include "sluice/cli/peers/peers.h"
#include "sluice/cli/print.h"
#include "sluice/cli/terminal.h"
#include "sluice/core/json.h"
#include "sluice/core/text.h"
#include "sluice/measure/interrupt.h"
#include "sluice/plan/jobs.h"
#include "sluice/plan/matrix.h"
#include "sluice/plan/transforms.h"
#include "sluice/report/text_parts.h"

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

Result<std::vector<const peers::Library*>> asked_for(const std::vector<std::string>& names) {
  std::vector<const peers::Library*> asked;
  const auto add = [&](const peers::Library* library) {
    if (std::find(asked.begin(), asked.end(), library) == asked.end()) asked.push_back(library);
  };
  if (names.empty()) {
    for (const peers::Library& library : peers::libraries())
      add(&library);
  }
  for (const std::string& name : names) {
    if (peers::is_group(name)) {
      for (const peers::Library* library : peers::libraries_of_group(name)) {
        if (library->home_group() == name) add(library);
      }
      continue;
    }
    SLUICE_CHECK(peers::require_library(name));
    for (const std::string& row : peers::rows_of_library(name))
      add(peers::find_library(row));
  }
  return asked;
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

/// The first names; all of them are in the JSON.
std::string few_of(const std::vector<std::string>& names, int asked) {
  constexpr std::size_t kMost = 8;
  if (static_cast<int>(names.size()) == asked) return "all transforms";
  if (names.size() <= kMost) return join(names);
  return join({names.begin(), names.begin() + kMost}) +
         fmt::format(" and {} more (--json)", names.size() - kMost);
}

/// Transforms with the same reason share a line.
std::string reasons_text(const CheckReport& report, std::size_t width) {
  std::string out;
  if (!report.reason.empty()) out += report::wrapped(report.reason, width, 2);
  for (const peers::SupportAnswer& answer : report.support) {
    if (!answer.reason.empty())
      out += report::wrapped(answer.scenario + ": " + answer.reason, width, 2);
    std::map<std::string, std::vector<std::string>> by_reason;
    for (const auto& [name, reason] : answer.unsupported) {
      const std::string transform = name.substr(name.rfind('/') + 1);
      by_reason[without(reason, transform)].push_back(transform);
    }
    for (const auto& [reason, transforms] : by_reason)
      out += report::wrapped(
          fmt::format("{}: {}: {}", answer.scenario, reason, few_of(transforms, answer.asked)),
          width, 2);
  }
  return out;
}

/// Not installed is no failure: one line per reason names all of them.
std::string absent_text(const std::vector<CheckReport>& reports, std::size_t width) {
  std::map<std::string, std::vector<std::string>> by_reason;
  for (const CheckReport& report : reports) {
    if (report.health != Health::not_installed) continue;
    const std::string reason =
        report.group.empty() ? report.reason : fmt::format("sluice peers install {}", report.group);
    by_reason[reason].push_back(fmt::format("{} ({})", report.library, report.mode));
  }
  std::string out;
  for (const auto& [reason, names] : by_reason)
    out += report::wrapped(fmt::format("not installed: {}: {}", join(names), reason), width, 0);
  return out;
}

std::string reports_text(const std::vector<CheckReport>& reports,
                         const std::vector<peers::SupportQuestion>& asked, std::size_t width) {
  std::vector<std::vector<std::string>> rows{{"library", "mode", "status", "version", "threads"}};
  for (const peers::SupportQuestion& question : asked)
    rows[0].push_back(question.scenario);
  std::vector<std::string> below{""};  // each row
  for (const CheckReport& report : reports) {
    if (report.health == Health::not_installed) continue;
    auto& row = rows.emplace_back();
    row = {report.library, report.mode, to_string(report.health),
           report.version.empty() ? "-" : report.version,
           report.threads ? fmt::format("{}", *report.threads) : "-"};
    for (const peers::SupportAnswer& answer : report.support)
      row.push_back(support_text(answer));
    row.resize(rows[0].size());
    below.push_back(reasons_text(report, width));
  }
  std::string out;
  for (std::size_t r = 0; r < rows.size(); ++r) {
    std::string line;
    for (std::size_t c = 0; c < rows[r].size(); ++c) {
      std::size_t widest = 0;
      for (const auto& row : rows)
        widest = std::max(widest, report::display_width(row[c]));
      line += report::padded(rows[r][c], widest, false) + "  ";
    }
    out += report::without_trailing_space(line) + "\n" + below[r];
  }
  return out + absent_text(reports, width);
}

Result<ExitCode> run_check(const std::vector<std::string>& names, const Context& context) {
  SLUICE_TRY(const std::vector<const peers::Library*> asked, asked_for(names));
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
      for (const peers::Way& way : asked[i]->ways) {
        bar.set(i, fmt::format("{}, {}", asked[i]->name, way.mode));
        const bool micro = way.mode == "micro";
        SLUICE_TRY(CheckReport report,
                   peers::check_worker(places, *asked[i], way,
                                       micro ? transforms : std::vector<peers::SupportQuestion>(),
                                       options));
        failed = failed || report.health == Health::failed;
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
    print("{}", reports_text(reports, transforms, terminal_options().width));
    print("{}; logs: {}\n",
          failed ? "not all that is installed works" : "all that is installed works",
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
            "libraries or groups; default: every library");
  add_examples(*check, {"sluice peers check", "sluice peers check albumentationsx pillow --json"});
}

}  // namespace sluice::cli
