// sluice/core/progress.h - named, nested progress bars with rate and time left.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <functional>
#include <memory>
#include <string>
#include <string_view>

namespace sluice {

/// Where bars are drawn. One per program, made by cli; rooms below take a Progress& and never look
/// at the terminal. On a terminal: one line per live bar, redrawn at most 10 times a second.
/// Elsewhere: a plain line per bar when it starts, every `plain_interval_s` while it runs, and when
/// it ends. Quiet: nothing.
class Progress {
 public:
  struct Options {
    bool quiet = false;
    bool terminal = false;
    double plain_interval_s = 5.0;
    unsigned width = 80;                            // columns of the terminal
    std::function<double()> now_s{};                // monotonic seconds; scripted in tests
    std::function<void(std::string_view)> write{};  // where text goes; stderr in the program
  };
  explicit Progress(Options options);
  static Progress& silent();  // draws nothing: the default for library callers
  /// What suits stderr now: bars on a terminal that can move its cursor, else plain lines.
  static Options for_stderr(bool quiet);
  ~Progress();
  Progress(const Progress&) = delete;
  Progress& operator=(const Progress&) = delete;

  /// Writes whole lines above the live bars. log does this by itself while a Progress draws on a
  /// terminal.
  void print(std::string_view lines);

  /// A live bar; ends when destroyed, before its Progress. Any thread may move it. Bars opened
  /// while another is live are nested under it.
  class Bar {
   public:
    Bar(Bar&&) noexcept;
    Bar& operator=(Bar&&) = delete;
    Bar(const Bar&) = delete;
    Bar& operator=(const Bar&) = delete;
    ~Bar();
    /// `done` of the total; `note` says what is in hand ("resize, run 3 of 5").
    void set(std::uint64_t done, std::string_view note = {});
    void add(std::uint64_t n = 1, std::string_view note = {});

   private:
    friend class Progress;
    Bar(Progress* owner, std::size_t id) : owner_(owner), id_(id) {}
    Progress* owner_;
    std::size_t id_;
  };
  /// `total` 0: not known, so no share and no time left are shown. `unit` is a plural ("images").
  Bar bar(std::string_view name, std::uint64_t total, std::string_view unit = {});

 private:
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice
