// tests/backend/cluster_test.cpp - slices, lists of tasks, scripts and names: what is pure of
// clusters.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/backend/cluster/slices.h"
#include "sluice/backend/k8s/manifest.h"
#include "sluice/backend/slurm/scripts.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::backend::cluster_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;

plan::RunConfig config_with(const std::vector<std::string>& transforms) {
  plan::RunConfig config;
  config.selection.scenario = "image-rgb";
  config.selection.mode = plan::Mode::micro;
  config.selection.transforms = transforms;
  return config;
}

TEST(Slices, EveryTransformOnceInOrder) {
  const auto slices = slices_of(config_with({"a", "b", "c", "d", "e"}), 2);
  EXPECT_THAT(slices, ElementsAre(ElementsAre("a", "b"), ElementsAre("c", "d"), ElementsAre("e")));
  EXPECT_EQ(slices_of(config_with({"a", "b"}), 100).size(), 1U);
}

TEST(Slices, DecodersAreOneSlice) {
  plan::RunConfig config;
  config.selection.scenario = "video-decode-16f";
  config.selection.mode = plan::Mode::decode;
  EXPECT_THAT(slices_of(config, 5), ElementsAre(IsEmpty()));
  EXPECT_FALSE(config_of(config, {}).selection.transforms);
}

TEST(Slices, ASliceIsTheConfigurationWithItsTransforms) {
  const auto part = config_of(config_with({"a", "b", "c"}), {"b"});
  EXPECT_THAT(*part.selection.transforms, ElementsAre("b"));
}

TEST(Slices, TasksAreWrittenAsRanges) {
  EXPECT_EQ(index_list({}), "");
  EXPECT_EQ(index_list({4}), "4");
  EXPECT_EQ(index_list({0, 1, 2, 7, 9, 10}), "0-2,7,9-10");
}

TEST(Scripts, WordsOfAShell) {
  EXPECT_EQ(shell_word("/a/b-1.sbatch"), "/a/b-1.sbatch");
  EXPECT_EQ(shell_word("a b"), "'a b'");
  EXPECT_EQ(shell_word("it's $HOME"), "'it'\\''s $HOME'");
  EXPECT_EQ(shell_word(""), "''");
}

TEST(Scripts, AFolderWithBlanksIsQuoted) {
  const plan::RunConfig config = config_with({"a", "b"});
  Submission submission;
  submission.token = "0a1b2c3d";
  submission.slices = {{"a"}, {"b"}};
  submission.work_folder = "/my work";
  const ScriptContext context{"/bin/sluice", "/my runs/x", &config, &submission};
  const std::string text = array_script(context, "", {1});
  EXPECT_THAT(text, HasSubstr("#SBATCH --output=\"/my runs/x/logs/%x-%A_%a.out\"\n"));
  EXPECT_THAT(text, HasSubstr("#SBATCH --chdir=\"/my work\"\n"));
  EXPECT_THAT(text, HasSubstr("#SBATCH --array=1\n"));
  EXPECT_THAT(text, HasSubstr("exec /bin/sluice slice '/my runs/x'\n"));
  EXPECT_THAT(text, HasSubstr("# task 1: b\n"));
  EXPECT_THAT(text, ::testing::Not(HasSubstr("--constraint")));
  EXPECT_THAT(collect_script(context, "big"), HasSubstr("--type big --collect\n"));
  EXPECT_FALSE(check_script_path("/a%b"));
  EXPECT_FALSE(check_script_path("/a\nb"));
  EXPECT_TRUE(check_script_path("/my runs/x"));
}

TEST(K8s, NamesAreThoseOfObjects) {
  EXPECT_EQ(k8s_name("sluice-N2_standard.8"), "sluice-n2-standard-8");
  EXPECT_EQ(k8s_name(std::string(80, 'a')).size(), 63U);
  EXPECT_EQ(k8s_name("a-"), "a");
}

}  // namespace
}  // namespace sluice::backend::cluster_test
