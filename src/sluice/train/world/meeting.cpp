// sluice/train/world/meeting.cpp - variables in, address, port and key out.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/world/meeting.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <charconv>
#include <cstdint>

namespace sluice::train {
namespace {

/// Ports that steps of Slurm get: below those that systems give to whoever asks for any.
constexpr std::uint64_t kFirstStepPort = 10000, kStepPorts = 20000;
constexpr std::uint64_t kPortsPerJob = 7;  // so that steps of jobs in a row do not fall together

Result<std::string> needed(const char* name, const LaunchedRank& launched,
                           const Variables& variables) {
  if (auto value = variables(name)) return *value;
  return Error{
      Errc::usage,
      fmt::format("{} is not set; {} sets it with {}", name, to_string(launched.launcher),
                  launched.launcher == Launcher::srun ? "SLURM_PROCID and SLURM_STEP_NUM_TASKS"
                                                      : "RANK and WORLD_SIZE")};
}

Result<std::uint64_t> id_of(const char* name, const LaunchedRank& launched,
                            const Variables& variables) {
  SLUICE_TRY(const std::string text, needed(name, launched, variables));
  std::uint64_t value = 0;
  const char* end = text.data() + text.size();
  const auto parsed = std::from_chars(text.data(), end, value);
  if (parsed.ec == std::errc() && parsed.ptr == end) return value;
  return Error{Errc::usage,
               fmt::format("{} is {}; a whole number is accepted", name, printable(text))};
}

Result<std::string> address_in_step(const LaunchedRank& launched, const Variables& variables) {
  if (variables("SLURM_STEP_NUM_NODES") == "1") return std::string("127.0.0.1");
  const auto node = variables("SLURM_NODEID");
  if (launched.rank == 0 && node && *node != "0")
    return Error{Errc::usage,
                 fmt::format("SLURM_PROCID is 0 and SLURM_NODEID {}: rank 0 is not on the first "
                             "node of the step; MASTER_ADDR names the one it is on",
                             printable(*node))};
  SLUICE_TRY(const std::string list, needed("SLURM_STEP_NODELIST", launched, variables));
  return first_host(list);
}

Result<int> port_of(const LaunchedRank& launched, const Variables& variables) {
  const auto own = variables(kWorldPort);
  if (!own && launched.launcher == Launcher::srun && !variables("MASTER_PORT")) {
    SLUICE_TRY(const std::uint64_t job, id_of("SLURM_JOB_ID", launched, variables));
    SLUICE_TRY(const std::uint64_t step, id_of("SLURM_STEP_ID", launched, variables));
    return static_cast<int>(kFirstStepPort + (job * kPortsPerJob + step) % kStepPorts);
  }
  const char* name = own ? kWorldPort : "MASTER_PORT";
  SLUICE_TRY(const std::string text, needed(name, launched, variables));
  SLUICE_TRY(const int port, number_of(name, text, 1, own ? 65535 : 65534));
  return own ? port : port + 1;
}

}  // namespace

Result<std::string> first_host(std::string_view list) {
  std::string host;
  int depth = 0;  // of brackets, within which the first number counts
  bool skips = false;
  for (const char c : list) {
    if (depth == 0 && c == ',') break;
    if (c == '[' || c == ']') {
      depth += c == '[' ? 1 : -1;
      skips = false;
      if (depth < 0 || depth > 1) break;
    } else if (depth == 1 && (c == '-' || c == ',')) {
      skips = true;
    } else if (!skips) {
      host += c;
    }
  }
  if (!host.empty() && depth == 0) return host;
  return Error{Errc::usage, fmt::format("SLURM_STEP_NODELIST is {}; a list such as "
                                        "node[1-4] is accepted, or MASTER_ADDR",
                                        printable(list))};
}

Result<Meeting> meeting_of(const LaunchedRank& launched, const Variables& variables) {
  const bool srun = launched.launcher == Launcher::srun;
  Meeting meeting;
  if (srun && !variables("MASTER_ADDR")) {
    SLUICE_TRY(meeting.address, address_in_step(launched, variables));
  } else {
    SLUICE_TRY(meeting.address, needed("MASTER_ADDR", launched, variables));
  }
  SLUICE_TRY(meeting.port, port_of(launched, variables));
  const std::string step = srun ? fmt::format("{}.{}", variables("SLURM_JOB_ID").value_or(""),
                                              variables("SLURM_STEP_ID").value_or(""))
                                : variables("TORCHELASTIC_RUN_ID").value_or("");
  meeting.key = variables(kWorldKey).value_or(step);
  return meeting;
}

}  // namespace sluice::train
