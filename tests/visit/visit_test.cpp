// tests/visit/visit_test.cpp - the steps that every measuring command shares, with workers that do
// not start.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/visit.h"

#include "sluice/core/folder_guard.h"

#include <gtest/gtest.h>

#include <csignal>
#include <unistd.h>

namespace sluice::visit::visit_test {
namespace {

namespace fs = std::filesystem;

measure::SubjectSpec subject(const std::string& name) {
  measure::SubjectSpec spec;
  spec.case_name = name;
  spec.command = {"/bin/false"};
  return spec;
}

measure::Row row(const std::string& name) {
  return measure::refused_row(subject(name), Error{Errc::unsupported, "not here"});
}

class VisitTest : public ::testing::Test {
 protected:
  VisitTest() { caller_.out = folder_.path() / "run"; }

  /// As far as a visit gets before its first wave.
  static void prepare(Visit& visit) {
    ASSERT_TRUE(visit.begin());
    visit.file.run_config = Json{{"command", "probe"}};
    ASSERT_TRUE(visit.described());
    ASSERT_TRUE(visit.start(Progress::silent()));
  }

  static std::vector<std::string> cases(const results::ResultFile& file) {
    std::vector<std::string> names;
    for (const measure::Row& one : file.rows)
      names.push_back(one.case_name);
    return names;
  }

  static backend::VisitOptions quietly() { return {.check_noise = false}; }

  FolderGuard folder_{fs::temp_directory_path() /
                      ("sluice-visit-test-" + std::to_string(getpid()))};
  Caller caller_;
};

using Names = std::vector<std::string>;

TEST_F(VisitTest, RowsKeepTheirOrderOverWaves) {
  Visit visit(caller_, "probe");
  ASSERT_TRUE(visit.open(quietly()));
  prepare(visit);
  visit.last = {row("last")};
  visit.add({row("first")});
  measure::Policy policy;
  policy.runs = 1;
  ASSERT_TRUE(visit.measure({subject("a"), subject("canary-v1/x")}, policy));
  EXPECT_EQ(cases(visit.file), (Names{"first", "a", "last"}));
  visit.add({row("between")});
  ASSERT_TRUE(visit.measure({subject("b")}, policy));
  EXPECT_EQ(cases(visit.file), (Names{"first", "a", "between", "b", "last"}));
  ASSERT_TRUE(visit.keep());
  const auto stored = results::read(caller_.out / "results" / "probe.json");
  ASSERT_TRUE(stored) << stored.error().message;
  EXPECT_EQ(cases(*stored), cases(visit.file));
  ASSERT_EQ(stored->canary.size(), 1U);  // apart, and no later wave without one takes it away
  EXPECT_EQ(stored->canary.front().case_name, "canary-v1/x");
}

TEST_F(VisitTest, EveryBlockIsOnTheDiskWithWhatTheCommandAdds) {
  Visit visit(caller_, "probe");
  ASSERT_TRUE(visit.open(quietly()));
  prepare(visit);
  visit.after_block = [&]() -> Status {
    visit.file.block_order_seed = 77;
    return ok;
  };
  ASSERT_TRUE(visit.keep({row("half")}));
  const auto stored = results::read(visit.result_path());
  ASSERT_TRUE(stored) << stored.error().message;
  EXPECT_EQ(cases(*stored), Names{"half"});
  EXPECT_EQ(stored->block_order_seed, 77U);
  visit.add({});
  EXPECT_EQ(cases(visit.file), Names{});  // rows of a wave that did not end are replaced
}

TEST_F(VisitTest, AnEnvironmentThatIsStillToBeCheckedIsWrittenLater) {
  Visit visit(caller_, "probe");
  ASSERT_TRUE(visit.open(quietly()));
  prepare(visit);
  EXPECT_TRUE(fs::exists(caller_.out / "resolved_config.yaml"));
  EXPECT_FALSE(fs::exists(caller_.out / "env.json"));
  ASSERT_TRUE(visit.write_environment());
  EXPECT_TRUE(fs::exists(caller_.out / "env.json"));
  const auto left = visit.finish(false);
  ASSERT_TRUE(left) << left.error().message;
  EXPECT_EQ(left->folder, caller_.out);
  for (const char* name : {"results/probe.json", "report.md", "report.html"})
    EXPECT_TRUE(fs::exists(caller_.out / name)) << name;
  EXPECT_FALSE(fs::exists(caller_.out / "metrics.json"));
}

TEST_F(VisitTest, AnInterruptionLeavesWhatThereIs) {
  Visit visit(caller_, "probe");
  ASSERT_TRUE(visit.open(quietly()));
  prepare(visit);
  visit.add({row("first")});
  EXPECT_FALSE(visit.interrupted());
  ASSERT_EQ(std::raise(SIGINT), 0);
  EXPECT_TRUE(visit.interrupted());
  const auto interrupted = is_interrupted(visit.measure({subject("a")}, {}));
  ASSERT_TRUE(interrupted);
  EXPECT_TRUE(*interrupted);
  const auto left = visit.finish(*interrupted);
  ASSERT_TRUE(left) << left.error().message;
  EXPECT_TRUE(left->interrupted);
  EXPECT_EQ(cases(left->file).front(), "first");
}

TEST_F(VisitTest, AFolderOfSomebodyElseIsUsedAsItIs) {
  const auto folder = results::RunFolder::open({.out = caller_.out});
  ASSERT_TRUE(folder) << folder.error().message;
  {
    Visit visit(caller_, "probe");
    visit.open_in(*folder, quietly());
    prepare(visit);
    ASSERT_TRUE(visit.finish(false));
  }
  Visit second(caller_, "probe");  // the folder is still held, and no longer empty
  const auto refused = second.open(quietly());
  ASSERT_FALSE(refused);
  EXPECT_EQ(refused.error().code, Errc::usage);
}

TEST(VisitParts, OtherErrorsThanAnInterruptionStay) {
  const auto failed = is_interrupted(Error{Errc::io, "full"});
  ASSERT_FALSE(failed);
  EXPECT_EQ(failed.error().message, "full");
  EXPECT_FALSE(*is_interrupted(ok));
}

TEST(VisitParts, APolicyIsToldWithoutItsSeed) {
  measure::Policy policy;
  Json expected = measure::to_json(policy);
  ASSERT_EQ(expected.erase("seed"), 1U);
  ASSERT_EQ(expected.erase("data_seed"), 1U);
  policy.seed = 5;
  EXPECT_EQ(policy_json(policy), expected);
}

}  // namespace
}  // namespace sluice::visit::visit_test
