// sluice/train/cuda/library.cpp - loads the module and asks it for devices.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda/library.h"

#include "sluice/core/module.h"

#include <fmt/format.h>

#include <array>

namespace sluice::train::cuda {
namespace {

Result<const Table*> load() {
  const Result<void*> symbol = load_module("cuda", kCudaSymbol);
  if (!symbol)
    return Error{Errc::usage, fmt::format("{} (training on a GPU needs the CUDA toolkit when "
                                          "Sluice is built)",
                                          symbol.error().message)};
  const Table* table = reinterpret_cast<TableFunction*>(symbol.value())();
  if (table == nullptr || table->abi != kCudaAbi)
    return Error{Errc::usage,
                 fmt::format("libsluice_cuda.so has interface {}, this program needs {}",
                             table == nullptr ? 0 : table->abi, kCudaAbi)};
  return table;
}

}  // namespace

Result<const Table*> library() {
  static const Result<const Table*> loaded = load();
  return loaded;
}

Result<DeviceFacts> device_facts(int index) {
  SLUICE_TRY(const Table* table, library());
  std::array<char, 256> why{};
  int count = 0;
  if (table->device_count(&count, why.data(), why.size()) != kDone)
    return Error{Errc::usage,
                 fmt::format("device cuda:{}: {}; cpu is accepted", index, why.data())};
  if (index >= count)
    return Error{
        Errc::usage,
        fmt::format("device cuda:{}: this machine has {} CUDA device{}; {} "
                    "accepted",
                    index, count, count == 1 ? "" : "s",
                    count == 0   ? "cpu is"
                    : count == 1 ? "cpu and cuda:0 are"
                                 : fmt::format("cpu and cuda:0 to cuda:{} are", count - 1))};
  DeviceFacts facts{};
  if (table->facts(index, &facts, why.data(), why.size()) != kDone)
    return Error{Errc::usage,
                 fmt::format("device cuda:{}: {}; cpu is accepted", index, why.data())};
  if (facts.major < 8)
    return Error{Errc::usage,
                 fmt::format("device cuda:{}: {} has compute capability {}.{}; 8.0 and later are "
                             "accepted",
                             index, facts.name, facts.major, facts.minor)};
  return facts;
}

}  // namespace sluice::train::cuda
