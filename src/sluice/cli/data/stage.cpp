// sluice/cli/data/stage.cpp - `data stage` unpacks a tarball, copies a folder or fetches a bucket,
// once.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/stage.h"

#include "sluice/cli/commands.h"
#include "sluice/cli/print.h"
#include "sluice/config/units.h"
#include "sluice/core/json.h"
#include "sluice/core/log.h"
#include "sluice/core/text.h"
#include "sluice/measure/interrupt.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>

namespace sluice::cli {
namespace {

struct StageArgs {
  storage::StageOptions options;
  std::string kind = "image";
  std::string suffixes;
  std::string max_bytes, max_file_bytes;
};

std::string lower(std::string text) {
  for (char& c : text)
    if (c >= 'A' && c <= 'Z') c = static_cast<char>(c - 'A' + 'a');
  return text;
}

Result<std::vector<std::string>> parse_suffixes(const std::string& text) {
  std::vector<std::string> suffixes;
  for (std::string part : split(text, ',')) {
    if (part.rfind('.', 0) == 0) part.erase(0, 1);
    if (part.empty() || part.find_first_of("/.") != std::string::npos)
      return Error{Errc::usage, fmt::format("--suffixes '{}': expected a list such as jpg,png",
                                            printable(text))};
    suffixes.push_back(lower(part));
  }
  std::sort(suffixes.begin(), suffixes.end());
  suffixes.erase(std::unique(suffixes.begin(), suffixes.end()), suffixes.end());
  return suffixes;
}

Status parse_size(std::uint64_t& out, const std::string& text, const char* flag) {
  if (text.empty()) return ok;
  const auto bytes = config::parse_bytes(text);
  if (!bytes) return Error{Errc::usage, fmt::format("{}: {}", flag, bytes.error().message)};
  out = *bytes;
  return ok;
}

Result<storage::StageOptions> resolve(const StageArgs& args, const Context& context) {
  storage::StageOptions options = args.options;
  if (!options.to.empty() && !context.globals.out.empty())
    return Error{Errc::usage, "--to and --out mean the same folder; give only one"};
  if (options.to.empty()) options.to = context.globals.out;
  options.filter.suffixes = storage::suffixes_of(args.kind);
  if (!args.suffixes.empty()) {
    SLUICE_TRY(options.filter.suffixes, parse_suffixes(args.suffixes));
  }
  options.sha256 = lower(options.sha256);
  SLUICE_CHECK(parse_size(options.limits.max_bytes, args.max_bytes, "--max-bytes"));
  SLUICE_CHECK(parse_size(options.limits.max_file_bytes, args.max_file_bytes, "--max-file-bytes"));
  return options;
}

void print_report(const storage::StageReport& report, const storage::StageOptions& options,
                  bool json) {
  const storage::StageSkipped& skipped = report.skipped;
  if (json) {
    print("{}\n", dump_json({{"path", options.to.string()},
                             {"source", report.source},
                             {"already", report.already},
                             {"count", report.count},
                             {"bytes", report.bytes},
                             {"written", report.written},
                             {"skipped",
                              {{"hidden", skipped.hidden},
                               {"suffix", skipped.suffix},
                               {"links", skipped.links},
                               {"over_limit", skipped.over_limit}}},
                             {"listing", report.listing}}));
    return;
  }
  print(
      "{}: {} files, {} bytes from {}, {}\n", printable(options.to.string()), report.count,
      report.bytes, printable(report.source),
      report.already ? "staged before: nothing to do" : fmt::format("{} written", report.written));
  print("left out: {} of another suffix, {} hidden, {} links, {} over the limit\n", skipped.suffix,
        skipped.hidden, skipped.links, skipped.over_limit);
}

Result<ExitCode> run_stage(Context& context, const StageArgs& args) {
  SLUICE_TRY(storage::StageOptions options, resolve(args, context));
  const measure::Interrupt interrupt;
  options.stop = [&] { return interrupt.requested(); };
  options.waiting = [&](const std::string& holder) {
    log::warn("{}: {} is staging there; waiting for it", printable(options.to.string()), holder);
  };
  SLUICE_TRY(const auto report, storage::stage(options, *context.globals.progress));
  print_report(report, options, context.globals.json);
  return ExitCode::done;
}

}  // namespace

void add_data_stage(CLI::App& data, Context& context) {
  auto [app, args] = add_command<StageArgs>(
      data, context, "stage",
      "Unpack a tarball, copy a folder or fetch a bucket once, to where it will be read from",
      run_stage);
  app.add_option("--from", args.options.from,
                 "archive (tar, tar.gz, tar.bz2, tar.xz, tar.zst), folder, s3://bucket/prefix or "
                 "gs://bucket/prefix to stage")
      ->required()
      ->type_name("TAR|DIR|URI");
  add_value(app, "--to", args.options.to, "DIR", "folder to fill; the same as --out");
  add_value(app, "--endpoint", args.options.endpoint, "URL",
            "server of the bucket; default: the vendor's");
  app.add_option("--region", args.options.region, "region of the bucket");
  app.add_flag("--anonymous", args.options.anonymous,
               "send requests unsigned, without credentials");
  add_choice(app, "--kind", args.kind, {"image", "video", "9ch"},
             "kind of files to take: images, videos, or arrays of 9 channels");
  add_value(app, "--suffixes", args.suffixes, "LIST",
            "suffixes of the files to take, instead of those of the kind, such as jpg,png");
  add_value(app, "--limit", args.options.filter.limit, "N",
            "take only the first N files in name order; 0: all");
  add_value(app, "--sha256", args.options.sha256, "HEX",
            "SHA-256 that the archive must have; checked before anything is unpacked");
  add_value(app, "--max-bytes", args.max_bytes, "SIZE",
            "refuse to stage more bytes than this; default: 1 TiB, and never more than is free");
  add_value(app, "--max-file-bytes", args.max_file_bytes, "SIZE",
            "refuse archives with a larger file; default: 64 GiB");
  add_value(app, "--max-ratio", args.options.limits.max_ratio, "N",
            "refuse archives that unpack to more than N times their size")
      ->check(CLI::Range(std::uint64_t{1}, std::uint64_t{1'000'000}))
      ->capture_default_str();
  add_examples(app, {"sluice data stage --from imagenet-val.tar --to data --limit 2000",
                     "sluice data stage --from s3://bucket/imagenet --to /local/imagenet",
                     "sluice data stage --from ucf101.tar.zst --to clips --kind video"});
}

}  // namespace sluice::cli
