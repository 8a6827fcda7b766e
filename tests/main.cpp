// tests/main.cpp - main of every test program: --file=rng_test runs the tests of rng_test.cpp
// alone.
// SPDX-License-Identifier: Apache-2.0
#include <gtest/gtest.h>

#include "tests/places.h"
#include <cstdio>
#include <filesystem>
#include <optional>
#include <string>
#include <string_view>

namespace sluice::testing_support {

std::filesystem::path source_dir() {
  return SLUICE_SOURCE_DIR;
}

std::filesystem::path build_dir() {
  return SLUICE_BINARY_DIR;
}

std::string python() {
  return SLUICE_PYTHON;
}

namespace {

// Suites as patterns of a filter: those of the file, and the others.
struct Patterns {
  std::string mine, others;
};

std::optional<Patterns> divide(std::string_view file) {
  Patterns patterns;
  const ::testing::UnitTest& all = *::testing::UnitTest::GetInstance();
  for (int i = 0; i < all.total_test_suite_count(); ++i) {
    const ::testing::TestSuite& suite = *all.GetTestSuite(i);
    int mine = 0;
    for (int k = 0; k < suite.total_test_count(); ++k)
      mine += std::filesystem::path(suite.GetTestInfo(k)->file()).stem() == file;
    if (mine != 0 && mine != suite.total_test_count()) {
      std::fprintf(stderr, "suite %s is in %.*s.cpp and in another file; one file is accepted\n",
                   suite.name(), static_cast<int>(file.size()), file.data());
      return std::nullopt;
    }
    (mine != 0 ? patterns.mine : patterns.others) += std::string(":") + suite.name() + ".*";
  }
  if (!patterns.mine.empty()) return patterns;
  std::fprintf(stderr, "--file=%.*s: no test is from that file; accepted: a file of this program\n",
               static_cast<int>(file.size()), file.data());
  return std::nullopt;
}

// Within the file: what the user's own filter leaves of it.
bool keep_only(std::string_view file) {
  const auto patterns = divide(file);
  if (!patterns) return false;
  const std::string asked = GTEST_FLAG_GET(filter);
  const bool excludes = asked.find('-') != std::string::npos;
  GTEST_FLAG_SET(filter, asked == "*" ? patterns->mine.substr(1)
                         : excludes   ? asked + patterns->others
                                      : asked + "-" + patterns->others);
  return true;
}

}  // namespace
}  // namespace sluice::testing_support

constexpr int kSkipped = 77;  // ctest's SKIP_RETURN_CODE

int main(int argc, char** argv) {
  ::testing::InitGoogleTest(&argc, argv);
  constexpr std::string_view kFile = "--file=";
  for (int i = 1; i < argc; ++i) {
    const std::string_view word = argv[i];
    if (argc != 2 || word.substr(0, kFile.size()) != kFile) {
      std::fprintf(stderr, "unknown argument '%s'; accepted: one --file=NAME, --gtest_...\n",
                   argv[i]);
      return 2;
    }
    if (!sluice::testing_support::keep_only(word.substr(kFile.size()))) return 2;
  }
  const int code = RUN_ALL_TESTS();
  const ::testing::UnitTest& all = *::testing::UnitTest::GetInstance();
  // Nothing was tested, which is not the same as passed.
  const bool only_skipped = all.skipped_test_count() > 0 && all.successful_test_count() == 0;
  return code == 0 && only_skipped ? kSkipped : code;
}
