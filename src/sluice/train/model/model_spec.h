// sluice/train/model/model_spec.h - which model: ViT-5 or a GPT decoder, its sizes, and the
// presets.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/core/result.h"

#include <cstdint>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::train {

enum class Family : std::uint8_t { vit5, gpt };
enum class Readout : std::uint8_t { cls, gap };  // the class token, or the mean over the patches
/// How much of the last block is computed: all of it, or from its projection on only the class
/// token. Nothing else of that block is read or has a gradient where the readout is cls, so loss
/// and gradients are the same.
enum class LastBlock : std::uint8_t { full, class_token };

/// Both families share one block: x += s·LayerScale(proj(attention(rope(qk_norm(qkv(norm(x)))))));
/// x += s·LayerScale(fc2(gelu(fc1(norm(x))))), without biases, erf GELU, norms in fp32. The GPT is
/// causal and has no LayerScale.
struct ModelSpec {
  std::string name;
  Family family = Family::vit5;
  int dim = 384;
  int layers = 12;
  int heads = 6;
  int mlp_ratio = 4;
  float norm_epsilon = 1e-6F;
  float drop_path = 0;  // the same rate in every block, both branches; in [0, 1)

  int image = 224;  // ViT-5: side in pixels, a multiple of patch
  int patch = 16;
  int registers = 4;  // a square number, 0 included: they stand on a grid of their own
  int classes = 1000;
  Readout readout = Readout::cls;

  int vocabulary = 0;  // GPT
  int sequence = 0;    // GPT: tokens per sample
  bool tied_head = true;

  [[nodiscard]] int head_dim() const { return dim / heads; }
  [[nodiscard]] int hidden() const { return dim * mlp_ratio; }
  [[nodiscard]] int grid() const { return image / patch; }
  [[nodiscard]] int patches() const { return grid() * grid(); }
  /// Of one sample: patches, the class token, registers (in this order); or the sequence.
  [[nodiscard]] int tokens() const {
    return family == Family::vit5 ? patches() + 1 + registers : sequence;
  }
  /// Columns of the logits.
  [[nodiscard]] int outputs() const { return family == Family::vit5 ? classes : vocabulary; }
  /// Rows of the logits per sample: 1, or one per token.
  [[nodiscard]] int predictions() const { return family == Family::vit5 ? 1 : sequence; }

  friend bool operator==(const ModelSpec&, const ModelSpec&) = default;
};

/// vit5-tiny, vit5-small, vit5-base, gpt-tiny, gpt-small.
const std::vector<ModelSpec>& model_presets();
/// An unknown name is a usage error that lists the presets.
Result<ModelSpec> find_model(std::string_view name);
/// A shape the engine cannot do is a usage error that names the field, its value and the rule.
Status check_model(const ModelSpec& model);

const char* to_string(Readout readout);  // cls, gap
/// Usage error that lists them.
Result<Readout> parse_readout(std::string_view text);
const char* to_string(LastBlock last_block);  // full, class-token
/// Usage error that lists them.
Result<LastBlock> parse_last_block(std::string_view text);
/// The fastest that is right for the model: class_token where it reads its class token out.
LastBlock shortest_last_block(const ModelSpec& model);
/// Usage error for a shortcut that would change what the model computes.
Status check_last_block(const ModelSpec& model, LastBlock last_block);

/// Every field by its name.
Json to_json(const ModelSpec& model);

}  // namespace sluice::train
