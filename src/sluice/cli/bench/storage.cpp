// sluice/cli/bench/storage.cpp - `sluice bench storage`: how fast bytes come, in sequence, at
// random and by object, cold and warm.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/flags/storage.h"

#include "sluice/cli/commands.h"
#include "sluice/cli/print.h"
#include "sluice/core/text.h"
#include "sluice/report/storage_text.h"
#include "sluice/visit/storage/run.h"

#include <fmt/format.h>

#include <memory>

namespace sluice::cli {
namespace {

Result<ExitCode> show(const Context& context, const visit::Visited& outcome) {
  if (context.globals.json) {
    print("{}", results::to_text(results::to_json(outcome.file)));
  } else {
    print("{}report: {}\n", report::storage_text(outcome.file),
          (outcome.folder / "report.html").string());
  }
  if (outcome.interrupted) {
    return Error{Errc::interrupted, fmt::format("interrupted; what was measured is in {}",
                                                printable(outcome.folder.string()))};
  }
  return exit_code_of(outcome.file);
}

}  // namespace

void add_bench_storage(CLI::App& bench, Context& context) {
  auto flags = std::make_shared<StorageFlags>();
  CLI::App* command = add_command(
      bench, context, "storage",
      "Measure sequential, random and whole-object reads: rates and latencies, cold and warm",
      [flags, &context]() -> Result<ExitCode> {
        SLUICE_TRY(const auto plan, storage_plan(*flags, context.globals));
        SLUICE_TRY(const auto outcome, visit::run_storage(context.globals, plan));
        return show(context, outcome);
      });
  add_storage_flags(*command, *flags);
  add_examples(*command, {"sluice bench storage", "sluice bench storage --input photos --warm",
                          "sluice bench storage --input s3://bucket/photos --concurrency 1,8,32"});
}

}  // namespace sluice::cli
