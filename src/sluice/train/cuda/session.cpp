// sluice/train/cuda/session.cpp - calls of the module, their codes turned into errors with words.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda/session.h"

#include "sluice/core/user_folders.h"
#include "sluice/train/cuda/library.h"
#include "sluice/train/world/communicator.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <utility>

namespace sluice::train::cuda {
Result<Session> Session::open(int index, std::size_t plan_bytes) {
  SLUICE_TRY(const DeviceFacts facts, device_facts(index));
  SLUICE_TRY(const Table* table, library());
  std::array<char, 256> why{};
  Device* device = nullptr;
  if (table->open(index, &device, why.data(), why.size()) != kDone)
    return Error{Errc::usage, fmt::format("device cuda:{}: {}", index, why.data())};
  Session session(table, device);
  if (const auto folder = user_cache_folder()) {
    SLUICE_TRY(session.choices_, KeptChoices::offer(*table, device, facts, *folder / "cuda"));
  }
  if (plan_bytes == 0) return session;
  if (const int code = table->allocate(device, plan_bytes, &session.plan_); code != kDone)
    return Error{Errc::usage,
                 fmt::format("{} bytes for the training step on cuda:{}: {}; a smaller batch or "
                             "--checkpointing needs less",
                             plan_bytes, index, table->message(device))};
  session.allocated_ = plan_bytes;
  const KernelCall clear = ClearCall{session.plan_, plan_bytes};
  SLUICE_CHECK(session.status(table->launch(device, &clear), "clear memory"));
  return session;
}

Status Session::check_choices(int index) {
  SLUICE_TRY(const DeviceFacts facts, device_facts(index));
  SLUICE_TRY(const Table* table, library());
  const auto folder = user_cache_folder();
  return folder ? KeptChoices::check(*table, facts, *folder / "cuda") : Status(ok);
}

Session::Session(Session&& other) noexcept
    : table_(other.table_),
      device_(std::exchange(other.device_, nullptr)),
      choices_(std::move(other.choices_)),
      plan_(std::exchange(other.plan_, nullptr)),
      allocated_(other.allocated_),
      patience_s_(other.patience_s_),
      kept_(std::move(other.kept_)) {}

Session::~Session() {
  if (device_ == nullptr) return;
  choices_.keep(*table_, device_);
  for (const Kept& kept : kept_)
    table_->release(device_, kept.memory);
  if (plan_ != nullptr) table_->release(device_, plan_);
  table_->close(device_);
}

std::size_t Session::bytes() const {
  return allocated_ + table_->own_bytes(device_);
}

Result<void*> Session::allocate(std::size_t bytes) {
  void* memory = nullptr;
  SLUICE_CHECK(status(table_->allocate(device_, bytes, &memory), "allocate"));
  kept_.push_back({memory, bytes});
  allocated_ += bytes;
  return memory;
}

void Session::give_back(void* memory) {
  const auto at = std::find_if(kept_.begin(), kept_.end(),
                               [&](const Kept& kept) { return kept.memory == memory; });
  if (memory == nullptr || at == kept_.end()) return;
  table_->release(device_, memory);
  allocated_ -= at->bytes;
  kept_.erase(at);
}

Result<void*> Session::kept_copy(std::span<const std::byte> bytes) {
  SLUICE_TRY(void* memory, allocate(bytes.size()));
  SLUICE_CHECK(upload(memory, bytes));
  return memory;
}

Status Session::status(int code, std::string_view what) const {
  if (code == kDone) return ok;
  return Error{code == kOutOfMemory ? Errc::usage : Errc::measurement,
               fmt::format("{} on the GPU: {}", what, table_->message(device_))};
}

Status Session::upload(void* to, std::span<const std::byte> from) {
  return status(table_->upload(device_, to, from.data(), from.size()), "upload");
}
Status Session::download(std::span<std::byte> to, const void* from) const {
  SLUICE_CHECK(synchronize());
  return status(table_->download(device_, to.data(), from, to.size()), "download");
}
Status Session::copy(void* to, const void* from, std::size_t bytes) {
  return status(table_->copy(device_, to, from, bytes), "copy");
}
Status Session::send(void* to, std::span<const std::byte> from, int after, int begun, int sent) {
  return status(table_->send(device_, to, from.data(), from.size(), after, begun, sent), "send");
}
Status Session::await(int event) {
  return status(table_->await(device_, event), "event");
}
Status Session::await_other(void* event) {
  return status(table_->await_other(device_, event), "event");
}
void* Session::event(int event) const {
  return table_->event(device_, event);
}
Result<bool> Session::reached(int event, double limit_seconds) {
  const int code = table_->reached(device_, event, limit_seconds);
  if (code == kHung && limit_seconds <= 0) return false;
  SLUICE_CHECK(status(code, "event"));
  return true;
}
Status Session::issue(const Call& call, const char* what) {
  table_->push_range(what);
  const int code = std::holds_alternative<Product>(call)
                       ? table_->multiply(device_, &std::get<Product>(call))
                       : table_->launch(device_, &std::get<KernelCall>(call));
  table_->pop_range();
  return status(code, what);
}
Result<std::unique_ptr<SessionGraph>> Session::capture(const std::function<Status()>& issue_all) {
  SLUICE_CHECK(status(table_->begin_capture(device_), "begin of the graph"));
  const Status issued = issue_all();
  Graph* graph = nullptr;
  const int code = table_->end_capture(device_, &graph);
  if (!issued) {
    if (code == kDone) table_->drop_graph(device_, graph);
    return issued.error();
  }
  SLUICE_CHECK(status(code, "end of the graph"));
  choices_.keep(*table_, device_);  // all products have run; a worker may be ended at any time
  return std::make_unique<SessionGraph>(*table_, device_, graph);
}
Status Session::run(const SessionGraph& graph) {
  return status(table_->run_graph(device_, graph.get()), "graph");
}
Status Session::record(int event) {
  return status(table_->record(device_, event), "event");
}
Result<double> Session::elapsed(int from, int to) const {
  double nanoseconds = 0;
  SLUICE_CHECK(status(table_->elapsed(device_, from, to, &nanoseconds), "event"));
  return nanoseconds;
}
Status Session::synchronize() const {
  const int code = table_->synchronize(device_, patience_s_);
  if (code == kHung)
    return Error{Errc::timeout,
                 fmt::format("the GPU has not answered for {:g} s: a kernel hangs", patience_s_)};
  return status(code, "wait");
}

Result<std::string> Session::world_key(std::string& library) {
  std::string key(kWorldKeyBytes, '\0');
  std::array<char, 64> name{};
  std::array<char, 256> why{};
  if (table_->world_key(key.data(), name.data(), name.size(), why.data(), why.size()) != kDone)
    return Error{Errc::unsupported, why.data()};
  library = name.data();
  return key;
}
Status Session::join_world(Communicator& world, std::string& library) {
  std::string key;
  if (world.rank() == 0) {
    SLUICE_TRY(key, world_key(library));
  }
  SLUICE_TRY(key, world.share(std::move(key)));
  // Nobody waits inside NCCL for one that failed before.
  float here = 0;
  SLUICE_CHECK(world.start_sum({&here, 1}));
  SLUICE_CHECK(world.finish());
  patience_s_ = world.patience_s();
  const int code =
      key.size() == kWorldKeyBytes
          ? table_->join_world(device_, world.rank(), world.size(), key.data(), patience_s_)
          : int{kFailed};
  if (code == kHung) return Error{Errc::measurement, table_->message(device_)};
  return status(code, "joining the other ranks");
}
Status Session::start_sum(std::span<float> values, int begun) {
  return status(table_->start_sum(device_, values.data(), values.size(), begun), "sum over ranks");
}
void Session::abandon_world(double limit_s) {
  static_cast<void>(table_->abandon_world(device_, limit_s));
}
Status Session::finish_sums(int done) {
  return status(table_->finish_sums(device_, done), "sum over ranks");
}

}  // namespace sluice::train::cuda
