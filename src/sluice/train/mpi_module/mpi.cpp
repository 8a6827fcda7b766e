// sluice/train/mpi_module/mpi.cpp - libsluice_mpi.so: the ranks of a world by MPI.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/mpi_module/node_memory.h"
#include "sluice/train/world/mpi_table.h"
#include "sluice/train/world/node_sums.h"

#define OMPI_SKIP_MPICXX 1  // C only: the old C++ bindings want a library of their own
#define MPICH_SKIP_MPICXX 1
#include <algorithm>
#include <array>
#include <deque>
#include <dlfcn.h>
#include <limits>
#include <mpi.h>
#include <optional>
#include <string>
#include <vector>

namespace {

constexpr std::int64_t kMostElements = std::numeric_limits<int>::max() / 2;  // of one call

MPI_Comm g_world = MPI_COMM_NULL;
std::vector<MPI_Request> g_sums;
std::optional<NodeMemory> g_shared;  // of ranks that are all on one machine
std::optional<sluice::train::NodeSums> g_node_sums;
struct Sent {
  std::vector<char> bytes;  // until they are gone
  MPI_Request request = MPI_REQUEST_NULL;
};
std::deque<Sent> g_sent;
std::string g_text;

/// Null for success.
const char* text_of(int code) {
  if (code == MPI_SUCCESS) return nullptr;
  std::array<char, MPI_MAX_ERROR_STRING> text{};
  int length = 0;
  MPI_Error_string(code, text.data(), &length);
  g_text.assign(text.data(), static_cast<std::size_t>(length));
  std::replace(g_text.begin(), g_text.end(), '\n', ' ');
  return g_text.c_str();
}

/// Open MPI's plug-ins look for its symbols in the program, where a module does not put them.
void show_symbols() {
  Dl_info info{};
  if (dladdr(reinterpret_cast<const void*>(&MPI_Init_thread), &info) != 0)
    dlopen(info.dli_fname, RTLD_NOW | RTLD_GLOBAL | RTLD_NOLOAD);
}

/// Where every rank can have the memory of rank 0, sums go through it: Open MPI sends them over
/// sockets between ranks that a rank started, and copies them more often between others.
void share_memory(bool wanted, int rank, int size) {
  if (size == 1) return;
  NodeMemory::Place place{};
  if (rank == 0 && wanted) {
    g_shared = NodeMemory::make(sluice::train::NodeSums::bytes_needed(size));
    if (g_shared) place = g_shared->place();
  }
  MPI_Bcast(&place, sizeof place, MPI_BYTE, 0, g_world);
  if (rank != 0) g_shared = NodeMemory::find(place);
  int mine = g_shared ? 1 : 0, all = 0;
  MPI_Allreduce(&mine, &all, 1, MPI_INT, MPI_MIN, g_world);
  if (all == 0)
    g_shared.reset();
  else
    g_node_sums.emplace(g_shared->bytes(), rank, size);
}

const char* open(std::int32_t spawned, const char* const* argv, std::int32_t shares_memory,
                 std::int32_t* rank, std::int32_t* size) {
  show_symbols();
  int provided = 0;
  if (const char* wrong =
          text_of(MPI_Init_thread(nullptr, nullptr, MPI_THREAD_SERIALIZED, &provided)))
    return wrong;
  MPI_Comm_set_errhandler(MPI_COMM_WORLD, MPI_ERRORS_RETURN);
  MPI_Comm_set_errhandler(MPI_COMM_SELF, MPI_ERRORS_RETURN);
  MPI_Comm others = MPI_COMM_NULL;
  MPI_Comm_get_parent(&others);
  const bool was_spawned = others != MPI_COMM_NULL;
  if (spawned > 0) {
    std::vector<char*> arguments;
    for (const char* const* one = argv + 1; *one != nullptr; ++one)
      arguments.push_back(const_cast<char*>(*one));  // MPI's signature; it does not write
    arguments.push_back(nullptr);
    if (const char* wrong =
            text_of(MPI_Comm_spawn(argv[0], arguments.data(), spawned, MPI_INFO_NULL, 0,
                                   MPI_COMM_SELF, &others, MPI_ERRCODES_IGNORE)))
      return wrong;
  }
  int code = MPI_SUCCESS;
  if (others != MPI_COMM_NULL)
    code = MPI_Intercomm_merge(others, was_spawned ? 1 : 0, &g_world);
  else
    code = MPI_Comm_dup(MPI_COMM_WORLD, &g_world);
  if (const char* wrong = text_of(code)) return wrong;
  MPI_Comm_set_errhandler(g_world, MPI_ERRORS_RETURN);
  MPI_Comm_rank(g_world, rank);
  MPI_Comm_size(g_world, size);
  share_memory(shares_memory != 0, *rank, *size);
  return nullptr;
}

const char* start_sum(float* values, std::int64_t count) {
  if (g_node_sums) {
    g_node_sums->start({values, static_cast<std::size_t>(count)});
    return nullptr;
  }
  while (count > 0) {
    const std::int64_t part = std::min(count, kMostElements);
    MPI_Request& request = g_sums.emplace_back(MPI_REQUEST_NULL);
    if (const char* wrong = text_of(MPI_Iallreduce(MPI_IN_PLACE, values, static_cast<int>(part),
                                                   MPI_FLOAT, MPI_SUM, g_world, &request)))
      return wrong;
    values += part;
    count -= part;
  }
  return nullptr;
}

const char* advance(std::int32_t* done) {
  if (g_node_sums) {
    *done = g_node_sums->advance() ? 1 : 0;
    return nullptr;
  }
  int all = 1;
  if (!g_sums.empty()) {
    if (const char* wrong = text_of(
            MPI_Testall(static_cast<int>(g_sums.size()), g_sums.data(), &all, MPI_STATUSES_IGNORE)))
      return wrong;
    if (all != 0) g_sums.clear();
  }
  *done = all;
  return nullptr;
}

const char* sent(std::int32_t* all) {
  while (!g_sent.empty()) {
    int gone = 0;
    if (const char* wrong = text_of(MPI_Test(&g_sent.front().request, &gone, MPI_STATUS_IGNORE)))
      return wrong;
    if (gone == 0) break;
    g_sent.pop_front();
  }
  *all = g_sent.empty() ? 1 : 0;
  return nullptr;
}

/// MPI_Send to a rank that is gone may never end.
const char* send(std::int32_t to, std::int32_t tag, const void* bytes, std::int64_t count) {
  std::int32_t all = 0;
  if (const char* wrong = sent(&all)) return wrong;
  const auto* first = static_cast<const char*>(bytes);
  Sent& one = g_sent.emplace_back();
  one.bytes.assign(first, first + count);
  return text_of(MPI_Isend(one.bytes.data(), static_cast<int>(count), MPI_BYTE, to, tag, g_world,
                           &one.request));
}

const char* look(std::int32_t* from, std::int32_t tag, std::int64_t* count) {
  int there = 0;
  MPI_Status status;
  if (const char* wrong =
          text_of(MPI_Iprobe(*from < 0 ? MPI_ANY_SOURCE : *from, tag, g_world, &there, &status)))
    return wrong;
  int bytes = 0;
  if (there != 0) MPI_Get_count(&status, MPI_BYTE, &bytes);
  *from = there != 0 ? status.MPI_SOURCE : -1;
  *count = bytes;
  return nullptr;
}

const char* receive(std::int32_t from, std::int32_t tag, void* bytes, std::int64_t count) {
  return text_of(
      MPI_Recv(bytes, static_cast<int>(count), MPI_BYTE, from, tag, g_world, MPI_STATUS_IGNORE));
}

const char* close() {
  for (Sent& one : g_sent)
    if (const char* wrong = text_of(MPI_Wait(&one.request, MPI_STATUS_IGNORE))) return wrong;
  MPI_Comm_free(&g_world);
  return text_of(MPI_Finalize());
}

void abort(std::int32_t exit_code) {
  MPI_Abort(g_world != MPI_COMM_NULL ? g_world : MPI_COMM_WORLD, exit_code);
}

/// "Open MPI v4.1.4", of a text that goes on with who built it.
const char* library() {
  static const std::string name = [] {
    std::array<char, MPI_MAX_LIBRARY_VERSION_STRING> text{};
    int length = 0;
    MPI_Get_library_version(text.data(), &length);
    const std::string whole(text.data(), static_cast<std::size_t>(length));
    return whole.substr(0, whole.find_first_of(",\n"));
  }();
  g_text = name + (g_node_sums ? ", sums in shared memory" : "");
  return g_text.c_str();
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const SluiceMpiTable* sluice_mpi_table() {
  static const SluiceMpiTable table{kSluiceMpiAbi, library, open,    start_sum, advance, send,
                                    sent,          look,    receive, close,     abort};
  return &table;
}
