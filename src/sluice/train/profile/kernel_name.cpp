// sluice/train/profile/kernel_name.cpp - the table of name parts, and C++ names made short.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/profile/kernel_name.h"

#include <algorithm>
#include <cctype>
#include <cstdlib>
#include <cxxabi.h>
#include <memory>

namespace sluice::train {
namespace {

struct Rule {
  std::string_view part;  // lower case
  std::string_view category;
};

/// The first whose part stands in the name decides. Attention comes before products, since
/// FlashAttention's names speak of cutlass; the optimizer before norms, since it computes some; the
/// loss before attention, since both have a softmax.
constexpr Rule kRules[] = {
    {"cross_entropy", "other"},
    {"log_softmax", "other"},
    {"logsoftmax", "other"},
    {"nll_loss", "other"},
    {"sum_rows", "other"},
    {"attention", "attention"},
    {"flash", "attention"},
    {"fmha", "attention"},
    {"qk_norm_rope", "attention"},
    {"write_turns", "attention"},  // the table of rotations of the fused kernels
    {"plain_forward", "attention"},
    {"plain_backward", "attention"},
    {"softmax", "attention"},
    {"gradient_squares", "optimizer"},
    {"gradient_norm", "optimizer"},
    {"direction_kernel", "optimizer"},
    {"lamb_", "optimizer"},
    {"lambstage", "optimizer"},
    {"adam", "optimizer"},
    {"multi_tensor", "optimizer"},
    {"foreach", "optimizer"},
    {"gemm", "products"},
    {"gemv", "products"},
    {"nvjet", "products"},
    {"cutlass", "products"},
    {"cublas", "products"},
    {"xmma", "products"},
    {"splitk", "products"},
    {"split_k", "products"},
    {"product_plain", "products"},
    {"product_gelu", "products"},
    {"triton_mm", "products"},
    {"fused_mm", "products"},
    {"fused_addmm", "products"},
    {"norm", "norm"},
    {"rsqrt", "norm"},
    {"gelu", "activation"},
    {"silu", "activation"},
    {"relu", "activation"},
    {"fused_erf", "activation"},
    {"copy_weights", "copies"},
    {"direct_copy", "copies"},
    {"copy_kernel", "copies"},
    {"catarray", "copies"},
    {"fillfunctor", "copies"},
    {"fused_copy", "copies"},
    {"fused_clone", "copies"},
    {"memcpy", "copies"},
    {"memset", "copies"},
};

/// Where the bracket that opens at `at` is closed; the end where it is not.
std::size_t closing(std::string_view text, std::size_t at) {
  int depth = 0;
  for (std::size_t i = at; i < text.size(); ++i) {
    const char c = text[i];
    if (c == '(' || c == '<' || c == '[' || c == '{') ++depth;
    if (c == ')' || c == '>' || c == ']' || c == '}') --depth;
    if (depth == 0) return i;
  }
  return text.size();
}

void remove_all(std::string& text, std::string_view part) {
  for (std::size_t at = text.find(part); at != std::string::npos; at = text.find(part, at))
    text.erase(at, part.size());
}

}  // namespace

std::string readable_kernel(const std::string& name) {
  if (name.rfind("_Z", 0) != 0) return name;
  int status = 0;
  const std::unique_ptr<char, void (*)(void*)> plain(
      abi::__cxa_demangle(name.c_str(), nullptr, nullptr, &status), std::free);
  if (status != 0 || plain == nullptr) return name;
  std::string text = plain.get();
  remove_all(text, "(anonymous namespace)::");
  remove_all(text, "sluice::train::cuda::");
  // The first space outside brackets ends the return type, the first '(' there the name.
  std::size_t begin = 0;
  for (std::size_t i = 0; i < text.size(); ++i) {
    if (text[i] == '<' || text[i] == '{') i = closing(text, i);
    if (i >= text.size()) break;
    if (text[i] == ' ' && begin == 0) begin = i + 1;
    if (text[i] == '(') return text.substr(begin, i - begin);
  }
  return text.substr(begin);
}

std::string_view kernel_category(std::string_view name) {
  std::string lower(name);
  std::transform(lower.begin(), lower.end(), lower.begin(),
                 [](unsigned char c) { return static_cast<char>(std::tolower(c)); });
  for (const Rule& rule : kRules)
    if (lower.find(rule.part) != std::string::npos) return rule.category;
  return "other";
}

}  // namespace sluice::train
