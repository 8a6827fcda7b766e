// tests/core/user_folders_test.cpp - which folder keeps what can be made again, and that an empty
// environment has one too.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/user_folders.h"

#include <gtest/gtest.h>

#include <cstdlib>
#include <map>
#include <pwd.h>
#include <unistd.h>

namespace sluice::user_folders_test {
namespace {

class UserFolders : public ::testing::Test {
 protected:
  UserFolders() {
    for (const char* name : {"SLUICE_CACHE_DIR", "XDG_CACHE_HOME", "HOME"}) {
      if (const char* value = std::getenv(name); value != nullptr) before_[name] = value;
      ::unsetenv(name);
    }
  }
  ~UserFolders() override {
    for (const char* name : {"SLUICE_CACHE_DIR", "XDG_CACHE_HOME", "HOME"})
      ::unsetenv(name);
    for (const auto& [name, value] : before_)
      ::setenv(name.c_str(), value.c_str(), 1);
  }

 private:
  std::map<std::string, std::string> before_;
};

TEST_F(UserFolders, TheNearestVariableWins) {
  ::setenv("HOME", "/people/me", 1);
  EXPECT_EQ(*user_cache_folder(), "/people/me/.cache/sluice");
  ::setenv("XDG_CACHE_HOME", "relative", 1);  // to be ignored, says the specification
  EXPECT_EQ(*user_cache_folder(), "/people/me/.cache/sluice");
  ::setenv("XDG_CACHE_HOME", "/cache", 1);
  EXPECT_EQ(*user_cache_folder(), "/cache/sluice");
  ::setenv("SLUICE_CACHE_DIR", "/own", 1);
  EXPECT_EQ(*user_cache_folder(), "/own");
}

TEST_F(UserFolders, AnEmptyEnvironmentHasTheHomeOfTheUserDatabase) {
  const passwd* me = ::getpwuid(::geteuid());
  const auto folder = user_cache_folder();
  if (me == nullptr) {
    ASSERT_FALSE(folder);
    EXPECT_EQ(folder.error().code, Errc::usage);
  } else {
    ASSERT_TRUE(folder);
    EXPECT_EQ(*folder, std::filesystem::path(me->pw_dir) / ".cache" / "sluice");
  }
}

}  // namespace
}  // namespace sluice::user_folders_test
