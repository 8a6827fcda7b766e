// sluice/measure/marks.h - the steps, phases and values that a watched program marked, read from
// its file.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <cstddef>
#include <cstdint>
#include <filesystem>
#include <optional>
#include <span>
#include <string>
#include <vector>

namespace sluice::measure {

// Written by adapters/c/sluice_marks.h and adapters/python/sluice_marks.py, in the byte order of
// the machine: a header of 64 bytes ("SLUICEMK", u32 version, u32 bytes per record, u64 pid, u64
// dropped marks), then records of 32 bytes whose last four are the kind; 0: nothing was written
// there. Kinds that came later (values, texts) are skipped and counted by who does not know them.
inline constexpr std::uint32_t kMarksVersion = 1;
inline constexpr std::size_t kMarksHeaderBytes = 64;
inline constexpr std::size_t kMarksRecordBytes = 32;
inline constexpr std::uint64_t kMarksLimitBytes = std::uint64_t{64} << 20;

/// CLOCK_MONOTONIC, end after begin.
struct MarkedSpan {
  std::int64_t begin_ns = 0;
  std::int64_t end_ns = 0;
  std::size_t name = 0;     // of a phase: its place in Marks::names
  std::uint64_t index = 0;  // of a step: the number that its values name it by
};

/// What a value of a step is; the numbers stand in the file.
enum class MarkedKind : std::uint32_t {
  loss = 1,
  tokens = 2,
  samples = 3,
  flop = 4,
  device_ns = 5,  // the step by the clock of its device
  peak_bytes = 6,
  reserved_bytes = 7,
};

/// In the range of its kind (values_by_step() says which); a loss may be anything, NaN too: that it
/// is not finite is what must be known of it.
struct MarkedValue {
  MarkedKind what = MarkedKind::loss;
  std::uint64_t step = 0;  // MarkedSpan::index
  double value = 0;
};

/// Versions of what the program computes with, printable; empty: not told.
struct MarkedFramework {
  std::string torch, cuda, python;
};

/// Of one process.
struct Marks {
  std::int64_t pid = 0;
  std::vector<std::string> names;
  std::vector<MarkedSpan> steps;   // in order, none overlaps the next
  std::vector<MarkedSpan> phases;  // in the order in which they ended
  std::vector<MarkedValue> values;
  MarkedFramework framework;
  std::uint64_t dropped = 0;  // marks that found no room
  std::uint64_t skipped = 0;  // records that make no sense: torn, out of order, of no known kind
};

/// Bytes that nobody vouches for. An Error for what is no file of marks; a record that makes no
/// sense costs itself alone and is counted. `name` is what the error calls the file.
Result<Marks> parse_marks(std::span<const std::uint8_t> bytes, const std::string& name);

/// All files "<prefix>.<pid>", in the order of their names; one that is no file of marks, or says
/// that it is another process's, is an Error.
Result<std::vector<Marks>> read_marks(const std::filesystem::path& prefix);

/// Why no program that ran from `start_ns` to `end_ns` of CLOCK_MONOTONIC can have marked this:
/// spans outside that time, or more time on a device than passed; empty: one can.
std::string impossible_in(const Marks& marks, std::int64_t start_ns, std::int64_t end_ns);

/// How much of each step every phase took, without what phases inside it took.
struct PhaseTable {
  std::vector<std::string> names;                   // those with a span inside a step
  std::vector<std::vector<std::int64_t>> times_ns;  // [phase][step]
  std::uint64_t outside = 0;                        // spans that do not lie inside one step
};
/// Of the steps from `first_step` on.
PhaseTable phases_by_step(const Marks& marks, std::size_t first_step = 0);

/// The values of one kind, by step: of several of one step counts add up, the last loss and the
/// last device time count, and the largest of memory.
struct ValueTable {
  std::vector<std::optional<double>> by_step;  // as Marks::steps
  std::uint64_t outside = 0;                   // values of no step that was marked
};
ValueTable values_by_step(const Marks& marks, MarkedKind what);

/// The most steps that one process has marked so far, while it may still be marking. Each call goes
/// on where the last one ended.
class StepCounter {
 public:
  explicit StepCounter(std::filesystem::path prefix) : prefix_(std::move(prefix)) {}
  std::int64_t count();
  /// The process that count() spoke of; 0: none has marked a step.
  [[nodiscard]] std::int64_t pid() const { return pid_; }

 private:
  struct Followed {
    std::filesystem::path path;
    std::uint64_t at = kMarksHeaderBytes;
    std::int64_t steps = 0;
  };
  std::filesystem::path prefix_;
  std::vector<Followed> files_;
  std::int64_t pid_ = 0;
};

}  // namespace sluice::measure
