// bench/loader_speed.cpp - images per second of the loader and where its time goes: the quick look
// while it is being written. What is published comes from `sluice bench dataloader`.
// SPDX-License-Identifier: Apache-2.0
//
// usage: loader_speed FOLDER [WORKERS [BATCH [SECONDS [plain|antialias [PREFETCH [TRACE]]]]]]
#include "sluice/loader/data/open_dataset.h"
#include "sluice/loader/loader.h"
#include "sluice/loader/recipe/train_crop.h"
#include "sluice/storage/local/store.h"

#include <fmt/format.h>

#include "bench/support.h"
#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <sys/resource.h>

namespace {

using namespace sluice;
using namespace sluice::loader;
using bench::cpu_seconds;
using bench::must;
using Steady = std::chrono::steady_clock;

double seconds_since(Steady::time_point begin) {
  return std::chrono::duration<double>(Steady::now() - begin).count();
}

long faults() {
  rusage usage{};
  getrusage(RUSAGE_SELF, &usage);
  return usage.ru_minflt;
}

/// Batches for some time; starts the next epoch when one ends.
std::uint64_t drain(Loader& loader, std::uint64_t& epoch, double seconds) {
  std::uint64_t images = 0;
  const auto begin = Steady::now();
  while (seconds_since(begin) < seconds) {
    auto batch = must(loader.next());
    if (batch)
      images += batch->size();
    else
      (void)must(loader.start_epoch(++epoch));
  }
  return images;
}

void show_stages(const LoaderStats& stats) {
  const StageTotals totals = stats.stages();
  std::int64_t wait = 0, other = 0;
  for (const WorkerTotals& worker : stats.workers) {
    wait += worker.wait_ns;
    other += worker.other_ns;
  }
  const double all = static_cast<double>(totals.all_ns() + wait + other);
  for (const Stage stage : {Stage::read, Stage::decode, Stage::augment, Stage::collate})
    fmt::print("  {:8} {:5.1f} %\n", to_string(stage),
               100 * static_cast<double>(totals.busy(stage)) / all);
  fmt::print("  {:8} {:5.1f} %\n  {:8} {:5.1f} %\n", "wait", 100 * static_cast<double>(wait) / all,
             "other", 100 * static_cast<double>(other) / all);
}

}  // namespace

int main(int argc, char** argv) {
  const auto argument = [&](int i, const char* otherwise) {
    return argc > i ? argv[i] : otherwise;
  };
  if (argc < 2) {
    fmt::print(
        "usage: loader_speed FOLDER [WORKERS [BATCH [SECONDS [plain|antialias [PREFETCH "
        "[TRACE]]]]]]\n");
    return 2;
  }
  storage::LocalOptions local;
  local.path = argv[1];
  std::shared_ptr<storage::ObjectStore> store = must(storage::open_local(local));
  const auto dataset = must(open_dataset(store, {}));
  TrainCropOptions crop;
  crop.filter =
      std::string_view(argument(5, "plain")) == "plain" ? Filter::plain : Filter::antialias;
  LoaderOptions options;
  options.workers = std::atoi(argument(2, "2"));
  options.batch_size = static_cast<std::uint32_t>(std::atoi(argument(3, "64")));
  options.prefetch = std::atoi(argument(6, "2"));
  const double seconds = std::atof(argument(4, "3"));
  const std::string trace = argument(7, "");
  if (!trace.empty()) options.trace_spans = 1U << 16U;

  const auto begin = Steady::now();
  const auto loader = must(Loader::make(dataset, must(make_train_crop(crop)), options));
  std::uint64_t epoch = 0;
  (void)must(loader->start_epoch(epoch));
  (void)must(loader->next());
  fmt::print("first batch after {:.3f} s\n", seconds_since(begin));
  (void)drain(*loader, epoch, 0.5);  // every slot touched, every buffer grown

  const long faults_before = faults();
  const double cpu_before = cpu_seconds();
  const auto timed = Steady::now();
  const std::uint64_t images = drain(*loader, epoch, seconds);
  const double wall = seconds_since(timed);
  const double cpu = cpu_seconds() - cpu_before;
  const auto count = static_cast<double>(images);
  fmt::print("{:.0f} img/s, {:.3f} ms CPU an image, {:.2f} cores, {:.1f} faults an image\n",
             count / wall, 1e3 * cpu / count, cpu / wall,
             static_cast<double>(faults() - faults_before) / count);
  const auto stopping = Steady::now();
  loader->stop();
  fmt::print("stopped in {:.3f} s\n", seconds_since(stopping));
  show_stages(loader->stats());
  if (!trace.empty()) (void)must(loader->write_trace(trace));
}
