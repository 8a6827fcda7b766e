// sluice/cli/terminal.cpp - asks the terminal and NO_COLOR.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/terminal.h"

#include <cstdlib>
#include <sys/ioctl.h>
#include <unistd.h>

namespace sluice::cli {

report::TextOptions terminal_options() {
  report::TextOptions options;
  options.width = 120;
  const bool terminal = isatty(STDOUT_FILENO) != 0;
  const char* no_colour = std::getenv("NO_COLOR");
  options.colour = terminal && (no_colour == nullptr || *no_colour == '\0');
  winsize size{};
  if (terminal && ioctl(STDOUT_FILENO, TIOCGWINSZ, &size) == 0 && size.ws_col >= 60) {
    options.width = size.ws_col;
  }
  return options;
}

}  // namespace sluice::cli
