// sluice/train/cuda/library.cpp - loads the module and asks it for devices.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda/library.h"

#include "sluice/core/module.h"

#include <fmt/format.h>

#include <array>
#include <charconv>
#include <cstdlib>

namespace sluice::train::cuda {
namespace {

Result<const Table*> load() {
  const Result<void*> symbol = load_module("cuda", kCudaSymbol);
  if (!symbol)
    return Error{
        Errc::usage,
        fmt::format("this build has no CUDA engine ({}; it is built where the CUDA toolkit "
                    "is found)",
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

Result<int> device_index(std::string_view device) {
  constexpr std::string_view kPrefix = "cuda:";
  int index = 0;
  const char* end = device.data() + device.size();
  if (device.substr(0, kPrefix.size()) == kPrefix) {
    const auto [stop, error] = std::from_chars(device.data() + kPrefix.size(), end, index);
    if (error == std::errc{} && stop == end && index >= 0) return index;
  }
  return Error{Errc::usage,
               fmt::format("device '{}' is not known; cpu and cuda:N are accepted", device)};
}

Result<DeviceFacts> device_facts(int index) {
  const auto loaded = library();
  if (!loaded)
    return Error{Errc::usage,
                 fmt::format("device cuda:{}: {}; cpu is accepted", index, loaded.error().message)};
  const Table* table = *loaded;
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

Result<int> device_count() {
  SLUICE_CHECK(device_facts(0));
  SLUICE_TRY(const Table* table, library());
  std::array<char, 256> why{};
  int count = 0;
  if (table->device_count(&count, why.data(), why.size()) != kDone)
    return Error{Errc::usage, why.data()};
  return count;
}

Result<std::string> device_of_rank(const std::string& device, int local_rank) {
  if (device == "cpu" || local_rank == 0) return device;
  SLUICE_TRY(const int first, device_index(device));
  SLUICE_TRY(const int count, device_count());
  const int index = first + local_rank;
  if (index < count) return fmt::format("cuda:{}", index);
  const char* shared = std::getenv("NCCL_MULTI_RANK_GPU_ENABLE");
  if (shared != nullptr && std::string_view(shared) == "1")
    return fmt::format("cuda:{}", index % count);
  return Error{
      Errc::unsupported,
      fmt::format("its device would be cuda:{}, and this machine has {} CUDA device{}; NCCL "
                  "2.30 and later lets ranks share one with NCCL_MULTI_RANK_GPU_ENABLE=1",
                  index, count, count == 1 ? "" : "s")};
}

Result<std::span<std::byte>> pin(int index, std::size_t bytes) {
  SLUICE_CHECK(device_facts(index));  // its words for a device that is not there
  SLUICE_TRY(const Table* table, library());
  char why[256] = "";
  void* memory = nullptr;
  const int code = table->pin(index, bytes, &memory, why, sizeof why);
  if (code != kDone)
    return Error{code == kOutOfMemory ? Errc::usage : Errc::measurement,
                 fmt::format("{} bytes of pinned memory for cuda:{}: {}", bytes, index, why)};
  return std::span(static_cast<std::byte*>(memory), bytes);
}

void unpin(std::span<std::byte> memory) {
  if (const auto table = library()) (*table)->unpin(memory.data());
}

}  // namespace sluice::train::cuda
