// sluice/scenario/mixture/log.h - the batches of a run, kept small: its memory is taken before the
// first, so that it is no part of what grows.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/results/batch_times.h"

#include <cstddef>
#include <cstdint>
#include <span>
#include <string>
#include <vector>

namespace sluice::scenario {

class MixtureLog {
 public:
  /// Room for `batches` of at most `blocks` data sets each, touched now. More are kept all the
  /// same.
  MixtureLog(std::uint64_t warmup, std::uint64_t batches, std::size_t blocks, std::size_t sources);

  /// `sources`: of every sample, in order; empty: not known.
  void add(std::int64_t fetch_ns, std::int64_t materialize_ns, std::uint64_t rss_bytes,
           std::span<const std::uint32_t> sources);

  [[nodiscard]] std::size_t size() const { return entries_.size(); }
  [[nodiscard]] std::uint64_t peak_rss_bytes() const;
  /// Seconds of the measured ones, in order.
  [[nodiscard]] std::vector<double> measured_s() const;
  /// One of them, without its dominant.
  [[nodiscard]] results::BatchTime batch_time(std::size_t at,
                                              std::span<const std::string> names) const;
  /// All of them, with dominants. `names`: of the sources.
  [[nodiscard]] std::vector<results::BatchTime> batch_times(
      std::span<const std::string> names) const;

 private:
  struct Entry {
    std::int64_t fetch_ns = 0;
    std::int64_t materialize_ns = 0;
    std::uint64_t rss_bytes = 0;
    std::size_t counts_end = 0;  // in counts_; they begin where those of the batch before end
  };
  struct Count {
    std::uint32_t source = 0;
    std::uint32_t samples = 0;
  };
  std::uint64_t warmup_;
  std::vector<Entry> entries_;
  std::vector<Count> counts_;
  std::vector<std::size_t> place_;  // by source: 1 + its place in counts_, while a batch is counted
};

/// Resident memory of this process in bytes; 0 where the system does not tell. Allocates nothing
/// after it was made.
class ResidentMeter {
 public:
  ResidentMeter();
  ~ResidentMeter();
  ResidentMeter(const ResidentMeter&) = delete;
  ResidentMeter& operator=(const ResidentMeter&) = delete;
  [[nodiscard]] std::uint64_t bytes() const;

 private:
  int fd_;
};

}  // namespace sluice::scenario
