// sluice/train/cpu/backend.cpp - memory, clock and optimizer around the executor.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cpu/backend.h"

#include "sluice/core/thread_pool.h"
#include "sluice/train/cpu/executor.h"
#include "sluice/train/cpu/update.h"
#include "sluice/train/model/rope_tables.h"
#include "sluice/train/world/reducer.h"

#include <fmt/format.h>

#include <cmath>
#include <optional>
#include <sys/mman.h>
#include <utility>
#include <variant>

namespace sluice::train::cpu {
namespace {

/// The plan's one allocation: zeroed pages, large ones where the system gives them.
class Memory {
 public:
  static Result<Memory> make(std::size_t bytes) {
    void* start = mmap(nullptr, bytes, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
    if (start == MAP_FAILED) {
      return Error{
          Errc::usage,
          fmt::format("{} bytes for the training step: the system refuses; a smaller batch or "
                      "--checkpointing needs less",
                      bytes)};
    }
    madvise(start, bytes, MADV_HUGEPAGE);  // a hint: nothing depends on it
    return Memory(static_cast<std::byte*>(start), bytes);
  }
  Memory(Memory&& other) noexcept
      : start_(std::exchange(other.start_, nullptr)), bytes_(std::exchange(other.bytes_, 0)) {}
  Memory& operator=(Memory&&) = delete;
  ~Memory() {
    if (start_ != nullptr) munmap(start_, bytes_);
  }
  [[nodiscard]] std::byte* start() const { return start_; }

 private:
  Memory(std::byte* start, std::size_t bytes) : start_(start), bytes_(bytes) {}
  std::byte* start_;
  std::size_t bytes_;
};

template <class Act, class Res>
class CpuBackend final : public Backend {
 public:
  CpuBackend(const Program& program, const EngineConfig& config, Memory memory, Gemm gemm,
             EngineInfo info)
      : program_(program),
        memory_(std::move(memory)),
        team_(info.threads),
        gemm_(std::move(gemm)),
        executor_(program_, memory_.start(), team_, gemm_),
        info_(std::move(info)) {
    rope_tables(at<float>(program_.cosine), at<float>(program_.sine), program_.model);
    if (config.world != nullptr && config.world->size() > 1)
      reducer_.emplace(program_, memory_.start(), *config.world);
    if (config.optimizer) updater_.emplace(update_tensors(), config.update, team_.size());
  }

  [[nodiscard]] const EngineInfo& info() const override { return info_; }
  void set_note(std::string note) override { info_.note = std::move(note); }

  Status upload(TensorId tensor, std::span<const std::byte> bytes) override {
    SLUICE_CHECK(check_bytes(program_.plan.at(tensor), bytes.size()));
    std::byte* to = at<std::byte>(tensor);
    team_.split(static_cast<std::int64_t>(bytes.size()), 4096, [&](Rows rows, int) {
      std::memcpy(to + rows.begin, bytes.data() + rows.begin,
                  static_cast<std::size_t>(rows.count()));
    });
    return ok;
  }
  Status download(std::span<std::byte> bytes, TensorId tensor) const override {
    SLUICE_CHECK(check_bytes(program_.plan.at(tensor), bytes.size()));
    std::memcpy(bytes.data(), at<std::byte>(tensor), bytes.size());
    return ok;
  }

  Status unpack_images() override { return Error{Errc::internal, "the CPU has no inbox"}; }
  Status mix_images(const MixupDraw& draw, bool channels_last) override {
    const Tensor& images = program_.plan.at(program_.images);
    MixupImages all;
    all.values = {at<float>(program_.images), static_cast<std::size_t>(images.elements())};
    all.batch = program_.options.batch;
    all.height = all.width = program_.model.image;
    all.channels_last = channels_last;
    return train::mix_images(all, draw);
  }

  Status run(const MicroStep& micro) override {
    executor_.begin(micro);
    run(Phase::forward, program_.forward);
    run(Phase::loss, program_.loss);
    if (micro.evaluating) return ok;
    if (reducer_ && micro.last) return run_backward_in_world();
    run(Phase::backward, program_.backward);
    return ok;
  }

  Status sum_gradients() override {
    if (!reducer_) return ok;
    begin(Phase::grad_sync);
    SLUICE_CHECK(reducer_->finish());
    end(Phase::grad_sync);
    return ok;
  }
  [[nodiscard]] SyncTimes sync_times() const override {
    return reducer_ ? reducer_->times() : SyncTimes{};
  }

  void cast_weights() override {
    for (const Parameter& parameter : program_.parameters) {
      if (parameter.compute == parameter.value) continue;
      const Tensor& weight = program_.plan.at(parameter.value);
      if (parameter.row_scale.exists()) {
        cast_scaled(parameter, weight);
        continue;
      }
      team_.split(weight.elements(), 64, [&](Rows elements, int) {
        cpu::to_bf16(at<Bf16>(parameter.compute), at<float>(parameter.value), elements);
      });
    }
  }

  Result<double> update(std::uint64_t step) override {
    begin(Phase::optimizer_step);
    const double norm = observed("gradient_norm", [&] { return updater_->gradient_norm(team_); });
    if (std::isfinite(norm)) {
      observed("update", [&] {
        updater_->step(team_, step, norm);
        return 0.0;
      });
      cast_weights();
    }
    end(Phase::optimizer_step);
    return norm;
  }
  void synchronize() override {}

  void begin(Phase) override {
    if (timed_ || observer_ != nullptr) phase_start_ = now_ns();
  }
  void end(Phase phase) override {
    if (!timed_ && observer_ == nullptr) return;
    const std::int64_t stop = now_ns();
    phases_[static_cast<std::size_t>(phase)] += stop - phase_start_;
    if (observer_ != nullptr) observer_->phase(phase, phase_start_, stop);
  }
  void time_phases(bool on) override { timed_ = on; }
  void observe(StepObserver* observer) override { observer_ = observer; }
  PhaseTimes take_phases() override { return std::exchange(phases_, PhaseTimes{}); }

  [[nodiscard]] std::size_t memory_bytes() const override {
    return program_.plan.bytes() + executor_.workspace_bytes();
  }

 private:
  void run(Phase phase, const std::vector<Op>& ops) {
    begin(phase);
    for (const Op& op : ops)
      run(op);
    end(phase);
  }
  void run(const Op& op) {
    const std::int64_t start = observer_ != nullptr ? now_ns() : 0;
    std::visit(executor_, op.work);
    if (observer_ != nullptr) observer_->op({op.name.c_str(), category_of(op), start, now_ns()});
  }
  /// Sums are begun between operations: what that takes is of grad_sync, not of backward.
  Status run_backward_in_world() {
    begin(Phase::backward);
    for (std::size_t i = 0; i < program_.backward.size(); ++i) {
      run(program_.backward[i]);
      SLUICE_CHECK(reducer_->after(i));
    }
    end(Phase::backward);
    if (!timed_ && observer_ == nullptr) return ok;
    const std::int64_t between_ns = reducer_->times().exposed_ns;
    phases_[static_cast<std::size_t>(Phase::backward)] -= between_ns;
    phases_[static_cast<std::size_t>(Phase::grad_sync)] += between_ns;
    return ok;
  }
  void cast_scaled(const Parameter& parameter, const Tensor& weight) {
    const std::int64_t columns = weight.elements() / weight.shape.front();
    team_.split(weight.shape.front(), 1, [&](Rows rows, int) {
      for (std::int64_t i = rows.begin * columns; i < rows.end * columns; ++i)
        at<Act>(parameter.compute)[i] = stored<Act>(at<float>(parameter.value)[i] *
                                                    at<float>(parameter.row_scale)[i / columns]);
    });
  }
  template <class T>
  T* at(TensorId id) const {
    return id.exists() ? reinterpret_cast<T*>(memory_.start() + program_.plan.at(id).offset)
                       : nullptr;
  }
  std::vector<UpdateTensor> update_tensors() const {
    std::vector<UpdateTensor> tensors;
    for (const Parameter& p : program_.parameters) {
      tensors.push_back({at<float>(p.value), at<float>(p.gradient), at<float>(p.first_moment),
                         at<float>(p.second_moment), at<float>(p.average),
                         program_.plan.at(p.value).elements(), p.decayed});
    }
    return tensors;
  }
  template <class Work>
  double observed(const char* name, const Work& work) {
    const std::int64_t start = observer_ != nullptr ? now_ns() : 0;
    const double value = work();
    if (observer_ != nullptr) observer_->op({name, "optimizer", start, now_ns()});
    return value;
  }

  const Program& program_;
  Memory memory_;
  Team team_;
  Gemm gemm_;
  Executor<Act, Res> executor_;
  EngineInfo info_;
  std::optional<Updater> updater_;
  std::optional<GradientReducer> reducer_;  // with other ranks
  StepObserver* observer_ = nullptr;
  bool timed_ = false;
  std::int64_t phase_start_ = 0;
  PhaseTimes phases_{};
};

template <class Act, class Res>
std::unique_ptr<Backend> made(const Program& program, const EngineConfig& config, Memory memory,
                              Gemm gemm, EngineInfo info) {
  return std::make_unique<CpuBackend<Act, Res>>(program, config, std::move(memory), std::move(gemm),
                                                std::move(info));
}

}  // namespace

bool has_bf16() {
  const auto gemm = Gemm::make();
  return gemm && gemm->has_bf16();
}

Result<std::unique_ptr<Backend>> make_backend(const Program& program, const EngineConfig& config) {
  SLUICE_TRY(Gemm gemm, Gemm::make());
  SLUICE_TRY(Memory memory, Memory::make(program.plan.bytes()));
  EngineInfo info;
  info.device = "cpu";
  info.library = gemm.library();
  info.threads = config.threads > 0 ? config.threads : static_cast<int>(usable_cores());
  info.regime = program.options.regime;
  info.activation_type = activation_type(info.regime);
  info.residual_type = residual_type(info.regime);
  const bool act = info.activation_type == Dtype::bf16;
  const bool res = info.residual_type == Dtype::bf16;
  if (act && res)
    return made<Bf16, Bf16>(program, config, std::move(memory), std::move(gemm), std::move(info));
  if (act)
    return made<Bf16, float>(program, config, std::move(memory), std::move(gemm), std::move(info));
  return made<float, float>(program, config, std::move(memory), std::move(gemm), std::move(info));
}

}  // namespace sluice::train::cpu
