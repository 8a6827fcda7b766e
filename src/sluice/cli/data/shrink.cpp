// sluice/cli/data/shrink.cpp - `data shrink` writes a folder of images again, smaller.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/data/shrink.h"

#include "sluice/cli/commands.h"
#include "sluice/cli/print.h"
#include "sluice/core/json.h"
#include "sluice/core/text.h"
#include "sluice/core/thread_pool.h"
#include "sluice/loader/data/open_dataset.h"
#include "sluice/measure/interrupt.h"
#include "sluice/storage/open_store.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace sluice::cli {
namespace {

struct ShrinkArgs {
  storage::StoreOptions store;
  image::ShrinkOptions image;
};

Result<ExitCode> run_shrink(Context& context, const ShrinkArgs& args) {
  loader::ShrinkPlan plan;
  plan.out = context.globals.out;
  if (plan.out.empty())
    return Error{Errc::usage, "--out DIR is missing: the folder to write the smaller images to"};
  if (args.store.input.empty())
    return Error{Errc::usage, "--input is missing: the folder of images to make smaller"};
  plan.image = args.image;
  plan.threads = usable_cores();
  const measure::Interrupt interrupt;
  plan.stop = [&] { return interrupt.requested(); };
  SLUICE_TRY(std::shared_ptr<storage::ObjectStore> store, storage::open_store(args.store));
  SLUICE_TRY(const auto dataset,
             loader::open_dataset(store, {.kind = loader::DatasetKind::images}));
  SLUICE_TRY(const loader::ShrinkReport report,
             loader::shrink_images(*dataset, plan, *context.globals.progress));
  if (context.globals.json)
    print("{}\n", dump_json(Json{{"path", plan.out.string()},
                                 {"shorter_side", args.image.shorter_side},
                                 {"images", report.images},
                                 {"shrunk", report.shrunk},
                                 {"bytes_before", report.bytes_before},
                                 {"bytes", report.bytes}}));
  else
    print("{}: {} images, {} made smaller, {} bytes instead of {}\n", printable(plan.out.string()),
          report.images, report.shrunk, report.bytes, report.bytes_before);
  return ExitCode::done;
}

}  // namespace

void add_data_shrink(CLI::App& data, Context& context) {
  auto [app, args] = add_command<ShrinkArgs>(
      data, context, "shrink", "Write a folder of images again with fewer pixels", run_shrink);
  add_value(app, "--input", args.store.input, "DIR|URI", "folder, s3://... or gs://... of images");
  add_number(app, "--shorter-side", args.image.shorter_side, 16, 65'500,
             "pixels of the shorter side; smaller images are copied as they are");
  add_number(app, "--quality", args.image.quality, 1, 100, "quality of JPEG and WebP files");
  add_value(app, "--endpoint", args.store.endpoint, "URL",
            "server of the bucket; default: the vendor's");
  add_value(app, "--region", args.store.region, "NAME", "region of the bucket");
  app.add_flag("--anonymous", args.store.anonymous, "send requests unsigned, without credentials");
  add_examples(app, {"sluice data shrink --input photos --shorter-side 256 --out photos-256"});
}

}  // namespace sluice::cli
