// tests/gate/read_set_test.cpp - result files and run folders from disk, sound and broken.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"

#include "tests/gate/make_results.h"
#include <filesystem>
#include <unistd.h>

namespace sluice::gate::read_set_test {
namespace {

namespace fs = std::filesystem;
using ::testing::HasSubstr;

class ReadSet : public ::testing::Test {
 protected:
  void SetUp() override {
    folder_ = fs::path(::testing::TempDir()) / ("sluice_gate_" + std::to_string(::getpid()));
    fs::remove_all(folder_);
    fs::create_directories(folder_ / "run" / "results");
  }
  void TearDown() override { fs::remove_all(folder_); }

  fs::path write(const char* name, const results::ResultFile& file) const {
    const fs::path path = folder_ / name;
    const auto status = results::write(path, file);
    EXPECT_TRUE(status.has_value()) << status.error().message;
    return path;
  }
  fs::path folder_;
};

results::ResultFile complete(const std::vector<measure::Row>& rows) {
  results::ResultFile file = file_of(rows);
  file.environment = Json::object();
  file.run_config = Json::object();
  return file;
}

TEST_F(ReadSet, FileAndFolderCompare) {
  const std::vector<double> rates{100, 101, 99};
  const fs::path base = write("base.json", complete({row_of("a", rates), row_of("b", rates)}));
  write("run/results/one.json", complete({row_of("a", {80, 81, 79})}));
  write("run/results/two.json", complete({row_of("b", rates)}));
  const auto comparison = compare_paths(base, folder_ / "run");
  ASSERT_TRUE(comparison.has_value()) << comparison.error().message;
  EXPECT_EQ(comparison->counts.fail, 1);
  EXPECT_EQ(comparison->counts.pass, 1);
  EXPECT_EQ(comparison->candidate_name, (folder_ / "run").string());
}

TEST_F(ReadSet, BrokenInputIsAnErrorThatNamesTheFile) {
  const fs::path good = write("good.json", complete({row_of("a", {1, 2, 3})}));
  const auto text = read_text_file(good);
  ASSERT_TRUE(text.has_value());
  const fs::path cut = folder_ / "cut.json";
  ASSERT_TRUE(write_file_atomic(cut, text->substr(0, text->size() / 2)).has_value());
  auto newer = complete({});
  newer.schema_version = results::kSchemaVersion + 1;
  const fs::path future = write("future.json", newer);
  for (const fs::path& bad : {cut, future, folder_ / "missing.json", folder_ / "run"}) {
    for (const bool is_base : {true, false}) {
      const auto result = is_base ? compare_paths(bad, good) : compare_paths(good, bad);
      ASSERT_FALSE(result.has_value()) << bad;
      EXPECT_THAT(result.error().message, HasSubstr(bad.filename().string()));
    }
  }
}

}  // namespace
}  // namespace sluice::gate::read_set_test
