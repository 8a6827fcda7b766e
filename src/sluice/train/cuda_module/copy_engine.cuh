// sluice/train/cuda_module/copy_engine.cuh - tiles of a matrix to shared memory and back by the
// copy engine of sm_90, and the barriers in shared memory that say when they are there.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cuda.h>

#include <cstdint>

namespace sluice::train::cuda {

/// Barriers are 8 bytes of shared memory, given by their address. A phase ends when `count`
/// arrivals and all bytes that were announced have come; phases are told apart by their parity,
/// from 0 on.
__device__ inline void make_barrier(unsigned barrier, int count) {
  asm volatile("mbarrier.init.shared::cta.b64 [%0], %1;" ::"r"(barrier), "r"(count) : "memory");
}
/// After the last make_barrier() of a thread, before a barrier of the block.
__device__ inline void show_barriers() {
  asm volatile("fence.mbarrier_init.release.cluster;" ::: "memory");
}
__device__ inline void arrive(unsigned barrier) {
  asm volatile("mbarrier.arrive.shared::cta.b64 _, [%0];" ::"r"(barrier) : "memory");
}
/// Arrives, and announces bytes.
__device__ inline void announce(unsigned barrier, int bytes) {
  asm volatile("mbarrier.arrive.expect_tx.shared::cta.b64 _, [%0], %1;" ::"r"(barrier), "r"(bytes)
               : "memory");
}
/// Until a phase of this parity has ended. A barrier that was just made has ended one of parity 1.
__device__ inline void wait_for(unsigned barrier, int parity) {
  asm volatile(
      "{.reg .pred p;\n"
      "again: mbarrier.try_wait.parity.shared::cta.b64 p, [%0], %1;\n"
      "@p bra done;\n"
      "bra again;\n"
      "done:}" ::"r"(barrier),
      "r"(parity)
      : "memory");
}

/// Starts to bring a tile that begins at (column, row); zeros where the matrix ends. One thread
/// asks.
__device__ inline void bring_tile(unsigned to, const CUtensorMap& matrix, int column, int row,
                                  unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes [%0], [%1, {%2, "
      "%3}], [%4];" ::"r"(to),
      "l"(&matrix), "r"(column), "r"(row), "r"(barrier)
      : "memory");
}
/// The same for all blocks of a cluster of two, at the same place of each, with its barrier there.
__device__ inline void bring_tile_to_both(unsigned to, const CUtensorMap& matrix, int column,
                                          int row, unsigned barrier) {
  asm volatile(
      "cp.async.bulk.tensor.2d.shared::cluster.global.mbarrier::complete_tx::bytes"
      ".multicast::cluster [%0], [%1, {%2, %3}], [%4], %5;" ::"r"(to),
      "l"(&matrix), "r"(column), "r"(row), "r"(barrier), "h"(std::uint16_t{3})
      : "memory");
}
/// Arrives at the barrier at that place of block `rank` of the cluster.
__device__ inline void arrive_at(unsigned barrier, unsigned rank) {
  asm volatile(
      "{.reg .b32 there;\n"
      "mapa.shared::cluster.u32 there, %0, %1;\n"
      "mbarrier.arrive.shared::cluster.b64 _, [there];}" ::"r"(barrier),
      "r"(rank)
      : "memory");
}
__device__ inline unsigned rank_in_cluster() {
  unsigned rank;
  asm("mov.u32 %0, %%cluster_ctarank;" : "=r"(rank));
  return rank;
}
/// A barrier of all threads of the cluster, whether or not they come together.
__device__ inline void meet_cluster() {
  asm volatile("barrier.cluster.arrive;\n\tbarrier.cluster.wait;" ::: "memory");
}

/// Starts to write a tile; nothing where the matrix ends. What threads have stored there was shown
/// (show_to_products()) before. end_tiles() makes a group of those since the last.
__device__ inline void write_tile(const CUtensorMap& matrix, int column, int row, unsigned from) {
  asm volatile(
      "cp.async.bulk.tensor.2d.global.shared::cta.bulk_group [%0, {%1, %2}], [%3];" ::"l"(&matrix),
      "r"(column), "r"(row), "r"(from)
      : "memory");
}
__device__ inline void end_tiles() {
  asm volatile("cp.async.bulk.commit_group;" ::: "memory");
}
/// Until shared memory of all but the last kLeft groups of this thread has been read.
template <int kLeft>
__device__ inline void wait_until_read() {
  asm volatile("cp.async.bulk.wait_group.read %0;" ::"n"(kLeft) : "memory");
}
/// Until all groups of this thread are written.
__device__ inline void wait_until_written() {
  asm volatile("cp.async.bulk.wait_group 0;" ::: "memory");
}

}  // namespace sluice::train::cuda
