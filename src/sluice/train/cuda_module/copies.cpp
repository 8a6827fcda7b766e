// sluice/train/cuda_module/copies.cpp - the ring of pinned memory for uploads, two halves for
// downloads.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda_module/copies.h"

#include "sluice/train/cuda_module/device.h"

#include <algorithm>
#include <cstring>

namespace sluice::train::cuda {
namespace {

constexpr std::size_t kMiB = std::size_t{1} << 20;
constexpr std::size_t kRing = 16 * kMiB;
constexpr std::size_t kPiece = 4 * kMiB;  // copied while the next is filled
constexpr std::size_t kHalf = 4 * kMiB;
constexpr std::size_t kAlignment = 256;
constexpr std::size_t kMostPieces = 512;

constexpr std::size_t rounded_up(std::size_t bytes, std::size_t multiple) {
  return (bytes + multiple - 1) / multiple * multiple;
}

}  // namespace

int Staging::make_event(Device& device, cudaEvent_t& event) {
  if (const cudaError_t error = cudaEventCreateWithFlags(&event, cudaEventDisableTiming))
    return fail(device, "cudaEventCreate", error);
  return kDone;
}

int Staging::open(Device& device) {
  void* memory = nullptr;
  if (const cudaError_t error = cudaHostAlloc(&memory, kRing, cudaHostAllocDefault))
    return fail(device, "cudaHostAlloc", error);
  ring_ = static_cast<char*>(memory);
  if (const cudaError_t error = cudaHostAlloc(&memory, 2 * kHalf, cudaHostAllocDefault))
    return fail(device, "cudaHostAlloc", error);
  halves_ = static_cast<char*>(memory);
  for (cudaEvent_t& event : fetched_)
    if (const int result = make_event(device, event)) return result;
  return kDone;
}

void Staging::close() {
  for (const Piece& piece : used_)
    static_cast<void>(cudaEventDestroy(piece.copied));
  for (const cudaEvent_t event : idle_)
    static_cast<void>(cudaEventDestroy(event));
  for (const cudaEvent_t event : fetched_)
    if (event != nullptr) static_cast<void>(cudaEventDestroy(event));
  static_cast<void>(cudaFreeHost(ring_));
  static_cast<void>(cudaFreeHost(halves_));
  *this = Staging();
}

int Staging::free_oldest(Device& device) {
  const cudaEvent_t copied = used_.front().copied;
  if (const int result = wait_for_event(device, copied, kLongestWait)) return result;
  idle_.push_back(copied);
  used_.pop_front();
  return kDone;
}

/// Finds `bytes` in a row. What is used lies in [oldest, next), or around the end of the ring;
/// next is the oldest only when nothing is used.
int Staging::take(Device& device, std::size_t bytes, std::size_t& begin) {
  for (;;) {
    if (used_.empty()) {
      begin = 0;
      break;
    }
    const std::size_t oldest = used_.front().begin;
    if (used_.size() < kMostPieces) {
      if (next_ > oldest && kRing - next_ >= bytes) {
        begin = next_;
        break;
      }
      if (next_ > oldest && oldest > bytes) {
        begin = 0;
        break;
      }
      if (next_ < oldest && oldest - next_ > bytes) {
        begin = next_;
        break;
      }
    }
    if (const int result = free_oldest(device)) return result;
  }
  next_ = begin + bytes;
  return kDone;
}

int Staging::upload(Device& device, void* to, const void* from, std::size_t bytes) {
  if (bytes > kRing) {  // the driver's own detour is faster than one thread of ours
    if (const cudaError_t error =
            cudaMemcpyAsync(to, from, bytes, cudaMemcpyHostToDevice, device.launch.stream))
      return fail(device, "cudaMemcpyAsync to the device", error);
    return kDone;
  }
  for (std::size_t done = 0; done < bytes;) {
    const std::size_t count = std::min(bytes - done, kPiece);
    std::size_t begin = 0;
    if (const int result = take(device, rounded_up(count, kAlignment), begin)) return result;
    std::memcpy(ring_ + begin, static_cast<const char*>(from) + done, count);
    Piece piece{begin, nullptr};
    if (idle_.empty()) {
      if (const int result = make_event(device, piece.copied)) return result;
    } else {
      piece.copied = idle_.back();
      idle_.pop_back();
    }
    cudaError_t error = cudaMemcpyAsync(static_cast<char*>(to) + done, ring_ + begin, count,
                                        cudaMemcpyHostToDevice, device.launch.stream);
    if (error == cudaSuccess) error = cudaEventRecord(piece.copied, device.launch.stream);
    used_.push_back(piece);
    if (error != cudaSuccess) return fail(device, "cudaMemcpyAsync to the device", error);
    done += count;
  }
  return kDone;
}

int Staging::download(Device& device, void* to, const void* from, std::size_t bytes) {
  const std::size_t pieces = (bytes + kHalf - 1) / kHalf;
  const auto length = [&](std::size_t piece) { return std::min(kHalf, bytes - piece * kHalf); };
  const auto fetch = [&](std::size_t piece) {
    const std::size_t half = piece % 2;
    cudaError_t error =
        cudaMemcpyAsync(halves_ + half * kHalf, static_cast<const char*>(from) + piece * kHalf,
                        length(piece), cudaMemcpyDeviceToHost, device.launch.stream);
    if (error == cudaSuccess) error = cudaEventRecord(fetched_[half], device.launch.stream);
    return error == cudaSuccess ? int{kDone}
                                : fail(device, "cudaMemcpyAsync from the device", error);
  };
  if (pieces > 0)
    if (const int result = fetch(0)) return result;
  for (std::size_t piece = 0; piece < pieces; ++piece) {
    if (piece + 1 < pieces)
      if (const int result = fetch(piece + 1)) return result;
    if (const int result = wait_for_event(device, fetched_[piece % 2], kLongestWait)) return result;
    std::memcpy(static_cast<char*>(to) + piece * kHalf, halves_ + piece % 2 * kHalf, length(piece));
  }
  return kDone;
}

}  // namespace sluice::train::cuda
