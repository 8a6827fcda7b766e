// sluice/visit/diagnose/run.h - one interleaved run of loader, step, transfer and all together, and
// what it says about the bottleneck.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/measure/runner.h"
#include "sluice/train/engine.h"
#include "sluice/visit/loader/run.h"

#include <filesystem>
#include <functional>
#include <string>
#include <vector>

namespace sluice::visit {

struct DiagnosePlan {
  LoaderRequest loader;        // an empty input: photographs are generated
  train::EngineConfig engine;  // with an emulated accelerator only the size of its images counts
  double model_time_ms = 0;    // above 0: the step is a wait of this time
  train::PixelType handed = train::PixelType::f32;  // what that accelerator gets
  std::string library = "sluice";  // whose loader; another's reads a local folder of images
  bool skip_errors = false;
  bool verify = false;  // take the first advice, and measure it beside what is there
  int pairs = 0;        // for that; 0: as many as runs
  int images = 256;     // when generated
  measure::Policy policy;
  /// Called once, with what the first of several runs says; empty: nobody listens.
  std::function<void(const std::string& line)> so_far;
};

/// Loader, step and both together; transfer too where there is one.
struct Diagnosis {
  std::vector<measure::Row> rows;
  results::Diagnosis found;  // nothing when interrupted
  bool interrupted = false;
};
/// Measures in the given session; `runner.on_block` is called with these rows alone. An Error when
/// a row failed.
Result<Diagnosis> diagnose(const DiagnosePlan& plan, const measure::RunnerContext& runner);

/// A visit of its own: run folder, results/diagnose.json, report.
Result<Visited> run_diagnose(const Caller& caller, const DiagnosePlan& plan);

}  // namespace sluice::visit
