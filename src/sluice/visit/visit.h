// sluice/visit/visit.h - what all measuring commands share of their life: profile, folder,
// environment, waves, result file, reports.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/backend/visit.h"
#include "sluice/measure/local_runner.h"
#include "sluice/results/result_file.h"
#include "sluice/results/run_folder.h"
#include "sluice/visit/caller.h"
#include "sluice/visit/gpu_watch.h"

#include <filesystem>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::visit {

/// What a visit leaves.
struct Visited {
  results::ResultFile file;
  std::filesystem::path folder;
  bool interrupted = false;  // what was measured until then is in the file
};

/// One visit to this machine, whose steps a command calls in this order; in between it does what is
/// its own: `file` describes it before described(), and holds its conclusion before finish().
class Visit {
 public:
  /// `name`: of the run folder and of results/<name>.json. From its making on Ctrl-C is remembered,
  /// so one lives at a time.
  Visit(const Caller& caller, std::string name) : caller_(caller), name_(std::move(name)) {}

  /// The machine's profile, and the run folder that is named after it. argv is the caller's, an
  /// empty storage is the working folder.
  Status open(backend::VisitOptions machine, bool resume = false);
  /// The same in a folder that somebody holds open.
  void open_in(const results::RunFolder& folder, backend::VisitOptions machine);
  /// Program, machine, session and command line are in `file`.
  Status begin();
  /// Writes the configuration, and the environment unless its noise is still to be checked.
  Status described() const;
  Status write_environment() const;
  /// Makes `runner`.
  Status start() { return start(*caller_.progress); }
  Status start(Progress& progress);
  /// From now until keep_resources(), or else finish(), cores, memory and GPU (-1: none) are looked
  /// at; `file.resources` says then what they did.
  void watch_resources(int gpu_index);
  void keep_resources();

  /// One more wave: its rows stand in `file` behind those of earlier ones, and on the disk after
  /// every block. Interrupted, it is Errc::interrupted. `so_far` as for run_wave.
  Status measure(const std::vector<measure::SubjectSpec>& subjects, const measure::Policy& policy,
                 std::vector<measure::Row> so_far = {});
  /// Rows that were measured, or refused, otherwise.
  void add(const std::vector<measure::Row>& rows);
  /// Writes `file`; with rows of a wave that goes on.
  Status keep() const;
  Status keep(const std::vector<measure::Row>& wave);

  /// Writes `file`, metrics.json where it has training metrics, and the reports.
  Result<Visited> finish(bool was_interrupted);

  results::ResultFile file;
  std::vector<measure::Row> last;       // stand in `file` behind those of every wave
  measure::RunnerContext runner;        // without on_block
  std::function<Status()> after_block;  // before the file is written; empty: nothing

  [[nodiscard]] const results::RunFolder& folder() const { return *folder_; }
  [[nodiscard]] const std::filesystem::path& path() const { return folder_->path(); }
  [[nodiscard]] std::filesystem::path result_path() const;
  [[nodiscard]] bool interrupted() const { return local_.interrupt().requested(); }

 private:
  void put(const std::vector<measure::Row>& wave);

  const Caller& caller_;
  std::string name_;
  backend::VisitOptions machine_;
  std::optional<results::RunFolder> own_;
  const results::RunFolder* folder_ = nullptr;
  std::size_t done_ = 0;  // rows of `file` that no wave replaces
  measure::LocalRunner local_;
  std::optional<ResourceWatch> resources_;
};

/// The folder of --out, or a new one named after the visit and the machine.
Result<results::RunFolder> open_run_folder(const Caller& caller, const std::string& name,
                                           const std::string& profile, bool resume = false);

/// Was it interrupted? Every other Error stays one.
Result<bool> is_interrupted(const Status& measured);

/// As it stands in a run config: without its seed, which is the file's block_order_seed and differs
/// from visit to visit.
Json policy_json(const measure::Policy& policy);

/// A part of the canary, which is no row of the tables.
bool is_canary(const std::string& case_name);

/// metrics.json of a run folder.
Status write_metrics(const std::filesystem::path& folder, const results::TrainingMetrics& metrics);

}  // namespace sluice::visit
