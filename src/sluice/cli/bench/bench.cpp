// sluice/cli/bench/bench.cpp - `sluice bench decode|harness`: chosen rows, beside any peer worker;
// and the group of the others.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/commands.h"
#include "sluice/cli/flags/session.h"
#include "sluice/core/text.h"
#include "sluice/visit/decoders.h"

#include <fmt/format.h>

#include <algorithm>
#include <memory>
#include <string>
#include <utility>
#include <vector>

namespace sluice::cli {
namespace {

struct BenchFlags : SessionFlags {
  std::vector<std::string> libraries;  // of `bench decode`
};

/// The libraries of --libraries beside the rows of JPEG; ours is in every row anyway.
Status add_decoders(const std::vector<std::string>& libraries, visit::SessionPlan& plan) {
  const std::vector<std::string> known = visit::decoder_names();
  for (const std::string& name : libraries) {  // what is misspelt is said before what is missing
    if (name != "sluice" && std::find(known.begin(), known.end(), name) == known.end())
      return Error{Errc::usage, fmt::format("--libraries {}: no decoder of files; accepted: {}",
                                            printable(name), join(known))};
  }
  for (const std::string& name : libraries) {
    if (name == "sluice") continue;
    for (const char* row : {visit::kJpegCase, visit::kProgressiveCase}) {
      SLUICE_TRY(visit::Peer peer, visit::decoder_of(name, row));
      plan.peers.push_back(std::move(peer));
    }
  }
  return ok;
}

CLI::App* add_bench_of(CLI::App& bench, Context& context, const std::string& name,
                       const std::string& description, const std::vector<scenario::Kind>& kinds,
                       const std::vector<std::string>& scenarios,
                       std::shared_ptr<BenchFlags> flags = std::make_shared<BenchFlags>()) {
  CLI::App* command = add_command(
      bench, context, name, description,
      [flags, &context, name, kinds, scenarios]() -> Result<ExitCode> {
        SLUICE_TRY(visit::SessionPlan plan, make_plan(*flags, context.globals, "bench-" + name));
        SLUICE_CHECK(add_decoders(flags->libraries, plan));
        plan.kinds = kinds;
        plan.kinds.push_back(scenario::Kind::canary);
        plan.scenarios = scenarios;
        SLUICE_TRY(const visit::Visited session, visit::run_session(context.globals, plan));
        return show_session(context, session);
      });
  add_session_flags(*command, *flags);
  return command;
}

}  // namespace

void add_bench(CLI::App& root, Context& context) {
  CLI::App* bench = add_family(root, "bench", "Measure one thing, beside other libraries");
  auto decode_flags = std::make_shared<BenchFlags>();
  CLI::App* decode =
      add_bench_of(*bench, context, "decode",
                   "Measure decoding of JPEG, PNG, WebP and video, and JPEG to a training crop",
                   {scenario::Kind::bench, scenario::Kind::decode},
                   {"decode/jpeg", "decode/jpeg-progressive", "decode/png", "decode/webp",
                    "decode/video", "pipeline/rrc224", "pipeline/rrc224-scaled"},
                   decode_flags);
  add_value(*decode, "--libraries", decode_flags->libraries, "NAME,NAME",
            "decode JPEG files also with these, on one thread: " + join(visit::decoder_names()))
      ->delimiter(',');
  add_examples(*decode, {"sluice bench decode --data-dir photos",
                         "sluice bench decode --libraries simplejpeg,opencv-wheel",
                         "sluice bench decode --peer opencv=build/release/opencv_worker"});
  add_bench_of(*bench, context, "harness", "Measure the overhead of measuring, per iteration",
               {scenario::Kind::harness}, {"harness/empty"});
  add_bench_storage(*bench, context);
  add_bench_transforms(*bench, context);
  add_bench_dataloader(*bench, context);
  add_bench_mixture(*bench, context);
  add_bench_training(*bench, context);
  add_bench_allreduce(*bench, context);
}

}  // namespace sluice::cli
