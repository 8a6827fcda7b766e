// sluice/train/cpu/team.h - threads that start a piece of work within microseconds.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <memory>

namespace sluice::train::cpu {

/// A half-open range of rows, samples, heads or elements.
struct Rows {
  std::int64_t begin = 0;
  std::int64_t end = 0;
  [[nodiscard]] std::int64_t count() const { return end - begin; }
};

/// `threads` members, the caller is member 0. run() calls body(member) once in each and returns
/// when all have; between calls the members spin a short while (tens of microseconds), then sleep.
/// No allocation per call. A body must not throw.
class Team {
 public:
  explicit Team(int threads);  // at least 1; 1 runs in place
  ~Team();
  Team(const Team&) = delete;
  Team& operator=(const Team&) = delete;

  [[nodiscard]] int size() const;

  template <class Body>
  void run(const Body& body) {
    run_erased(
        [](const void* context, int member) { (*static_cast<const Body*>(context))(member); },
        &body);
  }
  /// body(Rows, member) over [0, count), contiguous parts in multiples of `grain`; parts may be
  /// empty (then body is not called).
  template <class Body>
  void split(std::int64_t count, std::int64_t grain, const Body& body) {
    run([&](int member) {
      const Rows rows = part(count, grain, member);
      if (rows.count() > 0) body(rows, member);
    });
  }
  /// The part of `member`: depends on count, grain and size() alone.
  [[nodiscard]] Rows part(std::int64_t count, std::int64_t grain, int member) const;

 private:
  using Erased = void (*)(const void* context, int member);
  void run_erased(Erased body, const void* context);
  struct State;
  std::unique_ptr<State> state_;
};

}  // namespace sluice::train::cpu
