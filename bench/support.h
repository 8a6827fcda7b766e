// bench/support.h - what small programs that measure have in common.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <fmt/format.h>

#include <cstdlib>
#include <sys/resource.h>
#include <utility>

namespace sluice::bench {

/// The value; an error is printed and ends the program.
template <class T>
T must(Result<T> result) {
  if (result) return std::move(result).value();
  fmt::print("{}\n", result.error().message);
  std::exit(1);
}

/// Of this process, user and system.
inline double cpu_seconds() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  const auto of = [](const timeval& t) {
    return static_cast<double>(t.tv_sec) + 1e-6 * static_cast<double>(t.tv_usec);
  };
  return of(usage.ru_utime) + of(usage.ru_stime);
}

}  // namespace sluice::bench
