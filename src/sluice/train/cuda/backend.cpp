// sluice/train/cuda/backend.cpp - memory, graphs, clock and optimizer around the lowered calls.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda/backend.h"

#include "sluice/train/cuda/bucket_bytes.h"
#include "sluice/train/cuda/inbox.h"
#include "sluice/train/cuda/library.h"
#include "sluice/train/cuda/lowering.h"
#include "sluice/train/cuda/session.h"
#include "sluice/train/cuda/update_settings.h"
#include "sluice/train/model/rope_tables.h"
#include "sluice/train/world/buckets.h"

#include <fmt/format.h>

#include <algorithm>
#include <functional>
#include <map>
#include <tuple>
#include <utility>

namespace sluice::train::cuda {
namespace {

/// Events that mark the edges of phases; those of the inbox and of ops follow.
enum : int {
  kForward,
  kLoss,
  kBackward,
  kMicroEnd,
  kUpdate,
  kUpdateEnd,
  kOrigin,
  kSumsBegin,  // on their own stream
  kSumsEnd,
  kSumsAwaited,  // backward is done
  kSumsHad,
  kInbox,
  kFirstOpEvent = kInbox + Inbox::kEvents
};

constexpr double kAbandon_s = 10;         // for NCCL to end what waits for a rank that failed
constexpr std::int64_t kStretch = 16384;  // elements of one tensor that a block updates

auto key_of(const MicroStep& micro, bool timed) {
  return std::tuple(micro.first, micro.last, micro.evaluating, micro.channels_last,
                    micro.gradient_factor, micro.loss_factor, micro.label_smoothing, timed);
}

class CudaBackend final : public Backend {
 public:
  CudaBackend(const Program& program, const EngineConfig& config, Session session, EngineInfo info)
      : program_(program),
        config_(config),
        session_(std::move(session)),
        inbox_(session_, {config.batch, 3, config.model.image, config.model.image}, kInbox),
        lowering_(program_, session_.memory()),
        info_(std::move(info)) {}

  /// What the constructor cannot: it may fail.
  Status prepare() {
    std::vector<float> cosine(
        static_cast<std::size_t>(program_.plan.at(program_.cosine).elements()));
    std::vector<float> sine(cosine.size());
    rope_tables(cosine.data(), sine.data(), program_.model);
    SLUICE_CHECK(upload(program_.cosine, std::as_bytes(std::span(cosine))));
    SLUICE_CHECK(upload(program_.sine, std::as_bytes(std::span(sine))));
    if (program_.turns.exists()) {
      const PackTurnsCall pack{lowering_.at<void>(program_.turns),
                               lowering_.at<float>(program_.cosine),
                               lowering_.at<float>(program_.sine), heads_of(program_)};
      SLUICE_CHECK(session_.issue(KernelCall(pack), "pack turns"));
    }
    SLUICE_CHECK(list_weights());
    if (config_.world != nullptr) SLUICE_CHECK(join_world());
    return config_.optimizer ? list_update() : ok;
  }

  [[nodiscard]] const EngineInfo& info() const override { return info_; }
  void set_note(std::string note) override { info_.note = std::move(note); }

  Status upload(TensorId tensor, std::span<const std::byte> bytes) override {
    SLUICE_CHECK(check_bytes(program_.plan.at(tensor), bytes.size()));
    return session_.upload(lowering_.at<void>(tensor), bytes);
  }
  Status download(std::span<std::byte> bytes, TensorId tensor) const override {
    SLUICE_CHECK(check_bytes(program_.plan.at(tensor), bytes.size()));
    return session_.download(bytes, lowering_.at<void>(tensor));
  }

  Inbox* inbox() override { return program_.images.exists() ? &inbox_ : nullptr; }
  Status unpack_images() override { return inbox_.unpack(lowering_.at<float>(program_.images)); }

  Status mix_images(const MixupDraw& draw, bool channels_last) override {
    MixImagesCall call;
    call.images = lowering_.at<float>(program_.images);
    call.batch = program_.options.batch;
    call.height = call.width = program_.model.image;
    call.channels_last = channels_last;
    call.cut = draw.kind == MixupDraw::Kind::cutmix;
    call.keep = static_cast<float>(draw.lambda);
    call.take = static_cast<float>(1 - draw.lambda);
    call.top = draw.top;
    call.bottom = draw.bottom;
    call.left = draw.left;
    call.right = draw.right;
    return session_.issue(KernelCall(call), "mix images");
  }

  Status run(const MicroStep& micro) override {
    lowering_.begin(micro);
    if (observer_ != nullptr) return run_observed(micro);
    SLUICE_CHECK(replayed(micro_graphs_[key_of(micro, timed_)], [&] { return issue(micro); }));
    if (!timed_) return ok;
    SLUICE_CHECK(session_.synchronize());
    SLUICE_CHECK(add_phase(Phase::forward, kForward, kLoss));
    SLUICE_CHECK(add_phase(Phase::loss, kLoss, kBackward));
    if (!sums(micro)) return add_phase(Phase::backward, kBackward, kMicroEnd);
    SLUICE_CHECK(add_phase(Phase::backward, kBackward, kSumsAwaited));
    return add_phase(Phase::grad_sync, kSumsAwaited, kMicroEnd);
  }

  /// They are part of the last micro-step.
  Status sum_gradients() override {
    return config_.world != nullptr ? config_.world->arrive() : ok;
  }
  void abandon() override {
    micro_graphs_.clear();  // NCCL ends when nothing can begin its sums again
    update_graphs_.clear();
    session_.abandon_world(kAbandon_s);
  }
  [[nodiscard]] SyncTimes sync_times() const override {
    const auto between = [&](int from, int to) {
      const auto nanoseconds = session_.elapsed(from, to);
      return nanoseconds ? static_cast<std::int64_t>(*nanoseconds) : 0;
    };
    if (buckets_.empty()) return {};
    SyncTimes times{.bytes = sum_bytes_,
                    .in_flight_ns = between(kSumsBegin, kSumsEnd),
                    .exposed_ns = between(kSumsAwaited, kSumsHad),
                    .waited_ns = 0};
    times.waited_ns = times.exposed_ns;
    return times;
  }

  void cast_weights() override { keep(copy_weights(copies_)); }

  Result<double> update(std::uint64_t step) override {
    UpdateState state = update_state(config_.update, step);
    SLUICE_CHECK(session_.upload(update_.state, std::as_bytes(std::span(&state, 1))));
    if (observer_ != nullptr) {
      SLUICE_CHECK(session_.synchronize());
      const std::int64_t start = now_ns();
      SLUICE_CHECK(issue_update());
      SLUICE_CHECK(session_.synchronize());
      observer_->op({"update", "optimizer", start, now_ns()});
      observer_->phase(Phase::optimizer_step, start, now_ns());
    } else {
      SLUICE_CHECK(replayed(update_graphs_[timed_], [&] { return issue_update(); }));
    }
    SLUICE_CHECK(session_.download(std::as_writable_bytes(std::span(&state, 1)), update_.state));
    if (timed_ && observer_ == nullptr)
      SLUICE_CHECK(add_phase(Phase::optimizer_step, kUpdate, kUpdateEnd));
    return state.gradient_norm;
  }
  void synchronize() override { keep(session_.synchronize()); }

  void begin(Phase) override {
    if (!timed_ && observer_ == nullptr) return;
    keep(session_.synchronize());
    phase_start_ = now_ns();
  }
  void end(Phase phase) override {
    if (!timed_ && observer_ == nullptr) return;
    keep(session_.synchronize());
    const std::int64_t stop = now_ns();
    phases_[static_cast<std::size_t>(phase)] += stop - phase_start_;
    if (observer_ != nullptr) observer_->phase(phase, phase_start_, stop);
  }
  void time_phases(bool on) override { timed_ = on; }
  void observe(StepObserver* observer) override { observer_ = observer; }
  PhaseTimes take_phases() override { return std::exchange(phases_, PhaseTimes{}); }

  [[nodiscard]] std::size_t memory_bytes() const override { return session_.bytes(); }
  [[nodiscard]] std::optional<std::size_t> device_free_bytes() const override {
    const auto index = device_index(config_.device);
    const auto facts = index ? device_facts(*index) : Result<DeviceFacts>(index.error());
    return facts ? std::optional(facts->free_bytes) : std::nullopt;
  }

 private:
  /// A sequence of calls: issued as it is the first time (products are searched for then), captured
  /// the second, replayed ever after.
  struct Replay {
    bool ran = false;
    std::unique_ptr<SessionGraph> graph;
  };
  Status replayed(Replay& replay, const std::function<Status()>& issue_all) {
    SLUICE_CHECK(std::exchange(kept_, ok));
    if (config_.rung != Rung::graph || !std::exchange(replay.ran, true)) return issue_all();
    if (!replay.graph) {
      SLUICE_TRY(replay.graph, session_.capture(issue_all));
    }
    return session_.run(*replay.graph);
  }

  Status issue(const Op& op) {
    return session_.issue(std::visit(lowering_, op.work), op.name.c_str());
  }
  Status issue(const std::vector<Op>& ops) {
    for (const Op& op : ops)
      SLUICE_CHECK(issue(op));
    return ok;
  }
  Status mark(int event) { return timed_ ? session_.record(event) : ok; }

  Status issue(const MicroStep& micro) {
    SLUICE_CHECK(mark(kForward));
    if (micro.first && !micro.evaluating) {
      for (const Call& call : lowering_.clear_gradients())
        SLUICE_CHECK(session_.issue(call, "clear gradients"));
    }
    SLUICE_CHECK(issue(program_.forward));
    SLUICE_CHECK(mark(kLoss));
    SLUICE_CHECK(issue(program_.loss));
    SLUICE_CHECK(mark(kBackward));
    if (sums(micro))
      SLUICE_CHECK(issue_backward_in_world());
    else if (!micro.evaluating)
      SLUICE_CHECK(issue(program_.backward));
    return mark(kMicroEnd);
  }
  [[nodiscard]] bool sums(const MicroStep& micro) const {
    return !buckets_.empty() && micro.last && !micro.evaluating;
  }
  Status issue_backward_in_world() {
    std::size_t next = 0;
    for (std::size_t i = 0; i < program_.backward.size(); ++i) {
      SLUICE_CHECK(issue(program_.backward[i]));
      SLUICE_CHECK(begin_sums(i, next));
    }
    return await_sums();
  }
  /// Of the buckets from `next` on, those that operation `index` of backward has made whole.
  Status begin_sums(std::size_t index, std::size_t& next) {
    for (; next < buckets_.size() && buckets_[next].ready <= index; ++next) {
      auto* values = reinterpret_cast<float*>(session_.memory() + buckets_[next].offset);
      SLUICE_CHECK(
          session_.start_sum({values, buckets_[next].elements}, next == 0 ? kSumsBegin : -1));
    }
    return ok;
  }
  Status await_sums() {
    SLUICE_CHECK(session_.record(kSumsAwaited));
    SLUICE_CHECK(session_.finish_sums(kSumsEnd));
    return session_.record(kSumsHad);
  }
  Status issue_update() {
    SLUICE_CHECK(mark(kUpdate));
    SLUICE_CHECK(session_.issue(KernelCall(update_), "update"));
    SLUICE_CHECK(copy_weights(scaled_copies_));
    return mark(kUpdateEnd);
  }
  Status copy_weights(const CopyWeightsCall& copies) {
    if (copies.count == 0) return ok;
    return session_.issue(KernelCall(copies), "copy weights");
  }
  /// The update writes it with the value. A copy that another parameter scales waits for that one.
  [[nodiscard]] bool copied_by_update(const Parameter& p) const {
    return p.compute != p.value && !p.row_scale.exists() &&
           program_.plan.at(p.compute).dtype == Dtype::bf16;
  }

  Status add_phase(Phase phase, int from, int to) {
    SLUICE_TRY(const double nanoseconds, session_.elapsed(from, to));
    phases_[static_cast<std::size_t>(phase)] += static_cast<std::int64_t>(nanoseconds);
    return ok;
  }

  /// Every op between two events; their times moved onto the host's clock.
  Status run_observed(const MicroStep& micro);

  Status list_weights();
  Result<CopyWeightsCall> copies_of(const std::vector<const Parameter*>& parameters);
  Status list_update();
  Status join_world();
  /// Of calls that cannot say it: the next run() does.
  void keep(Status status) {
    if (!status) kept_ = std::move(status);
  }

  const Program& program_;
  EngineConfig config_;
  Session session_;
  Inbox inbox_;
  Lowering lowering_;
  EngineInfo info_;
  CopyWeightsCall copies_, scaled_copies_;  // all weights; those that an update leaves to them
  UpdateCall update_;
  std::map<decltype(key_of({}, false)), Replay> micro_graphs_;
  std::map<bool, Replay> update_graphs_;
  std::vector<Bucket> buckets_;  // of the gradients; none: this rank is alone
  std::int64_t sum_bytes_ = 0;
  StepObserver* observer_ = nullptr;
  bool timed_ = false;
  std::int64_t phase_start_ = 0;
  PhaseTimes phases_{};
  Status kept_ = ok;
};

Status CudaBackend::run_observed(const MicroStep& micro) {
  struct Part {
    Phase phase;
    const std::vector<Op>* ops;
  };
  std::vector<Part> parts = {{Phase::forward, &program_.forward}, {Phase::loss, &program_.loss}};
  if (!micro.evaluating) parts.push_back({Phase::backward, &program_.backward});
  SLUICE_CHECK(session_.synchronize());
  const std::int64_t origin = now_ns();
  SLUICE_CHECK(session_.record(kOrigin));
  if (micro.first && !micro.evaluating) {
    for (const Call& call : lowering_.clear_gradients())
      SLUICE_CHECK(session_.issue(call, "clear gradients"));
  }
  int event = kFirstOpEvent;
  for (const Part& part : parts) {
    std::size_t index = 0, next = 0;
    for (const Op& op : *part.ops) {
      SLUICE_CHECK(session_.record(event++));
      SLUICE_CHECK(issue(op));
      SLUICE_CHECK(session_.record(event++));
      if (part.phase == Phase::backward && sums(micro)) SLUICE_CHECK(begin_sums(index++, next));
    }
  }
  if (sums(micro)) SLUICE_CHECK(await_sums());
  SLUICE_CHECK(session_.synchronize());
  event = kFirstOpEvent;
  for (const Part& part : parts) {
    std::int64_t first = 0, last = 0;
    for (const Op& op : *part.ops) {
      SLUICE_TRY(const double from, session_.elapsed(kOrigin, event++));
      SLUICE_TRY(const double to, session_.elapsed(kOrigin, event++));
      const OpSpan span{op.name.c_str(), category_of(op), origin + static_cast<std::int64_t>(from),
                        origin + static_cast<std::int64_t>(to)};
      if (first == 0) first = span.start_ns;
      last = span.end_ns;
      observer_->op(span);
    }
    phases_[static_cast<std::size_t>(part.phase)] += last - first;
    observer_->phase(part.phase, first, last);
  }
  return ok;
}

Status CudaBackend::join_world() {
  SLUICE_CHECK(session_.join_world(*config_.world, info_.sums));
  buckets_ = gradient_buckets(program_, kBucketBytes);
  for (const Bucket& bucket : buckets_)
    sum_bytes_ += static_cast<std::int64_t>(bucket.elements * sizeof(float));
  return ok;
}

Status CudaBackend::list_weights() {
  std::vector<const Parameter*> all, scaled;
  for (const Parameter& p : program_.parameters) {
    if (p.compute == p.value) continue;
    all.push_back(&p);
    if (!copied_by_update(p)) scaled.push_back(&p);
  }
  SLUICE_TRY(copies_, copies_of(all));
  SLUICE_TRY(scaled_copies_, copies_of(scaled));
  return ok;
}

Result<CopyWeightsCall> CudaBackend::copies_of(const std::vector<const Parameter*>& parameters) {
  std::vector<WeightCopy> weights;
  CopyWeightsCall call;
  for (const Parameter* p : parameters) {
    const Tensor& weight = program_.plan.at(p->value);
    weights.push_back({lowering_.at<float>(p->value), lowering_.written(p->compute),
                       lowering_.at<float>(p->row_scale), weight.elements(),
                       weight.elements() / weight.shape.front()});
    call.most_elements = std::max(call.most_elements, weight.elements());
  }
  call.count = static_cast<int>(weights.size());
  if (weights.empty()) return call;
  SLUICE_TRY(call.weights, session_.keep(std::span<const WeightCopy>(weights)));
  return call;
}

Status CudaBackend::list_update() {
  std::vector<UpdateTensor> tensors;
  std::vector<Stretch> stretches;
  for (const Parameter& p : program_.parameters) {
    const std::int64_t elements = program_.plan.at(p.value).elements();
    for (std::int64_t begin = 0; begin < elements; begin += kStretch) {
      stretches.push_back({static_cast<std::int32_t>(tensors.size()),
                           static_cast<std::int32_t>(std::min(kStretch, elements - begin)), begin});
    }
    tensors.push_back({lowering_.at<float>(p.value), lowering_.at<float>(p.gradient),
                       lowering_.at<float>(p.first_moment), lowering_.at<float>(p.second_moment),
                       lowering_.at<float>(p.average), elements, p.decayed,
                       copied_by_update(p) ? lowering_.at<void>(p.compute) : nullptr});
  }
  const UpdateState state;
  update_ = update_call(config_.update);
  SLUICE_TRY(update_.tensors, session_.keep(std::span<const UpdateTensor>(tensors)));
  SLUICE_TRY(update_.stretches, session_.keep(std::span<const Stretch>(stretches)));
  SLUICE_TRY(update_.state, session_.keep(std::span<const UpdateState>(&state, 1)));
  update_.tensor_count = static_cast<int>(tensors.size());
  update_.stretch_count = static_cast<int>(stretches.size());
  return ok;
}

}  // namespace

Result<std::unique_ptr<Backend>> make_backend(const Program& program, const EngineConfig& config) {
  SLUICE_TRY(const int index, device_index(config.device));
  SLUICE_TRY(const DeviceFacts facts, device_facts(index));
  SLUICE_TRY(const Table* table, library());
  SLUICE_TRY(Session session, Session::open(index, program.plan.bytes()));
  EngineInfo info;
  info.device = fmt::format("{} {}", config.device, facts.name);
  info.library = table->library;
  info.regime = program.options.regime;
  info.activation_type = activation_type(info.regime);
  info.residual_type = residual_type(info.regime);
  auto backend =
      std::make_unique<CudaBackend>(program, config, std::move(session), std::move(info));
  SLUICE_CHECK(backend->prepare());
  return std::unique_ptr<Backend>(std::move(backend));
}

}  // namespace sluice::train::cuda
