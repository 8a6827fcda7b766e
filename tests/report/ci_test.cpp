// tests/report/ci_test.cpp - generated workflows read back as YAML: triggers, rights, steps,
// guards.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/config/node.h"
#include "sluice/config/parse.h"
#include "sluice/report/ci/files.h"

#include <gtest/gtest.h>

namespace sluice::report::ci_test {
namespace {
using config::Node;

Node parsed(const std::string& text) {
  auto node = config::parse(text, "workflow");
  EXPECT_TRUE(node) << (node ? "" : node.error().message);
  return node ? *node : Node();
}

/// No key twice, anywhere.
void expect_no_duplicates(const Node& node) {
  for (std::size_t i = 0; i < node.entries().size(); ++i) {
    for (std::size_t k = 0; k < i; ++k)
      EXPECT_NE(node.entries()[i].key, node.entries()[k].key) << node.where();
    expect_no_duplicates(node.entries()[i].value);
  }
  for (const Node& item : node.items())
    expect_no_duplicates(item);
}

/// The node at "jobs/perf-gate/steps"; a null node when it is not there.
const Node& at(const Node& root, std::initializer_list<const char*> keys) {
  static const Node kNone;
  const Node* node = &root;
  for (const char* key : keys) {
    node = node->find(key);
    if (node == nullptr) return kNone;
  }
  return *node;
}

const Node& step_named(const Node& job, const std::string& part) {
  static const Node kNone;
  for (const Node& step : at(job, {"steps"}).items())
    if (at(step, {"name"}).text().find(part) != std::string::npos) return step;
  return kNone;
}

std::string run_of(const Node& job, const std::string& part) {
  return at(step_named(job, part), {"run"}).text();
}

TEST(CiGithub, TriggersAndRights) {
  CiOptions options;
  options.baseline_branch = "trunk";
  options.runner = {"self-hosted", "gpu"};
  const Node root = parsed(github_workflow(options));
  expect_no_duplicates(root);
  EXPECT_EQ(at(root, {"on", "pull_request", "branches"}).items().at(0).text(), "trunk");
  EXPECT_EQ(at(root, {"on", "pull_request", "types"}).items().size(), 3U);
  EXPECT_EQ(at(root, {"on", "workflow_dispatch", "inputs", "update_baseline", "default"}).text(),
            "false");
  EXPECT_EQ(at(root, {"permissions", "contents"}).text(), "read");
  EXPECT_EQ(at(root, {"permissions"}).entries().size(), 1U);
  const Node& gate = at(root, {"jobs", "perf-gate"});
  EXPECT_EQ(at(gate, {"runs-on"}).items().at(1).text(), "gpu");
  EXPECT_TRUE(at(gate, {"permissions"}).is_null()) << "the job that runs foreign code only reads";
  EXPECT_NE(at(gate, {"if"}).text().find("skip-perf-gate"), std::string::npos);
  EXPECT_EQ(at(root, {"jobs", "comment", "permissions"}).entries().size(), 1U);
  EXPECT_EQ(at(root, {"jobs", "comment", "permissions", "pull-requests"}).text(), "write");
  EXPECT_NE(at(root, {"jobs", "comment", "if"}).text().find("full_name == github.repository"),
            std::string::npos);
  EXPECT_EQ(at(root, {"concurrency", "cancel-in-progress"}).text(), "true");
}

TEST(CiGithub, StepsOfTheGate) {
  const Node root = parsed(github_workflow({}));
  const Node& gate = at(root, {"jobs", "perf-gate"});
  EXPECT_EQ(at(gate, {"runs-on"}).text(), "ubuntu-latest");
  EXPECT_GE(at(gate, {"steps"}).items().size(), 8U);
  EXPECT_EQ(at(step_named(gate, "Check out"), {"with", "fetch-depth"}).text(), "0");
  EXPECT_NE(run_of(gate, "Bench and eval")
                .find("./sluice gate --quick \"${parts[@]}\" --baseline-dir "
                      "bench/baselines --out perf/stored"),
            std::string::npos);
  EXPECT_NE(run_of(gate, "Paired")
                .find("gate --against \"origin/$BASE_REF\" --build \"$BUILD\" --allow-dirty"),
            std::string::npos);
  EXPECT_EQ(at(step_named(gate, "Paired"), {"env", "BUILD"}).text(), "make build");
  const std::string exports = run_of(gate, "exports");
  for (const char* format :
       {"github-summary \"${link[@]}\" >> \"$GITHUB_STEP_SUMMARY\"", "annotations", "junit",
        "openmetrics", "pr-comment", "google-benchmark bencher "})
    EXPECT_NE(exports.find(format), std::string::npos) << format;
  EXPECT_EQ(at(step_named(gate, "Keep"), {"with", "retention-days"}).text(), "30");
  const std::string verdict = run_of(gate, "Verdict");
  EXPECT_NE(verdict.find("[ \"$code\" = 4 ] && [ \"$EVENT\" = pull_request ]"), std::string::npos);
  EXPECT_NE(verdict.find("::warning"), std::string::npos);
}

/// What an outsider can name (branches, titles, reasons) never stands inside a shell line.
TEST(CiGithub, EventsReachTheShellThroughTheEnvironmentAlone) {
  const Node root = parsed(github_workflow({}));
  for (const config::Entry& job : at(root, {"jobs"}).entries()) {
    for (const Node& step : at(job.value, {"steps"}).items()) {
      EXPECT_EQ(at(step, {"run"}).text().find("${{"), std::string::npos) << job.key;
      EXPECT_EQ(at(step, {"with", "script"}).text().find("${{"), std::string::npos) << job.key;
    }
  }
}

TEST(CiGithub, BaselinesChangeByDispatchAlone) {
  const Node root = parsed(github_workflow({}));
  for (const config::Entry& job : at(root, {"jobs"}).entries()) {
    bool promotes = false;
    for (const Node& step : at(job.value, {"steps"}).items())
      promotes = promotes || at(step, {"run"}).text().find("baseline promote") != std::string::npos;
    EXPECT_EQ(promotes, job.key == "update-baseline");
    if (!promotes) continue;
    EXPECT_EQ(at(job.value, {"if"}).text(),
              "${{ github.event_name == 'workflow_dispatch' && inputs.update_baseline }}");
    EXPECT_EQ(at(job.value, {"permissions", "contents"}).text(), "write");
  }
}

TEST(CiGitlab, JobsAndReports) {
  CiOptions options;
  options.provider = CiProvider::gitlab;
  options.runner = {"perf"};
  options.build = "make 'build': now";
  const Node root = parsed(gitlab_jobs(options));
  expect_no_duplicates(root);
  const Node& gate = at(root, {"perf-gate"});
  EXPECT_EQ(at(gate, {"tags"}).items().at(0).text(), "perf");
  EXPECT_EQ(at(gate, {"script"}).items().at(0).text(), options.build);
  EXPECT_EQ(at(gate, {"variables", "PERF_BUILD"}).text(), options.build);
  EXPECT_EQ(at(gate, {"allow_failure", "exit_codes"}).items().at(0).text(), "4");
  EXPECT_EQ(at(gate, {"artifacts", "reports", "junit"}).text(), "perf/*/junit.xml");
  EXPECT_NE(at(gate, {"script"}).items().at(2).text().find("gate --against"), std::string::npos);
  EXPECT_EQ(at(root, {"perf-baseline", "rules"}).items().size(), 1U);
  EXPECT_EQ(at(at(root, {"perf-baseline", "rules"}).items()[0], {"when"}).text(), "manual");
  const Node& note = at(root, {"perf-note"});
  EXPECT_EQ(at(note, {"variables", "GIT_STRATEGY"}).text(), "none") << "no foreign code there";
  EXPECT_NE(at(at(note, {"rules"}).items().at(0), {"if"}).text().find("$PERF_NOTE_TOKEN"),
            std::string::npos);
  EXPECT_EQ(at(note, {"allow_failure"}).text(), "true");
  EXPECT_EQ(at(gate, {"script"}).items().at(2).text().find("PERF_NOTE_TOKEN"), std::string::npos);
  options.runner.clear();
  EXPECT_TRUE(at(parsed(gitlab_jobs(options)), {"perf-gate", "tags"}).is_null());
}

TEST(CiFiles, EveryPlaceIsFilledAndMarked) {
  for (const CiProvider provider : {CiProvider::github, CiProvider::gitlab}) {
    CiOptions options;
    options.provider = provider;
    options.gate_flags.clear();
    for (const CiFile& file : ci_files(options)) {
      EXPECT_NE(file.text.find(kCiMarker), std::string::npos) << file.path;
      for (const char* place :
           {"@MARKER@", "@RUNNER@", "@BRANCH@", "@BASELINES@", "@SLUICE@", "@DAYS@", "@MINUTES@",
            "@BUILD", "@FLAGS@", "@TAGS@", "@TOLERANCES@"})
        EXPECT_EQ(file.text.find(place), std::string::npos) << file.path << place;
    }
    const std::string page = ci_page(options);
    for (const char* section :
         {"Quick Start", "Running Locally", "Updating Baselines", "Machine Profiles",
          "Interpreting Results", "CI Integration", "Architecture Notes", "FAQ"})
      EXPECT_NE(page.find("## " + std::string(section) + "\n"), std::string::npos) << section;
  }
}

TEST(CiFiles, WhatCouldBreakOutIsRefused) {
  const auto refused = [](auto change) {
    CiOptions options;
    change(options);
    const Status status = check(options);
    return !status && status.error().code == Errc::usage &&
           status.error().message.find('\n') == std::string::npos;
  };
  EXPECT_TRUE(check(CiOptions{}));
  EXPECT_TRUE(refused([](CiOptions& o) { o.runner = {"a b"}; }));
  EXPECT_TRUE(refused([](CiOptions& o) { o.runner = {"x]\nenv: {"}; }));
  EXPECT_TRUE(refused([](CiOptions& o) { o.runner = {""}; }));
  EXPECT_TRUE(refused([](CiOptions& o) { o.baseline_branch = "a; rm -r ."; }));
  EXPECT_TRUE(refused([](CiOptions& o) { o.baseline_branch = "--all"; }));
  EXPECT_TRUE(refused([](CiOptions& o) { o.baseline_dir = "$(x)"; }));
  EXPECT_TRUE(refused([](CiOptions& o) { o.program = "a b"; }));
  EXPECT_TRUE(refused([](CiOptions& o) { o.build = "make\n- run: x"; }));
  EXPECT_TRUE(refused([](CiOptions& o) { o.gate_flags = "--quick\x1b"; }));
}

}  // namespace
}  // namespace sluice::report::ci_test
