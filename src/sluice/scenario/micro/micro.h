// sluice/scenario/micro/micro.h - micro rows: one transform over decoded items in memory; a library
// supplies the transform, the rest is the same for all native workers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"
#include "sluice/core/rng.h"
#include "sluice/image/image.h"
#include "sluice/image/inputs/shared_inputs.h"
#include "sluice/measure/worker/subject.h"

#include <cstddef>
#include <functional>
#include <memory>
#include <optional>
#include <string>
#include <vector>

namespace sluice::scenario {

/// What `prepare` says about a micro row.
struct MicroCase {
  std::string scenario;   // "image-rgb"
  std::string transform;  // "Resize"
  Json params;            // canonical parameters of the transform; an object
  int channels = 3;
  bool clips = false;
  int frames = 1;  // of a clip; an image has 1
};

/// The items a row works on: the shared inputs, or one small item made here for `support`.
class MicroInputs {
 public:
  /// Touches every page, so that no timed pass waits for the disk.
  static Result<MicroInputs> open(const std::filesystem::path& index,
                                  const std::filesystem::path& data, std::int64_t limit);
  static Result<MicroInputs> synthetic(const MicroCase& one);

  [[nodiscard]] std::size_t size() const { return size_; }
  [[nodiscard]] int frames(std::size_t index) const;
  [[nodiscard]] image::ImageView<std::uint8_t> view(std::size_t index, int frame = 0) const;
  [[nodiscard]] bool clips() const { return clips_; }
  [[nodiscard]] std::int64_t bytes() const;

 private:
  MicroInputs() = default;
  std::optional<image::MappedInputs> mapped_;
  std::vector<image::Image> made_;  // the frames of the one synthetic item
  std::size_t size_ = 0;
  bool clips_ = false;
};

/// Outputs go round through so many buffers: few enough for memory, enough that the last output is
/// not simply still in the nearest cache.
inline constexpr std::size_t kMicroSlots = 8;

/// One transform of one library, made for one set of inputs.
class MicroOp {
 public:
  virtual ~MicroOp() = default;
  /// All frames of item `index` into the buffers of `slot`, with one draw of parameters from `rng`.
  /// May throw: in `check` that makes the row unsupported with the text thrown.
  virtual void run(std::size_t index, std::size_t slot, Rng& rng) = 0;
  /// What run() left in `slot`, one view per frame; empty where the output is f32.
  [[nodiscard]] virtual std::vector<image::ImageView<std::uint8_t>> output(
      std::size_t slot) const = 0;
  /// The same for transforms that make f32 (Normalize).
  [[nodiscard]] virtual std::vector<image::ImageView<float>> output_f32(
      [[maybe_unused]] std::size_t slot) const {
    return {};
  }
  /// Beyond what is checked of every library (micro_check.h): what the last run() made of item
  /// `index` in `slot`, against a reference.
  virtual Status verify([[maybe_unused]] std::size_t index, [[maybe_unused]] std::size_t slot) {
    return ok;
  }
};

/// unsupported, with the reason, when the library has no such transform. `inputs` outlive the op.
using MicroOpFactory = std::function<Result<std::unique_ptr<MicroOp>>(const MicroCase& one,
                                                                      const MicroInputs& inputs)>;

/// Adds the micro rows of all three scenarios to a worker's catalogue: the prefixes, the names for
/// `hello`, and `load`.
void add_micro(measure::Catalogue& catalogue, const std::vector<std::string>& transforms,
               MicroOpFactory make);

/// The same for a library whose rows are no transforms: `make` gives the subject itself.
using MicroSubjectFactory = std::function<Result<std::unique_ptr<measure::Subject>>(
    MicroCase one, std::shared_ptr<const MicroInputs> inputs,
    const measure::SubjectContext& context)>;
void add_micro_subjects(measure::Catalogue& catalogue, const std::vector<std::string>& transforms,
                        MicroSubjectFactory make);

/// Our own transforms: the registry of the aug room.
std::vector<std::string> micro_transforms();
Result<std::unique_ptr<MicroOp>> make_micro_op(const MicroCase& one, const MicroInputs& inputs);

/// What `sluice worker --memcpy` offers: for every transform a copy of as many bytes as its output
/// has, from the same inputs to as many buffers. The yardstick of memory-bound rows.
measure::Catalogue memcpy_catalogue();

}  // namespace sluice::scenario
