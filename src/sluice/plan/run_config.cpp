// sluice/plan/run_config.cpp - every key of a run configuration with its range, default and
// meaning.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/plan/run_config.h"

#include "sluice/config/override.h"
#include "sluice/config/reader.h"
#include "sluice/plan/run_config_check.h"
#include "sluice/plan/run_config_format.h"
#include "sluice/plan/where.h"

#include <algorithm>

namespace sluice::plan {
namespace {

using config::at_least;
using config::closed_interval;
using config::Plain;
using config::Reader;

std::vector<std::string> scenario_names() {
  std::vector<std::string> names;
  for (const MatrixScenario& scenario : scenarios())
    names.emplace_back(scenario.name);
  return names;
}

auto modes() {
  return config::names<Mode>(
      {{"micro", Mode::micro}, {"pipeline", Mode::pipeline}, {"decode", Mode::decode}});
}

auto scopes() {
  std::vector<std::pair<std::string, Scope>> table;
  for (const Scope scope : {Scope::memory_dataloader_augment, Scope::decode_dataloader_augment,
                            Scope::decode_dataloader_augment_batch_copy})
    table.emplace_back(to_string(scope), scope);
  return config::names<Scope>(std::move(table));
}

const auto kText = or_null(Plain<std::string>{});
const auto kNames = or_null(config::list_of(Plain<std::string>{}, 1));

void read_selection(Reader& reader, Selection& selection) {
  reader.read("scenario", selection.scenario, or_null(config::one_of(scenario_names())),
              "what is measured; null: by `media` and `multichannel`");
  reader.read("mode", selection.mode, or_null(modes()), "null: the scenario's default");
  reader.read("media", selection.media,
              config::names<Media>({{"image", Media::image}, {"video", Media::video}}),
              "only without a scenario");
  reader.read("libraries", selection.libraries, kNames,
              "null: all that the scenario has in this mode, on this device");
  reader.read("transforms", selection.transforms, kNames,
              "a part of the scenario's set, by name; wins over `transform_set`");
  reader.read("transform_set", selection.transform_set, or_null(config::one_of({"paper"})),
              "the whole set of the scenario, which is also what null means");
  std::optional<std::string> spec;
  reader.read("spec", spec, kText, "refused: a program of your own goes into `peers`");
  if (spec) reader.fail("spec", "not supported; give a worker of your own under selection.peers");
  reader.read("multichannel", selection.multichannel, Plain<bool>{},
              "9 channels; only without a scenario");
  reader.read("decoders", selection.decoders, kNames, "decode mode only; null: all");
  reader.read("peers", selection.peers, PeerMap{},
              "workers of your own, measured beside the libraries; see docs/peer-protocol.md");
}

void read_data(Reader& reader, Data& data) {
  reader.read("data_dir", data.data_dir, kText, "folder of media files; null: generated");
  reader.read("gcs_uri", data.gcs_uri, kText, "for cloud runs: one tarball");
  reader.read("remote_data_dir", data.remote_data_dir, kText,
              "for cloud runs: a folder that the machine has already");
  reader.read("num_items", data.num_items, or_null(closed_interval<std::int64_t>(1, kMaxItems)),
              "null: all in pipelines, elsewhere 1000 images or 50 clips");
  reader.read("num_channels", data.num_channels, or_null(at_least<std::int64_t>(1)),
              "null: the scenario's; a multiple of 3");
  reader.read("clip_length", data.clip_length, or_null(at_least<std::int64_t>(1)),
              "frames of a clip; null: the scenario's");
  reader.read("max_corrupt", data.max_corrupt, at_least<std::int64_t>(0),
              "unreadable files that are left out, counted and named; one more ends the run");
  reader.read("generated", data.generated, Plain<bool>{},
              "make the items here although the configuration names a data set; true by itself "
              "where it names none");
}

void read_execution(Reader& reader, Execution& execution) {
  reader.read("num_runs", execution.num_runs, closed_interval<std::int64_t>(1, kMaxRuns),
              "fresh processes per row; below 3 a comparison gives no verdict");
  reader.read("batch_size", execution.batch_size, closed_interval<std::int64_t>(1, kMaxBatch),
              "pipeline mode only");
  reader.read("workers", execution.workers, closed_interval<std::int64_t>(0, kMaxWorkers),
              "loader processes; must be 0 in micro and decode mode");
  reader.read("min_time", execution.min_time, closed_interval(0.0, 86'400.0),
              "seconds; epochs are repeated until they last this long");
  reader.read("min_batches", execution.min_batches, closed_interval<std::int64_t>(1, kMaxItems),
              "epochs are repeated until they gave this many batches");
  reader.read("pipeline_scope", execution.pipeline_scope, scopes(),
              "what a pipeline row includes; see docs/scope.md");
  reader.read("device", execution.device, config::one_of({"none", "cuda", "auto"}),
              "where transforms run; auto: cuda, else none");
  reader.read("copy_to", execution.copy_to, or_null(config::one_of({"cuda"})),
              "where the batch-copy scope copies batches, whatever made them; null: cuda there");
  reader.read("host_rows_on_gpu_machine", execution.host_rows_on_gpu_machine, Plain<bool>{},
              "measure image rows of the CPU on a machine with a GPU all the same");
  reader.read(
      "thread_policy", execution.thread_policy,
      or_null(config::one_of({"micro-single", "pipeline-default", "pipeline-single-worker"})),
      "null: micro-single, in pipelines pipeline-default");
  reader.read("refresh_requirements", execution.refresh_requirements, Plain<bool>{},
              "must be false: environments are pinned, `sluice peers install` makes them again");
  if (execution.refresh_requirements) {
    reader.fail("refresh_requirements",
                "true is not supported: a run installs nothing, `sluice peers install` does");
  }
  reader.read("slow_threshold_sec_per_item", execution.slow_threshold_sec_per_item,
              or_null(config::above(0.0)),
              "at or above this a row is early-stopped; null: 0.05 per image, 2 per clip");
  reader.read("slow_preflight_items", execution.slow_preflight_items,
              or_null(closed_interval<std::int64_t>(1, kMaxItems)), "null: 10 images or 3 clips");
  reader.read("disable_slow_skip", execution.disable_slow_skip, Plain<bool>{},
              "measure slow rows to the end");
  reader.read("attempt_excluded", execution.attempt_excluded, Plain<bool>{},
              "attempt rows that are known to fail on a device, see docs/matrix.md");
  reader.read("memory_limit", execution.memory_limit, or_null(config::bytes()),
              "for all workers together; null: 70 % of what is free");
  reader.read("seed", execution.seed, Plain<std::uint64_t>{},
              "of random parameters and of the order within blocks");
}

void read_output(Reader& reader, Output& output) {
  reader.read("output_dir", output.output_dir, kText, "the run folder; null: a new one in runs/");
  reader.read("gcs_results_uri", output.gcs_results_uri, kText, "for cloud runs: jobs and results");
}

void read_cloud(Reader& reader, Cloud& cloud) {
  reader.read("provider", cloud.provider, or_null(config::one_of({"gcp"})), "null: run here");
  reader.read("project", cloud.project, kText, "required with a provider");
  reader.read("zone", cloud.zone, Plain<std::string>{}, "where the machine is made");
  reader.read("machine_type", cloud.machine_type, Plain<std::string>{},
              "a GPU comes with g2, a2, a3, a4");
  reader.read("gpu_type", cloud.gpu_type, kText, "null: what the machine type brings");
  reader.read("attached", cloud.attached, Plain<bool>{},
              "wait for the machine, pull, validate, delete it");
  reader.read("dry_run", cloud.dry_run, Plain<bool>{}, "create nothing, print the job");
  reader.read("keep_instance", cloud.keep_instance, Plain<bool>{},
              "do not delete the machine before its deadline");
  reader.read("keep_on_failure", cloud.keep_on_failure, Plain<bool>{},
              "the same after a failed run");
  reader.read("preemptible", cloud.preemptible, Plain<bool>{}, "cheaper, and may be taken away");
  reader.read("disk_size_gb", cloud.disk_size_gb, at_least<std::int64_t>(20), "boot disk");
  reader.read("timeout_hours", cloud.timeout_hours, or_null(config::above(0.0)),
              "null: 6 with a GPU, 8 without");
  reader.read("remote_repo_dir", cloud.remote_repo_dir, Plain<std::string>{},
              "where the program goes on the machine");
  reader.read("venv_cache_uri", cloud.venv_cache_uri, kText,
              "null: augmentation-cache beside the results");
  reader.read("no_venv_cache", cloud.no_venv_cache, Plain<bool>{},
              "install every environment anew");
  reader.read("force_venv_cache_rebuild", cloud.force_venv_cache_rebuild, Plain<bool>{},
              "and put them into the cache");
}

void read_cluster(Reader& reader, Cluster& cluster) {
  reader.read("node_types", cluster.node_types, config::list_of(Plain<std::string>{}, 0),
              "run --backend slurm (a feature of nodes) or k8s (a label): each is an array of its "
              "own, and a table of its own");
  reader.read("cases_per_task", cluster.cases_per_task, closed_interval<std::int64_t>(1, kMaxTasks),
              "cases that one task measures, one after the other, in all libraries");
  reader.read("parallel", cluster.parallel, or_null(closed_interval<std::int64_t>(1, kMaxTasks)),
              "tasks at once, per node type; null: as many as there are nodes");
  reader.read("cpus", cluster.cpus, or_null(closed_interval<std::int64_t>(1, 4096)),
              "of a task; null: what the cluster gives");
  reader.read("gpus", cluster.gpus, or_null(closed_interval<std::int64_t>(1, 64)), "of a task");
  reader.read("memory", cluster.memory, or_null(config::bytes()), "of a task");
  reader.read("minutes", cluster.minutes, or_null(closed_interval<std::int64_t>(1, 100'000)),
              "a task that takes longer is ended; --resume continues it");
}

void read_slurm(Reader& reader, Slurm& slurm) {
  reader.read("partition", slurm.partition, kText, "of the nodes; null: the cluster's default");
  reader.read("account", slurm.account, kText, "who pays");
  reader.read("qos", slurm.qos, kText, "quality of service");
  reader.read("exclusive", slurm.exclusive, Plain<bool>{}, "nobody else on a node that measures");
  reader.read("setup", slurm.setup, config::list_of(Plain<std::string>{}, 0),
              "shell lines before the program, such as `module load cuda`");
  reader.read("options", slurm.options, config::list_of(Plain<std::string>{}, 0),
              "further options of sbatch, such as `--reservation=night`");
}

void read_k8s(Reader& reader, K8s& k8s) {
  reader.read("image", k8s.image, kText, "of the container, with the program in it");
  reader.read("namespace", k8s.name_space, Plain<std::string>{}, "of the job");
  reader.read("claim", k8s.claim, kText,
              "persistent volume claim that holds the data and gets the results");
  reader.read("mount", k8s.mount, Plain<std::string>{},
              "where it is mounted; relative paths of data and results are from there");
  reader.read("program", k8s.program, Plain<std::string>{}, "the program in the image");
  reader.read("node_label", k8s.node_label, Plain<std::string>{},
              "label of nodes that holds their type");
}

Sections sections_of(Reader& root) {
  return {root.child("selection"), root.child("data"),  root.child("execution"),
          root.child("output"),    root.child("cloud"), root.child("cluster"),
          root.child("slurm"),     root.child("k8s")};
}

}  // namespace

Result<RunConfig> read_where(const std::vector<std::string>& set) {
  config::Node document = config::Node::map();
  for (const std::string& assignment : set)
    SLUICE_CHECK(config::apply_override(document, assignment));
  document.set_place(nullptr);
  RunConfig run;
  Reader root(document);
  Sections sections = sections_of(root);
  read_cluster(sections.cluster, run.cluster);
  read_slurm(sections.slurm, run.slurm);
  read_k8s(sections.k8s, run.k8s);
  SLUICE_CHECK(root.finish());
  check_cluster(run, sections);
  SLUICE_CHECK(root.finish());
  return run;
}

Result<RunConfig> RunConfig::parse(const config::Node& node) {
  RunConfig run;
  Reader root(node);
  root.read("version", run.version, closed_interval<std::int64_t>(1, 1), "of this format");
  Sections sections = sections_of(root);
  read_selection(sections.selection, run.selection);
  read_data(sections.data, run.data);
  read_execution(sections.execution, run.execution);
  read_output(sections.output, run.output);
  read_cloud(sections.cloud, run.cloud);
  read_cluster(sections.cluster, run.cluster);
  read_slurm(sections.slurm, run.slurm);
  read_k8s(sections.k8s, run.k8s);
  SLUICE_CHECK(root.finish());  // rules between keys mean something only for keys that are sound
  check_and_resolve(run, sections);
  SLUICE_CHECK(root.finish());
  return run;
}

const MatrixScenario& RunConfig::scenario() const {
  return *find_scenario(*selection.scenario);
}

const std::vector<std::string>& RunConfig::libraries() const {
  return mode() == Mode::decode ? *selection.decoders : *selection.libraries;
}

bool PeerMap::read(const config::Node& node, std::vector<Peer>& out,
                   config::Problems& problems) const {
  if (!node.is_map() && !node.is_null()) {
    problems.add_value(node, "is not a map of name to command");
    return false;
  }
  std::vector<Peer> peers;
  bool all = true;
  for (const config::Entry& entry : node.entries()) {
    Peer peer{entry.key, {}};
    const auto allowed = [](unsigned char c) {
      return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-' || c == '_' || c == '.';
    };
    if (!std::all_of(peer.name.begin(), peer.name.end(), allowed) || peer.name.empty() ||
        peer.name.front() == '.') {
      problems.add(entry.value, entry.value.line(),
                   fmt::format("{}: a name is made of a-z, 0-9, '-', '_' and '.'",
                               printable(problems.path(node, entry.key))));
      all = false;
      continue;
    }
    if (entry.value.is_list()) {
      all =
          config::list_of(Plain<std::string>{}, 1).read(entry.value, peer.command, problems) && all;
    } else {
      std::string program;
      all = Plain<std::string>{}.read(entry.value, program, problems) && all;
      peer.command = {program};
    }
    peers.push_back(std::move(peer));
  }
  if (all) out = std::move(peers);
  return all;
}

config::Node PeerMap::show(const std::vector<Peer>& peers) const {
  config::Node map = config::Node::map();
  for (const Peer& peer : peers)
    map.set(peer.name, config::Node::of(peer.command));
  return map;
}

}  // namespace sluice::plan
