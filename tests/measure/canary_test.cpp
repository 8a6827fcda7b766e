// tests/measure/canary_test.cpp - the yardstick gives its frozen output, and nobody has touched it.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"
#include "sluice/core/sha256.h"
#include "sluice/measure/canary_v1.h"

#include <gtest/gtest.h>

#include "tests/places.h"
#include <filesystem>

namespace sluice::canary_test {
namespace {

const char* const kFrozen =
    "the canary is frozen, every stored number depends on it: add a next version instead";

TEST(CanaryTest, SourcesAreFrozen) {
  const std::filesystem::path room = testing_support::source_dir() / "src/sluice/measure";
  const auto header = read_text_file(room / "canary_v1.h");
  const auto source = read_text_file(room / "canary_v1.cpp");
  ASSERT_TRUE(header && source);
  EXPECT_EQ(sha256_hex(*header), "c60f5086bd564865e378ab198c2aa1f51e02670ab4fb8d11fe8809d4a269c8e1")
      << kFrozen;
  EXPECT_EQ(sha256_hex(*source), "96fb22f2d18eded3772058e4edc1a75648d386f41052b178865d0cbe2585c51c")
      << kFrozen;
}

TEST(CanaryTest, FlagsAreFrozen) {
  const auto build =
      read_text_file(testing_support::source_dir() / "src/sluice/measure/CMakeLists.txt");
  ASSERT_TRUE(build);
  EXPECT_NE(build->find("set_source_files_properties(canary_v1.cpp PROPERTIES\n"
                        "  COMPILE_OPTIONS \"-O2;-fno-tree-vectorize;-fno-tree-slp-vectorize;"
                        "-ffp-contract=off;"),
            std::string::npos)
      << kFrozen;
}

TEST(CanaryTest, EveryPartProvesItsOutputTwice) {
  using namespace sluice_canary_v1;
  for (int part = 0; part < kParts; ++part) {
    ASSERT_TRUE(prepare(part));
    EXPECT_EQ(run(part), expected_digest(part)) << part_name(part);
    ASSERT_TRUE(prepare(part)) << "prepare may be called again";
    EXPECT_EQ(run(part), expected_digest(part)) << part_name(part);
  }
  EXPECT_STREQ(part_name(0), "idct_resize");
  EXPECT_STREQ(part_name(1), "gemm");
  EXPECT_STREQ(part_name(2), "memory_read");
}

}  // namespace
}  // namespace sluice::canary_test
