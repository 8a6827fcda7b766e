// sluice/scenario/micro/memcpy.cpp - the same bytes, only copied: what no transform can beat.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/sha256.h"
#include "sluice/core/version.h"
#include "sluice/scenario/micro/micro.h"

#include <algorithm>
#include <array>
#include <cstring>
#include <vector>

namespace sluice::scenario {
namespace {

/// Writes as many bytes as the transform would, from the item's own bytes, again and again where
/// the output is larger than the input.
class CopySubject final : public measure::Subject {
 public:
  CopySubject(std::shared_ptr<const MicroInputs> inputs, std::size_t bytes_per_frame)
      : inputs_(std::move(inputs)), bytes_per_frame_(bytes_per_frame) {
    for (auto& slot : slots_)
      slot.resize(static_cast<std::size_t>(inputs_->frames(0)) * bytes_per_frame_);
  }

  Result<std::string> check() override {
    Sha256 sha;
    for (std::size_t item = 0; item < std::min<std::size_t>(inputs_->size(), 3); ++item) {
      std::fill(slots_[0].begin(), slots_[0].end(), std::uint8_t{0xA5});
      copy(item, 0);
      const auto input = inputs_->view(item);
      for (std::size_t k = 0; k < bytes_per_frame_; ++k)
        if (slots_[0][k] != input.data()[k % input.samples()])
          return Error{Errc::measurement, "memcpy: the copy is not the input"};
      sha.update(std::span<const std::uint8_t>(slots_[0]));
    }
    return sha.hex();
  }
  void run_pass() override { run_items(0, items_per_pass()); }
  std::int64_t run_items(std::int64_t first, std::int64_t count) override {
    const auto end = std::min(first + count, items_per_pass());
    for (std::int64_t item = first; item < end; ++item)
      copy(static_cast<std::size_t>(item), static_cast<std::size_t>(item) % kMicroSlots);
    return std::max<std::int64_t>(0, end - first);
  }
  [[nodiscard]] std::int64_t items_per_pass() const override {
    return static_cast<std::int64_t>(inputs_->size());
  }
  [[nodiscard]] double bytes_per_item() const override {
    return static_cast<double>(slots_[0].size());
  }

 private:
  void copy(std::size_t item, std::size_t slot) {
    for (int f = 0; f < inputs_->frames(item); ++f) {
      const auto input = inputs_->view(item, f);
      std::uint8_t* to = slots_[slot].data() + static_cast<std::size_t>(f) * bytes_per_frame_;
      for (std::size_t done = 0; done < bytes_per_frame_;) {
        const std::size_t count = std::min(input.samples(), bytes_per_frame_ - done);
        std::memcpy(to + done, input.data(), count);
        done += count;
      }
    }
  }

  std::shared_ptr<const MicroInputs> inputs_;
  std::size_t bytes_per_frame_;
  std::array<std::vector<std::uint8_t>, kMicroSlots> slots_;
};

/// Bytes of one output frame of the transform, by running it once.
Result<std::size_t> bytes_of_output(const MicroCase& one, const MicroInputs& inputs) {
  SLUICE_TRY(const auto op, make_micro_op(one, inputs));
  Rng rng(RngKey{});
  op->run(0, 0, rng);
  const auto u8 = op->output(0);
  const auto f32 = op->output_f32(0);
  return u8.empty() ? f32.at(0).samples() * sizeof(float) : u8.at(0).samples();
}

}  // namespace

measure::Catalogue memcpy_catalogue() {
  measure::Catalogue catalogue{"memcpy", version::kProgram, {}};
  add_micro_subjects(
      catalogue, micro_transforms(),
      [](const MicroCase& one, const std::shared_ptr<const MicroInputs>& inputs,
         const measure::SubjectContext&) -> Result<std::unique_ptr<measure::Subject>> {
        SLUICE_TRY(const std::size_t bytes, bytes_of_output(one, *inputs));
        return std::unique_ptr<measure::Subject>(std::make_unique<CopySubject>(inputs, bytes));
      });
  return catalogue;
}

}  // namespace sluice::scenario
