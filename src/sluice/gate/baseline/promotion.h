// sluice/gate/baseline/promotion.h - makes a run the baseline of its machine profile: who may,
// which run may, and all files or none.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/gate/baseline/store.h"

#include <filesystem>
#include <optional>
#include <string>

namespace sluice::gate {

/// Who asks and why: a baseline changes on the main branch, or by a maintainer with a reason.
struct Authority {
  std::optional<std::string> branch;  // absent: not known
  std::string no_branch;              // then why
  std::string main_branch = "main";
  bool maintainer = false;
  std::string reason;
};
Status check(const Authority& authority);

struct Promotion {
  std::filesystem::path run, dir;
  Authority authority;
  bool without_eval = false;  // the run has no eval.json, and neither has the baseline
  std::string utc;            // of this act, 2026-01-31T23:59:59Z
  int cancel_fd = -1;         // readable: another promotion is waited for no longer
};
struct Promoted {
  std::string profile, key;
  BaselinePaths paths;
  std::size_t visits = 0;
  std::vector<std::string> doubts;  // what the maintainer took responsibility for
};

/// Why a run makes a poor baseline, each with its value and what is accepted: the machine was noisy
/// or waited for, its runs disagree, its canary is slower than that of the stored baseline.
std::vector<std::string> doubts_about(const RunFiles& run, const RunFiles& stored);

/// Both files or none; on any failure everything is as it was. Refuses a run whose verdict is FAIL
/// or INVALID, whose rows failed, whose files are broken, that waited for cores most of its time,
/// that was promoted already; and one in doubt, unless a maintainer asks: the history keeps both.
/// Promotions of several processes into one folder happen one after the other.
Result<Promoted> promote(const Promotion& promotion);

}  // namespace sluice::gate
