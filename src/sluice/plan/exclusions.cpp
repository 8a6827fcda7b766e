// sluice/plan/exclusions.cpp - known device exclusions and labels, with their reasons.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/plan/exclusions.h"

#include <algorithm>

namespace sluice::plan {
namespace {

using measure::RowStatus;

template <class T>
bool contains(const std::vector<T>& list, T value) {
  return std::find(list.begin(), list.end(), value) != list.end();
}

bool device_matches(std::string_view stated, std::string_view device) {
  if (stated == "any") return true;
  return stated == "gpu" ? device != "none" : device == stated;
}

}  // namespace

const std::vector<Exclusion>& exclusions() {
  static const std::vector<Mode> both = {Mode::micro, Mode::pipeline};
  static const std::vector<Exclusion> table = {
      {"kornia",
       {"Shear"},
       {"image-rgb", "image-9ch", "video-16f"},
       both,
       "gpu",
       RowStatus::unsupported,
       "kornia's shear parameters mix CPU and CUDA tensors"},
      {"kornia",
       {"MedianBlur"},
       {"image-9ch"},
       both,
       "gpu",
       RowStatus::unsupported,
       "kornia's median blur of 9 channels exceeds the GPU memory beside the resident inputs"},
      {"kornia",
       {"GaussianIllumination"},
       {"image-rgb", "image-9ch"},
       {Mode::pipeline},
       "gpu",
       RowStatus::unsupported,
       "kornia's Gaussian illumination mixes CPU and CUDA tensors"},
      {"torchvision",
       {"JpegCompression"},
       {"image-rgb", "image-9ch", "video-16f"},
       both,
       "gpu",
       RowStatus::unsupported,
       "torchvision's JPEG takes uint8 tensors on the CPU only"},
      {"kornia",
       {"CLAHE", "ColorJiggle", "CornerIllumination", "Erasing", "LinearIllumination", "MotionBlur",
        "Perspective", "Posterize", "RandomJigsaw", "RandomRotate90"},
       {"video-16f"},
       {Mode::pipeline},
       "gpu",
       RowStatus::skipped,
       "kornia raises a CUDA assertion on clips, after which no row of the process is valid"},
  };
  return table;
}

const Exclusion* find_exclusion(std::string_view library, std::string_view transform,
                                std::string_view scenario, Mode mode, std::string_view device) {
  for (const Exclusion& exclusion : exclusions()) {
    if (exclusion.library == library && contains(exclusion.transforms, transform) &&
        contains(exclusion.scenarios, scenario) && contains(exclusion.modes, mode) &&
        device_matches(exclusion.device, device))
      return &exclusion;
  }
  return nullptr;
}

const std::vector<Label>& labels() {
  static const std::vector<Label> table = {
      {"torchvision",
       {"image-rgb", "image-9ch"},
       Mode::pipeline,
       "gpu",
       "the transform runs in a loop over the samples of a batch, normalisation on the whole "
       "batch"},
      {"torchvision",
       {"video-16f"},
       Mode::pipeline,
       "gpu",
       "the recipe runs in a loop over the clips of a batch"},
      {"kornia",
       {"image-9ch"},
       Mode::micro,
       "gpu",
       "memory-limited: inputs stay on the device, so fewer items than on the CPU"},
      {"dali",
       {"image-rgb", "video-16f"},
       Mode::pipeline,
       "any",
       "reads and decodes in its own graph; the shorter side becomes 256 before the crop"},
  };
  return table;
}

std::vector<std::string> labels_of(std::string_view library, std::string_view scenario, Mode mode,
                                   std::string_view device) {
  std::vector<std::string> texts;
  for (const Label& label : labels()) {
    if (label.library == library && label.mode == mode && contains(label.scenarios, scenario) &&
        device_matches(label.device, device))
      texts.emplace_back(label.text);
  }
  return texts;
}

}  // namespace sluice::plan
