// bench/mixture_speed.cpp - samples per second of a mixture of episodes and its CPU time by stage:
// the quick look while it is being written. What is published comes from `sluice bench mixture`.
// SPDX-License-Identifier: Apache-2.0
//
// usage: mixture_speed ROOT [PRESET [SAMPLES_PER_EPISODE [BATCHES [full|dataset_only|off
// [first|always]]]]] The last: when the checksum of a record is compared.
#include "sluice/loader/mixture/mixture.h"
#include "sluice/storage/open_store.h"

#include <fmt/format.h>

#include "bench/support.h"
#include <algorithm>
#include <chrono>
#include <cstdlib>
#include <string>
#include <string_view>
#include <vector>

namespace {

using namespace sluice;
using namespace sluice::loader;
using namespace sluice::loader::mixture;
using bench::cpu_seconds;
using bench::must;
using Clock = std::chrono::steady_clock;

}  // namespace

int main(int argc, char** argv) {
  if (argc < 2) {
    fmt::print(
        "usage: mixture_speed ROOT [PRESET [SAMPLES_PER_EPISODE [BATCHES [METADATA [CHECKS]]]]]\n");
    return 2;
  }
  const auto word = [&](int at, const char* other) { return at < argc ? argv[at] : other; };
  const auto preset = must(episodes::find_preset(word(2, "oxe29")));
  storage::StoreOptions where;
  where.input = argv[1];
  const auto store = must(storage::open_store(where));
  MixtureOptions options;
  options.samples_per_episode = std::atoi(word(3, "1"));
  const int batches = std::max(1, std::atoi(word(4, "40")));
  const std::string_view metadata = word(5, "full");
  options.metadata = metadata == "off"    ? Metadata::off
                     : metadata == "full" ? Metadata::full
                                          : Metadata::dataset_only;
  options.check_always = std::string_view(word(6, "first")) == "always";
  const auto mixture = must(Mixture::open(must(preset_sources(store, *preset)), options));
  for (int i = 0; i < 8; ++i)
    (void)must(mixture->next());
  const MixtureStats before = mixture->stats();
  const double cpu = cpu_seconds();
  std::vector<double> times;
  for (int i = 0; i < batches; ++i) {
    const auto asked = Clock::now();
    (void)must(mixture->next());
    times.push_back(std::chrono::duration<double>(Clock::now() - asked).count());
  }
  const double spent = cpu_seconds() - cpu;
  const MixtureStats after = mixture->stats();
  double wall = 0;
  for (const double time : times)
    wall += time;
  std::sort(times.begin(), times.end());
  const double samples = static_cast<double>(batches) * options.batch_size;
  fmt::print("{:.1f} samples/s  cpu {:.3f} ms/sample  p50 {:.1f} ms  p99 {:.1f} ms\n",
             samples / wall, spent / samples * 1e3, times[times.size() / 2] * 1e3,
             times[times.size() * 99 / 100] * 1e3);
  double named = 0;
  for (std::size_t i = 0; i < kStages; ++i) {
    const double stage = after.cpu_s[i] - before.cpu_s[i];
    named += stage;
    fmt::print("  {:8} {:.3f} ms/sample  {:5.1f} %\n", to_string(static_cast<MixtureStage>(i)),
               stage / samples * 1e3, stage / spent * 100);
  }
  fmt::print("  named    {:.2f} % of the process\n", named / spent * 100);
  return 0;
}
