// sluice/loader/gpu/copy_feed.cpp - copies on a stream of their own, and who may reuse what when.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/loader/gpu/copy_feed.h"

#include <fmt/format.h>

#include <algorithm>
#include <utility>

namespace sluice::loader::gpu {
namespace {

constexpr std::size_t kApart = 256;  // bytes: labels begin at a multiple

}  // namespace

Place::~Place() {
  if (!device->here()) return;
  const Device::Entered inside(*device);
  const Driver& driver = device->driver();
  (void)driver.synchronize();
  if (address != 0) (void)driver.free(address);
  if (labels != nullptr) (void)driver.unpin(labels);
}

Places::Places(std::shared_ptr<const Device> device, std::size_t image_bytes, std::uint32_t samples,
               std::size_t usual)
    : device_(std::move(device)),
      label_offset_((image_bytes + kApart - 1) / kApart * kApart),
      label_bytes_(samples * sizeof(std::int64_t)),
      usual_(usual) {}

Result<std::unique_ptr<Place>> Places::allocate() {
  const Device::Entered inside(*device_);
  const Driver& driver = device_->driver();
  auto place = std::make_unique<Place>(device_);
  const std::size_t bytes = label_offset_ + label_bytes_;
  SLUICE_CHECK(device_->status(driver.allocate(&place->address, bytes),
                               fmt::format("{} bytes for a batch", bytes)));
  void* labels = nullptr;
  SLUICE_CHECK(device_->status(driver.pin(&labels, label_bytes_, Driver::kPortable),
                               fmt::format("{} bytes of pinned memory", label_bytes_)));
  place->labels = static_cast<std::int64_t*>(labels);
  return place;
}

Result<std::unique_ptr<Place>> Places::take(bool more) {
  {
    std::lock_guard lock(mutex_);
    if (!free_.empty()) {
      auto place = std::move(free_.back());
      free_.pop_back();
      return place;
    }
    if (!more && count_ >= usual_) return std::unique_ptr<Place>();
    ++count_;
  }
  auto place = allocate();
  if (!place) {
    std::lock_guard lock(mutex_);
    --count_;
  }
  return place;
}

void Places::put_back(std::unique_ptr<Place> place) {
  std::lock_guard lock(mutex_);
  free_.push_back(std::move(place));
}

void Places::let_go(std::unique_ptr<Place> place) {
  if (!device_->here()) {  // the lock may be held by a thread that is not here
    (void)place.release();
    return;
  }
  std::unique_lock lock(mutex_);
  if (!closed_) {
    let_go_.push_back(std::move(place));
    return;
  }
  --count_;
  lock.unlock();
  place.reset();
}

Status Places::collect() {
  std::vector<std::unique_ptr<Place>> gone;
  {
    std::lock_guard lock(mutex_);
    std::swap(gone, let_go_);
  }
  if (gone.empty()) return ok;
  const auto reached = device_->record_all();
  std::vector<std::unique_ptr<Place>> surplus;
  std::lock_guard lock(mutex_);
  for (auto& place : gone) {
    if (!reached) {
      let_go_.push_back(std::move(place));  // tried again
      continue;
    }
    place->after = *reached;
    if (count_ <= usual_) {
      free_.push_back(std::move(place));
    } else {
      surplus.push_back(std::move(place));
      --count_;
    }
  }
  return reached ? Status(ok) : Status(reached.error());
}

void Places::close() {
  std::lock_guard lock(mutex_);
  closed_ = true;
  count_ -= free_.size() + let_go_.size();
  free_.clear();
  let_go_.clear();
}

std::size_t Places::bytes() const {
  std::lock_guard lock(mutex_);
  return count_ * (label_offset_ + label_bytes_);
}

Arrival::Arrival(std::shared_ptr<Places> places, std::unique_ptr<Place> place, const Batch& batch)
    : places_(std::move(places)),
      place_(std::move(place)),
      shape_(batch.shape()),
      type_(batch.spec().type),
      indices_(batch.indices().begin(), batch.indices().end()) {}

Arrival::~Arrival() {
  places_->let_go(std::move(place_));
}

void* Arrival::images() const {
  return reinterpret_cast<void*>(place_->address);  // NOLINT(performance-no-int-to-ptr)
}

void* Arrival::labels() const {
  return static_cast<std::byte*>(images()) + places_->label_offset();
}

Status Arrival::download(std::span<std::byte> to, const void* from) const {
  const Device& device = places_->device();
  const Device::Entered inside(device);
  const Driver& driver = device.driver();
  void* stream = nullptr;
  SLUICE_CHECK(device.status(driver.stream_create(&stream, Driver::kNonBlocking), "a stream"));
  int code = driver.stream_wait(stream, place_->copied->handle(), 0);
  if (code == 0)
    code = driver.copy_to_host(to.data(), reinterpret_cast<std::uint64_t>(from), to.size(), stream);
  if (code == 0) code = driver.stream_synchronize(stream);
  (void)driver.stream_destroy(stream);
  return device.status(code, "a batch to the host");
}

CopyFeed::CopyFeed(std::shared_ptr<const Device> device, Loader& loader)
    : device_(std::move(device)),
      loader_(loader),
      // sent ahead, in use, the one before it, and one that is filled meanwhile
      places_(std::make_shared<Places>(device_,
                                       loader.output().bytes() * loader.options().batch_size,
                                       loader.options().batch_size, kAhead + 3)),
      state_(loader.state()) {}

CopyFeed::~CopyFeed() {
  if (!device_->here()) return;
  close();
  const Device::Entered inside(*device_);
  if (stream_ == nullptr) return;
  (void)device_->driver().stream_synchronize(stream_);
  (void)device_->driver().stream_destroy(stream_);
}

Status CopyFeed::open() {
  const Device::Entered inside(*device_);
  return device_->status(device_->driver().stream_create(&stream_, Driver::kNonBlocking),
                         "a stream");
}

void CopyFeed::drop() {
  sent_.clear();
  ended_ = false;
  error_.reset();
}

void CopyFeed::close() {
  drop();
  places_->close();
}

Status CopyFeed::start_epoch(std::uint64_t epoch) {
  drop();
  SLUICE_CHECK(loader_.start_epoch(epoch));
  set_state(loader_.state());
  return ok;
}

Status CopyFeed::restore(const LoaderState& state) {
  drop();
  SLUICE_CHECK(loader_.restore(state));
  set_state(loader_.state());
  return ok;
}

void CopyFeed::set_state(const LoaderState& state) {
  std::lock_guard lock(state_mutex_);
  state_ = state;
}

LoaderState CopyFeed::state() const {
  std::lock_guard lock(state_mutex_);
  return state_;
}

/// Copies are timed by the device; the loader's accounts get them when they are known.
void CopyFeed::account_arrived() {
  while (!copying_.empty()) {
    const Copying& oldest = copying_.front();
    if (!oldest.end->ready()) return;
    const std::int64_t ns = oldest.end->ns_since(*oldest.begin);
    if (ns >= 0) loader_.account(Stage::transfer, ns, oldest.bytes);
    copying_.pop_front();
  }
}

Status CopyFeed::copy(Place& place, const Batch& batch) {
  const Device::Entered inside(*device_);
  const Driver& driver = device_->driver();
  if (place.after) SLUICE_CHECK(place.after->hold(stream_));
  if (place.copied) place.copied->wait();  // its labels may still be read; as good as always over
  SLUICE_TRY(auto begin, Event::make(device_, true));
  SLUICE_TRY(place.copied, Event::make(device_, true));
  SLUICE_CHECK(begin->record(stream_));
  std::copy(batch.labels().begin(), batch.labels().end(), place.labels);
  const std::size_t label_bytes = batch.labels().size_bytes();
  const std::span<const std::byte> images = batch.data();
  SLUICE_CHECK(device_->status(
      driver.copy_to_device(place.address, images.data(), images.size(), stream_), "a batch"));
  SLUICE_CHECK(device_->status(driver.copy_to_device(place.address + places_->label_offset(),
                                                     place.labels, label_bytes, stream_),
                               "labels"));
  SLUICE_CHECK(place.copied->record(stream_));
  copying_.push_back({std::move(begin), place.copied, images.size() + label_bytes});
  return ok;
}

/// `more`: memory for the batch is allocated if need be. `sent` false: there was none to send, or
/// no memory that may be used now.
Status CopyFeed::send_one(const KeepWaiting& keep_waiting, bool more, bool& sent) {
  sent = false;
  SLUICE_TRY(auto place, places_->take(more));
  if (!place) return ok;
  auto taken = loader_.next(keep_waiting);
  if (!taken || !*taken) {
    places_->put_back(std::move(place));
    if (!taken) return taken.error();
    ended_ = true;
    return ok;
  }
  Batch batch = std::move(**taken);
  const Status copied = copy(*place, batch);
  if (!copied) {  // whatever was launched reads the slot
    const Device::Entered inside(*device_);
    (void)device_->driver().stream_synchronize(stream_);
    places_->put_back(std::move(place));
    return copied;
  }
  batch.set_event(place->copied);
  auto arrival = std::make_shared<Arrival>(places_, std::move(place), batch);
  arrival->after_ = loader_.state();
  sent_.push_back(std::move(arrival));
  sent = true;
  return ok;
}

void CopyFeed::send_ahead() {
  for (bool sent = true; sent && sent_.size() < kAhead && !ended_ && !error_ && loader_.ready();)
    if (const Status status = send_one({}, false, sent); !status) error_ = status.error();
}

Result<std::shared_ptr<Arrival>> CopyFeed::next(const KeepWaiting& keep_waiting) {
  SLUICE_CHECK(places_->collect());
  account_arrived();
  if (sent_.empty() && error_) {
    const Error error = *std::exchange(error_, std::nullopt);
    return error;
  }
  bool sent = false;
  if (sent_.empty() && !ended_) SLUICE_CHECK(send_one(keep_waiting, true, sent));
  if (sent_.empty()) {
    ended_ = false;
    set_state(loader_.state());
    return std::shared_ptr<Arrival>();
  }
  auto arrival = std::move(sent_.front());
  sent_.pop_front();
  set_state(arrival->after_);
  send_ahead();
  return arrival;
}

}  // namespace sluice::loader::gpu
