// sluice/train/mpi_module/node_memory.h - memory that processes of one machine share.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <utility>

/// Nothing of it is left when the last process that has it ends, however that one ends.
class NodeMemory {
 public:
  /// How another process finds it. Plain numbers.
  struct Place {
    std::int64_t pid;
    std::int32_t descriptor;    // of that process
    std::uint64_t bytes, mark;  // the mark also stands in the memory: another machine has another
  };

  /// Zeros. Nothing where the system has none to give.
  static std::optional<NodeMemory> make(std::size_t bytes);
  /// Nothing where it is on another machine, or not to be seen from here.
  static std::optional<NodeMemory> find(const Place& place);
  NodeMemory(NodeMemory&& other) noexcept { *this = std::move(other); }
  NodeMemory& operator=(NodeMemory&& other) noexcept;
  ~NodeMemory();

  [[nodiscard]] const Place& place() const { return place_; }
  [[nodiscard]] std::byte* bytes() const;

 private:
  NodeMemory() = default;
  bool map(int descriptor);

  Place place_{};
  int descriptor_ = -1;  // of the process that made it
  void* mapped_ = nullptr;
};
