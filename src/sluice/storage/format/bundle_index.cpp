// sluice/storage/format/bundle_index.cpp - which sample lies where in a set of bundles; the file
// that says so.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/format/bundle_index.h"

#include "sluice/core/text.h"
#include "sluice/storage/format/checksum.h"

#include <fmt/format.h>

#include <cstring>

namespace sluice::storage {
namespace {

constexpr std::string_view kIndexMagic = "SLBUNDLE";
constexpr std::size_t kHead = 8 + 4 + 4 + 8 + 8;
constexpr std::size_t kBundleRow = 24;
constexpr std::size_t kSampleRow = 32;
constexpr std::size_t kTail = 8;
constexpr std::uint64_t kMaxIndex = std::uint64_t{4} << 30;

void put(std::string& out, std::uint64_t value, int bytes) {
  for (int i = 0; i < bytes; ++i)
    out += static_cast<char>(value >> (8 * i) & 0xff);
}

/// Precondition of take(): the bytes are there.
struct Cursor {
  std::span<const std::byte> rest;
  std::uint64_t take(std::size_t bytes) {
    std::uint64_t value = 0;
    for (std::size_t i = 0; i < bytes; ++i)
      value |= std::to_integer<std::uint64_t>(rest[i]) << (8 * i);
    rest = rest.subspan(bytes);
    return value;
  }
};

/// How many of each there are fits the length of the file, which is bounded.
bool counts_fit(std::size_t file, std::uint64_t bundles, std::uint64_t samples,
                std::uint64_t names) {
  const std::uint64_t body = file - kHead - kTail;
  if (bundles > body / kBundleRow || samples > body / kSampleRow || names > body) return false;
  return bundles * kBundleRow + samples * kSampleRow + names == body;
}

/// What is wrong with the rows, or nothing.
const char* fault_of(const BundleIndex& index) {
  std::size_t next = 0;
  for (const BundleIndex::Bundle& bundle : index.bundles) {
    std::uint64_t end = 0;  // of the sample before
    if (bundle.samples > index.samples.size() - next)
      return "a bundle of more samples than there are";
    for (std::uint64_t i = 0; i < bundle.samples; ++i, ++next) {
      const BundleIndex::Sample& sample = index.samples[next];
      if (sample.offset < end) return "samples that overlap";
      if (sample.offset > bundle.bytes || sample.size > bundle.bytes - sample.offset)
        return "a sample outside its bundle";
      if (sample.name_size == 0) return "a sample without a name";
      end = sample.offset + sample.size;
    }
  }
  return next == index.samples.size() ? nullptr : "samples in no bundle";
}

}  // namespace

std::string bundle_name(std::size_t bundle) {
  return fmt::format("bundle-{:05}.bin", bundle);
}

std::string BundleIndex::serialize() const {
  std::string out(kIndexMagic);
  put(out, kVersion, 4);
  put(out, bundles.size(), 4);
  put(out, samples.size(), 8);
  put(out, names.size(), 8);
  for (const Bundle& bundle : bundles)
    for (const std::uint64_t value : {bundle.bytes, bundle.samples, bundle.checksum})
      put(out, value, 8);
  for (const Sample& sample : samples)
    for (const std::uint64_t value :
         {sample.offset, sample.size, sample.checksum, sample.name_size})
      put(out, value, 8);
  out += names;
  put(out, checksum(std::as_bytes(std::span(out))), 8);
  return out;
}

Result<BundleIndex> BundleIndex::parse(std::span<const std::byte> bytes, std::string_view name) {
  const auto wrong = [&](std::string_view what) {
    return Error{Errc::invalid_input,
                 fmt::format("{}: {}; 'sluice data bundle' writes it anew", printable(name), what)};
  };
  if (bytes.size() < kHead + kTail || as_text(bytes.first(kIndexMagic.size())) != kIndexMagic)
    return wrong("not an index of bundles");
  Cursor cursor{bytes.subspan(kIndexMagic.size())};
  const std::uint64_t version = cursor.take(4);
  if (version != kVersion)
    return wrong(
        fmt::format("an index of version {}, and version {} is accepted", version, kVersion));
  Cursor tail{bytes.last(kTail)};
  if (tail.take(8) != storage::checksum(bytes.first(bytes.size() - kTail)))
    return wrong("the index is damaged: its checksum is wrong");
  const std::uint64_t bundle_count = cursor.take(4), sample_count = cursor.take(8),
                      name_bytes = cursor.take(8);
  if (!counts_fit(bytes.size(), bundle_count, sample_count, name_bytes))
    return wrong("the index is damaged: its length is wrong");
  BundleIndex index;
  index.bundles.resize(static_cast<std::size_t>(bundle_count));
  for (Bundle& bundle : index.bundles) {
    bundle.bytes = cursor.take(8);
    bundle.samples = cursor.take(8);
    bundle.checksum = cursor.take(8);
  }
  index.samples.resize(static_cast<std::size_t>(sample_count));
  std::uint64_t names_end = 0;
  for (Sample& sample : index.samples) {
    sample.offset = cursor.take(8);
    sample.size = cursor.take(8);
    sample.checksum = cursor.take(8);
    sample.name = names_end;
    sample.name_size = cursor.take(8);
    if (sample.name_size > name_bytes - names_end)
      return wrong("the index is damaged: names over its end");
    names_end += sample.name_size;
  }
  index.names = as_text(cursor.rest.first(static_cast<std::size_t>(name_bytes)));
  if (names_end != name_bytes) return wrong("the index is damaged: names of no sample");
  if (const char* fault = fault_of(index))
    return wrong(fmt::format("the index is damaged: {}", fault));
  return index;
}

Result<BundleSet> open_bundles(ObjectStore& store, const Object& index) {
  const std::string name = fmt::format("{}/{}", store.name(), index.key);
  if (index.size > kMaxIndex)
    return Error{Errc::invalid_input, fmt::format("{}: an index of {} bytes; {} are accepted",
                                                  printable(name), index.size, kMaxIndex)};
  ReadBuffer buffer;
  SLUICE_TRY(const auto bytes, store.read(index, 0, static_cast<std::size_t>(index.size), buffer));
  BundleSet set;
  SLUICE_TRY(set.index, BundleIndex::parse(bytes, name));
  const std::string folder = index.key.substr(0, index.key.size() - kBundleIndexName.size());
  for (std::size_t i = 0; i < set.index.bundles.size(); ++i) {
    auto found = store.stat(folder + bundle_name(i));
    if (!found)
      return Error{found.error().code,
                   fmt::format("{}: bundle {} of {}: {}", printable(name), i + 1,
                               set.index.bundles.size(), found.error().message)};
    if (found->size != set.index.bundles[i].bytes)
      return Error{
          Errc::invalid_input,
          fmt::format("{}/{}: {} bytes, and {} are in the index: damaged, or of another run",
                      printable(store.name()), printable(found->key), found->size,
                      set.index.bundles[i].bytes)};
    set.bundles.push_back(std::move(*found));
  }
  return set;
}

Status verify_bundles(ObjectStore& store, const BundleSet& set) {
  ReadBuffer buffer;
  std::size_t next = 0;
  for (std::size_t b = 0; b < set.bundles.size(); ++b) {
    Checksum whole;
    for (std::uint64_t i = 0; i < set.index.bundles[b].samples; ++i, ++next) {
      const BundleIndex::Sample& sample = set.index.samples[next];
      SLUICE_TRY(const auto bytes, store.read(set.bundles[b], sample.offset,
                                              static_cast<std::size_t>(sample.size), buffer));
      whole.update(bytes);
      if (checksum(bytes) != sample.checksum)
        return Error{
            Errc::invalid_input,
            fmt::format("{}/{}: '{}' is damaged: its checksum is wrong", printable(store.name()),
                        printable(set.bundles[b].key), printable(set.index.name(sample)))};
    }
    if (whole.value() != set.index.bundles[b].checksum)
      return Error{Errc::invalid_input,
                   fmt::format("{}/{}: its checksum is wrong", printable(store.name()),
                               printable(set.bundles[b].key))};
  }
  return ok;
}

}  // namespace sluice::storage
