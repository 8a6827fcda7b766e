// adapters/cpp/opencv_op.cpp - a recipe as a micro row: items as matrices, outputs that are kept.
// SPDX-License-Identifier: Apache-2.0
#include "adapters/cpp/opencv_op.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include "adapters/cpp/opencv_recipes.h"
#include <array>
#include <stdexcept>

namespace sluice::opencv {
namespace {

using View = image::ImageView<std::uint8_t>;

const RecipeTable& recipes() {
  static const RecipeTable kTable = [] {
    RecipeTable table;
    add_geometry(table);
    add_colour(table);
    add_filters(table);
    return table;
  }();
  return kTable;
}

/// The first line of what OpenCV says.
std::string explain(const cv::Exception& problem) {
  const std::string text = problem.what();
  return "cv::Exception: " + text.substr(0, text.find('\n'));
}

/// Same memory; OpenCV has no matrix that is read-only.
cv::Mat matrix(View view) {
  return {view.height(), view.width(), CV_8UC(view.channels()),
          const_cast<std::uint8_t*>(view.data()), view.pitch_bytes()};
}

View view(const cv::Mat& matrix) {
  if (matrix.empty() || matrix.depth() != CV_8U || matrix.dims != 2) return {};
  return {matrix.ptr<std::uint8_t>(), matrix.cols, matrix.rows, matrix.channels(), matrix.step[0]};
}

class RecipeOp final : public scenario::MicroOp {
 public:
  RecipeOp(Recipe recipe, const scenario::MicroInputs& inputs) : recipe_(std::move(recipe)) {
    items_.resize(inputs.size());
    for (std::size_t i = 0; i < inputs.size(); ++i)
      for (int f = 0; f < inputs.frames(i); ++f)
        items_[i].push_back(matrix(inputs.view(i, f)));
  }

  void run(std::size_t index, std::size_t slot, Rng& rng) override {
    try {
      const std::vector<cv::Mat>& frames = items_[index];
      std::vector<cv::Mat>& outputs = slots_[slot];
      outputs.resize(frames.size());
      if (recipe_.draw) recipe_.draw(frames.front().size(), rng);
      for (std::size_t f = 0; f < frames.size(); ++f)
        recipe_.apply(frames[f], outputs[f]);
    } catch (const cv::Exception& problem) {
      throw std::runtime_error(explain(problem));
    }
  }
  [[nodiscard]] std::vector<View> output(std::size_t slot) const override {
    std::vector<View> views;
    for (const cv::Mat& frame : slots_[slot])
      views.push_back(view(frame));
    return views;
  }

 private:
  Recipe recipe_;
  std::vector<std::vector<cv::Mat>> items_;
  std::array<std::vector<cv::Mat>, scenario::kMicroSlots> slots_;
};

}  // namespace

std::vector<std::string> recipe_names() {
  std::vector<std::string> names;
  for (const auto& [name, factory] : recipes())
    names.push_back(name);
  return names;
}

Result<std::unique_ptr<scenario::MicroOp>> make_op(const scenario::MicroCase& one,
                                                   const scenario::MicroInputs& inputs) {
  const auto found = recipes().find(one.transform);
  if (found == recipes().end())
    return Error{Errc::unsupported,
                 fmt::format("opencv has no one-call or documented recipe for '{}'",
                             printable(one.transform))};
  if (one.clips || one.channels != 3)
    return Error{Errc::unsupported,
                 "opencv: the recipes are for RGB images, not for clips or 9 channels"};
  try {
    return std::unique_ptr<scenario::MicroOp>(
        std::make_unique<RecipeOp>(found->second(Params(one.params)), inputs));
  } catch (const std::invalid_argument& problem) {
    return Error{Errc::usage, problem.what()};
  } catch (const cv::Exception& problem) {
    return Error{Errc::unsupported, explain(problem)};
  }
}

}  // namespace sluice::opencv
