// sluice/cli/print.h - the one way to stdout: what does not arrive there is an error at the end.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <fmt/format.h>

#include <string_view>
#include <utility>

namespace sluice::cli {

/// Never fails: the first reason why stdout did not take it is kept for finish_stdout().
void print_text(std::string_view text);

template <class... Arguments>
void print(fmt::format_string<Arguments...> format, Arguments&&... arguments) {
  print_text(fmt::format(format, std::forward<Arguments>(arguments)...));
}

/// Before anything is opened: a stdout that is closed must not become the number of another file.
void hold_stdout();

/// Flushes. Errc::io when anything that was printed did not arrive.
Status finish_stdout();

}  // namespace sluice::cli
