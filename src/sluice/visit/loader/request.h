// sluice/visit/loader/request.h - where samples come from and how they are loaded, all decided.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/loader/gpu/router.h"
#include "sluice/train/sent_images.h"

#include <cstdint>
#include <string>

namespace sluice::visit {

struct LoaderRequest {
  std::string input;  // folder or URI
  bool remote = false;
  std::string endpoint, region;
  bool anonymous = false;
  std::string cache_dir;  // empty: none
  bool bundling = false;
  double bundle_size_gb = 1;
  std::string read_mode = "buffered";

  std::string device = "cpu";  // or "cuda:N"
  int gpu_index = -1;          // -1: none
  int batch_size = 256;
  int workers = 2;
  bool workers_given = false;
  int prefetch = 2;
  train::PixelType upload = train::PixelType::u8;  // to a GPU
  bool three_augment = false;                      // the recipe; else rrc224
  double random_erasing = 0;                       // probability that an image is erased in part
  bool clips = false;                              // the input may be a folder of videos
  bool decode_scaled = false;  // JPEGs at the smallest scale that fills the crop
  loader::gpu::LanePolicy lanes = loader::gpu::LanePolicy::cpu;  // who decodes
  bool pin_memory = false;  // unless said otherwise: with a GPU
  bool persistent_workers = true;
  double sample_ratio = 1;
  std::uint32_t sequence = 0;    // tokens of a sample, for a model of text; 0: images or arrays
  std::uint32_t vocabulary = 0;  // of that model: ids that the input may have
  int num_batches = 0;           // 0: chosen by the command
};

/// The flags that give the same loader again: "--batch-size 256 --num-workers 2 --prefetch 2".
std::string loader_flags_text(const LoaderRequest& request);

}  // namespace sluice::visit
