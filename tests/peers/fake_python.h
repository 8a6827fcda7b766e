// tests/peers/fake_python.h - a folder with a script that plays python3, venv and pip, and writes
// down what it was asked.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/file.h"
#include "sluice/core/text.h"
#include "sluice/peers/places.h"

#include <gtest/gtest.h>

#include "tests/places.h"
#include <algorithm>
#include <filesystem>
#include <string>
#include <sys/stat.h>
#include <unistd.h>
#include <vector>

namespace sluice::peers {

/// Files in root() change what it plays: fake_python.sh says which.
class FakePython : public ::testing::Test {
 protected:
  void SetUp() override {
    const auto* test = ::testing::UnitTest::GetInstance()->current_test_info();
    root_ = std::filesystem::path(::testing::TempDir()) /
            ("sluice-peers-" + std::to_string(getpid()) + "-" + test->name());
    std::filesystem::remove_all(root_);
    const std::filesystem::path adapters = root_ / "adapters";
    std::filesystem::create_directories(adapters / "python" / "requirements");
    std::filesystem::create_directories(root_ / "bin");
    for (const char* group : {"light", "torch"})
      put(adapters / "python" / "requirements" / (std::string(group) + ".txt"), "numpy==2.1.0\n");
    put(root_ / "version", "3.11.2");
    put_program(root_ / "bin" / "python3", script());
    places_.cache = root_ / "cache";
    places_.adapters = adapters;
    places_.program = root_ / "bin" / "sluice";
    places_.system_python = root_ / "no-such-python3";
    places_.search_path = (root_ / "bin").string();
  }
  void TearDown() override { std::filesystem::remove_all(root_); }

  [[nodiscard]] const std::filesystem::path& root() const { return root_; }
  Places& places() { return places_; }

  static void put(const std::filesystem::path& path, const std::string& text) {
    ASSERT_TRUE(write_file_atomic(path, text));
  }
  static void put_program(const std::filesystem::path& path, const std::string& text) {
    put(path, text);
    ASSERT_EQ(chmod(path.c_str(), 0755), 0);
  }
  /// How often a call began with `words` ("-m pip install").
  [[nodiscard]] std::ptrdiff_t calls(const std::string& words) const {
    const auto text = read_text_file(root_ / "calls");
    if (!text) return 0;
    const std::vector<std::string> lines = split(*text, '\n');
    return std::count_if(lines.begin(), lines.end(),
                         [&](const std::string& line) { return line.starts_with(words); });
  }

 private:
  [[nodiscard]] std::string script() const {
    const auto body = read_text_file(testing_support::source_dir() / "tests/peers/fake_python.sh");
    return "#!/bin/sh\nroot='" + root_.string() + "'\n" + (body ? *body : "exit 3\n");
  }

  std::filesystem::path root_;
  Places places_;
};

}  // namespace sluice::peers
