// sluice/train/model/flop_scaling.cpp - the counts of nvSubquadratic's compare_flops, from shapes.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/model/flop_scaling.h"

#include <fmt/format.h>

#include <cmath>

namespace sluice::train {
namespace {

constexpr double kSirenWidth = 32;  // of the network that generates Hyena's kernels
constexpr double kFilmWidth = 64;   // of the one that modulates it
constexpr double kShortKernel = 9;  // 3x3, depthwise, over q, k and v

/// Norms, LayerScale and MLP of a block.
double around_mixer(const ModelSpec& model, double tokens) {
  const double dim = model.dim;
  const double hidden = model.hidden();
  const double norms = 2 * 3 * tokens * dim;
  const double scales = 2 * tokens * dim;
  return norms + scales + 4 * tokens * dim * hidden + tokens * hidden;
}

/// Patches, positions, the last norm and the head.
double around_blocks(const ModelSpec& model, double patches) {
  const double dim = model.dim;
  const double pixels = 3.0 * model.patch * model.patch;
  return 2 * patches * pixels * dim + patches * dim + 3 * dim + 2 * dim * model.classes;
}

double attention_mixer(const ModelSpec& model, double tokens) {
  const double dim = model.dim;
  // QKV and projection, QKᵀ and AV, RoPE, the norms of q and k (counted for one head).
  return 8 * tokens * dim * dim + 4 * tokens * tokens * dim + 4 * tokens * dim +
         2 * 3 * tokens * model.head_dim();
}

/// A kernel of `points` positions for every channel: 2 -> 32 -> 32 -> 32 -> dim, sines between.
double siren(double points, double dim) {
  const double w = kSirenWidth;
  return 2 * points * 2 * w + w * points + 2 * (2 * points * w * w + w * points) +
         2 * points * w * dim;
}

/// The long convolution over a (grid + 1) x grid field, by FFT over twice each side.
double ckconv(double dim, double grid, bool kernel_kept, bool film) {
  const double rows = grid + 1;
  const double points = (2 * rows - 1) * (2 * grid - 1);
  const double padded = 2 * rows * 2 * grid;
  const double transforms = kernel_kept ? 2 : 3;  // in, out, and the kernel's
  double flop = transforms * 5 * dim * padded * (std::log2(2 * rows) + std::log2(2 * grid)) +
                6 * dim * padded + dim * rows * grid;
  if (!kernel_kept) flop += siren(points, dim);
  if (film) {
    const double registers = grid - 1;
    flop += 2 * dim * kFilmWidth + kFilmWidth + 2 * kFilmWidth * 128 +
            2 * 2 * points * kSirenWidth + 3 * registers + 2 * registers * dim;
  }
  return flop;
}

/// Without the long convolution.
double hyena_mixer(double dim, double tokens) {
  const double gates = 2 * 2 * dim * tokens;
  const double norms = 3 * dim * tokens + 2 * 3 * dim * tokens;
  return 8 * tokens * dim * dim + 2 * 3 * dim * tokens * kShortKernel + gates + norms;
}

ScalingRow row_of(const ModelSpec& model, int side) {
  ScalingRow row;
  row.grid = side;
  row.image = side * model.patch;
  row.patches = side * side;
  const double grid = side;
  const double dim = model.dim;
  const double layers = model.layers;
  const double ends = around_blocks(model, row.patches);

  const double tokens = row.patches + 1.0 + model.registers;
  row.attention.train =
      layers * (attention_mixer(model, tokens) + around_mixer(model, tokens)) + ends;
  row.attention.infer = row.attention.train;

  const double field = (grid + 1) * grid;  // the class token and grid - 1 registers are a row
  const double rest = layers * (hyena_mixer(dim, field) + around_mixer(model, field)) + ends;
  row.ckconv = {layers * ckconv(dim, grid, false, false), layers * ckconv(dim, grid, true, false)};
  const double film = layers * ckconv(dim, grid, false, true);
  row.ckconv_film = {film, film};
  row.hyena = {rest + row.ckconv.train, rest + row.ckconv.infer};
  row.hyena_film = {rest + film, rest + film};
  return row;
}

}  // namespace

const std::vector<int>& scaling_grids() {
  static const std::vector<int> grids{7, 14, 16, 20, 28, 32, 56, 112};
  return grids;
}

std::vector<ScalingRow> flop_scaling(const ModelSpec& model, const std::vector<int>& grids) {
  std::vector<ScalingRow> rows;
  rows.reserve(grids.size());
  for (const int grid : grids)
    rows.push_back(row_of(model, grid));
  return rows;
}

std::string scaling_csv(const std::vector<ScalingRow>& rows) {
  std::string out = "grid_side,image_size,num_patches";
  for (const char* name : {"attention", "hyena", "hyena_film", "ckconv", "ckconv_film"})
    out += fmt::format(",{0}_train,{0}_infer", name);
  out += '\n';
  for (const ScalingRow& row : rows) {
    out += fmt::format("{},{},{}", row.grid, row.image, row.patches);
    for (const MixerFlops* flops :
         {&row.attention, &row.hyena, &row.hyena_film, &row.ckconv, &row.ckconv_film})
      out += fmt::format(",{:.6f},{:.6f}", flops->train / 1e9, flops->infer / 1e9);
    out += '\n';
  }
  return out;
}

}  // namespace sluice::train
