// tests/core/module_test.cpp - modules: where they are looked for, what is said when one is
// missing.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/module.h"

#include "sluice/core/file.h"
#include "sluice/core/version.h"

#include <fmt/format.h>
#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "tests/core/temporary_folder.h"
#include <cstdlib>

namespace sluice::module_test {
namespace {

using ::testing::_;
using ::testing::ElementsAre;
using ::testing::HasSubstr;

TEST(ModuleTest, IsLookedForBesideTheProgramThenInTheLibraryFolder) {
  ::unsetenv("SLUICE_MODULE_DIR");
  const auto folder = std::filesystem::canonical("/proc/self/exe").parent_path();
  EXPECT_THAT(module_folders(), ElementsAre(folder, folder.parent_path() / "lib" / "sluice"));
  ::setenv("SLUICE_MODULE_DIR", "elsewhere", 1);
  EXPECT_THAT(module_folders(), ElementsAre("elsewhere"));
  ::unsetenv("SLUICE_MODULE_DIR");
}

TEST(ModuleTest, ALibraryInAnotherProgramSaysItsOwnFolders) {
  ::unsetenv("SLUICE_MODULE_DIR");
  set_module_folders({"package/lib"});
  EXPECT_THAT(module_folders(), ElementsAre("package/lib"));
  set_module_folders({});
  EXPECT_THAT(module_folders(), ElementsAre(_, _));
}

TEST(ModuleTest, OneThatIsMissingIsUnsupportedAndNamed) {
  const testing_support::TemporaryFolder folder;
  const auto loaded = load_module("nothing", "table", {folder.path()});
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, Errc::unsupported);
  EXPECT_EQ(loaded.error().message,
            "libsluice_nothing.so is not installed; `make build` builds it");
}

TEST(ModuleTest, WhatTheBuildNeedsOrAnArchiveHoldsIsSaid) {
  const testing_support::TemporaryFolder folder;
  EXPECT_EQ(load_module("cuda", "table", {folder.path()}).error().message,
            "libsluice_cuda.so is not installed; `make build` builds it where nvcc is found");
  EXPECT_EQ(load_module("video", "table", {folder.path()}).error().message,
            fmt::format("libsluice_video.so is not installed; `make build` builds it, the archive "
                        "sluice-video-{} has it",
                        version::kProgram));
}

TEST(ModuleTest, AFileThatIsNoLibraryIsUnsupported) {
  const testing_support::TemporaryFolder folder;
  ASSERT_TRUE(write_file_atomic(folder / "libsluice_broken.so", "not a library"));
  const auto loaded = load_module("broken", "table", {folder / "absent", folder.path()});
  ASSERT_FALSE(loaded);
  EXPECT_EQ(loaded.error().code, Errc::unsupported);
  EXPECT_THAT(loaded.error().message, HasSubstr("libsluice_broken.so cannot be loaded"));
}

}  // namespace
}  // namespace sluice::module_test
