// sluice/cli/backends/k8s.cpp - `--backend k8s --dry-run` of plans and commands: the manifest, for
// kubectl.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/backend/k8s/manifest.h"
#include "sluice/cli/backends/cluster.h"
#include "sluice/cli/output_files.h"
#include "sluice/cli/print.h"
#include "sluice/core/log.h"
#include "sluice/core/sha256.h"

#include <fmt/format.h>

namespace sluice::cli {

namespace fs = std::filesystem;

Status check_k8s_flags(bool dry_run, bool resume) {
  if (!dry_run)
    return Error{Errc::usage,
                 "--backend k8s: needs --dry-run, which writes the manifest; submit it with "
                 "kubectl apply -f"};
  if (resume)
    return Error{Errc::usage,
                 "--resume: not with --backend k8s: delete the job and apply its manifest again; "
                 "tasks that are done end at once"};
  return ok;
}

Result<ExitCode> write_manifest(const Context& context, const plan::RunConfig& config,
                                backend::Submission submission, const fs::path& out,
                                const std::string& about) {
  submission.work_folder = config.k8s.mount;
  Sha256 hash;
  hash.update(about);
  submission.token = hash.hex().substr(0, 8);
  const fs::path folder = fs::path(config.k8s.mount) / out.lexically_normal().filename();
  SLUICE_TRY(const std::vector<Json> objects,
             backend::k8s_objects(config, submission, folder.string()));
  const std::string manifest = backend::k8s_manifest(objects);
  if (!context.globals.out.empty())
    SLUICE_CHECK(write_output(context.globals, context.globals.out / "k8s.yaml", manifest));
  if (context.globals.json)
    print("{}\n", dump_json({{"backend", "k8s"}, {"objects", objects}}));
  else
    print("{}", manifest);
  return ExitCode::done;
}

Result<ExitCode> run_on_k8s(const Context& context, const RunFlags& flags,
                            const LocalFlags& sampling) {
  SLUICE_CHECK(check_k8s_flags(flags.dry_run, sampling.resume));
  SLUICE_TRY(const plan::RunConfig config, load_cluster_config(flags, context.globals));
  for (const std::string& note : config.notes)
    log::warn("{}", note);
  SLUICE_TRY(backend::Submission submission, new_submission(config, sampling, context, "k8s"));
  const fs::path out = config.output.output_dir.value_or(
      fmt::format("{}-{}", config.scenario().name, plan::to_string(config.mode())));
  return write_manifest(context, config, std::move(submission), out,
                        dump_json(plan::to_json(config)));
}

}  // namespace sluice::cli
