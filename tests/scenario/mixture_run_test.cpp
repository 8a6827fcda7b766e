// tests/scenario/mixture_run_test.cpp - specs of mixtures, their runs, and our row of them.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/mixture/run.h"
#include "sluice/scenario/mixture/validate.h"
#include "sluice/scenario/scenario.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/scenario/small_episodes.h"
#include <functional>

namespace sluice::scenario::mixture_run_test {
namespace {

namespace fs = std::filesystem;
using ::testing::DoubleEq;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

/// A millisecond at every reading.
class TickClock final : public Clock {
 public:
  std::int64_t now_ns() override { return now_ns_ += 1'000'000; }

 private:
  std::int64_t now_ns_ = 0;
};

class MixtureRunTest : public testing::SmallEpisodes<6> {
 protected:
  static MixtureSpec spec() {
    MixtureSpec spec = small_spec(2, 10, 16);
    spec.options.mix_block = 2;
    spec.options.seed = 7;
    return spec;
  }
  static Result<std::unique_ptr<measure::Subject>> subject(const MixtureSpec& of) {
    measure::SubjectContext context;
    context.case_name = "mixture/small4";
    context.spec = to_json(of);
    return make_mixture(context);
  }
};

TEST_F(MixtureRunTest, SpecSurvivesJson) {
  MixtureSpec of = spec();
  of.split = "train[:50%]";
  of.sleep_s = 0.25;
  of.cpus = {0, 2};
  of.options.metadata = loader::mixture::Metadata::dataset_only;
  of.options.mix = loader::mixture::Mix::random;
  of.options.on_error = loader::mixture::OnBadData::stop;
  of.options.deterministic = true;
  of.options.read_threads = 3;
  of.overrides = {{.name = "arm", .weight = 2.5}, {.name = "table", .skip = true}};
  of.overrides.push_back({.name = "rover", .parallelism = 2});
  const auto back = mixture_spec_from_json(to_json(of));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(to_json(*back), to_json(of));
  EXPECT_EQ(back->overrides[0].weight, 2.5);
  EXPECT_EQ(back->options.read_threads, 3);
  const auto empty = mixture_spec_from_json(Json::object());
  ASSERT_TRUE(empty);
  EXPECT_EQ(to_json(*empty), to_json(MixtureSpec{}));
}

TEST_F(MixtureRunTest, WrongSpecsAreNamed) {
  const std::pair<Json, const char*> wrong[] = {
      {Json::array(), "no object"},
      {{{"steps", 0}}, "steps is 0"},
      {{{"steps", "many"}}, "steps"},
      {{{"mix", "sorted"}}, "random or deficit"},
      {{{"metadata", "all"}}, "full or dataset_only or off"},
      {{{"on_error", 3}}, "on_error"},
      {{{"one_pass", 1}}, "true or false"},
      {{{"cpus", {-1}}}, "cpus"},
      {{{"overrides", {1}}}, "overrides"},
      {{{"overrides", {{{"name", "arm"}, {"parallelism", 0}}}}}, "parallelism"}};
  for (const auto& [json, what] : wrong) {
    const auto read = mixture_spec_from_json(json);
    ASSERT_FALSE(read) << json;
    EXPECT_THAT(read.error().message, HasSubstr(what));
  }
}

TEST_F(MixtureRunTest, CheckRefusesWithoutLookingAtData) {
  const std::pair<std::function<void(MixtureSpec&)>, const char*> wrong[] = {
      {[](MixtureSpec& of) { of.root.clear(); }, "root is missing"},
      {[](MixtureSpec& of) { of.preset = "oxe"; }, "accepted: oxe29, small4"},
      {[](MixtureSpec& of) { of.steps = 0; }, "steps 0"},
      {[](MixtureSpec& of) { of.sleep_s = -1; }, "sleep"},
      {[](MixtureSpec& of) { of.options.batch_size = 9; }, "multiple of the mix block"},
      {[](MixtureSpec& of) { of.overrides = {{.name = "arms"}}; }, "did you mean 'arm'?"},
      {[](MixtureSpec& of) {
         of.overrides = {{.name = "arm"}, {.name = "arm"}};
       },
       "twice"},
      {[](MixtureSpec& of) { of.overrides = {{.name = "arm", .weight = -1}}; }, "weight -1"}};
  ASSERT_TRUE(check(spec()));
  for (const auto& [change, what] : wrong) {
    MixtureSpec of = spec();
    change(of);
    const Status checked = check(of);
    ASSERT_FALSE(checked) << what;
    EXPECT_EQ(checked.error().code, Errc::usage);
    EXPECT_THAT(checked.error().message, HasSubstr(what));
  }
}

TEST_F(MixtureRunTest, OverridesReachTheSources) {
  MixtureSpec of = spec();
  of.overrides = {{.name = "arm", .weight = 5, .parallelism = 3},
                  {.name = "gripper", .weight = 0},
                  {.name = "table", .skip = true}};
  const auto sources = open_sources(of);
  ASSERT_TRUE(sources) << sources.error().message;
  ASSERT_EQ(sources->size(), 2U);
  EXPECT_EQ((*sources)[0].weight, 5);
  EXPECT_EQ((*sources)[0].interleave, 3);
  EXPECT_EQ((*sources)[1].name, "rover");
  EXPECT_EQ((*sources)[1].weight, 0.2);
}

TEST_F(MixtureRunTest, EveryBatchIsLogged) {
  TickClock clock;
  MixtureSpec of = spec();
  of.batch_times = (root_ / "times").string();
  MixtureLoop loop(of, clock);
  ASSERT_TRUE(loop.start());
  ASSERT_TRUE(loop.measure());
  const auto run = loop.finish();
  ASSERT_TRUE(run) << run.error().message;
  ASSERT_EQ(run->log.size(), 12U);
  std::uint64_t samples = 0;
  for (std::size_t i = 0; i < run->log.size(); ++i) {
    const results::BatchTime& batch = run->log[i];
    EXPECT_EQ(batch.idx, i);
    EXPECT_EQ(batch.is_warmup, i < 2);
    EXPECT_DOUBLE_EQ(batch.fetch_dt_s, 0.001);
    EXPECT_DOUBLE_EQ(batch.dt_s, 0.002);
    std::uint64_t in_batch = 0;
    for (const auto& [name, count] : batch.dataset_counts)
      in_batch += count;
    EXPECT_EQ(in_batch, 8U);
    samples += in_batch;
  }
  EXPECT_EQ(run->stats.samples, samples);
  EXPECT_EQ(run->batches, 10U);
  EXPECT_DOUBLE_EQ(run->p50_s, 0.002);
  EXPECT_DOUBLE_EQ(run->max_s, 0.002);
  EXPECT_NEAR(run->batches_per_s(), 500, 1e-6);
  EXPECT_NEAR(run->samples_per_s(), 4000, 1e-5);
  EXPECT_NEAR(run->teardown_s, 0.001, 1e-12);
  EXPECT_GT(run->peak_rss_bytes, 0);
  const auto written = results::read_batch_times(run->batch_times);
  ASSERT_TRUE(written) << written.error().message;
  EXPECT_EQ(*written, run->log);
}

TEST_F(MixtureRunTest, RunSurvivesJson) {
  const auto run = run_mixture(spec());
  ASSERT_TRUE(run) << run.error().message;
  const auto back = mixture_run_from_json(to_json(*run));
  ASSERT_TRUE(back) << back.error().message;
  EXPECT_EQ(to_json(*back), to_json(*run));
  EXPECT_EQ(back->stats.sources.size(), 4U);
  EXPECT_TRUE(mixture_run_from_json(Json::object()));  // a library that counts nothing
  EXPECT_FALSE(mixture_run_from_json({{"p50_s", "fast"}}));
  EXPECT_FALSE(mixture_run_from_json({{"stats", {{"sources", {1}}}}}));
}

TEST_F(MixtureRunTest, WithoutMetadataNoNames) {
  MixtureSpec of = spec();
  of.options.metadata = loader::mixture::Metadata::off;
  const auto run = run_mixture(of);
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_TRUE(run->log.front().dataset_counts.empty());
  EXPECT_TRUE(run->log.front().dominant_dataset.empty());
  EXPECT_EQ(run->stats.samples, 96U);
}

TEST_F(MixtureRunTest, DeterministicRunsHaveOneHash) {
  MixtureSpec of = spec();
  of.options.deterministic = true;
  const auto one = run_mixture(of);
  of.options.decode_threads = of.options.read_threads = 1;
  const auto two = run_mixture(of);
  of.options.seed = 8;
  const auto other = run_mixture(of);
  ASSERT_TRUE(one && two && other);
  EXPECT_EQ(one->stats.schedule_hash, two->stats.schedule_hash);
  EXPECT_NE(one->stats.schedule_hash, other->stats.schedule_hash);
}

TEST_F(MixtureRunTest, DataThatEndsEarlyIsAnError) {
  MixtureSpec of = spec();
  of.options.one_pass = true;
  const auto run = run_mixture(of);
  ASSERT_FALSE(run);
  EXPECT_THAT(run.error().message, HasSubstr("12 were asked for"));
}

TEST_F(MixtureRunTest, RowRunsOnceAndTells) {
  const auto made = subject(spec());
  ASSERT_TRUE(made) << made.error().message;
  measure::Subject& row = **made;
  EXPECT_EQ(row.items_per_pass(), 80);
  EXPECT_ANY_THROW(row.run_pass());
  const auto digest = row.check();
  ASSERT_TRUE(digest) << digest.error().message;
  MixtureSpec other = spec();
  other.options.decode_threads = 1;
  other.options.seed = 9;
  EXPECT_EQ(*(*subject(other))->check(), *digest);  // of the data alone
  row.begin_sample();
  row.run_pass();
  const auto run = mixture_run_from_json(row.measured_info());
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(run->batches, 10U);
  EXPECT_EQ(run->stats.batches, 12U);
}

TEST_F(MixtureRunTest, MissingDataSetIsNamed) {
  MixtureSpec of = spec();
  of.preset = "oxe29";
  const auto made = subject(of);
  ASSERT_TRUE(made);
  const auto checked = (*made)->check();
  ASSERT_FALSE(checked);
  EXPECT_THAT(checked.error().message, HasSubstr("language_table"));
}

TEST_F(MixtureRunTest, ValidationSeesEveryEpisodeOfItsSplitOnce) {
  MixtureSpec of = spec();
  of.split = "train[:10%]";  // of training: it says nothing here
  of.options.metadata = loader::mixture::Metadata::dataset_only;  // and neither does this
  of.options.samples_per_episode = 0;
  const auto done = validate_mixture(of);
  ASSERT_TRUE(done) << done.error().message;
  EXPECT_TRUE(done->whole);
  std::uint64_t samples = 0;
  for (const results::ValidationRow& row : done->rows) {
    EXPECT_EQ(row.split, "train[90%:]") << row.name;
    EXPECT_EQ(row.type, "generated") << row.name;
    EXPECT_EQ(row.seen, row.episodes) << row.name;
    EXPECT_GT(row.samples, row.seen) << row.name;
    EXPECT_EQ(row.without_language, 0U) << row.name;
    samples += row.samples;
  }
  EXPECT_EQ(done->rows.size(), 4U);
  EXPECT_EQ(done->samples, samples);
  const auto stopped = validate_mixture(of, [] { return true; });
  ASSERT_FALSE(stopped);
  EXPECT_EQ(stopped.error().code, Errc::interrupted);
}

TEST_F(MixtureRunTest, LinesAreInTheFileAsSoonAsThereIsABatch) {
  MixtureSpec of = spec();
  of.batch_times = (root_ / "as-it-goes.jsonl").string();
  SystemClock clock;
  MixtureLoop loop(of, clock);
  ASSERT_TRUE(loop.start());
  const auto after_warmup = results::read_batch_times(of.batch_times);
  ASSERT_TRUE(after_warmup) << after_warmup.error().message;
  EXPECT_EQ(after_warmup->size(), of.warmup);
  ASSERT_TRUE(loop.measure());
  EXPECT_EQ(results::read_batch_times(of.batch_times)->size(), of.warmup + of.steps);
  const auto run = loop.finish();
  ASSERT_TRUE(run) << run.error().message;
  EXPECT_EQ(*results::read_batch_times(of.batch_times), run->log);
}

TEST(MixtureLog, CountsInOrderOfAppearance) {
  MixtureLog log(1, 3, 2, 3);
  const std::vector<std::uint32_t> one = {2, 2, 0, 0}, two = {1, 1, 1, 0};
  log.add(10, 5, 4096, one);
  log.add(20, 0, 8192, two);
  log.add(30, 0, 0, {});
  const std::vector<std::string> names = {"a", "b", "c"};
  const auto batches = log.batch_times(names);
  ASSERT_EQ(batches.size(), 3U);
  using Counts = std::vector<std::pair<std::string, std::uint32_t>>;
  EXPECT_EQ(batches[0].dataset_counts, (Counts{{"c", 2}, {"a", 2}}));
  EXPECT_EQ(batches[0].dominant_dataset, "c");
  EXPECT_EQ(batches[1].dataset_counts, (Counts{{"b", 3}, {"a", 1}}));
  EXPECT_TRUE(batches[2].dataset_counts.empty());
  EXPECT_EQ(batches[1].rss_bytes, 8192U);
  EXPECT_FALSE(batches[2].rss_bytes);
  EXPECT_EQ(log.peak_rss_bytes(), 8192U);
  EXPECT_THAT(log.measured_s(), ElementsAre(DoubleEq(20e-9), DoubleEq(30e-9)));
}

}  // namespace
}  // namespace sluice::scenario::mixture_run_test
