// bench/bundle_speed.cpp - arrays one by one against the same arrays in bundles, through the
// loader: epochs of both in turn, cold when they lie on a disk.
// SPDX-License-Identifier: Apache-2.0
//
// usage: bundle_speed ARRAYS BUNDLES [WORKERS [ROUNDS [SHUFFLE [READ_MODE [FILE]]]]]
// ARRAYS and BUNDLES are folders, or s3:// and gs:// (AWS_ENDPOINT_URL and so on say where). A
// folder BUNDLES that is not there is made of ARRAYS, in bundles of 64 MiB. Beside both, of
// folders: the bytes of the bundles read in order, which is what the disk gives to any loader.
// FILE: JSON.
#include "sluice/core/cores.h"
#include "sluice/core/file.h"
#include "sluice/core/version.h"
#include "sluice/loader/data/open_dataset.h"
#include "sluice/loader/loader.h"
#include "sluice/loader/recipe/recipes.h"
#include "sluice/scenario/storage/input.h"
#include "sluice/stats/summary.h"
#include "sluice/storage/format/bundle_writer.h"
#include "sluice/storage/local/page_cache.h"
#include "sluice/storage/open_store.h"

#include <fmt/format.h>

#include "bench/support.h"
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <thread>
#include <vector>

namespace {

using namespace sluice;
using namespace sluice::loader;
using bench::must;
using Clock = std::chrono::steady_clock;

struct Settings {
  int workers = 2;
  Shuffle shuffle = Shuffle::full;
  storage::ReadMode read_mode = storage::ReadMode::buffered;
};

struct Epoch {
  double rate = 0;  // samples per second, from the first request to the last batch
  double open_s = 0;
  std::uint64_t samples = 0;
  std::string cache{};
};

bool is_remote(const std::string& input) {
  return input.find("://") != input.npos;
}

std::shared_ptr<storage::ObjectStore> opened(const std::string& input, const Settings& settings) {
  storage::StoreOptions options;
  options.input = input;
  options.read_mode = settings.read_mode;
  return must(storage::open_store(options));
}

/// "cold" or what it is instead; "remote" when there is no file to look at.
std::string make_cold(const std::string& input) {
  if (is_remote(input)) return "remote";
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(input))
    if (entry.is_regular_file()) files.push_back(entry.path());
  (void)must(storage::drop_page_cache(files));
  return std::string(to_string(storage::page_residency(files).state));
}

Epoch run(const std::string& input, const Settings& settings, std::uint64_t seed) {
  Epoch epoch;
  epoch.cache = make_cold(input);
  const auto begin = Clock::now();
  auto dataset = must(open_dataset(opened(input, settings), {}));
  storage::ReadBuffer buffer;
  auto recipe = must(make_array(must(array_output(must(dataset->read(0, buffer))))));
  epoch.open_s = std::chrono::duration<double>(Clock::now() - begin).count();
  LoaderOptions how;
  how.workers = settings.workers;
  how.prefetch = 4;
  how.shuffle = settings.shuffle;
  how.seed = seed;
  how.drop_last = false;
  how.next_epoch_ahead = false;
  auto loader = must(Loader::make(dataset, recipe, how));
  const auto start = Clock::now();
  (void)must(loader->start_epoch(0));
  while (auto batch = must(loader->next()))
    epoch.samples += batch->size();
  epoch.rate = static_cast<double>(epoch.samples) /
               std::chrono::duration<double>(Clock::now() - start).count();
  return epoch;
}

/// Seconds for all bytes of a folder, cold, each thread every n-th 4 MiB in the order in which they
/// lie; nothing is done with them.
double in_order_s(const std::string& input, const Settings& settings) {
  (void)make_cold(input);
  const auto store = opened(input, settings);
  struct Block {
    storage::Object object;
    std::uint64_t begin;
    std::size_t size;
  };
  constexpr std::uint64_t kBlock = std::uint64_t{4} << 20;
  std::vector<Block> blocks;
  for (const storage::Object& object : must(scenario::list_storage(*store)))
    for (std::uint64_t at = 0; at < object.size; at += kBlock)
      blocks.push_back({object, at, std::min(kBlock, object.size - at)});
  const auto start = Clock::now();
  std::vector<std::thread> threads;
  const auto step = static_cast<std::size_t>(settings.workers);
  for (std::size_t first = 0; first < step; ++first)
    threads.emplace_back([&, first] {
      storage::ReadBuffer buffer;
      for (std::size_t i = first; i < blocks.size(); i += step)
        (void)must(store->read(blocks[i].object, blocks[i].begin, blocks[i].size, buffer));
    });
  for (std::thread& thread : threads)
    thread.join();
  return std::chrono::duration<double>(Clock::now() - start).count();
}

void make_bundles(const std::string& arrays, const std::string& bundles) {
  if (is_remote(bundles) || std::filesystem::exists(bundles)) return;
  storage::StoreOptions options;
  options.input = arrays;
  storage::BundleOptions how;
  how.out = bundles;
  how.bundle_bytes = std::uint64_t{64} << 20;
  how.wanted = [](const storage::Object& object) { return is_array_key(object.key); };
  (void)must(storage::write_bundles(*must(storage::open_store(options)), how));
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args.size() < 2) {
    fmt::print(
        "usage: bundle_speed ARRAYS BUNDLES [WORKERS [ROUNDS [SHUFFLE [READ_MODE [FILE]]]]]\n");
    return 2;
  }
  Settings settings;
  if (args.size() > 2) settings.workers = std::atoi(args[2].c_str());
  const int rounds = args.size() > 3 ? std::max(std::atoi(args[3].c_str()), 1) : 5;
  if (args.size() > 4) settings.shuffle = must(parse_shuffle(args[4]));
  if (args.size() > 5) settings.read_mode = must(storage::parse_read_mode(args[5]));
  make_bundles(args[0], args[1]);
  const bool local = !is_remote(args[1]);
  std::vector<double> ratios, plain_rates, bundled_rates, in_order_rates;
  for (int i = 0; i < rounds; ++i) {
    const Epoch plain = run(args[0], settings, static_cast<std::uint64_t>(i));
    const Epoch bundled = run(args[1], settings, static_cast<std::uint64_t>(i));
    ratios.push_back(bundled.rate / plain.rate);
    plain_rates.push_back(plain.rate);
    bundled_rates.push_back(bundled.rate);
    fmt::print(
        "{} samples: one by one {:.0f}/s (opened in {:.3f} s, {}), bundled {:.0f}/s (opened "
        "in {:.3f} s, {}), ratio {:.2f}",
        plain.samples, plain.rate, plain.open_s, plain.cache, bundled.rate, bundled.open_s,
        bundled.cache, ratios.back());
    if (local) {
      in_order_rates.push_back(static_cast<double>(plain.samples) / in_order_s(args[1], settings));
      fmt::print("; bundles read in order {:.0f}/s", in_order_rates.back());
    }
    fmt::print("\n");
  }
  Json rates{{"one_by_one", plain_rates}, {"bundled", bundled_rates}};
  Json medians{{"one_by_one", must(stats::median(plain_rates))},
               {"bundled", must(stats::median(bundled_rates))},
               {"ratio", must(stats::median(ratios))}};
  if (local) {
    rates["in_order"] = in_order_rates;
    medians["in_order"] = must(stats::median(in_order_rates));
  }
  const Json found{
      {"what", "arrays one by one beside the same in bundles and beside their bytes in order"},
      {"commit", version::git()},
      {"cores", affinity_cores().value_or(0)},
      {"workers", settings.workers},
      {"shuffle", to_string(settings.shuffle)},
      {"read_mode", storage::to_string(settings.read_mode)},
      {"samples_per_s", rates},
      {"ratio", ratios},
      {"median", medians}};
  fmt::print("median of {}: {}\n", rounds, medians.dump());
  if (args.size() > 6) {
    const Status written = write_file_atomic(args[6], dump_json(found) + "\n");
    if (!written) must(Result<int>(written.error()));
  }
  return 0;
}
