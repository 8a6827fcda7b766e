// tests/train/cuda_choices_test.cpp - what a search found is kept in a file per kind of device; no
// device is needed.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"
#include "sluice/core/folder_guard.h"
#include "sluice/train/cuda/choices.h"

#include <fmt/format.h>
#include <gtest/gtest.h>

#include <cstring>
#include <unistd.h>

namespace sluice::train::cuda::cuda_choices_test {
namespace {

namespace fs = std::filesystem;

/// A module that knows what it was offered and what it "found" since.
struct Fake {
  static inline std::string text;
  static Table table() {
    Table table;
    table.library = "CUDA 13.0, cuBLASLt 13.1.0";
    table.choices = [](Device*, char* to, std::size_t bytes) {
      if (bytes > 0) std::memcpy(to, text.c_str(), std::min(bytes, text.size() + 1));
      return text.size() + 1;
    };
    table.offer_choices = [](Device*, const char* offered) {
      text = offered;
      return int{kDone};
    };
    return table;
  }
};

DeviceFacts facts_of(const char* name, int driver) {
  DeviceFacts facts{};
  std::strncpy(facts.name, name, sizeof facts.name - 1);
  facts.major = 9;
  facts.driver = driver;
  return facts;
}

class Choices : public ::testing::Test {
 protected:
  FolderGuard guard_{fs::temp_directory_path() / fmt::format("sluice-choices-{}", getpid())};
  const Table table_ = Fake::table();
  KeptChoices offer(const char* name = "NVIDIA H200", int driver = 13000) {
    Fake::text.clear();  // a new process
    return KeptChoices::offer(table_, nullptr, facts_of(name, driver), guard_.path() / "cuda");
  }
};

TEST_F(Choices, TheNextProcessHasThem) {
  KeptChoices first = offer();
  EXPECT_EQ(Fake::text, "");
  Fake::text = "one\ntwo\n";
  first.keep(table_, nullptr);
  KeptChoices second = offer();
  EXPECT_EQ(Fake::text, "one\ntwo\n");
  EXPECT_EQ(second.file().filename(),
            "products-NVIDIA-H200-sm_90-driver-13000-CUDA-13.0--cuBLASLt-13.1.0.txt");
}

TEST_F(Choices, NotOfAnotherDeviceDriverOrAfterNothingNew) {
  KeptChoices first = offer();
  first.keep(table_, nullptr);
  EXPECT_FALSE(fs::exists(first.file())) << "nothing was found";
  Fake::text = "one\n";
  first.keep(table_, nullptr);
  ASSERT_TRUE(fs::exists(first.file()));
  fs::remove(first.file());
  first.keep(table_, nullptr);
  EXPECT_FALSE(fs::exists(first.file())) << "nothing was new";
  Fake::text = "one\ntwo\n";
  first.keep(table_, nullptr);
  offer("NVIDIA H200", 13010);
  EXPECT_EQ(Fake::text, "");
  offer("../../NVIDIA A100");
  EXPECT_EQ(Fake::text, "");
}

TEST_F(Choices, TwoProcessesAtOnceKeepBoth) {
  const std::string kind = "1 2 3 4 5 6 0 1 2 0 1 16 16 16 16";  // as product_kind.h writes it
  KeptChoices first = offer();
  KeptChoices second = offer();
  Fake::text = "one\n" + kind + " a a\n";
  first.keep(table_, nullptr);
  Fake::text = kind + " b b\ntwo\n";
  second.keep(table_, nullptr);
  offer();
  EXPECT_EQ(Fake::text, "one\n" + kind + " a a\ntwo\n");
  for (const auto& entry : fs::directory_iterator(guard_.path() / "cuda"))
    EXPECT_EQ(entry.path(), first.file()) << "no lock is left";
}

TEST_F(Choices, AFolderThatCannotBeIsNoError) {
  ASSERT_TRUE(create_folders(guard_.path()));
  ASSERT_TRUE(write_file_atomic(guard_.path() / "cuda", "a file"));
  KeptChoices kept = offer();
  Fake::text = "one\n";
  kept.keep(table_, nullptr);
  EXPECT_EQ(read_text_file(guard_.path() / "cuda").value(), "a file");
  KeptChoices none;
  none.keep(table_, nullptr);
}

}  // namespace
}  // namespace sluice::train::cuda::cuda_choices_test
