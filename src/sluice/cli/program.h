// sluice/cli/program.h - the whole program behind main(): argv in, exit code out.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <memory>

namespace CLI {
class App;
}

namespace sluice::cli {

struct Context;

/// The command tree alone, for completion and generated documents.
std::unique_ptr<CLI::App> make_app(Context& context);

/// Parses, runs the chosen command, prints one line for an error. Never throws.
int run_program(int argc, char** argv);

}  // namespace sluice::cli
