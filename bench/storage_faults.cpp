// bench/storage_faults.cpp - 100,000 ranged reads of S3 and of GCS with and without faults, and
// with few attempts: what is right, what failed and what it cost. Writes
// docs/results/storage-faults.json.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/cores.h"
#include "sluice/core/file.h"
#include "sluice/core/version.h"

#include "tests/storage/fault_run.h"
#include <algorithm>
#include <array>
#include <cstdio>
#include <cstdlib>
#include <tuple>

namespace {

using namespace sluice;
using namespace sluice::storage::testing;

Json described(const FaultRunOptions& options, const FaultRun& run) {
  Json out = {{"reads", run.reads},
              {"read_bytes", options.read_bytes},
              {"objects", options.objects},
              {"threads", options.threads},
              {"fault_rate", options.fault_rate},
              {"seed", options.seed},
              {"attempts", options.attempts > 0 ? options.attempts : 8},
              {"wall_s", run.wall_s},
              {"cpu_s", run.cpu_s},
              {"reads_per_s", static_cast<double>(run.reads) / run.wall_s},
              {"failed", run.failed},
              {"objects_right", run.objects_right},
              {"objects_wrong", run.objects_wrong},
              {"server", run.server},
              {"client", run.client}};
  if (!run.errors.empty())
    out["errors_first"] = std::vector<std::string>(
        run.errors.begin(),
        run.errors.begin() + std::min<std::ptrdiff_t>(5, std::ssize(run.errors)));
  return out;
}

/// What one protocol came to; "checks" is what must hold.
Result<Json> measure(Protocol protocol, std::uint64_t reads, std::uint64_t seed) {
  FaultRunOptions noisy{.protocol = protocol, .seed = seed};
  noisy.objects = std::max<std::uint64_t>(1, reads / noisy.reads_per_object);
  FaultRunOptions quiet = noisy;
  quiet.fault_rate = 0;
  FaultRunOptions few = noisy;
  few.objects = std::max<std::uint64_t>(1, noisy.objects / 10);
  few.fault_rate = 0.3;
  few.attempts = 3;
  SLUICE_TRY(const FaultRun without, run_faults(quiet));
  SLUICE_TRY(const FaultRun with, run_faults(noisy));
  SLUICE_TRY(const FaultRun given_up, run_faults(few));
  const auto well_named = std::count_if(
      given_up.errors.begin(), given_up.errors.end(),
      [](const std::string& error) { return names_object_cause_and_attempts(error, 3); });
  return Json{{"without_faults", described(quiet, without)},
              {"with_faults", described(noisy, with)},
              {"three_attempts", described(few, given_up)},
              {"wall_ratio", with.wall_s / without.wall_s},
              {"checks",
               {{"every_byte_right",
                 with.objects_right == noisy.objects && without.objects_right == noisy.objects},
                {"none_failed", with.failed == 0},
                {"every_kind_came", *std::min_element(with.faults.begin(), with.faults.end()) > 0},
                {"three_attempts_none_wrong", given_up.objects_wrong == 0},
                {"three_attempts_errors_name_object_cause_attempts",
                 std::uint64_t(well_named) == given_up.failed}}}};
}

Result<Json> measure_all(std::uint64_t reads, std::uint64_t seed) {
  SLUICE_TRY(Json s3, measure(Protocol::s3, reads, seed));
  SLUICE_TRY(Json gcs, measure(Protocol::google, reads, seed));
  std::array<double, 3> load{};
  std::ignore = ::getloadavg(load.data(), 1);
  return Json{
      {"what", "ranged GETs against tests/storage/fault_server in the same process, on loopback"},
      {"commit", version::git()},
      {"build", {{"compiler", version::compiler()}, {"type", version::build_type()}}},
      {"cores", affinity_cores().value_or(0)},
      {"load_at_the_end", load[0]},
      {"s3", std::move(s3)},
      {"gcs", std::move(gcs)}};
}

}  // namespace

int main(int argc, char** argv) {
  const std::uint64_t reads = argc > 2 ? parse_number(argv[2]).value_or(0) : 100'000;
  const std::uint64_t seed = argc > 3 ? parse_number(argv[3]).value_or(0) : 0;
  if (argc < 2 || argc > 4 || reads == 0) {
    std::fputs("usage: storage_faults FILE [READS=100000 [SEED=0]]\n", stderr);
    return 2;
  }
  const auto result = measure_all(reads, seed);
  const Status written =
      result ? write_file_atomic(argv[1], dump_json(*result) + "\n") : Status(result.error());
  if (!written) {
    std::fprintf(stderr, "storage_faults: %s\n", written.error().message.c_str());
    return 1;
  }
  bool good = true;
  for (const char* protocol : {"s3", "gcs"}) {
    for (const auto& [name, value] : (*result)[protocol]["checks"].items()) {
      std::printf("%s %s: %s\n", protocol, name.c_str(), value.get<bool>() ? "yes" : "NO");
      good = good && value.get<bool>();
    }
  }
  return good ? 0 : 5;
}
