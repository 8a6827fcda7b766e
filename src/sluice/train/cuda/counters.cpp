// sluice/train/cuda/counters.cpp - the module's counting with our errors.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda/counters.h"

#include "sluice/train/cuda/library.h"

#include <array>

namespace sluice::train::cuda {
namespace {

struct Work {
  const std::function<Status()>& run;
  Status status = ok;
};

int run(void* context) {
  auto& work = *static_cast<Work*>(context);
  work.status = work.run();
  return work.status ? int{kDone} : int{kFailed};
}

}  // namespace

Result<std::vector<double>> count(int index, std::span<const char* const> names,
                                  const std::function<Status()>& work) {
  SLUICE_TRY(const Table* table, library());
  std::vector<double> values(names.size());
  std::array<char, 512> why{};
  Work counted{work};
  const int result = table->count(index, names.data(), names.size(), run, &counted, values.data(),
                                  why.data(), why.size());
  if (!counted.status) return counted.status.error();
  if (result != kDone) return Error{Errc::unsupported, why.data()};
  return values;
}

}  // namespace sluice::train::cuda
