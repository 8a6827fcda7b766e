// sluice/peers/library.cpp - the table of libraries and the look-ups in it.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/peers/library.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>

namespace sluice::peers {
namespace {

constexpr std::array<std::string_view, 9> kGroups = {
    "light", "rivals", "pillow-simd", "albumentationsx", "latest",
    "torch", "dali",   "spdl",        "tensorflow"};

constexpr std::array<std::string_view, 5> kTestGroups = {"jax", "kubernetes", "servers",
                                                         "tensorboard", "trainers"};

// Rows that share a table should share an environment: everything that goes through a torch
// DataLoader or a decoder runs in `torch`, whatever it needs itself.
const std::vector<Library>& table() {
  static const std::vector<Library> kLibraries = {
      {.name = "sluice",
       .title = "Sluice",
       .package = "",
       .homepage = "",
       .licence = "Apache-2.0",
       .ways = {{"micro", "", "sluice"},
                {"pipeline", "", "sluice"},
                {"decode", "", "sluice"},
                {"loader", "", "sluice"},
                {"training", "", "sluice"},
                {"mixture", "", "sluice"}}},
      {.name = "albumentationsx",
       .title = "AlbumentationsX",
       .package = "albumentationsx",
       .homepage = "https://albumentations.ai",
       .licence = "AGPL-3.0-or-later",
       .ways = {{"micro", "albumentationsx", "albumentationsx_worker.py"},
                {"pipeline", "torch", "pipeline_worker.py"}}},
      {.name = "albumentationsx-latest",
       .title = "AlbumentationsX (newest)",
       .package = "albumentationsx",
       .homepage = "https://albumentations.ai",
       .licence = "AGPL-3.0-or-later",
       .ways = {{"micro", "latest", "albumentationsx_worker.py"}}},
      {.name = "torchvision",
       .title = "torchvision",
       .package = "torchvision",
       .homepage = "https://pytorch.org/vision",
       .licence = "BSD-3-Clause",
       .ways = {{"micro", "torch", "torchvision_worker.py"},
                {"pipeline", "torch", "pipeline_worker.py"},
                {"decode", "torch", "decode_worker.py"}}},
      {.name = "kornia",
       .title = "Kornia",
       .package = "kornia",
       .homepage = "https://kornia.org",
       .licence = "Apache-2.0",
       .ways = {{"micro", "torch", "kornia_worker.py"},
                {"pipeline", "torch", "pipeline_worker.py"}}},
      {.name = "pillow",
       .title = "Pillow",
       .package = "pillow",
       .homepage = "https://python-pillow.github.io",
       .licence = "MIT-CMU",
       .ways = {{"micro", "light", "pillow_worker.py"},
                {"jpeg", "light", "jpeg_worker.py"},
                {"pipeline", "torch", "pipeline_worker.py"}}},
      {.name = "pillow-array",
       .title = "Pillow (to NumPy arrays)",
       .package = "pillow",
       .homepage = "https://python-pillow.github.io",
       .licence = "MIT-CMU",
       .ways = {{"micro", "light", "pillow_worker.py"}}},
      {.name = "opencv",
       .title = "OpenCV (C++)",
       .package = "opencv-python-headless",
       .homepage = "https://opencv.org",
       .licence = "Apache-2.0",
       .ways = {{"micro", "", "opencv_worker"}, {"decode", "torch", "decode_worker.py"}}},
      {.name = "opencv-wheel",
       .title = "OpenCV (Python wheel)",
       .package = "opencv-python-headless",
       .homepage = "https://pypi.org/project/opencv-python-headless",
       .licence = "Apache-2.0",
       .ways = {{"micro", "light", "opencv_wheel_worker.py"}, {"jpeg", "light", "jpeg_worker.py"}}},
      {.name = "kornia-rs",
       .title = "kornia-rs",
       .package = "kornia-rs",
       .homepage = "https://github.com/kornia/kornia-rs",
       .licence = "Apache-2.0",
       .ways = {{"micro", "rivals", "kornia_rs_worker.py"}, {"jpeg", "rivals", "jpeg_worker.py"}}},
      {.name = "pyvips",
       .title = "libvips (pyvips)",
       .package = "pyvips-binary",
       .homepage = "https://www.libvips.org",
       .licence = "LGPL-2.1-or-later",
       .ways = {{"micro", "rivals", "pyvips_worker.py"}, {"jpeg", "rivals", "jpeg_worker.py"}}},
      {.name = "pillow-simd",
       .title = "Pillow-SIMD",
       .package = "pillow-simd",
       .homepage = "https://github.com/uploadcare/pillow-simd",
       .licence = "MIT-CMU",
       .machine = "x86_64",
       .ways = {{"micro", "pillow-simd", "pillow_worker.py"},
                {"jpeg", "pillow-simd", "jpeg_worker.py"}}},
      {.name = "cykooz-resizer",
       .title = "fast_image_resize (cykooz.resizer)",
       .package = "cykooz-resizer",
       .homepage = "https://github.com/Cykooz/cykooz.resizer",
       .licence = "MIT OR Apache-2.0",
       .machine = "x86_64",
       .ways = {{"micro", "rivals", "cykooz_resizer_worker.py"}}},
      {.name = "simplejpeg",
       .title = "simplejpeg",
       .package = "simplejpeg",
       .homepage = "https://gitlab.com/jfolz/simplejpeg",
       .licence = "MIT",
       .ways = {{"jpeg", "rivals", "jpeg_worker.py"}}},
      {.name = "imagecodecs",
       .title = "imagecodecs",
       .package = "imagecodecs",
       .homepage = "https://github.com/cgohlke/imagecodecs",
       .licence = "BSD-3-Clause",
       .ways = {{"jpeg", "rivals", "jpeg_worker.py"}}},
      {.name = "dali",
       .title = "NVIDIA DALI",
       .package = "nvidia-dali-cuda130",
       .homepage = "https://developer.nvidia.com/dali",
       .licence = "Apache-2.0",
       .needs_gpu = true,
       .ways = {{"pipeline", "dali", "dali_worker.py"}}},
      {.name = "pyav",
       .title = "PyAV",
       .package = "av",
       .homepage = "https://pyav.basswood-io.com",
       .licence = "BSD-3-Clause",
       .ways = {{"decode", "torch", "decode_worker.py"}, {"loader", "torch", "loader_worker.py"}}},
      {.name = "torchcodec",
       .title = "TorchCodec",
       .package = "torchcodec",
       .homepage = "https://meta-pytorch.org/torchcodec",
       .licence = "BSD-3-Clause",
       .ways = {{"decode", "torch", "decode_worker.py"}, {"loader", "torch", "loader_worker.py"}}},
      {.name = "torch-tensor",
       .title = "torch DataLoader (tensors)",
       .package = "torch",
       .homepage = "https://pytorch.org/vision",
       .licence = "BSD-3-Clause",
       .ways = {{"loader", "torch", "loader_worker.py"}}},
      {.name = "torch-pil",
       .title = "torch DataLoader (PIL)",
       .package = "torch",
       .homepage = "https://pytorch.org/vision",
       .licence = "BSD-3-Clause",
       .ways = {{"loader", "torch", "loader_worker.py"}}},
      {.name = "torch-albumentationsx",
       .title = "torch DataLoader (AlbumentationsX)",
       .package = "albumentationsx",
       .homepage = "https://albumentations.ai",
       .licence = "AGPL-3.0-or-later",
       .ways = {{"loader", "torch", "loader_worker.py"}}},
      {.name = "dali-cpu",
       .title = "NVIDIA DALI (CPU)",
       .package = "nvidia-dali-cuda130",
       .homepage = "https://developer.nvidia.com/dali",
       .licence = "Apache-2.0",
       .ways = {{"loader", "dali", "loader_worker.py"}}},
      {.name = "spdl",
       .title = "SPDL",
       .package = "spdl",
       .homepage = "https://facebookresearch.github.io/spdl",
       .licence = "BSD-2-Clause",
       .ways = {{"loader", "spdl", "loader_worker.py"}}},
      {.name = "sluice-python",
       .title = "Sluice (Python package)",
       .package = "",
       .homepage = "",
       .licence = "Apache-2.0",
       .ways = {{"loader", "torch", "loader_worker.py"}}},
      {.name = "webdataset",
       .title = "WebDataset",
       .package = "webdataset",
       .homepage = "https://webdataset.github.io/webdataset",
       .licence = "BSD-3-Clause",
       .ways = {{"loader", "torch", "loader_worker.py"}}},
      {.name = "torch-eager",
       .title = "PyTorch",
       .package = "torch",
       .homepage = "https://pytorch.org",
       .licence = "BSD-3-Clause",
       .ways = {{"training", "torch", "training_worker.py"}}},
      {.name = "torch-compile",
       .title = "PyTorch (torch.compile)",
       .package = "torch",
       .homepage = "https://pytorch.org",
       .licence = "BSD-3-Clause",
       .ways = {{"training", "torch", "training_worker.py"}}},
      {.name = "torch-max-autotune",
       .title = "PyTorch (torch.compile, max-autotune)",
       .package = "torch",
       .homepage = "https://pytorch.org",
       .licence = "BSD-3-Clause",
       .needs_gpu = true,
       .ways = {{"training", "torch", "training_worker.py"}}},
      {.name = "torch-ddp",
       .title = "PyTorch (DistributedDataParallel)",
       .package = "torch",
       .homepage = "https://pytorch.org",
       .licence = "BSD-3-Clause",
       .ways = {{"training", "torch", "training_worker.py"}}},
      {.name = "dali-gpu",
       .title = "NVIDIA DALI (GPU) and torch.compile",
       .package = "nvidia-dali-cuda130",
       .homepage = "https://developer.nvidia.com/dali",
       .licence = "Apache-2.0",
       .needs_gpu = true,
       .ways = {{"training", "torch", "training_worker.py"}}},
      {.name = "tfdata",
       .title = "TensorFlow Datasets and tf.data",
       .package = "tensorflow-datasets",
       .homepage = "https://www.tensorflow.org/datasets",
       .licence = "Apache-2.0",
       .ways = {{"mixture", "tensorflow", "mixture_tfdata_worker.py"}}},
      {.name = "tfdata-threads",
       .title = "TensorFlow Datasets, mixed by Python threads",
       .package = "tensorflow-datasets",
       .homepage = "https://www.tensorflow.org/datasets",
       .licence = "Apache-2.0",
       .ways = {{"mixture", "tensorflow", "mixture_threads_worker.py"}}},
  };
  return kLibraries;
}

}  // namespace

const Way* Library::way(std::string_view mode) const {
  const auto found =
      std::find_if(ways.begin(), ways.end(), [&](const Way& way) { return way.mode == mode; });
  return found == ways.end() ? nullptr : &*found;
}

std::string_view Library::home_group() const {
  return ways.front().group;
}

std::span<const Library> libraries() {
  return table();
}

const Library* find_library(std::string_view name) {
  for (const Library& library : libraries()) {
    if (library.name == name) return &library;
  }
  return nullptr;
}

std::string no_package(const Library& library, std::string_view machine) {
  if (library.machine.empty() || library.machine == machine) return {};
  return fmt::format("{} has no package for {}, only for {}", library.name, machine,
                     library.machine);
}

Result<const Library*> require_library(std::string_view name) {
  if (const Library* found = find_library(name)) return found;
  std::vector<std::string> names;
  for (const Library& library : libraries())
    names.emplace_back(library.name);
  const auto near = nearest(name, names);
  return Error{Errc::usage, fmt::format("library '{}' is not known; {}", printable(name),
                                        near ? fmt::format("did you mean '{}'?", *near)
                                             : "accepted: " + join(names))};
}

std::span<const std::string_view> groups() {
  return kGroups;
}

std::span<const std::string_view> test_groups() {
  return kTestGroups;
}

bool is_group(std::string_view name) {
  return std::find(kGroups.begin(), kGroups.end(), name) != kGroups.end() ||
         std::find(kTestGroups.begin(), kTestGroups.end(), name) != kTestGroups.end();
}

std::vector<const Library*> libraries_of_group(std::string_view group) {
  std::vector<const Library*> found;
  for (const Library& library : libraries()) {
    if (std::any_of(library.ways.begin(), library.ways.end(),
                    [&](const Way& way) { return way.group == group; }))
      found.push_back(&library);
  }
  return found;
}

std::vector<std::string> rows_of_library(std::string_view name) {
  if (name == "opencv") return {"opencv", "opencv-wheel"};
  return {std::string(name)};
}

}  // namespace sluice::peers
