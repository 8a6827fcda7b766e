// sluice/storage/remote/listing_check.h - tells a listing that makes no sense, or never ends.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/storage/remote/remote_store.h"

#include <cstdint>
#include <string>
#include <vector>

namespace sluice::storage {

/// The largest object that a server is believed to have; the largest of AWS has 50 TB.
inline constexpr std::uint64_t kMaxObjectBytes = std::uint64_t{1} << 46;

/// What is known of one listing so far. Errors are invalid_input and say what is wrong with it.
class ListingCheck {
 public:
  /// Puts the page in the order of keys. An Error when a key comes twice or too early, an object is
  /// larger than any can be, or the next page was asked for before.
  Status take(ListPage& page) const;

  /// After take(). An Error when pages go on without keys, with hardly any, or beyond all numbers.
  Status advance(const ListPage& page);

 private:
  std::uint64_t pages_ = 0, keys_ = 0;
  std::string last_{};               // key of the page before
  std::vector<std::string> idle_{};  // tokens since the last key
};

}  // namespace sluice::storage
