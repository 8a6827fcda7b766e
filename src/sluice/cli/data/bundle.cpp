// sluice/cli/data/bundle.cpp - `data bundle` packs many small files into few large ones.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/commands.h"
#include "sluice/cli/print.h"
#include "sluice/core/json.h"
#include "sluice/core/text.h"
#include "sluice/loader/data/open_dataset.h"
#include "sluice/measure/interrupt.h"
#include "sluice/storage/format/bundle_index.h"
#include "sluice/storage/format/bundle_writer.h"
#include "sluice/storage/open_store.h"
#include "sluice/visit/loader/bundle_cache.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cmath>
#include <memory>
#include <string>

namespace sluice::cli {
namespace {

struct BundleArgs {
  storage::StoreOptions store;
  double bundle_size_gb = 1.0;
  bool check = false;
  bool kept = false;    // list what runs left in the cache
  std::string removed;  // of that: a name, or all
};

Result<std::uint64_t> bundle_bytes(double gb) {
  const double bytes = gb * static_cast<double>(1ULL << 30);
  if (!std::isfinite(gb) || bytes < 1.0 || gb > 1024)
    return Error{Errc::usage,
                 fmt::format("--bundle-size-gb {}: expected a size above 0 and at most 1024", gb)};
  return static_cast<std::uint64_t>(bytes);
}

/// Opens what was written as a reader would and, with --check, reads all of it.
Status look(const std::filesystem::path& out, bool check) {
  storage::LocalOptions options;
  options.path = out;
  SLUICE_TRY(const auto store, storage::open_local(options));
  SLUICE_TRY(const auto index, store->stat(storage::kBundleIndexName));
  SLUICE_TRY(const auto set, storage::open_bundles(*store, index));
  return check ? storage::verify_bundles(*store, set) : Status(ok);
}

Json to_json(const visit::BundleEntry& entry) {
  return {{"name", entry.name},
          {"input", entry.input},
          {"packed_at", entry.packed_at},
          {"samples", entry.samples},
          {"bytes", entry.bytes}};
}

/// What --enable-bundling keeps for the next run.
Result<ExitCode> run_kept(const Context& context, const std::string& removed) {
  SLUICE_TRY(const auto entries, visit::bundle_entries());
  std::uint64_t bytes = 0;
  Json list = Json::array();
  for (const visit::BundleEntry& one : entries) {
    if (!removed.empty() && removed != "all" && removed != one.name) continue;
    if (!removed.empty()) SLUICE_CHECK(visit::remove_bundles(one.name));
    bytes += one.bytes;
    list.push_back(to_json(one));
    if (!context.globals.json)
      print("{:<28} {:>14} bytes {:>9} samples  {}  {}\n", printable(one.name), one.bytes,
            one.samples, one.packed_at, printable(one.input));
  }
  if (list.empty() && !removed.empty() && removed != "all")
    return visit::remove_bundles(removed).error();
  if (context.globals.json)
    print("{}\n", dump_json(list));
  else
    print("{} set{} of bundles, {} bytes{}\n", list.size(), list.size() == 1 ? "" : "s", bytes,
          removed.empty() ? "" : ", removed");
  return ExitCode::done;
}

Result<ExitCode> run_bundle(Context& context, const BundleArgs& args) {
  if (args.kept || !args.removed.empty()) return run_kept(context, args.removed);
  const std::filesystem::path out = context.globals.out;
  if (out.empty())
    return Error{Errc::usage, "--out DIR is missing: the folder to write the bundles to"};
  if (args.store.input.empty()) {
    if (!args.check)
      return Error{Errc::usage,
                   "--input is missing; only --check, which reads --out, works without it"};
    SLUICE_CHECK(look(out, true));
    print("{}: every sample has its checksum\n", printable(out.string()));
    return ExitCode::done;
  }
  storage::BundleOptions options;
  options.out = out;
  SLUICE_TRY(options.bundle_bytes, bundle_bytes(args.bundle_size_gb));
  options.wanted = [](const storage::Object& object) {
    return loader::is_image_key(object.key) || loader::is_array_key(object.key);
  };
  const measure::Interrupt interrupt;
  options.stop = [&] { return interrupt.requested(); };
  SLUICE_TRY(const auto store, storage::open_store(args.store));
  SLUICE_TRY(const auto report, storage::write_bundles(*store, options, *context.globals.progress));
  SLUICE_CHECK(look(out, args.check));
  if (context.globals.json) {
    Json json = {{"path", out.string()}, {"input", store->name()}};
    json.update(report.json());
    print("{}\n", dump_json(json));
  } else {
    print("{}: {} samples, {} bytes in {} bundles; {} other files left out\n",
          printable(out.string()), report.samples, report.bytes, report.bundles.size(),
          report.left_out);
  }
  return ExitCode::done;
}

}  // namespace

void add_data_bundle(CLI::App& data, Context& context) {
  auto [app, args] = add_command<BundleArgs>(
      data, context, "bundle", "Pack many small images or arrays into few large files", run_bundle);
  add_value(app, "--input", args.store.input, "DIR|URI", "folder, s3://... or gs://... to pack");
  add_value(app, "--bundle-size-gb", args.bundle_size_gb, "X",
            "size of a bundle in GiB; a larger sample gets a bundle of its own")
      ->capture_default_str();
  add_value(app, "--endpoint", args.store.endpoint, "URL",
            "server of the bucket; default: the vendor's");
  add_value(app, "--region", args.store.region, "NAME", "region of the bucket");
  app.add_flag("--anonymous", args.store.anonymous, "send requests unsigned, without credentials");
  app.add_flag("--check", args.check,
               "read all bundles back and compare their checksums; without --input do only that");
  app.add_flag("--kept", args.kept,
               "list the bundles that --enable-bundling of bench keeps in the cache, with sizes");
  add_value(app, "--remove", args.removed, "NAME|all", "remove such bundles");
  add_examples(app, {"sluice data bundle --kept", "sluice data bundle --remove all",
                     "sluice data bundle --input arrays --out bundles --bundle-size-gb 0.25",
                     "sluice data bundle --out bundles --check"});
}

}  // namespace sluice::cli
