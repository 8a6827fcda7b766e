// tests/visit/kept_program_test.cpp - programs in a cache folder: whole, verified, not too many.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/gate/kept_program.h"

#include "sluice/core/file.h"
#include "sluice/core/folder_guard.h"

#include <gtest/gtest.h>

#include <chrono>
#include <unistd.h>

namespace sluice::visit::kept_program_test {
namespace {

namespace fs = std::filesystem;

class KeptProgram : public ::testing::Test {
 protected:
  [[nodiscard]] const fs::path& cache() const { return folder_.path(); }
  [[nodiscard]] fs::path programs() const { return cache() / "programs"; }

  /// A program of these bytes with one module, kept by hand; gives its digest.
  [[nodiscard]] std::string keep(const std::string& bytes) const {
    const fs::path making = programs() / "making";
    EXPECT_TRUE(create_folders(making));
    EXPECT_TRUE(write_file_atomic(making / "sluice", bytes));
    EXPECT_TRUE(write_file_atomic(making / "libsluice_x.so", "module of " + bytes));
    const ProgramFiles files{making / "sluice", {making / "libsluice_x.so"}};
    const auto digest = files.digest();
    EXPECT_TRUE(digest);
    fs::rename(making, programs() / *digest);
    return *digest;
  }

 private:
  FolderGuard folder_{fs::temp_directory_path() /
                      ("sluice-kept-program-test-" + std::to_string(getpid()))};
};

TEST_F(KeptProgram, ThisOneIsFoundWithoutACopy) {
  const auto own = own_program();
  ASSERT_TRUE(own);
  const auto digest = own->digest();
  ASSERT_TRUE(digest);
  EXPECT_EQ(digest->size(), 64U);
  const auto found = find_program(*digest, cache());
  ASSERT_TRUE(found);
  EXPECT_EQ(found->program, own->program);
  EXPECT_TRUE(found->environment.empty());
  EXPECT_FALSE(fs::exists(cache()));
}

TEST_F(KeptProgram, ACopyHasTheSameDigest) {
  ASSERT_TRUE(keep_own_program(*own_digest(), cache()));
  ASSERT_TRUE(keep_own_program(*own_digest(), cache())) << "again is no error";
  const std::string digest = *own_program()->digest();
  ProgramFiles copy{programs() / digest / "sluice", own_program()->modules};
  EXPECT_EQ(*copy.digest(), digest);
  int folders = 0;
  for (const auto& entry : fs::directory_iterator(programs()))
    folders += entry.is_directory() ? 1 : 0;
  EXPECT_EQ(folders, 1) << "nothing half made is left";
}

TEST_F(KeptProgram, AnotherIsFoundOnlyWithItsOwnBytes) {
  const std::string digest = keep("old");
  const auto found = find_program(digest, cache());
  ASSERT_TRUE(found) << found.error().message;
  EXPECT_EQ(found->program, programs() / digest / "sluice");
  EXPECT_EQ(found->environment.at("SLUICE_MODULE_DIR"), (programs() / digest).string());
  ASSERT_TRUE(write_file_atomic(programs() / digest / "libsluice_x.so", "another"));
  EXPECT_EQ(find_program(digest, cache()).error().code, Errc::not_found);
  EXPECT_EQ(find_program(std::string(64, '0'), cache()).error().code, Errc::not_found);
}

TEST_F(KeptProgram, TheOldestGo) {
  const auto now = fs::file_time_type::clock::now();
  std::vector<std::string> digests;
  for (int i = 0; i < 5; ++i) {
    digests.push_back(keep(std::to_string(i)));
    fs::last_write_time(programs() / digests.back(), now - std::chrono::hours(10 - i));
  }
  ASSERT_TRUE(keep_own_program(*own_digest(), cache()));
  EXPECT_FALSE(fs::exists(programs() / digests[0]));
  EXPECT_FALSE(fs::exists(programs() / digests[1]));
  EXPECT_TRUE(fs::exists(programs() / digests[2]));
  EXPECT_TRUE(fs::exists(programs() / digests[4]));
}

}  // namespace
}  // namespace sluice::visit::kept_program_test
