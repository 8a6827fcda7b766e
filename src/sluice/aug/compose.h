// sluice/aug/compose.h - a list of transforms as one: keyed draws, replay, no allocation once warm.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/aug/transform.h"
#include "sluice/config/node.h"

#include <cstdint>
#include <filesystem>
#include <memory>
#include <span>
#include <string>
#include <vector>

namespace sluice::aug {

/// As written by the user.
struct Step {
  std::string transform;
  Json params = Json::object();
  double p = 1;        // how often it is applied
  std::string name{};  // empty: the transform's, with "#2" for its second occurrence and so on
};

/// Which item of which epoch: with a step's name all that its draw depends on.
struct ItemKey {
  std::uint64_t seed = 0;
  std::uint64_t epoch = 0;
  std::uint64_t index = 0;
  std::uint32_t repeat = 0;
};

/// What was drawn for one item. Reused for the next without allocation.
struct Drawn {
  struct Of {
    bool applied = false;
    Draw draw;  // meaningless when not applied
  };
  std::vector<Of> steps;
};

/// What applying needs besides the result: one per thread.
struct Workspace {
  Scratch scratch;
  std::vector<image::Image> ping, pong;
  std::vector<ImageView<std::uint8_t>> from_u8;
  std::vector<ImageView<float>> from_f32;
  std::vector<ImageSpan<std::uint8_t>> to_u8;
  std::vector<ImageSpan<float>> to_f32;
};

/// Immutable: one serves any number of threads.
///
/// A step's random numbers are those of RngKey{seed, epoch, index, repeat, stage}, where `stage` is
/// a hash of the step's name: adding, removing or moving a step changes no other. The first number
/// decides whether the step is applied, whatever its p, so that changing p changes no draw.
class Compose {
 public:
  static Result<Compose> make(const std::vector<Step>& steps);
  /// A list of steps, or a map with the list under `steps`. A step is a transform's name, or a map
  /// of that name to its parameters, with `p` and `name` beside it. Everything that is wrong is one
  /// error, with file and line.
  static Result<Compose> from_node(const config::Node& node);
  static Result<Compose> load(const std::filesystem::path& path);

  [[nodiscard]] std::size_t size() const { return steps_.size(); }
  [[nodiscard]] const Transform& transform(std::size_t step) const {
    return *steps_[step].transform;
  }
  [[nodiscard]] const std::string& name(std::size_t step) const { return steps_[step].name; }
  [[nodiscard]] std::uint32_t stage(std::size_t step) const { return steps_[step].stage; }

  void sample(Drawn& out, const ItemKey& key, Shape input) const;
  /// Of what apply() makes.
  [[nodiscard]] Shape output_shape(Shape input, const Drawn& drawn) const;

  /// An image, or all frames of a clip with one draw; u8 or f32, of one shape. `out` gets as many.
  Status apply(std::vector<image::Image>& out, std::span<const image::Image> frames,
               const Drawn& drawn, Workspace& workspace) const;

  /// [{"name", "transform", "applied", "draw"}...]; the draw of a step that is not applied is null.
  [[nodiscard]] Json to_json(const Drawn& drawn) const;
  /// What to_json gave for this list of steps.
  [[nodiscard]] Result<Drawn> drawn_from_json(const Json& json) const;
  /// The steps with all parameters.
  [[nodiscard]] Json to_json() const;

 private:
  struct Made {
    std::string name;
    std::unique_ptr<const Transform> transform;
    double p = 1;
    std::uint32_t stage = 0;
  };
  [[nodiscard]] Status apply_step(const Made& step, std::span<image::Image> dst,
                                  std::span<const image::Image> src, const Draw& draw,
                                  Workspace& workspace) const;

  std::vector<Made> steps_;
};

/// The stage of a step's name: FNV-1a. Frozen: stored draws depend on it.
std::uint32_t stage_of(std::string_view name);

}  // namespace sluice::aug
