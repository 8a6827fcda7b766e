// sluice/cli/main.cpp - the program.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/program.h"
#include "sluice/core/process/survivors.h"
#include "sluice/core/temporary_files.h"

#include <csignal>
#include <string_view>
#include <unistd.h>

namespace {

/// Before a command looks at signals itself, and in those that have nothing else to put away.
void end_at_once(int) {
  sluice::remove_own_temporaries();
  constexpr std::string_view kWord = "sluice: interrupted\n";
  const ssize_t written = write(STDERR_FILENO, kWord.data(), kWord.size());
  (void)written;
  _exit(130);
}

}  // namespace

int main(int argc, char** argv) {
  sluice::adopt_orphans();                                  // of what we start, nothing outlives us
  if (argc < 2 || std::string_view(argv[1]) != "worker") {  // its supervisor looks at how one ended
    std::signal(SIGINT, end_at_once);
    std::signal(SIGTERM, end_at_once);
  }
  return sluice::cli::run_program(argc, argv);
}
