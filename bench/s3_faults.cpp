// bench/s3_faults.cpp - 100,000 ranged reads of S3 with and without faults, and with few attempts:
// what is right, what failed and what it cost. Writes docs/results/s3-faults.json.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/cores.h"
#include "sluice/core/file.h"
#include "sluice/core/version.h"

#include "tests/storage/fault_run.h"
#include <algorithm>
#include <cstdio>

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

Result<Json> measure() {
  FaultRunOptions quiet;
  quiet.fault_rate = 0;
  SLUICE_TRY(const FaultRun without, run_faults(quiet));
  FaultRunOptions noisy;
  SLUICE_TRY(const FaultRun with, run_faults(noisy));
  FaultRunOptions few;
  few.objects = 200;
  few.fault_rate = 0.3;
  few.attempts = 3;
  SLUICE_TRY(const FaultRun given_up, run_faults(few));
  const auto well_named = std::count_if(
      given_up.errors.begin(), given_up.errors.end(),
      [](const std::string& error) { return names_object_cause_and_attempts(error, 3); });
  const std::uint64_t rarest = *std::min_element(with.faults.begin(), with.faults.end());
  return Json{
      {"what", "ranged GETs against tests/storage/fault_server in the same process, on loopback"},
      {"commit", version::git()},
      {"build", {{"compiler", version::compiler()}, {"type", version::build_type()}}},
      {"cores", affinity_cores().value_or(0)},
      {"without_faults", described(quiet, without)},
      {"with_faults", described(noisy, with)},
      {"three_attempts", described(few, given_up)},
      {"checks",
       {{"every_byte_right", with.objects_right == noisy.objects},
        {"none_failed", with.failed == 0},
        {"rarest_fault_delivered", rarest},
        {"every_kind_200_times", rarest >= 200},
        {"wall_ratio", with.wall_s / without.wall_s},
        {"wall_ratio_at_most_3", with.wall_s <= 3 * without.wall_s},
        {"three_attempts_failures", given_up.failed},
        {"three_attempts_errors_name_object_cause_attempts",
         given_up.failed > 0 && std::uint64_t(well_named) == given_up.failed &&
             given_up.objects_wrong == 0}}}};
}

}  // namespace

int main(int argc, char** argv) {
  if (argc > 2) {
    std::fputs("usage: s3_faults [FILE]\n", stderr);
    return 2;
  }
  const auto result = measure();
  if (!result) {
    std::fprintf(stderr, "s3_faults: %s\n", result.error().message.c_str());
    return 1;
  }
  const std::string text = dump_json(*result) + "\n";
  std::fputs(dump_json((*result)["checks"]).c_str(), stdout);
  std::fputs("\n", stdout);
  if (argc == 2) {
    if (const Status written = write_file_atomic(argv[1], text); !written) {
      std::fprintf(stderr, "s3_faults: %s\n", written.error().message.c_str());
      return 1;
    }
  }
  for (const auto& [name, value] : (*result)["checks"].items())
    if (value.is_boolean() && !value.get<bool>()) return 5;
  return 0;
}
