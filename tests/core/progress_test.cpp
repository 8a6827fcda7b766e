// tests/core/progress_test.cpp - what a terminal shows and what a log file gets, on a scripted
// clock.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/progress.h"

#include "sluice/core/log.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include <thread>
#include <vector>

namespace sluice::progress_test {
namespace {

using ::testing::ElementsAre;
using ::testing::HasSubstr;
using ::testing::IsEmpty;
using ::testing::Not;

/// Understands what Progress sends (text, newline, carriage return, cursor up, erase below) and
/// nothing else.
class Screen {
 public:
  void write(std::string_view text) {
    ++writes;
    while (!text.empty()) {
      if (text.substr(0, 2) == "\x1b[") {
        std::size_t used = 2;
        std::size_t count = 0;
        while (text[used] >= '0' && text[used] <= '9') {
          count = 10 * count + static_cast<std::size_t>(text[used++] - '0');
        }
        control(text[used], count);
        text.remove_prefix(used + 1);
        continue;
      }
      put(text.front());
      text.remove_prefix(1);
    }
  }
  std::vector<std::string> lines;
  int writes = 0;

 private:
  void control(char command, std::size_t count) {
    if (command == 'A') {
      ASSERT_LE(count, row_) << "the cursor left the screen";
      row_ -= count;
    } else {
      ASSERT_EQ(command, 'J') << "unknown control sequence";
      lines.resize(row_);
    }
  }
  void put(char c) {
    if (c == '\r') {
      column_ = 0;
    } else if (c == '\n') {
      if (lines.size() <= row_) lines.resize(row_ + 1);
      ++row_;
      column_ = 0;
    } else {
      if (lines.size() <= row_) lines.resize(row_ + 1);
      ASSERT_EQ(column_, lines[row_].size()) << "text was drawn over other text";
      lines[row_] += c;
      ++column_;
    }
  }
  std::size_t row_ = 0;
  std::size_t column_ = 0;
};

class ProgressTest : public ::testing::Test {
 protected:
  Progress::Options terminal(unsigned width = 120) {
    Progress::Options options;
    options.terminal = true;
    options.width = width;
    options.now_s = [this] { return now_s_; };
    options.write = [this](std::string_view text) { screen_.write(text); };
    return options;
  }
  Progress::Options plain() {
    Progress::Options options = terminal();
    options.terminal = false;
    return options;
  }
  double now_s_ = 1000;
  Screen screen_;
};

TEST_F(ProgressTest, DrawsABarWithRateAndTimeLeft) {
  Progress progress(terminal());
  auto bar = progress.bar("decode", 100, "images");
  EXPECT_THAT(screen_.lines, ElementsAre("decode [--------------------]   0%  0/100 images"));
  now_s_ += 10;
  bar.set(25, "run 1 of 5");
  EXPECT_THAT(screen_.lines,
              ElementsAre("decode [#####---------------]  25%  25/100 images  2.50 images/s  "
                          "0:30 left  run 1 of 5"));
}

TEST_F(ProgressTest, NestsBarsAndKeepsOnlyTheEndOfTheOutermost) {
  Progress progress(terminal());
  {
    auto outer = progress.bar("quick", 2);
    now_s_ += 1;
    {
      auto inner = progress.bar("resize", 0, "samples");
      now_s_ += 1;
      inner.add(10);
      EXPECT_THAT(screen_.lines, ElementsAre("quick [--------------------]   0%  0/2",
                                             "  resize  10 samples  10.0 samples/s"));
    }
    now_s_ += 2;
    outer.add();
    EXPECT_THAT(screen_.lines,
                ElementsAre("quick [##########----------]  50%  1/2  4.00 s each  0:04 left"));
    outer.add();
  }
  EXPECT_THAT(screen_.lines, ElementsAre("quick: done, 2/2 in 4.00 s, 2.00 s each"));
}

TEST_F(ProgressTest, RedrawsAtMostTenTimesASecond) {
  Progress progress(terminal());
  auto bar = progress.bar("x", 1000);
  const int before = screen_.writes;
  for (int i = 0; i < 1000; ++i) {
    now_s_ += 0.001;
    bar.add();
  }
  EXPECT_LE(screen_.writes - before, 10);
  EXPECT_GE(screen_.writes - before, 9);
}

TEST_F(ProgressTest, LogLinesStandAboveTheBars) {
  Progress progress(terminal());
  auto outer = progress.bar("a", 2);
  now_s_ += 1;
  auto inner = progress.bar("b", 2);
  log::error("something");
  EXPECT_THAT(screen_.lines, ElementsAre("error: something", "a [--------------------]   0%  0/2",
                                         "  b [--------------------]   0%  0/2"));
  log::error("more");
  EXPECT_THAT(screen_.lines,
              ElementsAre("error: something", "error: more", HasSubstr("a ["), HasSubstr("b [")));
}

TEST_F(ProgressTest, IsCutToTheWidthOfTheTerminal) {
  Progress progress(terminal(20));
  auto bar = progress.bar("größere Dateien µ", 100);
  ASSERT_EQ(screen_.lines.size(), 1U);
  EXPECT_EQ(screen_.lines[0], "größere Dateien µ [");  // 19 characters, none cut apart
}

TEST_F(ProgressTest, HostileNamesCannotMoveTheCursor) {
  Progress progress(terminal());
  auto bar = progress.bar("a\x1b[2J\n", 1);
  now_s_ += 1;
  bar.set(0, "\r\x1b[A");
  ASSERT_EQ(screen_.lines.size(), 1U);
  EXPECT_THAT(screen_.lines[0], HasSubstr("a\\x1b[2J\\n"));
  EXPECT_THAT(screen_.lines[0], HasSubstr("\\r\\x1b[A"));
}

TEST_F(ProgressTest, SaysWhenItStoppedEarly) {
  Progress progress(terminal());
  {
    auto bar = progress.bar("x", 10);
    now_s_ += 2;
    bar.set(4);
  }
  EXPECT_THAT(screen_.lines, ElementsAre("x: stopped at 4/10 in 2.00 s, 2.00 steps/s"));
}

TEST_F(ProgressTest, MoreThanTheTotalIsShownAsFull) {
  Progress progress(terminal());
  auto bar = progress.bar("x", 10);
  now_s_ += 1;
  bar.set(15);
  EXPECT_THAT(screen_.lines, ElementsAre("x [####################] 100%  15/10  15.0 steps/s"));
}

TEST_F(ProgressTest, BarsMayEndInAnyOrder) {
  Progress progress(terminal());
  auto outer = std::make_unique<Progress::Bar>(progress.bar("a", 2));
  now_s_ += 1;
  auto inner = std::make_unique<Progress::Bar>(progress.bar("b", 2));
  now_s_ += 1;
  outer.reset();
  inner->add();
  inner.reset();
  EXPECT_THAT(screen_.lines,
              ElementsAre("a: stopped at 0/2 in 2.00 s", HasSubstr("b: stopped at 1/2")));
}

TEST_F(ProgressTest, WritesPlainLinesElsewhere) {
  Progress progress(plain());
  {
    auto outer = progress.bar("quick", 10, "cases");
    auto inner = progress.bar("resize", 0);
    for (int i = 1; i <= 10; ++i) {
      now_s_ += 1.25;
      inner.add();
      outer.set(static_cast<std::uint64_t>(i), "run 3");
    }
  }
  EXPECT_THAT(screen_.lines, ElementsAre("quick: started, 10 cases", "quick > resize: started",
                                         "quick > resize: 4, 1.25 s each",
                                         "quick: 4/10 cases (40%), 1.25 s each, 0:08 left, run 3",
                                         "quick > resize: 8, 1.25 s each",
                                         "quick: 8/10 cases (80%), 1.25 s each, 0:03 left, run 3",
                                         "quick > resize: done, 10 in 12.5 s, 1.25 s each",
                                         "quick: done, 10/10 cases in 12.5 s, 1.25 s each"));
}

TEST_F(ProgressTest, LongTimesAreReadable) {
  Progress progress(plain());
  auto bar = progress.bar("x", 1'000'000);
  now_s_ += 10;
  bar.set(1000);
  EXPECT_EQ(screen_.lines.back(), "x: 1000/1000000 (0%), 100 steps/s, 2:46:30 left");
}

// A user saw 34:37 for a run of 141 s: one of many units was done, after a long start.
TEST_F(ProgressTest, NoTimeLeftIsShownBeforeItMeansSomething) {
  Progress progress(terminal());
  auto bar = progress.bar("x", 100, "runs");
  now_s_ += 20;
  bar.set(1);
  EXPECT_THAT(screen_.lines, ElementsAre("x [--------------------]   1%  1/100 runs  20.0 s each"));
  now_s_ += 1;
  bar.set(2);
  EXPECT_THAT(screen_.lines.back(), Not(HasSubstr("left")));
  now_s_ += 1;
  bar.set(3);
  EXPECT_THAT(screen_.lines.back(), HasSubstr("11:51 left"));
}

TEST_F(ProgressTest, NoTimeLeftIsShownInTheFirstTwoSeconds) {
  Progress progress(terminal());
  auto bar = progress.bar("x", 1000, "files");
  now_s_ += 1.9;
  bar.set(100);
  EXPECT_THAT(screen_.lines.back(), HasSubstr("52.6 files/s"));
  EXPECT_THAT(screen_.lines.back(), Not(HasSubstr("left")));
  now_s_ += 0.6;
  bar.set(125);
  EXPECT_THAT(screen_.lines.back(), HasSubstr("0:18 left"));
}

TEST_F(ProgressTest, HalfOfTwoIsEnoughForAnEstimate) {
  Progress progress(terminal());
  auto bar = progress.bar("x", 2, "libraries");
  now_s_ += 30;
  bar.set(1);
  EXPECT_THAT(screen_.lines.back(), HasSubstr("30.0 s each  0:30 left"));
}

TEST_F(ProgressTest, ABudgetOfSecondsHasNoRate) {
  Progress progress(plain());
  {
    auto bar = progress.bar("tuning", 40, "s");
    now_s_ += 6;
    bar.set(5, "2 workers");
  }
  EXPECT_THAT(screen_.lines,
              ElementsAre("tuning: started, 40 s", "tuning: 5/40 s (12%), 0:35 left, 2 workers",
                          "tuning: stopped at 5/40 s in 6.00 s"));
}

TEST_F(ProgressTest, APhaseThatCountsNothingHasItsTime) {
  Progress progress(plain());
  {
    const auto bar = progress.bar("first epoch", 0);
    now_s_ += 3;
  }
  EXPECT_THAT(screen_.lines, ElementsAre("first epoch: started", "first epoch: done in 3.00 s"));
}

TEST_F(ProgressTest, BytesAreReadInUnitsOfTheirSize) {
  Progress progress(plain());
  {
    auto bar = progress.bar("stage", 4'500'000'000, "bytes");
    now_s_ += 6;
    bar.set(450'000'000);
    now_s_ += 1;
    bar.set(4'500'000'000);
  }
  EXPECT_THAT(screen_.lines, ElementsAre("stage: started, 4.50 GB",
                                         "stage: 450 MB of 4.50 GB (10%), 75.0 MB/s, 0:54 left",
                                         "stage: done, 4.50 GB of 4.50 GB in 7.00 s, 643 MB/s"));
}

TEST_F(ProgressTest, QuietDrawsNothing) {
  Progress::Options options = terminal();
  options.quiet = true;
  Progress progress(options);
  auto bar = progress.bar("x", 10);
  now_s_ += 100;
  bar.set(5);
  EXPECT_THAT(screen_.lines, IsEmpty());
  auto silent = Progress::silent().bar("x", 1);
  silent.add();
}

TEST_F(ProgressTest, AMovedBarEndsOnce) {
  Progress progress(plain());
  {
    auto bar = progress.bar("x", 1);
    auto moved = std::move(bar);
    moved.add();
  }
  EXPECT_THAT(screen_.lines, ElementsAre("x: started, 1", HasSubstr("x: done, 1/1")));
}

TEST_F(ProgressTest, ManyThreadsMoveOneBarWhileOthersLog) {
  now_s_ = 0;
  Progress progress(terminal());
  std::vector<std::thread> threads;
  {
    auto bar = progress.bar("x", 400);
    for (int t = 0; t < 4; ++t) {
      threads.emplace_back([&bar] {
        for (int i = 0; i < 100; ++i) {
          bar.add();
          if (i == 50) log::error("half");
        }
      });
    }
    for (std::thread& thread : threads)
      thread.join();
  }
  EXPECT_THAT(screen_.lines, ElementsAre("error: half", "error: half", "error: half", "error: half",
                                         "x: done, 400/400 in 0.00 s"));
}

}  // namespace
}  // namespace sluice::progress_test
