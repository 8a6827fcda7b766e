// bench/bundle_speed.cpp - arrays one by one against the same arrays in bundles, through the
// loader: epochs of both in turn, cold when they lie on a disk.
// SPDX-License-Identifier: Apache-2.0
//
// usage: bundle_speed ARRAYS BUNDLES [WORKERS [ROUNDS [SHUFFLE [READ_MODE]]]]
// ARRAYS and BUNDLES are folders, or s3:// and gs:// (AWS_ENDPOINT_URL and so on say where). A
// folder BUNDLES that is not there is made of ARRAYS, in bundles of 64 MiB.
#include "sluice/loader/data/open_dataset.h"
#include "sluice/loader/loader.h"
#include "sluice/loader/recipe/recipes.h"
#include "sluice/storage/format/bundle_writer.h"
#include "sluice/storage/local/page_cache.h"
#include "sluice/storage/open_store.h"

#include <fmt/format.h>

#include "bench/support.h"
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
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

/// "cold" or what it is instead; "remote" when there is no file to look at.
std::string make_cold(const std::string& input) {
  if (input.find("://") != input.npos) return "remote";
  std::vector<std::filesystem::path> files;
  for (const auto& entry : std::filesystem::recursive_directory_iterator(input))
    if (entry.is_regular_file()) files.push_back(entry.path());
  (void)must(storage::drop_page_cache(files));
  return std::string(to_string(storage::page_residency(files).state));
}

Epoch run(const std::string& input, const Settings& settings, std::uint64_t seed) {
  Epoch epoch;
  epoch.cache = make_cold(input);
  storage::StoreOptions options;
  options.input = input;
  options.read_mode = settings.read_mode;
  const auto begin = Clock::now();
  auto dataset = must(open_dataset(must(storage::open_store(options)), {}));
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

void make_bundles(const std::string& arrays, const std::string& bundles) {
  if (bundles.find("://") != bundles.npos || std::filesystem::exists(bundles)) return;
  storage::StoreOptions options;
  options.input = arrays;
  storage::BundleOptions how;
  how.out = bundles;
  how.bundle_bytes = std::uint64_t{64} << 20;
  how.wanted = [](const storage::Object& object) { return is_array_key(object.key); };
  (void)must(storage::write_bundles(*must(storage::open_store(options)), how));
}

double median(std::vector<double> values) {
  std::sort(values.begin(), values.end());
  return values[values.size() / 2];
}

}  // namespace

int main(int argc, char** argv) {
  const std::vector<std::string> args(argv + 1, argv + argc);
  if (args.size() < 2) {
    fmt::print("usage: bundle_speed ARRAYS BUNDLES [WORKERS [ROUNDS [SHUFFLE [READ_MODE]]]]\n");
    return 2;
  }
  Settings settings;
  if (args.size() > 2) settings.workers = std::atoi(args[2].c_str());
  const int rounds = args.size() > 3 ? std::max(std::atoi(args[3].c_str()), 1) : 5;
  if (args.size() > 4) settings.shuffle = must(parse_shuffle(args[4]));
  if (args.size() > 5) settings.read_mode = must(storage::parse_read_mode(args[5]));
  make_bundles(args[0], args[1]);
  std::vector<double> ratios, plain_rates, bundled_rates;
  for (int i = 0; i < rounds; ++i) {
    const Epoch plain = run(args[0], settings, static_cast<std::uint64_t>(i));
    const Epoch bundled = run(args[1], settings, static_cast<std::uint64_t>(i));
    ratios.push_back(bundled.rate / plain.rate);
    plain_rates.push_back(plain.rate);
    bundled_rates.push_back(bundled.rate);
    fmt::print(
        "{} samples: one by one {:.0f}/s (opened in {:.3f} s, {}), bundled {:.0f}/s (opened "
        "in {:.3f} s, {}), ratio {:.2f}\n",
        plain.samples, plain.rate, plain.open_s, plain.cache, bundled.rate, bundled.open_s,
        bundled.cache, ratios.back());
  }
  fmt::print("median of {}: one by one {:.0f}/s, bundled {:.0f}/s, ratio {:.2f}\n", rounds,
             median(plain_rates), median(bundled_rates), median(ratios));
  return 0;
}
