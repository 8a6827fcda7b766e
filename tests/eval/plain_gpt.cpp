// tests/eval/plain_gpt.cpp - block by block, token by token.
// SPDX-License-Identifier: Apache-2.0
#include "tests/eval/plain_gpt.h"

#include <fmt/format.h>

#include <algorithm>
#include <bit>
#include <cmath>
#include <cstddef>
#include <stdexcept>

namespace sluice::eval::testing {
namespace {

using Vector = std::vector<double>;

double gelu(double x, Defect defect) {
  if (defect == Defect::tanh_gelu)
    return 0.5 * x * (1 + std::tanh(std::sqrt(2 / std::acos(-1.0)) * (x + 0.044715 * x * x * x)));
  return 0.5 * x * (1 + std::erf(x / std::sqrt(2.0)));
}

double to_bf16(double x) {
  const auto bits = std::bit_cast<std::uint32_t>(static_cast<float>(x));
  return static_cast<double>(
      std::bit_cast<float>((bits + 0x7FFFU + ((bits >> 16) & 1U)) & 0xFFFF0000U));
}

class Plain {
 public:
  Plain(const GptWeights& weights, Defect defect) : weights_(weights), defect_(defect) {}

  Vector logits(const std::vector<std::int32_t>& ids, std::size_t place) const {
    std::vector<Vector> x;
    const std::vector<float>& embed = of("embed.weight");
    for (const std::int32_t id : ids) {
      const auto first = embed.begin() + std::ptrdiff_t{id} * weights_.spec.dim;
      x.emplace_back(first, first + weights_.spec.dim);
    }
    for (int i = 0; i < weights_.spec.layers; ++i)
      block(x, i);
    const bool dropped = defect_ == Defect::no_final_norm;
    return times(embed, dropped ? x[place] : norm(x[place], of("norm.weight")));
  }

 private:
  const std::vector<float>& of(const std::string& name) const {
    for (const GptWeights::Tensor& tensor : weights_.tensors)
      if (tensor.name == name) return tensor.values;
    throw std::invalid_argument("no tensor " + name);
  }

  /// matrix [rows, x.size()] · x
  static Vector times(const std::vector<float>& matrix, const Vector& x) {
    Vector y(matrix.size() / x.size());
    for (std::size_t r = 0; r < y.size(); ++r) {
      const float* row = matrix.data() + r * x.size();
      double sum = 0;
      for (std::size_t c = 0; c < x.size(); ++c)
        sum += static_cast<double>(row[c]) * x[c];
      y[r] = sum;
    }
    return y;
  }

  Vector norm(const Vector& x, const std::vector<float>& gamma) const {
    double squares = 0;
    for (const double value : x)
      squares += value * value;
    const double size = std::sqrt(squares / static_cast<double>(x.size()) +
                                  static_cast<double>(weights_.spec.norm_epsilon));
    Vector y(x.size());
    for (std::size_t i = 0; i < x.size(); ++i)
      y[i] = x[i] / size * static_cast<double>(gamma[i]);
    return y;
  }

  /// Halves of a head are turned against each other.
  Vector turned(const Vector& x, std::size_t token) const {
    const std::size_t half = x.size() / 2;
    const double base = defect_ == Defect::rope_base ? 500'000 : 10'000;
    Vector y(x.size());
    for (std::size_t i = 0; i < half; ++i) {
      const double angle = static_cast<double>(token) *
                           std::pow(base, -static_cast<double>(i) / static_cast<double>(half));
      y[i] = x[i] * std::cos(angle) - x[i + half] * std::sin(angle);
      y[i + half] = x[i + half] * std::cos(angle) + x[i] * std::sin(angle);
    }
    return y;
  }

  /// How many keys `token` attends to.
  [[nodiscard]] std::size_t keys(std::size_t token, std::size_t tokens) const {
    if (defect_ == Defect::mask_sees_next) return std::min(token + 2, tokens);
    if (defect_ == Defect::mask_misses_itself) return std::max<std::size_t>(token, 1);
    return token + 1;
  }

  Vector attended(const Vector& q, const std::vector<Vector>& k, const std::vector<Vector>& v,
                  std::size_t count) const {
    Vector p(count);
    for (std::size_t j = 0; j < count; ++j) {
      for (std::size_t c = 0; c < q.size(); ++c)
        p[j] += q[c] * k[j][c];
      p[j] /= std::sqrt(static_cast<double>(q.size()));
    }
    const double most = *std::max_element(p.begin(), p.end());
    double sum = 0;
    for (double& one : p)
      sum += one = std::exp(one - most);
    Vector y(q.size());
    for (std::size_t j = 0; j < count; ++j) {
      const double share = defect_ == Defect::bf16_softmax ? to_bf16(p[j] / sum) : p[j] / sum;
      for (std::size_t c = 0; c < y.size(); ++c)
        y[c] += share * v[j][c];
    }
    return y;
  }

  void block(std::vector<Vector>& x, int i) const {
    const auto name = [&](const char* rest) { return fmt::format("blocks.{}.{}", i, rest); };
    const auto heads = static_cast<std::size_t>(weights_.spec.heads);
    const auto dim = static_cast<std::size_t>(weights_.spec.dim), head = dim / heads;
    const auto &w_qkv = of(name("attn.qkv.weight")), &norm1 = of(name("norm1.weight"));
    const auto &q_norm = of(name("attn.q_norm.weight")), &k_norm = of(name("attn.k_norm.weight"));
    std::vector<Vector> qkv;
    for (const Vector& token : x) {
      const bool dropped = defect_ == Defect::no_norm1 && i == 0;
      qkv.push_back(times(w_qkv, dropped ? token : norm(token, norm1)));
    }
    std::vector<Vector> mixed(x.size());
    for (std::size_t h = 0; h < heads; ++h) {
      std::vector<Vector> q, k, v;
      for (std::size_t t = 0; t < x.size(); ++t) {
        const auto part = [&](std::size_t which) {
          const auto first = qkv[t].begin() + static_cast<std::ptrdiff_t>(which * dim + h * head);
          return Vector(first, first + static_cast<std::ptrdiff_t>(head));
        };
        const bool dropped = defect_ == Defect::no_qk_norm;
        q.push_back(turned(dropped ? part(0) : norm(part(0), q_norm), t));
        k.push_back(turned(dropped ? part(1) : norm(part(1), k_norm), t));
        v.push_back(part(2));
      }
      for (std::size_t t = 0; t < x.size(); ++t) {
        const Vector y = attended(q[t], k, v, keys(t, x.size()));
        mixed[t].insert(mixed[t].end(), y.begin(), y.end());
      }
    }
    const bool dropped = defect_ == Defect::no_norm2 && i + 1 == weights_.spec.layers;
    const auto &proj = of(name("attn.proj.weight")), &norm2 = of(name("norm2.weight"));
    const auto &fc1 = of(name("mlp.fc1.weight")), &fc2 = of(name("mlp.fc2.weight"));
    for (std::size_t t = 0; t < x.size(); ++t) {
      add(x[t], times(proj, mixed[t]));
      Vector hidden = times(fc1, dropped ? x[t] : norm(x[t], norm2));
      for (double& value : hidden)
        value = gelu(value, defect_);
      add(x[t], times(fc2, hidden));
    }
  }

  static void add(Vector& x, const Vector& y) {
    for (std::size_t c = 0; c < x.size(); ++c)
      x[c] += y[c];
  }

  const GptWeights& weights_;
  Defect defect_;
};

}  // namespace

std::string to_string(Defect defect) {
  switch (defect) {
    case Defect::none:
      return "none";
    case Defect::tanh_gelu:
      return "tanh GELU";
    case Defect::rope_base:
      return "RoPE base";
    case Defect::no_qk_norm:
      return "no norm of queries and keys";
    case Defect::no_norm1:
      return "no norm before attention";
    case Defect::no_norm2:
      return "no norm before the MLP";
    case Defect::no_final_norm:
      return "no norm before the logits";
    case Defect::mask_sees_next:
      return "mask sees the next token";
    case Defect::mask_misses_itself:
      return "mask misses the token itself";
    case Defect::bf16_softmax:
      return "bf16 softmax";
  }
  return "";
}

std::vector<double> plain_logits(const GptWeights& weights, const std::vector<std::int32_t>& ids,
                                 int place, Defect defect) {
  return Plain(weights, defect).logits(ids, static_cast<std::size_t>(place));
}

}  // namespace sluice::eval::testing
