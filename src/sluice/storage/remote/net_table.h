// sluice/storage/remote/net_table.h - the C interface between the program and libsluice_net.so.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <cstdint>

// Plain types only, as in archive_table.h. Any change here raises kSluiceNetAbi. None of the
// functions throws or prints.
extern "C" {

enum SluiceNetCode : std::int32_t {
  kSluiceNetOk = 0,
  kSluiceNetResolve = 1,    // the host has no address
  kSluiceNetConnect = 2,    // refused, unreachable, or not within connect_ms
  kSluiceNetTls = 3,        // a certificate that is not believed
  kSluiceNetTruncated = 4,  // the body ended before its declared end
  kSluiceNetReset = 5,      // the connection broke
  kSluiceNetStopped = 6,    // the sink said so
  kSluiceNetInvalid = 7,    // an address or header that no request can be made of
  kSluiceNetProtocol = 8,   // the answer is not HTTP
  kSluiceNetNoMemory = 9,
};

/// Copied by start(), except the body.
struct SluiceNetRequest {
  const char* method;  // "GET", "HEAD", "POST", "PUT"
  const char* url;
  const char* const* headers;  // "name: value"
  std::size_t header_count;
  const void* body;  // of POST and PUT; lives until the transfer has ended or was stopped
  std::size_t body_size;
  const char* ca_file;  // nullptr: the certificates of the system
  std::int64_t connect_ms;
  std::int32_t fresh;      // 1: a new connection, and the name looked up again
  std::int32_t unproxied;  // 1: whatever http_proxy says
};

/// Called by poll() only. A value other than 0 ends the transfer with kSluiceNetStopped.
struct SluiceNetSink {
  void* user;
  /// One line of the head with its line end; the status line first, an empty line last.
  std::int32_t (*line)(void* user, const char* text, std::size_t size);
  std::int32_t (*body)(void* user, const void* bytes, std::size_t size);
};

struct SluiceNetOutcome {
  std::int32_t code;
  std::int32_t new_connections;
  char text[240];  // one line, ends with NUL
};

/// Connections that one thread at a time uses; they stay open between transfers. Each lane has
/// kSluiceNetSlots slots with at most one transfer each.
struct SluiceNetLane;

struct SluiceNetTable {
  std::uint32_t abi;
  const char* version;       // "libcurl/7.88.1 ..."
  SluiceNetLane* (*open)();  // nullptr: out of memory
  std::int32_t (*start)(SluiceNetLane* lane, std::int32_t slot, const SluiceNetRequest* request,
                        const SluiceNetSink* sink);
  /// Moves what can be moved; when there is nothing, waits for something at most `wait_ms`.
  std::int32_t (*poll)(SluiceNetLane* lane, std::int32_t wait_ms);
  /// 1 and *outcome once the transfer has ended: the slot is free again. 0 before.
  std::int32_t (*ended)(SluiceNetLane* lane, std::int32_t slot, SluiceNetOutcome* outcome);
  /// Ends a transfer and its connection; nothing when there is none.
  void (*stop)(SluiceNetLane* lane, std::int32_t slot);
  void (*close)(SluiceNetLane* lane);
};

/// The one symbol of the module.
using SluiceNetTableFunction = const SluiceNetTable*();

}  // extern "C"

inline constexpr std::int32_t kSluiceNetSlots = 2;
inline constexpr std::uint32_t kSluiceNetAbi = 1;
inline constexpr const char* kSluiceNetSymbol = "sluice_net_table";
