// sluice/scenario/scenario.h - one record per thing measured; plan, worker, docs and tests read it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/measure/axes.h"
#include "sluice/measure/record.h"
#include "sluice/measure/runner.h"
#include "sluice/measure/subject.h"

#include <string>
#include <vector>

namespace sluice::scenario {

enum class Kind {
  canary,   // the frozen yardstick: stored beside the numbers, never judged
  bench,    // a row of the tables
  harness,  // measures the measuring itself; only `make bench` asks for it
};

struct Scenario {
  std::string name;  // "decode/jpeg"; a case is this plus its axis values
  std::string doc;   // one sentence: what is timed, on what
  Kind kind = Kind::bench;
  std::string unit = "img/s";
  bool threads_axis = true;  // measured at 1 and at all usable cores; else single-threaded
  measure::SubjectFactory make;
};

/// Every scenario of the program, in the order of the tables.
const std::vector<Scenario>& all();

/// What `sluice worker` offers.
measure::Catalogue catalogue();

/// The rows of the chosen kinds on this machine, each run by `worker` (argv of the worker program).
std::vector<measure::SubjectSpec> plan(const std::vector<Kind>& kinds,
                                       const std::vector<std::string>& worker,
                                       const std::filesystem::path& data_dir, unsigned cores);

// One function per file.
std::vector<Scenario> canary();
Scenario decode_jpeg();
Scenario resize();
Scenario normalise();
Scenario pipeline();
Scenario empty();

/// The row "video-decode-16f/decode/clip": every clip of data_dir, opened and decoded to the frames
/// of the case.
Result<std::unique_ptr<measure::Subject>> make_video_decode(const measure::SubjectContext& context);

}  // namespace sluice::scenario
