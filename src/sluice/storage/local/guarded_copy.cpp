// sluice/storage/local/guarded_copy.cpp - copies and sums that leave by siglongjmp when their
// source is gone.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/local/guarded_copy.h"

#include "sluice/storage/format/crc32c.h"

#include <atomic>
#include <csetjmp>
#include <csignal>
#include <cstdint>
#include <cstring>
#include <mutex>

namespace sluice::storage {
namespace {

struct Copy {
  std::uintptr_t begin, end;  // addresses whose faults are ours
  sigjmp_buf leave;
};

thread_local std::atomic<Copy*> t_copy = nullptr;
struct sigaction previous;

void on_bus_error(int signal, siginfo_t* info, void* context) {
  Copy* copy = t_copy.load(std::memory_order_relaxed);
  const auto address = reinterpret_cast<std::uintptr_t>(info->si_addr);
  if (copy != nullptr && address >= copy->begin && address < copy->end) siglongjmp(copy->leave, 1);
  if ((previous.sa_flags & SA_SIGINFO) != 0) {
    previous.sa_sigaction(signal, info, context);
  } else if (previous.sa_handler == SIG_DFL || previous.sa_handler == SIG_IGN) {
    ::sigaction(SIGBUS, &previous, nullptr);  // the access is repeated and ends the process
  } else {
    previous.sa_handler(signal);
  }
}

void install() {
  struct sigaction action {};
  action.sa_sigaction = on_bus_error;
  // SA_NODEFER: the handler is left by a jump that restores no signal mask.
  action.sa_flags = SA_SIGINFO | SA_NODEFER | SA_ONSTACK;
  sigemptyset(&action.sa_mask);
  ::sigaction(SIGBUS, &action, &previous);
}

void install_once() {
  static std::once_flag once;
  std::call_once(once, install);
}

/// False: `work` was left at a fault in `from`. It may own nothing, and is called by its address so
/// that none of it lies between sigsetjmp and the jump.
bool guarded(std::span<const std::byte> from, void (*work)(void*), void* what) {
  install_once();
  Copy copy;
  copy.begin = reinterpret_cast<std::uintptr_t>(from.data());
  copy.end = copy.begin + from.size();
  if (sigsetjmp(copy.leave, 0) != 0) {
    t_copy.store(nullptr, std::memory_order_relaxed);
    return false;
  }
  t_copy.store(&copy, std::memory_order_relaxed);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  work(what);
  std::atomic_signal_fence(std::memory_order_seq_cst);
  t_copy.store(nullptr, std::memory_order_relaxed);
  return true;
}

}  // namespace

bool guarded_copy(std::byte* to, const std::byte* from, std::size_t size) {
  struct Work {
    std::byte* to;
    std::span<const std::byte> from;
  } work{to, {from, size}};
  return guarded(
      work.from,
      [](void* what) {
        const Work& asked = *static_cast<const Work*>(what);
        std::memcpy(asked.to, asked.from.data(), asked.from.size());
      },
      &work);
}

bool guarded_sum(std::uint32_t& crc, std::span<const std::byte> from) {
  struct Work {
    std::uint32_t crc;
    std::span<const std::byte> from;
  } work{crc32c({}, crc),
         from};  // once outside: what it sets up at first must not be left half done
  const bool whole = guarded(
      from,
      [](void* what) {
        Work& asked = *static_cast<Work*>(what);
        asked.crc = crc32c(asked.from, asked.crc);
      },
      &work);
  if (whole) crc = work.crc;
  return whole;
}

bool guard_stands() {
  install_once();
  struct sigaction now {};
  return ::sigaction(SIGBUS, nullptr, &now) == 0 && (now.sa_flags & SA_SIGINFO) != 0 &&
         now.sa_sigaction == on_bus_error;
}

}  // namespace sluice::storage
