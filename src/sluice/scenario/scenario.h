// sluice/scenario/scenario.h - one record per thing measured; plan, worker, docs and tests read it.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/measure/axes.h"
#include "sluice/measure/record.h"
#include "sluice/measure/runner.h"
#include "sluice/measure/worker/subject.h"

#include <string>
#include <vector>

namespace sluice::scenario {

enum class Kind {
  canary,   // the frozen yardstick: stored beside the numbers, never judged
  bench,    // a row of the tables
  decode,   // a row of `bench decode` alone: what it takes to prepare is too much for every run
  loader,   // a row of `bench dataloader` alone
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
Scenario decode_jpeg_progressive();
Scenario decode_png();
Scenario decode_webp();
Scenario decode_video();
Scenario resize();
std::vector<Scenario> loader_rows();
std::vector<Scenario> train_crop();
Scenario normalise();
Scenario pipeline();
Scenario empty();

/// The rows "loader/..." of `bench dataloader`; "loader/raw" are arrays as they are.
Result<std::unique_ptr<measure::Subject>> make_loader(const measure::SubjectContext& context);

/// The DataLoader rows of the matrix, "image-rgb/pipeline/..." and "image-9ch/pipeline/...": a
/// recipe over epochs of our loader.
void add_recipe_rows(measure::Catalogue& catalogue);

/// The rows "training/<model>" of `bench training`, and "end-to-end/<model>" of the tour; all about
/// them comes with the spec (training_spec.h).
Result<std::unique_ptr<measure::Subject>> make_training(const measure::SubjectContext& context);

/// The rows "diagnose/..." of `sluice diagnose`: loader, model, transfer, together. Their spec is
/// that of a training row (training_spec.h), and `model_time_ms` for an emulated accelerator.
Result<std::unique_ptr<measure::Subject>> make_diagnose(const measure::SubjectContext& context);

/// The rows "mixture/<preset>" of `bench mixture`; all about them comes with the spec
/// (mixture_spec.h). A pass is a whole run: SubjectSpec::single_pass.
Result<std::unique_ptr<measure::Subject>> make_mixture(const measure::SubjectContext& context);

/// The row "allreduce/sum" of `bench allreduce`; its spec is that of allreduce/world.h. A pass adds
/// up every size: SubjectSpec::single_pass.
Result<std::unique_ptr<measure::Subject>> make_allreduce(const measure::SubjectContext& context);

/// The case kSpinCase of `sluice selftest` (spin.h).
Result<std::unique_ptr<measure::Subject>> make_spin(const measure::SubjectContext& context);

/// The row "video-decode-16f/decode/clip": every clip of data_dir, opened and decoded to the frames
/// of the case.
Result<std::unique_ptr<measure::Subject>> make_video_decode(const measure::SubjectContext& context);

/// The rows of `bench storage`: "storage/sequential", "storage/random", "storage/get". What they
/// read comes with the spec (storage_input.h).
void add_storage_reads(measure::Catalogue& catalogue);

}  // namespace sluice::scenario
