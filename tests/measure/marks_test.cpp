// tests/measure/marks_test.cpp - files of marks: what the C header writes is read, what nobody
// wrote is not believed.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/marks.h"

#include "sluice/core/file.h"
#include "sluice/core/rng.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

#include "adapters/c/sluice_marks.h"
#include "tests/core/temporary_folder.h"
#include <cmath>
#include <cstring>
#include <numeric>
#include <sys/wait.h>

namespace sluice::measure::marks_test {
namespace {

using Bytes = std::vector<std::uint8_t>;

template <class T>
void put(Bytes& bytes, std::size_t at, T value) {
  if (bytes.size() < at + sizeof value) bytes.resize(at + sizeof value);
  std::memcpy(bytes.data() + at, &value, sizeof value);
}

Bytes header() {
  Bytes bytes(kMarksHeaderBytes, 0);
  std::memcpy(bytes.data(), "SLUICEMK", 8);
  put(bytes, 8, kMarksVersion);
  put(bytes, 12, static_cast<std::uint32_t>(kMarksRecordBytes));
  put<std::uint64_t>(bytes, 16, 4711);
  return bytes;
}

void add_span(Bytes& bytes, std::uint32_t kind, std::uint64_t begin, std::uint64_t end,
              std::uint32_t id = 0) {
  const std::size_t at = bytes.size();
  put(bytes, at, begin);
  put(bytes, at + 8, end);
  put<std::uint64_t>(bytes, at + 16, 0);
  put(bytes, at + 24, id);
  put(bytes, at + 28, kind);
}

void add_name(Bytes& bytes, std::uint32_t id, const std::string& name) {
  const std::size_t at = bytes.size();
  bytes.resize(at + kMarksRecordBytes, 0);
  std::memcpy(bytes.data() + at, name.data(), std::min<std::size_t>(name.size(), 24));
  put(bytes, at + 24, id);
  put<std::uint32_t>(bytes, at + 28, 1);
}

constexpr std::uint32_t kStep = 2, kPhase = 3;

void add_value(Bytes& bytes, MarkedKind what, std::uint64_t step, double value) {
  const std::size_t at = bytes.size();
  put(bytes, at, value);
  put<std::uint64_t>(bytes, at + 8, 0);
  put(bytes, at + 16, step);
  put(bytes, at + 24, static_cast<std::uint32_t>(what));
  put<std::uint32_t>(bytes, at + 28, 4);
}

void add_text(Bytes& bytes, std::uint32_t id, const std::string& text) {
  add_name(bytes, id, text);
  put<std::uint32_t>(bytes, bytes.size() - 4, 5);
}

/// A step with an index of its own.
void add_step(Bytes& bytes, std::uint64_t index, std::uint64_t begin, std::uint64_t end) {
  add_span(bytes, kStep, begin, end);
  put(bytes, bytes.size() - 16, index);
}

TEST(Marks, ReadsWhatWasWritten) {
  Bytes bytes = header();
  put<std::uint64_t>(bytes, 24, 7);
  add_name(bytes, 1, "forward");
  add_span(bytes, kPhase, 110, 150, 1);
  add_span(bytes, kStep, 100, 200);
  add_span(bytes, kStep, 200, 290);
  bytes.resize(bytes.size() + 4096, 0);  // reserved, never used
  const auto marks = parse_marks(bytes, "m");
  ASSERT_TRUE(marks) << marks.error().message;
  EXPECT_EQ(marks->pid, 4711);
  EXPECT_EQ(marks->names, std::vector<std::string>{"forward"});
  ASSERT_EQ(marks->steps.size(), 2U);
  EXPECT_EQ(marks->steps[1].end_ns - marks->steps[1].begin_ns, 90);
  ASSERT_EQ(marks->phases.size(), 1U);
  EXPECT_EQ(marks->dropped, 7U);
  EXPECT_EQ(marks->skipped, 0U);
}

TEST(Marks, ForeignFilesAreRefusedInOneLine) {
  struct Row {
    const char* what;
    void (*spoil)(Bytes&);
    const char* expected;
  };
  const Row rows[] = {
      {"empty", [](Bytes& b) { b.clear(); }, "0 bytes"},
      {"short", [](Bytes& b) { b.resize(63); }, "63 bytes"},
      {"magic", [](Bytes& b) { b[3] = 'x'; }, "SLUICEMK"},
      {"version", [](Bytes& b) { put<std::uint32_t>(b, 8, 2); }, "version 2, this program reads 1"},
      {"record", [](Bytes& b) { put<std::uint32_t>(b, 12, 40); }, "records of 40 bytes"}};
  for (const Row& row : rows) {
    Bytes bytes = header();
    row.spoil(bytes);
    const auto marks = parse_marks(bytes, "a\nb");
    ASSERT_FALSE(marks) << row.what;
    EXPECT_NE(marks.error().message.find(row.expected), std::string::npos) << marks.error().message;
    EXPECT_EQ(marks.error().message.find('\n'), std::string::npos);
  }
}

TEST(Marks, ARecordThatMakesNoSenseCostsItselfAlone) {
  struct Row {
    const char* what;
    void (*add)(Bytes&);
  };
  const Row rows[] = {
      {"kind", [](Bytes& b) { add_span(b, 9, 100, 200); }},
      {"backwards", [](Bytes& b) { add_span(b, kStep, 1200, 1100); }},
      {"no time", [](Bytes& b) { add_span(b, kStep, 1100, 1100); }},
      {"before the last step", [](Bytes& b) { add_span(b, kStep, 900, 1100); }},
      {"begin 0", [](Bytes& b) { add_span(b, kPhase, 0, 1100, 1); }},
      {"beyond 63 bits", [](Bytes& b) { add_span(b, kPhase, 1, ~std::uint64_t{0}, 1); }},
      {"unknown name", [](Bytes& b) { add_span(b, kPhase, 1100, 1200, 2); }},
      {"name 0", [](Bytes& b) { add_name(b, 0, "x"); }},
      {"name twice", [](Bytes& b) { add_name(b, 1, "x"); }},
      {"no name", [](Bytes& b) { add_name(b, 3, ""); }},
      {"tokens below 0", [](Bytes& b) { add_value(b, MarkedKind::tokens, 0, -1); }},
      {"tokens not a number", [](Bytes& b) { add_value(b, MarkedKind::tokens, 0, std::nan("")); }},
      {"samples without end", [](Bytes& b) { add_value(b, MarkedKind::samples, 0, INFINITY); }},
      {"FLOP beyond all", [](Bytes& b) { add_value(b, MarkedKind::flop, 0, 1e31); }},
      {"no time of a device", [](Bytes& b) { add_value(b, MarkedKind::device_ns, 0, 0); }},
      {"memory below 0", [](Bytes& b) { add_value(b, MarkedKind::peak_bytes, 0, -5); }},
      {"value of no kind", [](Bytes& b) { add_value(b, MarkedKind{0}, 0, 1); }},
      {"value of a later kind", [](Bytes& b) { add_value(b, MarkedKind{99}, 0, 1); }},
      {"text of no kind", [](Bytes& b) { add_text(b, 9, "x"); }},
      {"text that is empty", [](Bytes& b) { add_text(b, 1, ""); }},
      {"hole", [](Bytes& b) { b.resize(b.size() + kMarksRecordBytes, 0); }}};
  for (const Row& row : rows) {
    Bytes bytes = header();
    add_name(bytes, 1, "forward");
    add_span(bytes, kStep, 900, 1000);
    row.add(bytes);
    add_span(bytes, kStep, 2000, 2100);
    const auto marks = parse_marks(bytes, "m");
    ASSERT_TRUE(marks);
    EXPECT_EQ(marks->skipped, 1U) << row.what;
    EXPECT_EQ(marks->steps.size(), 2U) << row.what;
  }
}

TEST(Marks, EveryCutIsReadUpToTheCut) {
  Bytes bytes = header();
  for (std::uint64_t i = 1; i <= 4; ++i)
    add_span(bytes, kStep, i * 1000, i * 1000 + 5);
  for (std::size_t cut = kMarksHeaderBytes; cut <= bytes.size(); ++cut) {
    const auto marks = parse_marks(std::span(bytes).first(cut), "m");
    ASSERT_TRUE(marks);
    const std::size_t whole = (cut - kMarksHeaderBytes) / kMarksRecordBytes;
    EXPECT_EQ(marks->steps.size(), whole) << cut;
    EXPECT_LE(marks->skipped, 1U);
  }
}

TEST(MarkedValues, AreOfTheirStep) {
  Bytes bytes = header();
  for (std::uint64_t i = 0; i < 3; ++i)
    add_step(bytes, 10 + i, 1000 + 100 * i, 1100 + 100 * i);
  add_value(bytes, MarkedKind::loss, 10, 2.5);
  add_value(bytes, MarkedKind::loss, 10, 2.25);  // the last counts
  add_value(bytes, MarkedKind::loss, 12, std::nan(""));
  add_value(bytes, MarkedKind::tokens, 11, 64);
  add_value(bytes, MarkedKind::tokens, 11, 32);  // they add up
  add_value(bytes, MarkedKind::peak_bytes, 11, 9);
  add_value(bytes, MarkedKind::peak_bytes, 11, 7);  // the largest counts
  add_value(bytes, MarkedKind::samples, 77, 1);     // of a step that was not marked
  add_text(bytes, 1, "2.15.0+cu130");
  add_text(bytes, 2, "13.0");
  add_text(bytes, 3, "3.11\n");
  const auto marks = parse_marks(bytes, "m");
  ASSERT_TRUE(marks) << marks.error().message;
  EXPECT_EQ(marks->skipped, 0U);
  const auto losses = values_by_step(*marks, MarkedKind::loss).by_step;
  ASSERT_EQ(losses.size(), 3U);
  EXPECT_EQ(losses[0], 2.25);
  EXPECT_FALSE(losses[1]);
  EXPECT_TRUE(std::isnan(losses[2].value_or(0)));
  EXPECT_EQ(values_by_step(*marks, MarkedKind::tokens).by_step[1], 96);
  EXPECT_EQ(values_by_step(*marks, MarkedKind::peak_bytes).by_step[1], 9);
  EXPECT_EQ(values_by_step(*marks, MarkedKind::samples).outside, 1U);
  EXPECT_EQ(marks->framework.torch, "2.15.0+cu130");
  EXPECT_EQ(marks->framework.cuda, "13.0");
  EXPECT_EQ(marks->framework.python.find('\n'), std::string::npos);
}

TEST(MarkedValues, NoMoreTimeOnADeviceThanPassed) {
  Marks marks;
  marks.pid = 7;
  marks.steps = {{1'000'000, 2'000'000, 0, 0}, {2'000'000, 3'000'000, 0, 1}};
  marks.values = {{MarkedKind::device_ns, 0, 1.0e6}, {MarkedKind::device_ns, 1, 1.5e6}};
  EXPECT_EQ(impossible_in(marks, 1'000'000, 3'000'000), "");  // a millisecond is forgiven
  marks.values[1].value = 9e6;
  EXPECT_THAT(impossible_in(marks, 1'000'000, 3'000'000),
              ::testing::HasSubstr("took 0.010000 s by its device, but the program ran for"));
}

TEST(PhaseTable, AnInnerPhaseIsNotCountedTwice) {
  Bytes bytes = header();
  add_name(bytes, 1, "forward");
  add_name(bytes, 2, "attention");
  add_name(bytes, 3, "unused");
  add_span(bytes, kPhase, 50, 60, 1);  // before any step
  add_span(bytes, kPhase, 120, 140, 2);
  add_span(bytes, kPhase, 150, 155, 2);
  add_span(bytes, kPhase, 110, 180, 1);
  add_span(bytes, kStep, 100, 200);
  add_span(bytes, kPhase, 190, 210, 2);  // over the end of a step
  add_span(bytes, kPhase, 220, 250, 1);
  add_span(bytes, kStep, 200, 300);
  add_span(bytes, kStep, 300, 400);
  const auto marks = parse_marks(bytes, "m");
  ASSERT_TRUE(marks);
  const PhaseTable table = phases_by_step(*marks);
  EXPECT_EQ(table.names, (std::vector<std::string>{"forward", "attention"}));
  ASSERT_EQ(table.times_ns.size(), 2U);
  EXPECT_EQ(table.times_ns[0], (std::vector<std::int64_t>{45, 30, 0}));
  EXPECT_EQ(table.times_ns[1], (std::vector<std::int64_t>{25, 0, 0}));
  EXPECT_EQ(table.outside, 2U);
  const PhaseTable later = phases_by_step(*marks, 1);
  EXPECT_EQ(later.names, std::vector<std::string>{"forward"});
  EXPECT_EQ(later.times_ns[0], (std::vector<std::int64_t>{30, 0}));
  EXPECT_TRUE(phases_by_step(*marks, 99).names.empty());
}

/// Random nested spans: no phase is negative, and together they never exceed their step.
TEST(PhaseTable, NeverMoreThanTheStep) {
  for (std::uint64_t seed = 0; seed < 200; ++seed) {
    Rng rng(RngKey{.seed = seed});
    Bytes bytes = header();
    for (std::uint32_t id = 1; id <= 3; ++id)
      add_name(bytes, id, std::string(1, static_cast<char>('a' + id)));
    for (std::uint64_t step = 0; step < 5; ++step) {
      const std::uint64_t begin = 1000 + step * 1000;
      std::vector<std::pair<std::uint64_t, std::uint64_t>> spans;
      for (int i = 0; i < 6; ++i) {
        const std::uint64_t a = begin + rng.below(1000);
        spans.emplace_back(begin + 1000 - std::min<std::uint64_t>(999, a - begin), a);
      }
      std::sort(spans.begin(), spans.end(),
                [](const auto& x, const auto& y) { return x.second < y.second; });
      for (const auto& [from, to] : spans)
        add_span(bytes, kPhase, std::min(from, to), to, 1 + rng.next_u32() % 3);
      add_span(bytes, kStep, begin, begin + 1000);
    }
    const auto marks = parse_marks(bytes, "m");
    ASSERT_TRUE(marks);
    const PhaseTable table = phases_by_step(*marks);
    for (std::size_t step = 0; step < marks->steps.size(); ++step) {
      std::int64_t sum = 0;
      for (const auto& times : table.times_ns)
        sum += times[step];
      EXPECT_LE(sum, 1000) << seed;
      EXPECT_GE(sum, 0) << seed;
    }
  }
}

/// The header as a program uses it: in a child, because it looks at the variable once.
template <class Body>
void in_child(const std::filesystem::path& prefix, Body body) {
  const pid_t pid = fork();
  if (pid == 0) {
    setenv("SLUICE_MARKS", prefix.c_str(), 1);  // NOLINT(concurrency-mt-unsafe): one thread
    body();
    _exit(0);
  }
  int status = -1;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  ASSERT_EQ(status, 0);
}

TEST(MarksHeader, WhatItWritesIsRead) {
  const testing_support::TemporaryFolder folder;
  const auto prefix = folder.path() / "marks";
  in_child(prefix, [] {
    for (int i = 0; i < 10'000; ++i) {  // more than one chunk
      sluice_marks_step();
      const std::uint64_t outer = sluice_marks_begin();
      sluice_marks_end(i % 2 == 0 ? "forward" : "a name of more than 24 bytes", outer);
    }
    if (fork() == 0) {  // marks nothing
      sluice_marks_step();
      sluice_marks_end("child", 1);
      _exit(sluice_marks_on());
    }
    int status = -1;
    wait(&status);
    if (status != 0) _exit(1);
    sluice_marks_pause();
    sluice_marks_pause();
  });
  StepCounter counter(prefix);
  EXPECT_EQ(counter.count(), 10'000);
  EXPECT_EQ(counter.count(), 10'000);
  const auto all = read_marks(prefix);
  ASSERT_TRUE(all) << all.error().message;
  ASSERT_EQ(all->size(), 1U);
  EXPECT_EQ(counter.pid(), all->front().pid);
  const Marks& marks = all->front();
  EXPECT_EQ(marks.steps.size(), 10'000U);
  EXPECT_EQ(marks.phases.size(), 10'000U);
  EXPECT_EQ(marks.skipped, 0U);
  EXPECT_EQ(marks.dropped, 0U);
  EXPECT_EQ(marks.names, (std::vector<std::string>{"forward", "a name of more than 24 b"}));
  const PhaseTable table = phases_by_step(marks);
  EXPECT_EQ(table.outside, 0U);
  EXPECT_EQ(table.times_ns.at(0).size(), 10'000U);
}

TEST(MarksHeader, ValuesAndVersionsAreRead) {
  const testing_support::TemporaryFolder folder;
  const auto prefix = folder.path() / "marks";
  in_child(prefix, [] {
    sluice_marks_note(SLUICE_MARKS_TORCH, "2.15.0");
    sluice_marks_note(SLUICE_MARKS_CUDA, "13.0");
    for (int i = 0; i < 3; ++i) {
      sluice_marks_step();
      const std::uint64_t mine = sluice_marks_index();
      sluice_marks_log(SLUICE_MARKS_LOSS, 3.0 - i);
      sluice_marks_log(SLUICE_MARKS_TOKENS, 64);
      if (i > 0) sluice_marks_log_of(mine - 1, SLUICE_MARKS_DEVICE_NS, 5000 + i);
    }
    sluice_marks_pause();
    sluice_marks_log(SLUICE_MARKS_SAMPLES, 8);  // of the last step
  });
  const auto all = read_marks(prefix);
  ASSERT_TRUE(all) << all.error().message;
  const Marks& marks = all->front();
  ASSERT_EQ(marks.steps.size(), 3U);
  EXPECT_EQ(marks.skipped, 0U);
  using Values = std::vector<std::optional<double>>;
  EXPECT_EQ(values_by_step(marks, MarkedKind::loss).by_step, (Values{3, 2, 1}));
  EXPECT_EQ(values_by_step(marks, MarkedKind::tokens).by_step, (Values{64, 64, 64}));
  EXPECT_EQ(values_by_step(marks, MarkedKind::device_ns).by_step,
            (Values{5001, 5002, std::nullopt}));
  EXPECT_EQ(values_by_step(marks, MarkedKind::samples).by_step,
            (Values{std::nullopt, std::nullopt, 8}));
  EXPECT_EQ(marks.framework.torch, "2.15.0");
  EXPECT_EQ(marks.framework.cuda, "13.0");
}

TEST(MarksHeader, AFullFileCountsWhatItDrops) {
  const testing_support::TemporaryFolder folder;
  const auto prefix = folder.path() / "marks";
  constexpr std::size_t kRoom = (kMarksLimitBytes - kMarksHeaderBytes) / kMarksRecordBytes;
  in_child(prefix, [] {
    for (std::size_t i = 0; i < kRoom + 12; ++i)
      sluice_marks_step();
  });
  const auto all = read_marks(prefix);
  ASSERT_TRUE(all) << all.error().message;
  EXPECT_EQ(all->front().dropped, 11U);
  EXPECT_GE(all->front().steps.size() + all->front().skipped, kRoom);
}

TEST(MarksHeader, WithoutTheVariableNothingHappens) {
  const pid_t pid = fork();
  if (pid == 0) {
    unsetenv("SLUICE_MARKS");  // NOLINT(concurrency-mt-unsafe): one thread
    sluice_marks_step();
    sluice_marks_end("x", sluice_marks_begin());
    _exit(sluice_marks_on());
  }
  int status = -1;
  ASSERT_EQ(waitpid(pid, &status, 0), pid);
  EXPECT_EQ(status, 0);
}

TEST(ReadMarks, OnlyFilesOfThePrefixAndAllOfThem) {
  const testing_support::TemporaryFolder folder;
  Bytes bytes = header();
  const auto write = [&](const char* name, std::uint64_t pid) {
    put(bytes, 16, pid);
    const std::string text(bytes.begin(), bytes.end());
    ASSERT_TRUE(write_file_atomic(folder.path() / name, text));
  };
  write("m.1", 1);
  write("m.22", 22);
  for (const char* name : {"m.x", "other.3", "m."})
    write(name, 5);
  const auto all = read_marks(folder.path() / "m");
  ASSERT_TRUE(all);
  EXPECT_EQ(all->size(), 2U);
  EXPECT_TRUE(read_marks(folder.path() / "none")->empty());
  write("m.22", 1);
  const auto foreign = read_marks(folder.path() / "m");
  ASSERT_FALSE(foreign);
  EXPECT_THAT(foreign.error().message, ::testing::HasSubstr("it says that it is of process 1"));
  write("m.22", 22);
  bytes[0] = 'x';
  write("m.1", 1);
  EXPECT_FALSE(read_marks(folder.path() / "m"));
}

TEST(Marks, LieWithinTheTimeThatTheProgramRan) {
  Marks marks;
  marks.pid = 7;
  marks.names = {"forward"};
  marks.steps = {{1000, 2000}, {2000, 3000}};
  marks.phases = {{1100, 1200, 0}};
  EXPECT_EQ(impossible_in(marks, 1000, 3000), "");
  EXPECT_THAT(impossible_in(marks, 1001, 3000),
              ::testing::HasSubstr("a step of process 7 begins 0.000000 s before"));
  EXPECT_THAT(impossible_in(marks, 1000, 2999),
              ::testing::HasSubstr("after the program had ended"));
  marks.steps = {{1150, 1160}};
  EXPECT_THAT(impossible_in(marks, 1150, 3000),
              ::testing::HasSubstr("a phase of process 7 begins"));
}

}  // namespace
}  // namespace sluice::measure::marks_test
