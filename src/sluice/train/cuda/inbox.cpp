// sluice/train/cuda/inbox.cpp - places, events between the two streams, the unpacking kernel.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda/inbox.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::train::cuda {

Status Inbox::take_memory(std::size_t bytes) {
  if (bytes <= place_bytes_) return ok;
  if (sent_ > unpacked_)
    return Error{Errc::usage, fmt::format("a batch of {} bytes while one of {} is on its way",
                                          bytes, place_bytes_)};
  SLUICE_CHECK(session_.synchronize());  // what was unpacked last may still be read
  for (Place& place : places_) {
    session_.give_back(place.memory);
    SLUICE_TRY(place.memory, session_.allocate(bytes));
  }
  place_bytes_ = bytes;
  return ok;
}

Status Inbox::take_levels(std::span<const float> levels) {
  const std::size_t expected = static_cast<std::size_t>(shape_.channels) * kPixelLevels;
  if (levels.size() != expected)
    return Error{Errc::usage, fmt::format("{} values for the levels of {} channels; accepted: {}",
                                          levels.size(), shape_.channels, expected)};
  if (std::equal(levels.begin(), levels.end(), levels_.begin(), levels_.end())) return ok;
  if (device_levels_ == nullptr) {
    SLUICE_TRY(void* memory, session_.allocate(levels.size_bytes()));
    device_levels_ = static_cast<float*>(memory);
  }
  levels_.assign(levels.begin(), levels.end());
  return session_.upload(device_levels_, std::as_bytes(levels));
}

Result<std::uint64_t> Inbox::send(const SentImages& images) {
  if (full())
    return Error{Errc::usage,
                 fmt::format("{} batches are on their way; one must be used first", kPlaces)};
  const std::size_t whole = shape_.values() * bytes_of(images.type);
  const std::size_t one = whole / static_cast<std::size_t>(shape_.batch);
  if (images.bytes.empty() || images.bytes.size() > whole || images.bytes.size() % one != 0)
    return Error{Errc::usage,
                 fmt::format("a batch of {} bytes; accepted: 1 to {} images of {} bytes",
                             images.bytes.size(), shape_.batch, one)};
  SLUICE_CHECK(take_memory(whole));
  if (images.type == PixelType::u8) SLUICE_CHECK(take_levels(images.levels));
  Place& place = places_[sent_ % kPlaces];
  place.type = images.type;
  place.given = static_cast<std::int64_t>(images.bytes.size() / one);
  place.pixels = place.memory;
  place.ready = nullptr;
  SLUICE_CHECK(session_.send(place.memory, images.bytes, event(sent_, kFree), event(sent_, kBegun),
                             event(sent_, kSent)));
  return sent_++;
}

Result<std::uint64_t> Inbox::place(const void* pixels, std::int64_t samples,
                                   std::span<const float> levels, void* ready) {
  if (full())
    return Error{Errc::usage,
                 fmt::format("{} batches are on their way; one must be used first", kPlaces)};
  if (samples < 1 || samples > shape_.batch)
    return Error{Errc::usage, fmt::format("{} images; accepted: 1 to {}", samples, shape_.batch)};
  SLUICE_CHECK(take_levels(levels));
  Place& place = places_[sent_ % kPlaces];
  place.type = PixelType::u8;
  place.given = samples;
  place.pixels = pixels;
  place.ready = ready;
  return sent_++;
}

Result<bool> Inbox::arrived(std::uint64_t number, double limit_seconds) {
  if (number + kPlaces < sent_) return true;  // its place was filled again
  return session_.reached(event(number, kSent), limit_seconds);
}

Status Inbox::unpack(float* images) {
  if (unpacked_ == sent_) return Error{Errc::usage, "no batch is on its way"};
  const Place& place = places_[unpacked_ % kPlaces];
  SLUICE_CHECK(place.ready != nullptr ? session_.await_other(place.ready)
                                      : session_.await(event(unpacked_, kSent)));
  UnpackCall call;
  call.images = images;
  call.pixels = place.pixels;
  call.type = place.type;
  call.levels = device_levels_;
  call.batch = shape_.batch;
  call.given = place.given;
  call.channels = shape_.channels;
  call.height = shape_.height;
  call.width = shape_.width;
  SLUICE_CHECK(session_.issue(KernelCall(call), "unpack"));
  return session_.record(event(unpacked_++, kFree));
}

Status Inbox::drop() {
  if (unpacked_ == sent_) return Error{Errc::usage, "no batch is on its way"};
  return session_.record(event(unpacked_++, kFree));
}

Result<double> Inbox::copy_ns(std::uint64_t number) {
  return session_.elapsed(event(number, kBegun), event(number, kSent));
}

}  // namespace sluice::train::cuda
