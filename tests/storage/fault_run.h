// tests/storage/fault_run.h - many ranged reads of generated objects, every byte checked: the part
// that the test of seconds and the run of minutes share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"

#include "tests/storage/fault_server.h"
#include <cstdint>
#include <string>
#include <vector>

namespace sluice::storage::testing {

struct FaultRunOptions {
  Protocol protocol = Protocol::s3;
  std::uint64_t objects = 2000;
  std::uint64_t reads_per_object = 50;
  std::size_t read_bytes = 16'384;
  int threads = 32;
  double fault_rate = 0.05;  // over all kinds
  std::uint64_t seed = 0;
  int attempts = 0;   // 0: the default of the client
  bool waits = true;  // false, for tests: retries at once, and slow answers are only a little so
};

struct FaultRun {
  double wall_s = 0;
  double cpu_s = 0;  // of client and server together, and of checking
  std::uint64_t reads = 0;
  std::uint64_t failed = 0;           // reads that ended in an error
  std::uint64_t objects_right = 0;    // whole, and of the right SHA-256
  std::uint64_t objects_wrong = 0;    // whole, and of another
  std::vector<std::string> errors{};  // of the failed reads
  Json server{};                      // counters
  Json client{};
  std::vector<std::uint64_t> faults{};  // delivered, by kind that can be
};

/// Every object is read from front to end in ranges, by one of the threads; the requests are signed
/// or carry a token, and the options of the client are its defaults.
Result<FaultRun> run_faults(const FaultRunOptions& options);

/// Does a message name an object of ours, a cause and a number of attempts?
bool names_object_cause_and_attempts(const std::string& message, int attempts);

}  // namespace sluice::storage::testing
