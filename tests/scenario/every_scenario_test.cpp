// tests/scenario/every_scenario_test.cpp - one test per registry row; a new row is tested unasked.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"
#include "sluice/core/rng.h"
#include "sluice/image/codec.h"
#include "sluice/scenario/scenario.h"

#include <gtest/gtest.h>

#include <set>
#include <unistd.h>

namespace sluice::scenario::every_scenario_test {
namespace {

namespace fs = std::filesystem;

/// Six small JPEGs of odd sizes in a folder of their own.
class DataFolder {
 public:
  DataFolder()
      : path_(fs::path(::testing::TempDir()) / ("sluice_scenario_" + std::to_string(getpid()))) {
    fs::create_directories(path_);
    for (std::uint64_t i = 0; i < 6; ++i) {
      Rng rng(RngKey{7, 0, i});
      auto image = image::Image::make(static_cast<int>(17 + rng.below(90)),
                                      static_cast<int>(17 + rng.below(90)), 3);
      auto span = image->span<std::uint8_t>();
      for (std::size_t k = 0; k < span.samples(); ++k)
        span.data()[k] = static_cast<std::uint8_t>(rng.below(256));
      std::vector<std::uint8_t> bytes;
      EXPECT_TRUE(image::encode_jpeg(bytes, image->view<std::uint8_t>()));
      const std::string_view text(reinterpret_cast<const char*>(bytes.data()), bytes.size());
      EXPECT_TRUE(write_file_atomic(path_ / ("img" + std::to_string(i) + ".jpg"), text));
    }
  }
  ~DataFolder() { fs::remove_all(path_); }
  [[nodiscard]] const fs::path& path() const { return path_; }

 private:
  fs::path path_;
};

measure::SubjectContext context_for(const fs::path& data, int threads) {
  measure::SubjectContext context;
  context.data_dir = data;
  context.threads = threads;
  return context;
}

bool reads_files(const Scenario& scenario) {
  return scenario.kind == Kind::bench || scenario.kind == Kind::decode;
}

class EveryScenarioTest : public ::testing::TestWithParam<Scenario> {};

TEST_P(EveryScenarioTest, OutputIsCheckedAndTheSameOnAnyNumberOfThreads) {
  const DataFolder data;
  std::set<std::string> digests;
  for (const int threads : {1, 2, 3}) {
    measure::SubjectContext context = context_for(data.path(), threads);
    context.synthetic = GetParam().name == "decode/video";  // generating real clips takes seconds
    auto subject = GetParam().make(context);
    if (!subject && GetParam().name == "decode/video" && subject.error().code == Errc::unsupported)
      GTEST_SKIP() << subject.error().message;
    ASSERT_TRUE(subject) << subject.error().message;
    auto digest = (*subject)->check();
    ASSERT_TRUE(digest) << digest.error().message;
    EXPECT_FALSE(digest->empty());
    EXPECT_GE((*subject)->items_per_pass(), 1);
    digests.insert(*digest);
    (*subject)->run_pass();
    auto again = (*subject)->check();
    ASSERT_TRUE(again);
    EXPECT_EQ(*again, *digest) << "a second pass must give the same output";
  }
  EXPECT_EQ(digests.size(), 1U);
}

TEST_P(EveryScenarioTest, AMissingFolderIsAnErrorThatNamesIt) {
  if (!reads_files(GetParam())) GTEST_SKIP() << "needs no files";
  auto subject = GetParam().make(context_for("no/such/folder", 1));
  ASSERT_FALSE(subject);
  EXPECT_NE(subject.error().message.find("no/such/folder"), std::string::npos)
      << subject.error().message;
}

TEST_P(EveryScenarioTest, ADamagedFileIsNamed) {
  if (!reads_files(GetParam()) || GetParam().name == "decode/video")
    GTEST_SKIP() << "reads no images";
  const DataFolder data;
  auto bytes = read_text_file(data.path() / "img3.jpg");
  ASSERT_TRUE(bytes);
  ASSERT_TRUE(write_file_atomic(data.path() / "img3.jpg", bytes->substr(0, bytes->size() / 2)));
  std::string message;
  try {
    auto subject = GetParam().make(context_for(data.path(), 2));
    if (subject) {
      auto digest = (*subject)->check();
      ASSERT_FALSE(digest);
      message = digest.error().message;
    } else {
      message = subject.error().message;
    }
  } catch (const std::exception& problem) {
    message = problem.what();
  }
  EXPECT_NE(message.find("img3.jpg"), std::string::npos) << message;
}

INSTANTIATE_TEST_SUITE_P(Registry, EveryScenarioTest, ::testing::ValuesIn(all()),
                         [](const auto& row) {
                           std::string name = row.param.name;
                           for (char& c : name) {
                             if (std::isalnum(static_cast<unsigned char>(c)) == 0) c = '_';
                           }
                           return name;
                         });

TEST(RegistryTest, NamesAreUniqueAndDescribed) {
  std::set<std::string> names;
  for (const Scenario& scenario : all()) {
    EXPECT_TRUE(names.insert(scenario.name).second) << scenario.name;
    EXPECT_FALSE(scenario.doc.empty()) << scenario.name;
    EXPECT_EQ(scenario.name.find('='), std::string::npos)
        << "'=' separates axis values: " << scenario.name;
  }
  const measure::Catalogue offered = catalogue();  // these, and the cases of the matrix
  for (const std::string& name : names)
    EXPECT_EQ(offered.scenarios.count(name), 1U) << name;
  EXPECT_EQ(offered.scenarios.count("video-decode-16f/decode/clip"), 1U);
}

TEST(PlanTest, ThreadsAreOneAndAllCores) {
  const auto specs = plan({Kind::bench}, {"worker"}, "data", 4);
  std::set<std::string> cases;
  for (const auto& spec : specs)
    cases.insert(spec.case_name);
  EXPECT_EQ(cases.count("decode/jpeg/threads=1"), 1U);
  EXPECT_EQ(cases.count("decode/jpeg/threads=4"), 1U);
  EXPECT_EQ(cases.size(), specs.size());
  for (const auto& spec : specs) {
    const auto threads = spec.params.find("threads");
    EXPECT_EQ(std::to_string(spec.threads), threads == spec.params.end() ? "1" : threads->second);
  }
}

TEST(PlanTest, OneCoreGivesOneRowPerScenario) {
  std::size_t rows = 0, with_threads = 0;
  for (const Scenario& scenario : all()) {
    if (scenario.kind != Kind::bench) continue;
    ++rows;
    with_threads += scenario.threads_axis ? 1U : 0U;
  }
  EXPECT_EQ(plan({Kind::bench}, {"worker"}, "data", 1).size(), rows);
  EXPECT_EQ(plan({Kind::bench}, {"worker"}, "data", 2).size(), rows + with_threads);
}

}  // namespace
}  // namespace sluice::scenario::every_scenario_test
