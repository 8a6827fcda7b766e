// sluice/env/build_info.cpp - what the build wrote down about itself, and what Highway chose for
// this CPU.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/env/build_info.h"

#include "sluice/core/version.h"
#include "sluice/env/variables.h"

#ifdef SLUICE_HIGHWAY
#include <hwy/targets.h>
#endif

namespace sluice::env {
namespace {

Git build_git() {
  constexpr std::string_view kDirty = "-dirty";
  Git git;
  git.sha = version::git();
  if (git.sha == "unknown") {
    git.dirty = Known<bool>::unknown("the sources were built outside a git repository");
    return git;
  }
  git.dirty = git.sha.ends_with(kDirty);
  if (*git.dirty) git.sha.resize(git.sha.size() - kDirty.size());
  return git;
}

}  // namespace

Build build_info() {
  Build build;
  build.version = version::kProgram;
  build.compiler = version::compiler();
  build.flags = without_homes(version::flags());
  build.build_type = version::build_type();
  build.git = build_git();
#ifdef SLUICE_HIGHWAY
  build.highway = std::string(SLUICE_HIGHWAY);
  // Highway orders targets so that the lowest bit is the best.
  const std::int64_t targets = hwy::SupportedTargets() & HWY_TARGETS;
  build.highway_target = targets == 0
                             ? Known<std::string>::unknown("no compiled target fits this CPU")
                             : Known<std::string>(hwy::TargetName(targets & -targets));
#else
  build.highway = build.highway_target =
      Known<std::string>::unknown("built without Highway: plain loops only");
#endif
  return build;
}

}  // namespace sluice::env
