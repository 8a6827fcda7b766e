// tests/config/schema_test.cpp - what readers ask for becomes a table and a resolved document.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/config/schema.h"

#include "sluice/config/emit.h"
#include "sluice/config/parse.h"
#include "sluice/config/reader.h"

#include <gtest/gtest.h>

namespace sluice::config::schema_test {
namespace {

struct Gate {
  double min_change = 0.03;
  std::vector<std::string> cases{"a|b"};
  static Result<Gate> parse(const Node& node) {
    Gate gate;
    Reader reader(node, "gate");
    reader.read("min_change", gate.min_change, share(open_interval(0.0, 1.0)), "smaller is noise");
    reader.read("cases", gate.cases);
    SLUICE_CHECK(reader.finish());
    return gate;
  }
};

struct Run {
  std::string name;
  Gate gate;
  std::vector<unsigned> workers;
  double timeout_s = 60;
  static Result<Run> parse(const Node& node) {
    Run run;
    Reader reader(node);
    reader.require("name", run.name, Plain<std::string>{}, "of the run");
    reader.read("gate", run.gate);
    for (Reader& job : reader.children("jobs")) {
      unsigned workers = 1;
      job.read("workers", workers, at_least(1), "threads");
      run.workers.push_back(workers);
    }
    Reader data = reader.child("data");
    data.read("timeout", run.timeout_s, seconds(), "per file");
    SLUICE_CHECK(reader.finish());
    return run;
  }
};

TEST(Schema, DescribesEveryKeyWithoutADocument) {
  Schema schema;
  const auto run = Run::parse(schema.blank());
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(schema.markdown(),
            "| key | type | default | meaning |\n|---|---|---|---|\n"
            "| `name` | text | required | of the run |\n"
            "| `gate.min_change` | a share (such as 5% or 0.05), in (0, 1) | `0.03` | smaller is "
            "noise |\n"
            "| `gate.cases` | list of text | `[\"a\\|b\"]` |  |\n"
            "| `jobs[].workers` | whole number, at least 1 | `1` | threads |\n"
            "| `data.timeout` | a duration (such as 250ms, 5s, 2min) | `60s` | per file |\n");
}

TEST(Schema, ResolvesADocumentWithItsDefaults) {
  auto node = parse("jobs:\n  - workers: 4\n  - {}\nname: x\n", "f.yaml");
  ASSERT_TRUE(node);
  Schema schema;
  node->attach(&schema);
  const auto run = Run::parse(*node);
  ASSERT_TRUE(run) << run.error().message;
  const std::string expected =
      "name: x\ngate:\n  min_change: 0.03\n  cases:\n    - \"a|b\"\njobs:\n  - workers: 4\n  - "
      "workers: 1\n"
      "data:\n  timeout: 60s\n";
  EXPECT_EQ(to_yaml(schema.resolved()), expected);

  auto again = parse(expected, "resolved_config.yaml");  // the resolved document is a document
  ASSERT_TRUE(again);
  Schema second;
  again->attach(&second);
  ASSERT_TRUE(Run::parse(*again));
  EXPECT_EQ(to_yaml(second.resolved()), expected);
}

}  // namespace
}  // namespace sluice::config::schema_test
