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

const std::string kMark = "# products of ",
                  kFirstLine =
                      kMark + "NVIDIA H200, sm_90, driver 13000, CUDA 13.0, cuBLASLt 13.1.0\n";

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
  const fs::path folder_ = guard_.path() / "cuda";
  Result<KeptChoices> try_offer(const char* name = "NVIDIA H200", int driver = 13000) {
    Fake::text.clear();  // a new process
    return KeptChoices::offer(table_, nullptr, facts_of(name, driver), folder_);
  }
  KeptChoices offer(const char* name = "NVIDIA H200", int driver = 13000) {
    auto kept = try_offer(name, driver);
    EXPECT_TRUE(kept) << kept.error().message;
    return kept ? std::move(*kept) : KeptChoices();
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
  EXPECT_EQ(read_text_file(second.file()).value(), kFirstLine + "one\ntwo\n");
}

TEST_F(Choices, AFileThatSaysOtherVersionsIsRefusedInOneLineAndStays) {
  KeptChoices early = offer();  // before the file is there
  const fs::path file = early.file();
  const Status there = KeptChoices::check(table_, facts_of("NVIDIA H200", 13000), folder_);
  EXPECT_TRUE(there) << there.error().message;
  ASSERT_TRUE(create_folders(folder_));
  const std::string ours = kFirstLine.substr(kMark.size(), kFirstLine.size() - kMark.size() - 1);
  for (const std::string& theirs :
       {std::string("NVIDIA H200, sm_90, driver 13000, CUDA 12.8, cuBLASLt 12.8.3"), std::string(),
        ours + " ", std::string("\x1b[31mred"), std::string(100'000, 'x')}) {
    const std::string content = kMark + theirs + "\none\n";
    ASSERT_TRUE(write_file_atomic(file, content));
    for (const Status& status :
         {KeptChoices::check(table_, facts_of("NVIDIA H200", 13000), folder_), [&]() -> Status {
            SLUICE_CHECK(try_offer());
            return ok;
          }()}) {
      ASSERT_FALSE(status) << theirs.substr(0, 200);
      EXPECT_EQ(status.error().code, Errc::usage);
      const std::string& said = status.error().message;
      EXPECT_EQ(said.rfind(shown(file) + ": is for '", 0), 0U) << said;
      EXPECT_NE(said.find("'" + ours + "' is accepted"), std::string::npos) << said;
      EXPECT_EQ(said.find_first_of("\n\x1b"), std::string::npos) << said;
      EXPECT_LT(said.size(), 1000U);
    }
    EXPECT_EQ(Fake::text, "") << "nothing was offered";
    Fake::text = "two\n";
    early.keep(table_, nullptr);
    EXPECT_EQ(read_text_file(file).value(), content);
  }
}

TEST_F(Choices, AFileOfAnEarlierProgramIsTakenByItsName) {
  const fs::path file = offer().file();
  ASSERT_TRUE(create_folders(folder_));
  ASSERT_TRUE(write_file_atomic(file, "one\n"));
  KeptChoices kept = offer();
  EXPECT_EQ(Fake::text, "one\n");
  Fake::text = "one\ntwo\n";
  kept.keep(table_, nullptr);
  EXPECT_EQ(read_text_file(file).value(), kFirstLine + "one\ntwo\n");
}

TEST_F(Choices, WhatIsNoListIsPassedOver) {
  const fs::path file = offer().file();
  ASSERT_TRUE(create_folders(folder_));
  for (const std::string& content :
       {std::string(), kFirstLine, kFirstLine.substr(0, kFirstLine.size() - 1)}) {
    ASSERT_TRUE(write_file_atomic(file, content));
    offer();
    EXPECT_EQ(Fake::text, "");
  }
  ASSERT_TRUE(write_file_atomic(file, std::string((1 << 20) + 1, 'x')));
  offer();
  EXPECT_EQ(Fake::text, "");
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
  for (const auto& entry : fs::directory_iterator(folder_))
    EXPECT_EQ(entry.path(), first.file()) << "no lock is left";
}

TEST_F(Choices, AFolderThatCannotBeIsNoError) {
  ASSERT_TRUE(create_folders(guard_.path()));
  ASSERT_TRUE(write_file_atomic(folder_, "a file"));
  KeptChoices kept = offer();
  Fake::text = "one\n";
  kept.keep(table_, nullptr);
  EXPECT_EQ(read_text_file(folder_).value(), "a file");
  KeptChoices none;
  none.keep(table_, nullptr);
}

}  // namespace
}  // namespace sluice::train::cuda::cuda_choices_test
