// sluice/core/progress.cpp - draws live bars, or plain lines where there is no terminal.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/progress.h"

#include "sluice/core/log.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <cmath>
#include <cstdlib>
#include <mutex>
#include <sys/ioctl.h>
#include <unistd.h>
#include <utility>
#include <vector>

namespace sluice {
namespace {

constexpr double kRedrawInterval_s = 0.1;
// Before a time left is shown: seconds, and units or share of the total.
constexpr double kEstimateAfter_s = 2, kEstimateShare = 0.05;
constexpr std::uint64_t kEstimateUnits = 3;

struct Live {
  std::size_t id = 0;
  std::string name;
  std::string path;  // "outer > inner": plain lines have no indentation to show nesting
  std::uint64_t total = 0;
  std::string unit;
  std::uint64_t done = 0;
  std::string note;
  double start_s = 0;
  double last_plain_s = 0;
};

double steady_seconds() {
  const auto since = std::chrono::steady_clock::now().time_since_epoch();
  return std::chrono::duration<double>(since).count();
}

/// "0.42", "12.3", "1234": three digits are enough for a glance.
std::string short_number(double value) {
  if (value >= 99.95) return fmt::format("{:.0f}", value);
  return value >= 9.995 ? fmt::format("{:.1f}", value) : fmt::format("{:.2f}", value);
}

/// "0:07", "12:30", "1:02:03".
std::string clock_text(double seconds) {
  const auto s = static_cast<std::uint64_t>(std::llround(std::min(seconds, 3.6e8)));
  if (s >= 3600) return fmt::format("{}:{:02}:{:02}", s / 3600, s / 60 % 60, s % 60);
  return fmt::format("{}:{:02}", s / 60, s % 60);
}

/// A budget of seconds: its rate is one second in a second, which nobody needs to read.
bool is_time(const Live& bar) {
  return bar.unit == "s";
}

/// "1.5 MB".
std::string bytes_in_words(double bytes) {
  constexpr const char* kUnits[] = {"bytes", "kB", "MB", "GB", "TB"};
  std::size_t unit = 0;
  for (; bytes >= 1000 && unit + 1 < std::size(kUnits); ++unit)
    bytes /= 1000;
  if (unit == 0) return fmt::format("{:.0f} bytes", bytes);
  return fmt::format("{} {}", short_number(bytes), kUnits[unit]);
}

/// "3 files", "1.5 MB".
std::string counted(std::uint64_t value, const Live& bar) {
  if (bar.unit == "bytes") return bytes_in_words(static_cast<double>(value));
  return bar.unit.empty() ? fmt::format("{}", value) : fmt::format("{} {}", value, bar.unit);
}

/// Empty: a phase that nothing is counted in.
std::string amount(const Live& bar) {
  if (bar.total == 0 && bar.done == 0 && bar.unit.empty()) return {};
  if (bar.total == 0) return counted(bar.done, bar);
  if (bar.unit == "bytes") return counted(bar.done, bar) + " of " + counted(bar.total, bar);
  return fmt::format("{}/{}", bar.done, counted(bar.total, bar));
}

double share(const Live& bar) {
  if (bar.total == 0) return 0;
  return std::min(1.0, static_cast<double>(bar.done) / static_cast<double>(bar.total));
}

/// "12.3 images/s", "1.5 MB/s"; what takes longer than a second: "4.00 s each". Empty: nothing is
/// done yet, or nothing is to be said.
std::string rate_text(const Live& bar, double elapsed_s) {
  if (bar.done == 0 || elapsed_s <= 0 || is_time(bar)) return {};
  const double rate = static_cast<double>(bar.done) / elapsed_s;
  if (bar.unit == "bytes") return bytes_in_words(rate) + "/s";
  if (rate < 1) return short_number(1 / rate) + " s each";
  return fmt::format("{} {}/s", short_number(rate), bar.unit.empty() ? "steps" : bar.unit);
}

/// The first steps of anything are not like the others: before some are done, an estimate is worse
/// than none.
bool estimable(const Live& bar, double elapsed_s) {
  return elapsed_s >= kEstimateAfter_s &&
         (bar.done >= kEstimateUnits || share(bar) >= kEstimateShare);
}

/// ", 12.3 images/s, 0:07 left".
std::string pace(const Live& bar, double now_s, std::string_view separator) {
  const double elapsed_s = now_s - bar.start_s;
  const std::string rate = rate_text(bar, elapsed_s);
  std::string text = rate.empty() ? "" : fmt::format("{}{}", separator, rate);
  if (bar.done == 0 || bar.done >= bar.total || !estimable(bar, elapsed_s)) return text;
  const auto left = static_cast<double>(bar.total - bar.done);
  const double left_s = is_time(bar) ? left : left * elapsed_s / static_cast<double>(bar.done);
  return text + fmt::format("{}{} left", separator, clock_text(left_s));
}

/// At most `columns` characters, never cut inside one.
std::string cut(const std::string& text, std::size_t columns) {
  std::size_t seen = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    const bool starts_character = (static_cast<unsigned char>(text[i]) & 0xc0U) != 0x80U;
    if (starts_character && seen++ == columns) return text.substr(0, i);
  }
  return text;
}

std::string bar_line(const Live& bar, std::size_t depth, double now_s, unsigned width) {
  constexpr std::size_t kCells = 20;
  std::string line(2 * depth, ' ');
  line += bar.name;
  if (bar.total > 0) {
    const auto full = static_cast<std::size_t>(share(bar) * static_cast<double>(kCells));
    line += fmt::format(" [{}{}] {:3.0f}%", std::string(full, '#'), std::string(kCells - full, '-'),
                        std::floor(share(bar) * 100));
  }
  if (const std::string count = amount(bar); !count.empty()) line += "  " + count;
  line += pace(bar, now_s, "  ");
  if (!bar.note.empty()) line += "  " + bar.note;
  return cut(line, width > 1 ? width - 1 : 1);  // a full last column wraps on some terminals
}

std::string end_line(const Live& bar, double now_s) {
  const bool whole = bar.total == 0 || bar.done >= bar.total;
  const std::string count = amount(bar);
  std::string text =
      count.empty() ? "done" : fmt::format("{} {}", whole ? "done," : "stopped at", count);
  text += fmt::format(" in {} s", short_number(now_s - bar.start_s));
  const std::string rate = rate_text(bar, now_s - bar.start_s);
  return rate.empty() ? text : text + ", " + rate;
}

}  // namespace

struct Progress::State {
  explicit State(Options o) : options(std::move(o)) {
    if (!options.now_s) options.now_s = steady_seconds;
    if (!options.write) options.write = log::write_stderr;
  }

  Options options;
  std::mutex mutex;
  std::vector<Live> live;  // outermost first
  std::size_t next_id = 0;
  std::size_t drawn_lines = 0;
  double last_draw_s = -1e300;

  Live* find(std::size_t id) {
    const auto it =
        std::find_if(live.begin(), live.end(), [&](const Live& b) { return b.id == id; });
    return it == live.end() ? nullptr : &*it;
  }

  /// Takes the drawn bars off the screen: cursor up, erase to the end.
  std::string erased() {
    if (drawn_lines == 0) return {};
    return fmt::format("\x1b[{}A\r\x1b[J", std::exchange(drawn_lines, 0));
  }

  /// Erases, writes `above` for good, draws all live bars below; in one write, so nothing flickers.
  void redraw(std::string_view above) {
    const double now = options.now_s();
    std::string text = erased();
    text += above;
    for (std::size_t depth = 0; depth < live.size(); ++depth) {
      text += bar_line(live[depth], depth, now, options.width) + "\n";
    }
    drawn_lines = live.size();
    last_draw_s = now;
    if (!text.empty()) options.write(text);
  }

  void redraw_if_due() {
    if (options.now_s() - last_draw_s >= kRedrawInterval_s) redraw({});
  }

  void write_plain(Live& bar, const std::string& text) {
    bar.last_plain_s = options.now_s();
    options.write(fmt::format("{}: {}\n", bar.path, text));
  }

  void moved(Live& bar) {
    if (options.terminal) {
      redraw_if_due();
      return;
    }
    const double now = options.now_s();
    if (now - bar.last_plain_s < options.plain_interval_s) return;
    std::string text = amount(bar);
    if (bar.total > 0) text += fmt::format(" ({:.0f}%)", std::floor(share(bar) * 100));
    text += pace(bar, now, ", ");
    if (!bar.note.empty()) text += ", " + bar.note;
    write_plain(bar, text);
  }

  void opened() {
    Live& bar = live.back();
    if (options.terminal) {
      redraw_if_due();
    } else {
      const std::string size = bar.total > 0 ? counted(bar.total, bar) : bar.unit;
      write_plain(bar, size.empty() ? "started" : "started, " + size);
    }
  }

  void closed(std::size_t id) {
    Live* bar = find(id);
    if (bar == nullptr) return;
    const std::string text = end_line(*bar, options.now_s());
    if (!options.terminal) write_plain(*bar, text);
    const bool outermost = bar == &live.front();
    const std::string kept = fmt::format("{}: {}\n", bar->path, text);
    live.erase(live.begin() + (bar - live.data()));
    if (!options.terminal) return;
    if (outermost) {
      redraw(kept);  // what was nested in it is gone from the screen; its own end stays
    } else {
      redraw_if_due();
    }
  }
};

Progress::Progress(Options options) : state_(std::make_unique<State>(std::move(options))) {
  if (state_->options.quiet || !state_->options.terminal) return;
  log::attach_sink(this, [this](std::string_view line) { print(line); });
}

Progress::~Progress() {
  log::detach_sink(this);
}

Progress& Progress::silent() {
  static Progress progress(Options{.quiet = true});
  return progress;
}

Progress::Options Progress::for_stderr(bool quiet) {
  Options options;
  options.quiet = quiet;
  const char* term = std::getenv("TERM");  // NOLINT(concurrency-mt-unsafe): before any thread
  const bool dumb = term == nullptr || std::string_view(term) == "dumb";
  options.terminal = ::isatty(STDERR_FILENO) != 0 && !dumb;
  winsize size{};
  if (options.terminal && ::ioctl(STDERR_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col > 0) {
    options.width = size.ws_col;
  }
  return options;
}

void Progress::print(std::string_view lines) {
  const std::lock_guard lock(state_->mutex);
  if (state_->options.terminal && !state_->options.quiet) {
    state_->redraw(lines);
  } else {
    state_->options.write(lines);
  }
}

Progress::Bar Progress::bar(std::string_view name, std::uint64_t total, std::string_view unit) {
  State& s = *state_;
  if (s.options.quiet) return {nullptr, 0};
  const std::lock_guard lock(s.mutex);
  Live live;
  live.id = s.next_id++;
  live.name = printable(name);
  live.path = s.live.empty() ? live.name : s.live.back().path + " > " + live.name;
  live.total = total;
  live.unit = printable(unit);
  live.start_s = s.options.now_s();
  s.live.push_back(std::move(live));
  s.opened();
  return {this, s.live.back().id};
}

Progress::Bar::Bar(Bar&& other) noexcept
    : owner_(std::exchange(other.owner_, nullptr)), id_(other.id_) {}

Progress::Bar::~Bar() {
  if (owner_ == nullptr) return;
  const std::lock_guard lock(owner_->state_->mutex);
  owner_->state_->closed(id_);
}

void Progress::Bar::set(std::uint64_t done, std::string_view note) {
  if (owner_ == nullptr) return;
  State& s = *owner_->state_;
  const std::lock_guard lock(s.mutex);
  Live* live = s.find(id_);
  live->done = done;
  if (!note.empty()) live->note = printable(note);
  s.moved(*live);
}

void Progress::Bar::add(std::uint64_t n, std::string_view note) {
  if (owner_ == nullptr) return;
  State& s = *owner_->state_;
  const std::lock_guard lock(s.mutex);
  Live* live = s.find(id_);
  live->done += n;
  if (!note.empty()) live->note = printable(note);
  s.moved(*live);
}

}  // namespace sluice
