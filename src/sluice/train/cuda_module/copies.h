// sluice/train/cuda_module/copies.h - copies between host and device through pinned memory.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda_runtime_api.h>

#include <array>
#include <cstddef>
#include <deque>
#include <vector>

namespace sluice::train::cuda {

struct Device;

/// Pinned memory for what is small: labels, settings, lists. Uploads take pieces of a ring in turn,
/// each free again when its copy has run: the host goes on while the device is busy. What is larger
/// than the ring waits for the device. Downloads have two halves of their own.
class Staging {
 public:
  int open(Device& device);
  void close();  // everything has run
  int upload(Device& device, void* to, const void* from, std::size_t bytes);
  int download(Device& device, void* to, const void* from, std::size_t bytes);

 private:
  struct Piece {
    std::size_t begin = 0;
    cudaEvent_t copied = nullptr;
  };
  int make_event(Device& device, cudaEvent_t& event);
  int take(Device& device, std::size_t bytes, std::size_t& begin);
  int free_oldest(Device& device);

  char* ring_ = nullptr;
  std::size_t next_ = 0;
  std::deque<Piece> used_;  // oldest first
  std::vector<cudaEvent_t> idle_;
  char* halves_ = nullptr;
  std::array<cudaEvent_t, 2> fetched_{};
};

}  // namespace sluice::train::cuda
