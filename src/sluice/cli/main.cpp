// sluice/cli/main.cpp - the program.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/program.h"

int main(int argc, char** argv) {
  return sluice::cli::run_program(argc, argv);
}
