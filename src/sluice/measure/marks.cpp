// sluice/measure/marks.cpp - records in, spans out; what makes no sense is counted, never believed.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/marks.h"

#include "sluice/core/file.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <charconv>
#include <cstring>
#include <fstream>
#include <limits>
#include <map>
#include <string_view>
#include <system_error>
#include <utility>

namespace sluice::measure {
namespace {

namespace fs = std::filesystem;

constexpr std::string_view kMagic = "SLUICEMK";
enum : std::uint32_t {
  kind_none = 0,
  kind_name = 1,
  kind_step = 2,
  kind_phase = 3,
  kind_value = 4,
  kind_text = 5
};
enum : std::uint32_t { text_torch = 1, text_cuda = 2, text_python = 3 };
constexpr std::size_t kNameBytes = 24;

/// What the values of a kind may be; a loss may be anything.
struct ValueRange {
  MarkedKind what;
  double least, most;
};
constexpr std::array kValueRanges = {
    ValueRange{MarkedKind::tokens, 0, 1e15},     ValueRange{MarkedKind::samples, 0, 1e15},
    ValueRange{MarkedKind::flop, 0, 1e30},       ValueRange{MarkedKind::device_ns, 1, 1e18},
    ValueRange{MarkedKind::peak_bytes, 0, 1e18}, ValueRange{MarkedKind::reserved_bytes, 0, 1e18},
};
constexpr double kDeviceClockSlack = 1e-3;  // two clocks of one second may differ by so much
constexpr double kDeviceSlackNs = 1e6;

template <class T>
T value_at(std::span<const std::uint8_t> bytes, std::size_t at) {
  T value{};
  std::memcpy(&value, bytes.data() + at, sizeof value);
  return value;
}

Error not_marks(const std::string& name, const std::string& why) {
  return Error{Errc::invalid_input, fmt::format("{}: no file of marks: {}", printable(name), why)};
}

/// Times of a record; false when they cannot be.
bool span_of(std::span<const std::uint8_t> record, MarkedSpan& span) {
  constexpr auto kMost = static_cast<std::uint64_t>(std::numeric_limits<std::int64_t>::max());
  const auto begin = value_at<std::uint64_t>(record, 0);
  const auto end = value_at<std::uint64_t>(record, 8);
  if (begin == 0 || end < begin || end > kMost) return false;
  span.begin_ns = static_cast<std::int64_t>(begin);
  span.end_ns = static_cast<std::int64_t>(end);
  return true;
}

class Reader {
 public:
  void take(std::span<const std::uint8_t> record) {
    const auto kind = value_at<std::uint32_t>(record, 28);
    const auto id = value_at<std::uint32_t>(record, 24);
    MarkedSpan span;
    bool sound = false;
    if (kind == kind_name) {
      sound = take_name(record, id);
    } else if (kind == kind_step) {
      sound = span_of(record, span) && span.end_ns > span.begin_ns &&
              (marks.steps.empty() || span.begin_ns >= marks.steps.back().end_ns);
      span.index = value_at<std::uint64_t>(record, 16);
      if (sound) marks.steps.push_back(span);
    } else if (kind == kind_phase) {
      const auto known = ids_.find(id);
      sound = known != ids_.end() && span_of(record, span) && span.end_ns >= last_end_;
      if (sound) {
        span.name = known->second;
        last_end_ = span.end_ns;
        marks.phases.push_back(span);
      }
    } else if (kind == kind_value) {
      sound = take_value(record, id);
    } else if (kind == kind_text) {
      sound = take_text(record, id);
    }
    if (!sound) ++marks.skipped;
  }

  Marks marks;

 private:
  static std::string text_of(std::span<const std::uint8_t> record) {
    const std::string_view field(reinterpret_cast<const char*>(record.data()), kNameBytes);
    return printable(to_utf8(field.substr(0, field.find('\0'))));
  }

  bool take_value(std::span<const std::uint8_t> record, std::uint32_t id) {
    const MarkedValue value{static_cast<MarkedKind>(id), value_at<std::uint64_t>(record, 16),
                            value_at<double>(record, 0)};
    bool sound = value.what == MarkedKind::loss;
    for (const ValueRange& range : kValueRanges)
      if (range.what == value.what)
        sound = value.value >= range.least && value.value <= range.most;  // false for NaN
    if (sound) marks.values.push_back(value);
    return sound;
  }

  bool take_text(std::span<const std::uint8_t> record, std::uint32_t id) {
    std::string* const text = id == text_torch    ? &marks.framework.torch
                              : id == text_cuda   ? &marks.framework.cuda
                              : id == text_python ? &marks.framework.python
                                                  : nullptr;
    std::string found = text_of(record);
    if (text == nullptr || !text->empty() || found.empty()) return false;
    *text = std::move(found);
    return true;
  }

  bool take_name(std::span<const std::uint8_t> record, std::uint32_t id) {
    const std::string name = text_of(record);
    if (id == 0 || name.empty() || ids_.count(id) != 0) return false;
    ids_[id] = marks.names.size();
    marks.names.push_back(name);
    return true;
  }

  std::map<std::uint32_t, std::size_t> ids_;
  std::int64_t last_end_ = 0;
};

/// Files "<prefix>.<digits>".
std::vector<fs::path> files_of(const fs::path& prefix) {
  std::vector<fs::path> found;
  std::error_code code;
  const std::string start = prefix.filename().string() + ".";
  for (fs::directory_iterator it(prefix.parent_path(), code), end; !code && it != end;
       it.increment(code)) {
    const std::string name = it->path().filename().string();
    if (name.size() > start.size() && name.starts_with(start) &&
        name.find_first_not_of("0123456789", start.size()) == std::string::npos)
      found.push_back(it->path());
  }
  std::sort(found.begin(), found.end());
  return found;
}

}  // namespace

Result<Marks> parse_marks(std::span<const std::uint8_t> bytes, const std::string& name) {
  if (bytes.size() < kMarksHeaderBytes)
    return not_marks(
        name, fmt::format("{} bytes, the header alone has {}", bytes.size(), kMarksHeaderBytes));
  if (std::memcmp(bytes.data(), kMagic.data(), kMagic.size()) != 0)
    return not_marks(name, "it does not begin with SLUICEMK");
  const auto version = value_at<std::uint32_t>(bytes, 8);
  if (version != kMarksVersion)
    return not_marks(name,
                     fmt::format("version {}, this program reads {}", version, kMarksVersion));
  const auto record_bytes = value_at<std::uint32_t>(bytes, 12);
  if (record_bytes != kMarksRecordBytes)
    return not_marks(
        name, fmt::format("records of {} bytes, expected {}", record_bytes, kMarksRecordBytes));
  std::size_t end = bytes.size();
  while (end > kMarksHeaderBytes && bytes[end - 1] == 0)
    --end;
  // The kind is the last of a record and below 256, so its first byte is the last that is not 0.
  Reader reader;
  reader.marks.pid = static_cast<std::int64_t>(value_at<std::uint64_t>(bytes, 16) & 0xffffffffU);
  reader.marks.dropped = value_at<std::uint64_t>(bytes, 24);
  for (std::size_t at = kMarksHeaderBytes; at < end; at += kMarksRecordBytes) {
    if (bytes.size() - at < kMarksRecordBytes)
      ++reader.marks.skipped;  // cut off
    else
      reader.take(bytes.subspan(at, kMarksRecordBytes));
  }
  return std::move(reader.marks);
}

Result<std::vector<Marks>> read_marks(const fs::path& prefix) {
  std::vector<Marks> all;
  for (const fs::path& path : files_of(prefix)) {
    SLUICE_TRY(const auto bytes, read_binary_file(path, kMarksLimitBytes));
    SLUICE_TRY(Marks marks, parse_marks(bytes, path.string()));
    if (path.extension() != fmt::format(".{}", marks.pid))
      return not_marks(path.string(), fmt::format("it says that it is of process {}", marks.pid));
    all.push_back(std::move(marks));
  }
  return all;
}

std::string impossible_in(const Marks& marks, std::int64_t start_ns, std::int64_t end_ns) {
  const auto seconds = [](std::int64_t ns) { return static_cast<double>(ns) * 1e-9; };
  for (const auto& [what, spans] :
       {std::pair("step", &marks.steps), std::pair("phase", &marks.phases)}) {
    for (const MarkedSpan& span : *spans) {
      if (span.begin_ns < start_ns)
        return fmt::format("a {} of process {} begins {:.6f} s before the program was started",
                           what, marks.pid, seconds(start_ns - span.begin_ns));
      if (span.end_ns > end_ns)
        return fmt::format("a {} of process {} ends {:.6f} s after the program had ended", what,
                           marks.pid, seconds(span.end_ns - end_ns));
    }
  }
  double device_ns = 0;
  for (const auto& value : values_by_step(marks, MarkedKind::device_ns).by_step)
    device_ns += value.value_or(0);
  const auto ran_ns = static_cast<double>(end_ns - start_ns);
  if (device_ns > ran_ns * (1 + kDeviceClockSlack) + kDeviceSlackNs)
    return fmt::format(
        "the steps of process {} took {:.6f} s by its device, but the program ran for {:.6f} s",
        marks.pid, device_ns * 1e-9, ran_ns * 1e-9);
  return {};
}

ValueTable values_by_step(const Marks& marks, MarkedKind what) {
  std::map<std::uint64_t, std::size_t> places;
  for (std::size_t i = 0; i < marks.steps.size(); ++i)
    places.emplace(marks.steps[i].index, i);
  ValueTable table;
  table.by_step.resize(marks.steps.size());
  for (const MarkedValue& value : marks.values) {
    if (value.what != what) continue;
    const auto place = places.find(value.step);
    if (place == places.end()) {
      ++table.outside;
      continue;
    }
    std::optional<double>& found = table.by_step[place->second];
    switch (what) {
      case MarkedKind::loss:
      case MarkedKind::device_ns:
        found = value.value;
        break;
      case MarkedKind::tokens:
      case MarkedKind::samples:
      case MarkedKind::flop:
        found = found.value_or(0) + value.value;
        break;
      case MarkedKind::peak_bytes:
      case MarkedKind::reserved_bytes:
        found = std::max(found.value_or(0), value.value);
        break;
    }
  }
  return table;
}

PhaseTable phases_by_step(const Marks& marks, std::size_t first_step) {
  const std::size_t n_steps = marks.steps.size() - std::min(first_step, marks.steps.size());
  std::vector<std::vector<std::int64_t>> times(marks.names.size(),
                                               std::vector<std::int64_t>(n_steps, 0));
  std::vector<char> used(marks.names.size(), 0);
  PhaseTable table;
  std::vector<MarkedSpan> spans = marks.phases;
  std::stable_sort(spans.begin(), spans.end(), [](const MarkedSpan& a, const MarkedSpan& b) {
    return a.begin_ns != b.begin_ns ? a.begin_ns < b.begin_ns : a.end_ns > b.end_ns;
  });
  std::size_t step = 0;
  std::vector<MarkedSpan> around;  // those that hold the next one, outermost first
  for (const MarkedSpan& span : spans) {
    while (step < marks.steps.size() && marks.steps[step].end_ns <= span.begin_ns)
      ++step;
    while (!around.empty() && around.back().end_ns <= span.begin_ns)
      around.pop_back();
    const bool inside = step < marks.steps.size() && span.begin_ns >= marks.steps[step].begin_ns &&
                        span.end_ns <= marks.steps[step].end_ns;
    const bool nested = around.empty() || span.end_ns <= around.back().end_ns;
    if (!inside || !nested) {
      ++table.outside;
      continue;
    }
    if (step >= first_step) {
      const std::int64_t taken = span.end_ns - span.begin_ns;
      times[span.name][step - first_step] += taken;
      if (!around.empty()) times[around.back().name][step - first_step] -= taken;
      used[span.name] = 1;
    }
    around.push_back(span);
  }
  for (std::size_t i = 0; i < times.size(); ++i) {
    if (used[i] == 0) continue;
    table.names.push_back(marks.names[i]);
    table.times_ns.push_back(std::move(times[i]));
  }
  return table;
}

std::int64_t StepCounter::count() {
  for (const fs::path& path : files_of(prefix_)) {
    if (std::ranges::none_of(files_, [&](const Followed& one) { return one.path == path; })) {
      files_.push_back({path});
    }
  }
  std::int64_t most = 0;
  for (Followed& one : files_) {
    std::ifstream file(one.path, std::ios::binary);
    file.seekg(static_cast<std::streamoff>(one.at));
    std::array<std::uint8_t, kMarksRecordBytes> record{};
    while (file.read(reinterpret_cast<char*>(record.data()), record.size())) {
      const auto kind = value_at<std::uint32_t>(record, 28);
      if (kind == kind_none) break;  // not written yet
      one.at += kMarksRecordBytes;
      one.steps += kind == kind_step ? 1 : 0;
    }
    if (one.steps <= most) continue;
    most = one.steps;
    const std::string digits = one.path.extension().string().substr(1);
    std::from_chars(digits.data(), digits.data() + digits.size(), pid_);
  }
  return most;
}

}  // namespace sluice::measure
