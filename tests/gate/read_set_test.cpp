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

TEST_F(ReadSet, FileAndFolderCompare) {
  const std::vector<double> rates{100, 101, 99};
  const fs::path base = write("base.json", sound_file({row_of("a", rates), row_of("b", rates)}));
  write("run/results/one.json", sound_file({row_of("a", {80, 81, 79})}));
  write("run/results/two.json", sound_file({row_of("b", rates)}));
  const auto comparison = compare_paths(base, folder_ / "run");
  ASSERT_TRUE(comparison.has_value()) << comparison.error().message;
  EXPECT_EQ(comparison->counts.fail, 1);
  EXPECT_EQ(comparison->counts.pass, 1);
  EXPECT_EQ(comparison->candidate_name, (folder_ / "run").string());
}

TEST_F(ReadSet, BrokenInputIsAnErrorThatNamesTheFile) {
  const fs::path good = write("good.json", sound_file({row_of("a", {1, 2, 3})}));
  const auto text = read_text_file(good);
  ASSERT_TRUE(text.has_value());
  const fs::path cut = folder_ / "cut.json";
  ASSERT_TRUE(write_file_atomic(cut, text->substr(0, text->size() / 2)).has_value());
  auto newer = sound_file({});
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

// Readable, but not to be believed: a row was changed after it was measured.
TEST_F(ReadSet, UnsoundFilesAreNotJudged) {
  const fs::path good = write("good.json", sound_file({row_of("a", {100, 101, 99})}));
  auto changed = sound_file({row_of("a", {100, 101, 99})});
  changed.rows[0].summary->median *= 2;
  const fs::path bad = write("bad.json", changed);
  for (const bool is_base : {true, false}) {
    const auto result = is_base ? compare_paths(bad, good) : compare_paths(good, bad);
    ASSERT_FALSE(result.has_value());
    EXPECT_EQ(result.error().code, Errc::invalid_input);
    EXPECT_THAT(result.error().message, HasSubstr("bad.json: is not sound: a in "));
    EXPECT_THAT(result.error().message, HasSubstr("its samples give"));
    EXPECT_THAT(result.error().message, HasSubstr("see `sluice validate " + bad.string() + "`"));
  }
}

}  // namespace
}  // namespace sluice::gate::read_set_test
