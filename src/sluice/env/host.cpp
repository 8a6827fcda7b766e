// sluice/env/host.cpp - a digest of what tells one node from the next.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/env/host.h"

#include "sluice/core/sha256.h"

namespace sluice::env {
namespace {

constexpr std::size_t kHostDigits = 12;

}  // namespace

// The id alone does not do: nodes that were made from one image have the same. The name alone does
// not either: it is "localhost" on many, and a digest of a short name can be guessed.
std::string host_hash(const SystemRoot& root) {
  const auto id = root.read("/etc/machine-id");
  const auto name = root.read("/proc/sys/kernel/hostname");
  if (!id && !name) return "";
  Sha256 sha;
  sha.update("sluice host\n");
  if (id) sha.update(*id);
  sha.update("\n");
  if (name) sha.update(*name);
  return sha.hex().substr(0, kHostDigits);
}

}  // namespace sluice::env
