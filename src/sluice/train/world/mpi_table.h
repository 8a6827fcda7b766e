// sluice/train/world/mpi_table.h - the C interface between the program and libsluice_mpi.so.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>

// Plain types only: the module is built apart. Any change here raises kSluiceMpiAbi. Called by one
// thread. Functions that give a text return null when all went well, else what MPI says of it; the
// text is valid until the next call.
extern "C" {

struct SluiceMpiTable {
  std::uint32_t abi;
  /// "Open MPI v4.1.4", and how it adds up once it is open: ", sums in shared memory".
  const char* (*library)();
  /// Once in a process. Joins the ranks that a launcher started this one among; with `spawned` > 0
  /// this process must be alone, and starts so many others as `argv` (ended by null), which join it
  /// by the same call with 0.
  /// Sums go through memory that ranks of one machine share, where rank 0 says so.
  const char* (*open)(std::int32_t spawned, const char* const* argv, std::int32_t shares_memory,
                      std::int32_t* rank, std::int32_t* size);
  /// Begins values = their sum over all ranks.
  const char* (*start_sum)(float* values, std::int64_t count);
  /// Lets sums go on; `done`: none is under way.
  const char* (*advance)(std::int32_t* done);
  /// Waits for nobody: the bytes are copied, and go while other calls are made.
  const char* (*send)(std::int32_t to, std::int32_t tag, const void* bytes, std::int64_t count);
  /// `all`: nothing that was sent is still here.
  const char* (*sent)(std::int32_t* all);
  /// from -1: whoever. `from` becomes the sender, -1 when nothing is there; `count` its bytes.
  const char* (*look)(std::int32_t* from, std::int32_t tag, std::int64_t* count);
  const char* (*receive)(std::int32_t from, std::int32_t tag, void* bytes, std::int64_t count);
  /// All ranks together; nothing may be called after it.
  const char* (*close)();
  /// Ends every rank at once, this one too.
  void (*abort)(std::int32_t exit_code);
};

/// The one symbol of the module.
using SluiceMpiTableFunction = const SluiceMpiTable*();

}  // extern "C"

inline constexpr std::uint32_t kSluiceMpiAbi = 3;
inline constexpr const char* kSluiceMpiSymbol = "sluice_mpi_table";
