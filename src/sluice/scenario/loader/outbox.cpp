// sluice/scenario/loader/outbox.cpp - takes batches from the loader, sends them, keeps their
// labels.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/loader/outbox.h"

#include "sluice/train/cuda/library.h"

#include <fmt/format.h>

#include <array>
#include <deque>
#include <utility>

namespace sluice::scenario {
namespace {

struct Upload {
  const char* name;
  train::PixelType type;
  loader::BatchType batch;
  loader::Layout layout;
};
constexpr std::array kUploads{
    Upload{"uint8", train::PixelType::u8, loader::BatchType::u8, loader::Layout::hwc},
    Upload{"fp16", train::PixelType::f16, loader::BatchType::f16, loader::Layout::chw},
    Upload{"fp32", train::PixelType::f32, loader::BatchType::f32, loader::Layout::chw}};

const Upload& upload_of(train::PixelType type) {
  for (const Upload& upload : kUploads)
    if (upload.type == type) return upload;
  return kUploads.front();
}

class Pinned final : public loader::PinnedAllocator {
 public:
  explicit Pinned(int index) : index_(index) {}
  Result<std::span<std::byte>> allocate(std::size_t bytes) override {
    return train::cuda::pin(index_, bytes);
  }
  void free(std::span<std::byte> memory) override { train::cuda::unpin(memory); }

 private:
  int index_;
};

/// The copy that reads a slot.
class Copy final : public loader::SlotEvent {
 public:
  Copy(train::cuda::Inbox& inbox, std::uint64_t number) : inbox_(inbox), number_(number) {}
  /// A device that fails says so at the next call that can; the slot is not held for it.
  [[nodiscard]] bool ready() override {
    const auto arrived = inbox_.arrived(number_);
    return !arrived || *arrived;
  }
  void wait() override { static_cast<void>(inbox_.arrived(number_, kCopyLimit)); }

 private:
  train::cuda::Inbox& inbox_;
  std::uint64_t number_;
};

class LoaderOutbox final : public Outbox {
 public:
  LoaderOutbox(loader::Loader& loader, train::cuda::Inbox& inbox, train::PixelType type,
               std::vector<float> levels)
      : loader_(loader), inbox_(inbox), type_(type), levels_(std::move(levels)) {}

  Status start_epoch(std::uint64_t epoch) override {
    SLUICE_CHECK(clear());
    return loader_.start_epoch(epoch);
  }
  Status restore(const loader::LoaderState& state) override {
    SLUICE_CHECK(clear());
    return loader_.restore(state);
  }
  Result<std::optional<OutboxBatch>> next() override;
  Status ahead() override;
  Status clear() override;
  [[nodiscard]] loader::LoaderStats stats() const override { return loader_.stats(); }

 private:
  /// False: the epoch has ended.
  Result<bool> send_one();
  void account_arrived();

  loader::Loader& loader_;
  train::cuda::Inbox& inbox_;
  train::PixelType type_;
  std::vector<float> levels_;
  bool ended_ = false;  // the epoch has, and next() has not said so
  std::deque<OutboxBatch> sent_;
  struct Copying {
    std::uint64_t number = 0;
    std::size_t bytes = 0;
  };
  std::deque<Copying> copying_;  // what is not yet accounted for
};

/// The feed works ahead by itself: a batch is placed when it is asked for.
class LaneOutbox final : public Outbox {
 public:
  LaneOutbox(loader::gpu::DeviceFeed& feed, train::cuda::Inbox& inbox, std::vector<float> levels)
      : feed_(feed), inbox_(inbox), levels_(std::move(levels)) {}

  Status start_epoch(std::uint64_t epoch) override {
    give_back();
    return feed_.start_epoch(epoch);
  }
  Status restore(const loader::LoaderState& state) override {
    give_back();
    return feed_.restore(state);
  }
  Result<std::optional<OutboxBatch>> next() override {
    give_back();
    SLUICE_TRY(auto made, feed_.next());
    if (!made && endless_) {
      SLUICE_CHECK(feed_.start_epoch(feed_.state().epoch + 1));
      SLUICE_TRY(made, feed_.next());
    }
    if (!made) return std::optional<OutboxBatch>();
    OutboxBatch batch;
    batch.labels.assign(made->labels().begin(), made->labels().end());
    batch.indices.assign(made->indices().begin(), made->indices().end());
    batch.epoch = made->epoch();
    batch.after = feed_.state();
    SLUICE_TRY(batch.number, inbox_.place(made->data(), static_cast<std::int64_t>(made->size()),
                                          levels_, made->ready()));
    held_ = std::move(*made);
    held_number_ = batch.number;
    return std::optional<OutboxBatch>(std::move(batch));
  }
  Status ahead() override { return ok; }
  Status clear() override {
    give_back();
    return ok;
  }
  [[nodiscard]] loader::LoaderStats stats() const override { return feed_.stats().loader; }
  [[nodiscard]] Json describe() const override {
    const loader::gpu::DeviceFeedStats stats = feed_.stats();
    Json json = loader::gpu::to_json(stats.lanes);
    json["gpu_share"] = stats.gpu_share;
    json["engines"] = feed_.facts().engines;
    json["replaced"] = stats.replaced;
    if (stats.batches > 0) {
      const auto ms_of_batch = [&](std::int64_t ns) {
        return static_cast<double>(ns) / 1e6 / static_cast<double>(stats.batches);
      };
      json["decode_call_ms"] = ms_of_batch(stats.decode_ns);
      json["records_wait_ms"] = ms_of_batch(stats.loader_wait_ns);
      json["buffer_wait_ms"] = ms_of_batch(stats.buffer_wait_ns);
    }
    return json;
  }

 private:
  /// The last batch was unpacked: whoever fills its buffer waits for that on the device.
  void give_back() { held_.release(inbox_.read(held_number_)); }

  loader::gpu::DeviceFeed& feed_;
  train::cuda::Inbox& inbox_;
  std::vector<float> levels_;
  loader::gpu::DeviceBatch held_;
  std::uint64_t held_number_ = 0;
};

}  // namespace

Result<train::PixelType> parse_upload(const std::string& text) {
  for (const Upload& upload : kUploads)
    if (text == upload.name) return upload.type;
  return Error{Errc::usage, fmt::format("upload '{}'; accepted: uint8, fp16, fp32", text)};
}

const char* to_string(train::PixelType type) {
  return upload_of(type).name;
}

loader::BatchType batch_type(train::PixelType type) {
  return upload_of(type).batch;
}

loader::Layout layout_of(train::PixelType type) {
  return upload_of(type).layout;
}

std::shared_ptr<loader::PinnedAllocator> pinned_for(int index) {
  return std::make_shared<Pinned>(index);
}

Result<bool> LoaderOutbox::send_one() {
  SLUICE_TRY(auto taken, loader_.next());
  if (!taken && endless_) {
    SLUICE_CHECK(loader_.start_epoch(loader_.state().epoch + 1));
    SLUICE_TRY(taken, loader_.next());
    if (!taken)
      return Error{Errc::invalid_input, "the loader gave no batch at the start of an epoch"};
  }
  if (!taken) return false;
  OutboxBatch batch;
  batch.labels.assign(taken->labels().begin(), taken->labels().end());
  batch.indices.assign(taken->indices().begin(), taken->indices().end());
  batch.epoch = taken->epoch();
  const std::size_t taken_bytes = taken->data().size();
  batch.after = loader_.state();
  SLUICE_TRY(batch.number, inbox_.send({taken->data(), type_, levels_}));
  taken->set_event(std::make_shared<Copy>(inbox_, batch.number));
  taken->release();
  copying_.push_back({batch.number, taken_bytes});
  sent_.push_back(std::move(batch));
  return true;
}

/// Copies are timed by the device; the loader's accounts get them when they are known.
void LoaderOutbox::account_arrived() {
  while (!copying_.empty()) {
    const Copying& oldest = copying_.front();
    const auto arrived = inbox_.arrived(oldest.number);
    if (!arrived || !*arrived) return;
    if (const auto ns = inbox_.copy_ns(oldest.number))
      loader_.account(loader::Stage::transfer, static_cast<std::int64_t>(*ns), oldest.bytes);
    copying_.pop_front();
  }
}

Result<std::optional<OutboxBatch>> LoaderOutbox::next() {
  if (sent_.empty() && !ended_) {
    SLUICE_TRY(const bool came, send_one());
    ended_ = !came;
  }
  if (sent_.empty()) {
    ended_ = false;
    return std::optional<OutboxBatch>();
  }
  std::optional<OutboxBatch> batch(std::move(sent_.front()));
  sent_.pop_front();
  return batch;
}

Status LoaderOutbox::ahead() {
  account_arrived();
  while (sent_.size() < kAhead && !ended_ && !inbox_.full() && loader_.ready()) {
    SLUICE_TRY(const bool came, send_one());
    ended_ = !came;
  }
  return ok;
}

Status LoaderOutbox::clear() {
  for (; !sent_.empty(); sent_.pop_front())
    SLUICE_CHECK(inbox_.drop());
  ended_ = false;
  return ok;
}

std::unique_ptr<Outbox> make_outbox(loader::Loader& loader, train::cuda::Inbox& inbox,
                                    train::PixelType type, std::vector<float> levels) {
  return std::make_unique<LoaderOutbox>(loader, inbox, type, std::move(levels));
}

std::unique_ptr<Outbox> make_outbox(loader::gpu::DeviceFeed& feed, train::cuda::Inbox& inbox,
                                    std::vector<float> levels) {
  return std::make_unique<LaneOutbox>(feed, inbox, std::move(levels));
}

}  // namespace sluice::scenario
