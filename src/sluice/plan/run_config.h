// sluice/plan/run_config.h - the typed run configuration: what a YAML file and flags ask for.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/config/node.h"
#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/plan/matrix.h"

#include <cstdint>
#include <filesystem>
#include <optional>
#include <string>
#include <vector>

namespace sluice::plan {

/// Upper bounds: beyond them a number is a slip, not a wish.
inline constexpr std::int64_t kMaxItems = 1'000'000'000;
inline constexpr std::int64_t kMaxRuns = 1000;
inline constexpr std::int64_t kMaxBatch = 1'000'000;
inline constexpr std::int64_t kMaxWorkers = 1024;
inline constexpr std::int64_t kMaxTasks = 1000;  // of an array; Slurm's own default is 1001

/// Anybody's worker program, see docs/peer-protocol.md.
struct Peer {
  std::string name;  // row.library
  std::vector<std::string> command;
};

struct Selection {
  std::optional<std::string> scenario;
  std::optional<Mode> mode;
  Media media = Media::image;
  std::optional<std::vector<std::string>> libraries;
  std::optional<std::vector<std::string>> transforms;
  std::optional<std::string> transform_set;
  bool multichannel = false;
  std::optional<std::vector<std::string>> decoders;
  std::vector<Peer> peers;
};

struct Data {
  std::optional<std::string> data_dir;
  std::optional<std::string> gcs_uri;
  std::optional<std::string> remote_data_dir;
  std::optional<std::int64_t> num_items;
  std::optional<std::int64_t> num_channels;
  std::optional<std::int64_t> clip_length;
  std::int64_t max_corrupt = 0;
  bool generated = false;  // resolved: items are made here, not read from a data set
};

struct Execution {
  std::int64_t num_runs = 5;
  std::int64_t batch_size = 32;
  std::int64_t workers = 0;
  double min_time = 0;  // seconds
  std::int64_t min_batches = 1;
  Scope pipeline_scope = Scope::decode_dataloader_augment;
  std::string device = "none";         // where transforms run
  std::optional<std::string> copy_to;  // where batches are copied; set in the batch-copy scope only
  bool host_rows_on_gpu_machine = false;
  std::optional<std::string> thread_policy;
  bool refresh_requirements = false;
  std::optional<double> slow_threshold_sec_per_item;
  std::optional<std::int64_t> slow_preflight_items;
  bool disable_slow_skip = false;
  bool attempt_excluded = false;
  std::optional<std::uint64_t> memory_limit;  // bytes
  std::uint64_t seed = 0;
};

struct Output {
  std::optional<std::string> output_dir;
  std::optional<std::string> gcs_results_uri;
};

struct Cloud {
  std::optional<std::string> provider;  // none: no cloud
  std::optional<std::string> project;
  std::string zone = "us-central1-a";
  std::string machine_type = "n1-standard-8";
  std::optional<std::string> gpu_type;
  bool attached = false;
  bool dry_run = false;
  bool keep_instance = false;
  bool keep_on_failure = false;
  bool preemptible = false;
  std::int64_t disk_size_gb = 100;
  std::optional<double> timeout_hours;
  std::string remote_repo_dir = "~/benchmark";
  std::optional<std::string> venv_cache_uri;
  bool no_venv_cache = false;
  bool force_venv_cache_rebuild = false;
};

/// What every cluster is asked for. Where a plan is measured is no part of what is measured: these
/// three sections are in no result file.
struct Cluster {
  std::vector<std::string> node_types;  // one table each; empty: one table, of nodes alike
  std::int64_t cases_per_task = 5;
  std::optional<std::int64_t> parallel;  // tasks at once, per node type; none: no limit
  std::optional<std::int64_t> cpus;      // of a task; none: the cluster's default
  std::optional<std::int64_t> gpus;
  std::optional<std::uint64_t> memory;  // bytes
  std::optional<std::int64_t> minutes;  // a task that takes longer is ended
};

struct Slurm {
  std::optional<std::string> partition;
  std::optional<std::string> account;
  std::optional<std::string> qos;
  bool exclusive = true;             // nobody else on the node
  std::vector<std::string> setup;    // shell lines before the program, such as `module load cuda`
  std::vector<std::string> options;  // further options of sbatch, such as --reservation=night
};

struct K8s {
  std::optional<std::string> image;  // holds the program
  std::string name_space = "default";
  std::optional<std::string> claim;  // volume of results, and of data
  std::string mount = "/sluice";     // where; --out and relative paths are from there
  std::string program = "sluice";    // in the image
  std::string node_label = "node.kubernetes.io/instance-type";
};

/// As parse() returns it, everything is checked and nothing left open: scenario, mode, media,
/// libraries (or decoders), transforms, num_items (where not all), num_channels, clip_length and
/// thread_policy are set.
struct RunConfig {
  std::int64_t version = 1;
  Selection selection;
  Data data;
  Execution execution;
  Output output;
  Cloud cloud;
  Cluster cluster;
  Slurm slurm;
  K8s k8s;
  std::vector<std::string> notes;  // what a user should hear and is no error; not written

  static Result<RunConfig> parse(const config::Node& node);

  [[nodiscard]] const MatrixScenario& scenario() const;
  [[nodiscard]] Mode mode() const { return *selection.mode; }
  /// The libraries, in decode mode the decoders; peers not among them.
  [[nodiscard]] const std::vector<std::string>& libraries() const;
  [[nodiscard]] bool on_cloud() const { return cloud.provider.has_value(); }
};

/// Flags of `plan` and `run`; each that is given replaces what the file says.
struct Overrides {
  std::optional<std::string> data_dir;
  std::optional<std::int64_t> num_items;
  std::optional<std::int64_t> num_runs;
  std::optional<std::string> device;
  std::optional<std::int64_t> workers;
  std::optional<std::int64_t> batch_size;
  std::optional<std::string> output;
  std::optional<std::vector<std::string>> libraries;
  std::optional<std::vector<std::string>> transforms;
  std::optional<std::string> transform_set;
  std::optional<std::uint64_t> seed;
  std::vector<std::string> set;  // key.path=value
  bool local = false;            // drops the cloud section
  bool allow_generated = false;  // data.generated: true
};

/// The file, then `set` in its order, then the flags; read and checked as a whole.
Result<RunConfig> load_run_config(const std::filesystem::path& path, const Overrides& overrides);
/// The same for a document that was read already.
Result<RunConfig> read_run_config(config::Node document, const Overrides& overrides);

/// For result files: every key with its value, transform names expanded (recipe names in pipeline
/// mode), absent ones left out, no cloud section unless a provider is set, nothing of clusters.
Json to_json(const RunConfig& config);
/// The same as YAML, which reads back as the same configuration: resolved_config.yaml.
std::string to_yaml(const RunConfig& config);

}  // namespace sluice::plan
