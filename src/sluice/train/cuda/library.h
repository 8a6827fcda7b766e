// sluice/train/cuda/library.h - finds libsluice_cuda.so, its devices, and says plainly why not.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"
#include "sluice/train/cuda/table.h"

#include <cstddef>
#include <span>
#include <string>
#include <string_view>

namespace sluice::train::cuda {

/// Loaded once. Errc::usage: this build has no module, or its libraries are not there.
Result<const Table*> library();

/// N of "cuda:N"; Errc::usage for another word.
Result<int> device_index(std::string_view device);

/// Errc::usage, one line, for "cuda:N": no module, no driver, no such device, an architecture below
/// 8.0.
Result<DeviceFacts> device_facts(int index);

/// 1 or more. Errc::usage as device_facts().
Result<int> device_count();

/// The device of a rank that was given the device of its machine's first rank; "cpu" is everyone's.
/// Errc::unsupported: there are fewer, and NCCL_MULTI_RANK_GPU_ENABLE=1 does not share them.
Result<std::string> device_of_rank(const std::string& device, int local_rank);

/// Host memory that the device copies from without a detour, aligned to 4096; it may outlive every
/// use of the device. Errc::usage as device_facts(), and where there is none left.
Result<std::span<std::byte>> pin(int index, std::size_t bytes);
void unpin(std::span<std::byte> memory);

}  // namespace sluice::train::cuda
