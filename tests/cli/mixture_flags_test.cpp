// tests/cli/mixture_flags_test.cpp - what the flags of `bench mixture` come to.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/flags/mixture.h"
#include "sluice/core/file.h"
#include "sluice/core/thread_pool.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <algorithm>
#include <unistd.h>

namespace sluice::cli::mixture_flags_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;

Result<visit::MixturePlan> parse(std::vector<std::string> arguments, const Globals& globals = {}) {
  CLI::App app;
  MixtureFlags flags;
  add_mixture_flags(app, flags);
  std::reverse(arguments.begin(), arguments.end());
  app.parse(arguments);
  return mixture_plan(flags, globals);
}

/// A file that goes with the test.
class Written {
 public:
  explicit Written(std::string_view text)
      : path_(std::filesystem::temp_directory_path() /
              ("sluice-mixture-flags" + std::to_string(::getpid()) + ".yaml")) {
    EXPECT_TRUE(write_file_atomic(path_, text));
  }
  ~Written() { std::filesystem::remove(path_); }
  Written(const Written&) = delete;
  Written& operator=(const Written&) = delete;
  [[nodiscard]] std::string path() const { return path_.string(); }

 private:
  std::filesystem::path path_;
};

TEST(MixtureFlags, DefaultsAreThoseOfTheStudy) {
  const auto plan = parse({"--root", "oxe"});
  ASSERT_TRUE(plan) << plan.error().message;
  scenario::MixtureSpec wanted;
  wanted.root = "oxe";
  wanted.options.seed = 42;
  wanted.options.decode_threads = plan->spec.options.decode_threads;  // by the machine
  EXPECT_EQ(to_json(plan->spec), to_json(wanted));
  EXPECT_EQ(plan->spec.options.batch_size, 64);
  EXPECT_EQ(plan->spec.steps, 160U);
  EXPECT_THAT(plan->seeds, ElementsAre(42U));
  EXPECT_THAT(plan->libraries, ElementsAre("sluice"));
  EXPECT_EQ(plan->policy.runs, 1);
  EXPECT_EQ(plan->policy.samples_per_run, 1);
  EXPECT_EQ(plan->drawing.stride, 100);
  EXPECT_TRUE(check(plan->policy));
  Globals seeded;
  seeded.seed = 3;
  seeded.seed_given = true;
  EXPECT_THAT(parse({"--root", "oxe"}, seeded)->seeds, ElementsAre(3U));
}

TEST(MixtureFlags, EveryUsableCoreDecodesUnlessTold) {
  EXPECT_EQ(decoders_of(1), 4);
  EXPECT_EQ(decoders_of(4), 4);
  EXPECT_EQ(decoders_of(16), 16);
  const auto plan = parse({"--root", "oxe"});
  ASSERT_TRUE(plan) << plan.error().message;
  EXPECT_EQ(plan->spec.options.decode_threads, decoders_of(usable_cores()));
  const auto none = parse({"--root", "oxe", "--decode-parallelism", "-1"});
  ASSERT_FALSE(none);
  EXPECT_EQ(none.error().message, "--decode-parallelism -1: 0 to 1024 are accepted");
}

TEST(MixtureFlags, EveryFlagIsApplied) {
  const auto plan = parse({"--root",
                           "s3://bucket/oxe",
                           "--preset",
                           "small4",
                           "--split",
                           "train[:50%]",
                           "--batch-size",
                           "32",
                           "--metadata",
                           "dataset_only",
                           "--mix",
                           "random",
                           "--mix-block",
                           "8",
                           "--queue",
                           "2",
                           "--min-ready",
                           "3",
                           "--on-error",
                           "stop",
                           "--sleep",
                           "50ms",
                           "--seeds",
                           "7,9",
                           "--runs",
                           "3",
                           "--timeout",
                           "5",
                           "--warmup",
                           "1",
                           "--steps",
                           "20",
                           "--prefetch",
                           "4",
                           "--top-k",
                           "2",
                           "--image-size",
                           "64",
                           "--prime",
                           "--deterministic",
                           "--check-always",
                           "--no-shuffle-pairs",
                           "--samples-per-episode",
                           "0",
                           "--decode-parallelism",
                           "3",
                           "--interleave-parallelism",
                           "5",
                           "--pipeline-interleave",
                           "6"});
  ASSERT_TRUE(plan) << plan.error().message;
  const loader::mixture::MixtureOptions& options = plan->spec.options;
  EXPECT_EQ(plan->spec.split, "train[:50%]");
  EXPECT_EQ(options.metadata, loader::mixture::Metadata::dataset_only);
  EXPECT_EQ(options.mix, loader::mixture::Mix::random);
  EXPECT_EQ(options.on_error, loader::mixture::OnBadData::stop);
  EXPECT_EQ(options.mix_block, 8);
  EXPECT_EQ(options.samples_per_episode, 0);
  EXPECT_EQ(options.decode_threads, 3);
  EXPECT_EQ(options.read_threads, 5);
  EXPECT_EQ(options.interleave, 6);
  EXPECT_EQ(options.stall_limit_s, 5);
  EXPECT_EQ(options.image_size, 64);
  EXPECT_EQ(options.prime, 1);
  EXPECT_TRUE(options.deterministic && options.check_always);
  EXPECT_TRUE(options.shuffle_episodes);
  EXPECT_FALSE(options.shuffle_pairs);
  EXPECT_DOUBLE_EQ(plan->spec.sleep_s, 0.05);
  EXPECT_THAT(plan->seeds, ElementsAre(7U, 9U));
  EXPECT_EQ(plan->policy.runs, 3);
  EXPECT_EQ(plan->drawing.top_k, 2);
  EXPECT_TRUE(is_short(plan->spec));
}

TEST(MixtureFlags, BesideOthersChecksumsAreComparedAsTheyDo) {
  const auto alone = parse({"--root", "oxe"});
  ASSERT_TRUE(alone) << alone.error().message;
  EXPECT_FALSE(alone->spec.options.check_always);
  EXPECT_FALSE(alone->also_first_checks);
  EXPECT_GE(alone->spec.steps, 160U);
  const auto beside = parse({"--root", "oxe", "--libraries", "sluice,tfdata"});
  ASSERT_TRUE(beside) << beside.error().message;
  EXPECT_TRUE(beside->spec.options.check_always);
  EXPECT_TRUE(beside->also_first_checks) << "a second row of ours";
  const auto asked = parse({"--root", "oxe", "--libraries", "sluice,tfdata", "--check-always"});
  ASSERT_TRUE(asked) << asked.error().message;
  EXPECT_TRUE(asked->spec.options.check_always);
  EXPECT_FALSE(asked->also_first_checks);
}

TEST(MixtureFlags, FlagsComeAfterTheFile) {
  const Written file(
      "datasets:\n"
      "  rt1: {weight: 2, parallelism: 8}\n"
      "  droid: {skip: true}\n");
  const auto plan = parse({"--root", "oxe", "--datasets", file.path(), "--weight", "rt1=0.5",
                           "--skip", "kuka,fmb", "--parallelism", "bridge=3"});
  ASSERT_TRUE(plan) << plan.error().message;
  const auto find = [&](const std::string& name) {
    for (const scenario::DatasetOverride& one : plan->spec.overrides)
      if (one.name == name) return one;
    ADD_FAILURE() << name;
    return scenario::DatasetOverride{};
  };
  EXPECT_EQ(find("rt1").weight, 0.5);
  EXPECT_EQ(find("rt1").parallelism, 8);
  EXPECT_TRUE(find("droid").skip);
  EXPECT_TRUE(find("kuka").skip && find("fmb").skip);
  EXPECT_EQ(find("bridge").parallelism, 3);
  EXPECT_FALSE(find("bridge").weight);
}

TEST(MixtureFlags, FilesThatSaySomethingElseAreRefused) {
  const std::pair<const char*, const char*> wrong[] = {
      {"datasets: {rt1: {weight: heavy}}", "weight"},
      {"datasets: {rt1: {wieght: 2}}", "wieght"},
      {"data: {}", "data"},
      {"datasets: 3", "datasets"},
      {"datasets: {rt1: 3}", "rt1"}};
  for (const auto& [text, what] : wrong) {
    const Written file(text);
    const auto read = read_dataset_overrides(file.path());
    ASSERT_FALSE(read) << text;
    EXPECT_THAT(read.error().message, HasSubstr(what));
  }
}

TEST(MixtureFlags, BadValuesAreNamed) {
  const std::pair<std::vector<std::string>, const char*> wrong[] = {
      {{}, "--root is missing"},
      {{"--root", ""}, "--root is missing"},
      {{"--root", "x", "--preset", "oxe"}, "accepted: oxe29, small4"},
      {{"--root", "x", "--batch-size", "66"}, "multiple of the mix block"},
      {{"--root", "x", "--batch-size", "-4"}, "batch size -4"},
      {{"--root", "x", "--steps", "0"}, "steps 0"},
      {{"--root", "x", "--queue", "0"}, "queue 0"},
      {{"--root", "x", "--min-ready", "0"}, "min ready 0"},
      {{"--root", "x", "--timeout", "0"}, "stall limit 0"},
      {{"--root", "x", "--sleep", "long"}, "--sleep"},
      {{"--root", "x", "--weight", "rt1"}, "NAME=NUMBER"},
      {{"--root", "x", "--weight", "rt1=heavy"}, "--weight rt1=heavy"},
      {{"--root", "x", "--weight", "rt1=-1"}, "weight -1"},
      {{"--root", "x", "--weight", "rt=1"}, "did you mean 'rt1'"},
      {{"--root", "x", "--weight", "rt1=1", "--weight", "rt1=2"}, "twice"},
      {{"--root", "x", "--parallelism", "rt1=0"}, "1 to 65536"},
      {{"--root", "x", "--skip", "nobody"}, "no data set 'nobody'"},
      {{"--root", "x", "--seeds", "1,1"}, "--seeds 1,1"},
      {{"--root", "x", "--seeds", "9223372036854775808"}, "seed 9223372036854775808: 0 to"},
      {{"--root", "x", "--libraries", "tfdat"}, "--libraries tfdat"},
      {{"--root", "x", "--cpus", "9999"}, "--cpus"},
      {{"--root", "x", "--datasets", "nowhere.yaml"}, "nowhere.yaml"}};
  for (const auto& [arguments, what] : wrong) {
    const auto plan = parse(arguments);
    ASSERT_FALSE(plan) << what;
    EXPECT_THAT(plan.error().message, HasSubstr(what));
    EXPECT_EQ(exit_code_of(plan.error().code), ExitCode::usage) << what;
  }
}

}  // namespace
}  // namespace sluice::cli::mixture_flags_test
