// sluice/cli/backends/k8s.cpp - `sluice run --backend k8s --dry-run`: the manifest, for kubectl.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/backend/k8s/manifest.h"
#include "sluice/cli/backends/cluster.h"
#include "sluice/cli/output_files.h"
#include "sluice/cli/print.h"
#include "sluice/core/log.h"
#include "sluice/core/sha256.h"

#include <fmt/format.h>

namespace sluice::cli {
namespace {

namespace fs = std::filesystem;

/// On the volume; a folder elsewhere means its last part there.
std::string folder_on_volume(const plan::RunConfig& config) {
  const fs::path out = config.output.output_dir.value_or(
      fmt::format("{}-{}", config.scenario().name, plan::to_string(config.mode())));
  return (fs::path(config.k8s.mount) / out.lexically_normal().filename()).string();
}

}  // namespace

Result<ExitCode> run_on_k8s(const Context& context, const RunFlags& flags,
                            const LocalFlags& sampling) {
  if (!flags.dry_run)
    return Error{Errc::usage,
                 "--backend k8s: needs --dry-run, which writes the manifest; submit it with "
                 "kubectl apply -f"};
  if (sampling.resume)
    return Error{Errc::usage,
                 "--resume: not with --backend k8s: delete the job and apply its manifest again; "
                 "tasks that are done end at once"};
  SLUICE_TRY(const plan::RunConfig config, load_cluster_config(flags, context.globals));
  for (const std::string& note : config.notes)
    log::warn("{}", note);
  SLUICE_TRY(backend::Submission submission, new_submission(config, sampling, context, "k8s"));
  submission.work_folder = config.k8s.mount;
  Sha256 hash;  // the same plan gives the same manifest
  hash.update(dump_json(plan::to_json(config)));
  submission.token = hash.hex().substr(0, 8);
  SLUICE_TRY(const std::vector<Json> objects,
             backend::k8s_objects(config, submission, folder_on_volume(config)));
  const std::string manifest = backend::k8s_manifest(objects);
  if (!context.globals.out.empty())
    SLUICE_CHECK(write_output(context.globals, context.globals.out / "k8s.yaml", manifest));
  if (context.globals.json)
    print("{}\n", dump_json({{"backend", "k8s"}, {"objects", objects}}));
  else
    print("{}", manifest);
  return ExitCode::done;
}

}  // namespace sluice::cli
