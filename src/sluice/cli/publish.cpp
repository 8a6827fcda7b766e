// sluice/cli/publish.cpp - `sluice publish`: a snapshot of result files for everybody.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/publish/publish.h"

#include "sluice/cli/commands.h"
#include "sluice/cli/print.h"
#include "sluice/core/text.h"

#include <fmt/format.h>

#include <cstdio>
#include <memory>

namespace sluice::cli {
namespace {

struct PublishArgs {
  std::string from;
  std::string to;
  std::string purpose;
  std::string machine;
  std::string notes;
  bool force = false;
  bool allow_dirty = false;
};

Result<ExitCode> run_publish(const PublishArgs& args, const Globals& globals) {
  publish::PublishOptions options;
  options.from = args.from;
  options.to = args.to;
  options.purpose = args.purpose;
  options.machine = args.machine;
  options.notes = args.notes;
  options.force = args.force;
  options.allow_dirty = args.allow_dirty;
  SLUICE_TRY(const auto published, publish::publish(options));
  std::string text;
  if (globals.json) {
    text = results::to_text(published.manifest);
  } else {
    text = fmt::format("{}: {} result file{} and {}\n", printable(args.to), published.files.size(),
                       published.files.size() == 1 ? "" : "s", publish::kManifestName);
  }
  print_text(text);
  return ExitCode::done;
}

}  // namespace

void add_publish(CLI::App& root, Context& context) {
  auto [sub, args] = add_command<PublishArgs>(
      root, context, "publish",
      "Write a snapshot of sound result files without private paths, names and secrets",
      run_publish);
  sub.add_option("--from", args.from, "run folder or result file to publish")
      ->required()
      ->type_name("DIR");
  sub.add_option("--to", args.to, "folder that becomes the snapshot")->required()->type_name("DIR");
  sub.add_option("--purpose", args.purpose, "purpose of the snapshot, such as paper or release")
      ->required()
      ->type_name("TEXT");
  sub.add_option("--machine", args.machine, "common name of the machine, such as c4-standard-16")
      ->required()
      ->type_name("TEXT");
  add_value(sub, "--notes", args.notes, "TEXT", "notes for a reader");
  sub.add_flag("--force", args.force, "replace the snapshot that is there");
  sub.add_flag(
      "--allow-dirty", args.allow_dirty,
      "also publish what a program of changed sources, or of no commit of the history, measured");
  add_examples(sub, {"sluice publish --from runs/rgb --to published/paper-c4-20260131 --purpose "
                     "paper --machine c4-standard-16"});
}

}  // namespace sluice::cli
