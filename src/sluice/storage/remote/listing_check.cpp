// sluice/storage/remote/listing_check.cpp - order, sizes, progress.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/remote/listing_check.h"

#include "sluice/core/text.h"
#include "sluice/storage/plan.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sluice::storage {
namespace {

// Where a listing is no longer believed to end. Servers may send short pages, and empty ones.
constexpr std::size_t kMaxEmptyPages = 100;  // one after the other
constexpr std::uint64_t kFewPages = 10'000;  // before the keys of a page are counted
constexpr std::uint64_t kFewKeys = 10;       // of a page, on average
constexpr std::uint64_t kMaxKeys = 100'000'000;

Error not_believed(std::string what) {
  return {Errc::invalid_input, "a listing " + std::move(what)};
}

}  // namespace

Status ListingCheck::take(ListPage& page) const {
  std::vector<Object>& objects = page.objects;
  const auto less = [](const Object& a, const Object& b) { return name_less(a.key, b.key); };
  const auto same = [](const Object& a, const Object& b) { return a.key == b.key; };
  if (!std::is_sorted(objects.begin(), objects.end(), less))
    std::sort(objects.begin(), objects.end(), less);
  const auto twice = std::adjacent_find(objects.begin(), objects.end(), same);
  if (twice != objects.end())
    return not_believed(fmt::format("with the key `{}` twice", printable(twice->key)));
  if (!objects.empty() && !last_.empty() && !name_less(last_, objects[0].key))
    return not_believed("that is not in the order of keys");
  for (const Object& object : objects)
    if (object.size > kMaxObjectBytes)
      return not_believed(fmt::format("in which `{}` has {} bytes; at most {} are accepted",
                                      printable(object.key), object.size, kMaxObjectBytes));
  if (!page.next.empty() && std::find(idle_.begin(), idle_.end(), page.next) != idle_.end())
    return not_believed("that goes round in circles");
  return ok;
}

Status ListingCheck::advance(const ListPage& page) {
  ++pages_;
  keys_ += page.objects.size();
  if (!page.objects.empty()) {
    last_ = page.objects.back().key;
    idle_.clear();
  }
  idle_.push_back(page.next);
  if (idle_.size() > kMaxEmptyPages)
    return not_believed(fmt::format("of more than {} empty pages in a row", kMaxEmptyPages));
  if (pages_ > kFewPages && keys_ / pages_ < kFewKeys)
    return not_believed(
        fmt::format("of {} pages with {} keys in all; after {} a page must have {} "
                    "on average",
                    pages_, keys_, kFewPages, kFewKeys));
  if (keys_ > kMaxKeys)
    return not_believed(fmt::format("of more than {} keys; name a longer prefix", kMaxKeys));
  return ok;
}

}  // namespace sluice::storage
