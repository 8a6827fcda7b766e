// sluice/visit/loader/peers.h - other loaders beside ours: started, compared, set up at their
// best, before anything is timed.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/peers/semantics.h"
#include "sluice/visit/loader/rows.h"

#include <filesystem>
#include <vector>

namespace sluice::visit {

/// Mean absolute difference in levels of 255; infinite where the shapes differ or there is nothing.
double mean_difference(const std::vector<peers::Picture>& a, const std::vector<peers::Picture>& b);

/// A way to set another library's loader up.
struct SetUp {
  int workers = 0, prefetch = 2;
  std::string variant{};  // of its guide; empty: the usual one
};
/// Those that are tried, the fastest counts: what a library or its guide leaves to the user. `all`:
/// more than the usual prefetch as well.
std::vector<SetUp> set_ups_of(const std::string& library, int cores, bool all);

struct PeerRows {
  std::vector<measure::SubjectSpec> rows;  // to be measured
  std::vector<measure::Row> refused;       // not there, or not comparable: why
  Json set_up = Json::array();             // per library: what was tried, and what is used
};

/// For every library of the plan but ours one process: its outputs of fixed crops are compared with
/// ours (32 images, mean absolute difference at most 1.5 levels, SPDL 3), and where its guide
/// leaves workers and prefetch to the user, the fastest of a few is found by one short sample each.
/// `scratch` holds outputs meanwhile. Error: interrupted, or ours failed.
Result<PeerRows> choose_peers(const RowMaker& maker, const measure::RunnerContext& context,
                              const std::filesystem::path& scratch, double timeout_s);

/// A row of another library's loader with these workers and batches ahead of each, its worker
/// found; `axes` become parts of the case. Nothing is compared. Errc::unsupported with a command to
/// run where the library is not installed.
Result<measure::SubjectSpec> peer_row(const RowMaker& maker, const std::string& library,
                                      int workers, int prefetch,
                                      const std::map<std::string, std::string>& axes);

}  // namespace sluice::visit
