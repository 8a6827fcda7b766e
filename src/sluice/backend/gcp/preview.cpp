// sluice/backend/gcp/preview.cpp - the dry run: every command line, nothing done.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/backend/gcp/remote_paths.h"
#include "sluice/backend/gcp/run.h"
#include "sluice/backend/gcp/stage.h"
#include "sluice/core/sha256.h"

#include <algorithm>
#include <ctime>

namespace sluice::backend::gcp {

Result<Preview> preview(const std::vector<Task>& tasks, const GcpOptions& options) {
  SLUICE_CHECK(check_together(tasks));
  Preview shown;
  std::vector<const Task*> open;
  std::vector<Wanted> wanted;
  for (const Task& task : tasks) {
    SLUICE_TRY(Wanted one, wanted_machine(task));
    if (!options.out.empty() && has_all_rows(task.plan, options.out / task.folder)) {
      shown.finished.push_back(task.name);
      continue;
    }
    open.push_back(&task);
    wanted.push_back(std::move(one));
  }
  VisitFacts facts;
  facts.session = sha256_hex(std::string_view("dry run")).substr(0, 32);
  facts.attached = options.attached;
  facts.bundles = std::max<int>(1, static_cast<int>(options.bundles.size()));
  facts.bundle_digest = "DIGEST";
  if (!options.bundles.empty()) {
    SLUICE_TRY(const Bundles bundles, look_at_bundles(options.bundles));
    facts.bundle_digest = bundles.digest;
  }
  facts.run_flags = options.run_flags;
  facts.argv = options.argv;
  facts.now = std::time(nullptr);
  SLUICE_TRY(const std::vector<Wave> waves, make_waves(wanted, options.quota));
  for (const Wave& wave : waves) {
    Load load;
    std::vector<Preview::One> machines;
    for (const std::size_t place : wave) {
      const Task& task = *open[place];
      const std::string id = sha256_hex(std::string_view(task.name)).substr(0, 32);
      const bool resume =
          !options.out.empty() && has_some_rows(task.plan, options.out / task.folder);
      SLUICE_TRY(Machine machine, make_machine(task, facts, id, resume));
      std::vector<Call> calls = calls_of(machine, options.attached, "stage", "pulled");
      machines.push_back({&task, std::move(machine), std::move(calls)});
      load.add(wanted[place]);
    }
    shown.waves.push_back(std::move(machines));
    shown.loads.push_back(load);
  }
  if (shown.waves.empty()) return shown;
  const Machine& first = shown.waves.front().front().machine;
  shown.before = {list_instances(first.spec.project, label_filter(kLabel, kLabelValue)),
                  upload("bundles", first.bundle_prefix)};
  return shown;
}

}  // namespace sluice::backend::gcp
