// bench/cuda_kernels.cpp - kernels of the CUDA backend at the shapes that count, against the copy
// rate; the tests of tests/train hold them to their references. --gtest_filter chooses.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda/update_settings.h"

#include "tests/train/cuda_attention_case.h"
#include "tests/train/cuda_elementwise.h"
#include <algorithm>
#include <cstdio>
#include <string>
#include <utility>
#include <vector>

namespace sluice::train::cuda {
namespace {

using namespace testing;  // NOLINT: the words of the tests

class CudaKernels : public OnDevice {};

/// Random, of any length, quickly: a stretch of draws again and again.
template <class T>
std::vector<T> many(std::int64_t count, std::uint64_t seed) {
  const std::vector<T> some = Draws(seed).normals<T>(std::min<std::int64_t>(count, 99'991));
  std::vector<T> made(static_cast<std::size_t>(count));
  for (std::size_t i = 0; i < made.size(); ++i)
    made[i] = some[i % some.size()];
  return made;
}

/// Prints microseconds of one call and its share of the copy rate, 3.84 TB/s. 20 launches in a
/// graph, taking the calls in turn; the fastest of 5 runs after 3.
void print_time(const std::string& what, const std::vector<KernelCall>& calls, double bytes) {
  const Table& table = OnDevice::table();
  Device* device = OnDevice::device();
  constexpr int kLaunches = 20;
  const auto done = [&](int code) { ASSERT_EQ(code, kDone) << table.message(device); };
  for (const KernelCall& call : calls)
    done(table.launch(device, &call));
  done(table.begin_capture(device));
  done(table.record(device, 0));
  for (std::size_t i = 0; i < kLaunches; ++i)
    done(table.launch(device, &calls[i % calls.size()]));
  done(table.record(device, 1));
  Graph* graph = nullptr;
  done(table.end_capture(device, &graph));
  double best = 1e30;
  for (int run = 0; run < 8; ++run) {
    done(table.run_graph(device, graph));
    done(table.synchronize(device, 30));
    double nanoseconds = 0;
    done(table.elapsed(device, 0, 1, &nanoseconds));
    if (run >= 3) best = std::min(best, nanoseconds / kLaunches);
  }
  table.drop_graph(device, graph);
  std::printf("%-44s %9.1f us %9.1f MB %6.1f %% of 3.84 TB/s\n", what.c_str(), best / 1e3,
              bytes / 1e6, 100 * bytes / best / 3840);
}

/// The tensors of ViT-5-Small: twelve blocks, embedding, head; 22 M parameters.
std::vector<std::int64_t> model_sizes() {
  std::vector<std::int64_t> sizes = {384 * 768, 196 * 384, 1000 * 384, 1000, 384};
  for (int block = 0; block < 12; ++block)
    for (const std::int64_t n : {1152 * 384, 384 * 384, 1536 * 384, 384 * 1536, 384, 384, 384, 384,
                                 64, 64, 1152, 384, 1536, 384})
      sizes.push_back(n);
  return sizes;
}

TEST_F(CudaKernels, CrossEntropy) {
  const auto time = [](std::int64_t rows, std::int64_t classes) {
    const std::int64_t n = rows * classes;
    const Buffer<Bf16> logits(many<Bf16>(n, 1)), d_logits(many<Bf16>(n, 2));
    const Buffer<float> loss(1), row_loss(rows);
    const Integers labels(std::vector<std::int32_t>(static_cast<std::size_t>(rows), 7));
    CrossEntropyCall call{loss.data(), row_loss.data(), d_logits, logits, labels.data()};
    call.rows = rows;
    call.classes = classes;
    print_time("cross entropy bf16 " + std::to_string(rows) + " x " + std::to_string(classes),
               {call}, 4 * static_cast<double>(n));
  };
  time(256, 1000);
  time(8192, 50'304);
}

TEST_F(CudaKernels, Update) {
  constexpr std::int64_t kLongest = 32'768;
  for (const bool averaged : {false, true}) {
    std::vector<Buffer<float>> values;
    std::vector<UpdateTensor> records;
    std::vector<Stretch> pieces;
    double all = 0;
    for (const std::int64_t n : model_sizes()) {
      const auto drawn = [&](double sign) {
        std::vector<float> made = many<float>(n, values.size() + 1);
        for (float& value : made)
          value = static_cast<float>(0.1 * (sign < 0 ? value : value * value));
        return values.emplace_back(std::move(made)).data();
      };
      float* const weight = drawn(-1);
      float* const gradient = drawn(-1);
      float* const first = drawn(-1);
      float* const second = drawn(1);  // a mean of squares
      for (std::int64_t begin = 0; begin < n; begin += kLongest)
        pieces.push_back({static_cast<std::int32_t>(records.size()),
                          static_cast<std::int32_t>(std::min(kLongest, n - begin)), begin});
      records.push_back(
          {weight, gradient, first, second, averaged ? drawn(-1) : nullptr, n, n > 2000});
      all += static_cast<double>(n);
    }
    const Records<UpdateTensor> tensors(records);
    const Records<Stretch> stretches(pieces);
    for (const OptimizerKind kind : {OptimizerKind::lamb, OptimizerKind::adamw}) {
      OptimizerConfig config;
      config.kind = kind;
      config.max_gradient_norm = 1;
      config.weight_decay = 0.05;
      config.average_decay = 0.9;
      const Records<UpdateState> state({update_state(config, 9)});
      UpdateCall call = update_call(config);
      call.tensors = tensors.data();
      call.tensor_count = static_cast<int>(records.size());
      call.stretches = stretches.data();
      call.stretch_count = static_cast<int>(pieces.size());
      call.state = state.data();
      const double of_one = (kind == OptimizerKind::lamb ? 44 : 32) + (averaged ? 8 : 0);
      print_time(std::string(to_string(kind)) + (averaged ? " EMA" : ""), {call}, of_one * all);
    }
  }
}

TEST_F(CudaKernels, Weights) {
  std::vector<Buffer<float>> values;
  std::vector<Buffer<Bf16>> copies;
  std::vector<WeightCopy> list;
  std::int64_t most = 0;
  double all = 0;
  for (const std::int64_t n : model_sizes()) {
    values.emplace_back(many<float>(n, 1));
    copies.emplace_back(n);
    list.push_back({values.back().data(), copies.back(), nullptr, n, 1});
    most = std::max(most, n);
    all += static_cast<double>(n);
  }
  const Records<WeightCopy> list_at(list);
  print_time("copy weights", {CopyWeightsCall{list_at.data(), static_cast<int>(list.size()), most}},
             6 * all);
  const std::int64_t rows = 384, columns = 1536;
  const Buffer<float> a(many<float>(rows * columns, 1)), b(many<float>(rows * columns, 2)),
      c(many<float>(rows * columns, 3)), gamma(many<float>(rows, 4)), d_gamma(many<float>(rows, 5));
  print_time("fold layer scale 384 x 1536 (in L2)",
             {FoldLayerScaleCall{a.data(), d_gamma.data(), b.data(), c.data(), gamma.data(), rows,
                                 columns, false}},
             12.0 * 384 * 1536);
}

/// Forward and backward with norm and turn in them, three sets of buffers in turn.
void print_attention(const Heads& s, const std::string& name) {
  Draws draws(9);
  Given<Bf16> given(draws, s, true);
  std::fill(given.branch.begin(), given.branch.end(), 1.0F);
  struct Set {
    explicit Set(const Given<Bf16>& from)
        : in(from),
          y(from.rows * from.s.head_dim),
          d_qkv(from.rows * 3 * from.s.head_dim),
          prepared(prepared_elements(from.s)),
          lse(from.rows) {}
    OnGpu<Bf16> in;
    Buffer<Bf16> y, d_qkv, prepared;
    Buffer<float> lse;
  };
  const Set sets[3] = {Set(given), Set(given), Set(given)};
  const Buffer<float> d_gamma_q = filled(64, 0), d_gamma_k = filled(64, 0);
  const auto kept = [&](const Set& set) {  // as an engine plans it
    return prepared_elements(s) > 0 ? set.prepared.data() : nullptr;
  };
  const auto forward = [&](const Set& set) {
    return KernelCall(forward_call(set.in, set.y, set.lse.data(), s, kept(set)));
  };
  const auto backward = [&](const Set& set) {
    return KernelCall(backward_call(set.in, set.d_qkv, d_gamma_q.data(), d_gamma_k.data(), set.y,
                                    set.lse.data(), s, kept(set)));
  };
  std::vector<KernelCall> forwards, backwards;
  for (const Set& set : sets) {
    forwards.push_back(forward(set));
    backwards.push_back(backward(set));
  }
  const double one = 2 * static_cast<double>(given.rows * s.head_dim);  // bytes of q, k, v or y
  print_time("attention forward bf16" + name, forwards, 4 * one);
  print_time("attention backward bf16" + name, backwards, 8 * one);
}

TEST_F(CudaKernels, Attention) {
  print_attention(heads(256, 201, 6, 64), "");
}
TEST_F(CudaKernels, AttentionOfManyTokens) {
  print_attention(heads(16, 1024, 12, 64, true), ", 1024 tokens, causal");
  print_attention(heads(32, 577, 12, 64), ", 577 tokens");
}

TEST_F(CudaKernels, NormAndBranch) {
  const std::int64_t rows = 51'456, dim = 384, n = rows * dim;
  each_pair([&]<class Act, class Res>(Act, Res) {
    constexpr std::size_t kSets = 4;
    const std::string types =
        std::string(sizeof(Act) == 2 ? " bf16" : " f32") + (sizeof(Res) == 2 ? " bf16" : " f32");
    std::vector<Buffer<Act>> act, copy;
    std::vector<Buffer<Res>> x, dx;
    for (std::size_t i = 0; i < kSets; ++i) {
      act.emplace_back(many<Act>(n, i));
      copy.emplace_back(many<Act>(n, i + 10));
      x.emplace_back(many<Res>(n, i + 20));
      dx.emplace_back(many<Res>(n, i + 30));
    }
    const Buffer<float> gamma(many<float>(dim, 1)), rstd(many<float>(rows, 2)),
        d_gamma(many<float>(dim, 3)), scale(many<float>(256, 4));
    std::vector<KernelCall> forward, backward, copied, branch, branch_back;
    for (std::size_t i = 0; i < kSets; ++i) {
      forward.emplace_back(RmsNormCall{act[i], rstd.data(), x[i], gamma.data(), rows, dim, 1e-6F});
      RmsNormBackwardCall call{dx[i],       {},           d_gamma.data(), act[i], x[i],
                               rstd.data(), gamma.data(), rows,           dim};
      backward.emplace_back(call);
      call.copy = copy[i];
      copied.emplace_back(call);
      branch.emplace_back(
          AddBranchCall{dx[i], x[i], act[i], gamma.data(), scale.data(), 201, rows, dim});
      branch_back.emplace_back(AddBranchBackwardCall{copy[i], d_gamma.data(), dx[i], act[i],
                                                     gamma.data(), scale.data(), 201, rows, dim});
    }
    const double a = sizeof(Act) * static_cast<double>(n), r = sizeof(Res) * static_cast<double>(n);
    print_time("rms_norm forward" + types, forward, a + r);
    print_time("add_branch forward" + types, branch, a + 2 * r);
    print_time("add_branch backward" + types, branch_back, 2 * a + r);
    print_time("rms_norm backward with copy" + types, copied, 2 * a + 3 * r);
    print_time("rms_norm backward" + types, backward, a + 3 * r);
  });
}

/// fc1 and fc2's gradient, each with GELU in it, three sets of buffers in turn.
void print_product_gelu(std::int64_t rows, std::int64_t dim, std::int64_t hidden) {
  const Buffer<Bf16> weight(many<Bf16>(dim * hidden, 1));
  std::vector<Buffer<Bf16>> x, f, y;
  for (std::uint64_t i = 0; i < 3; ++i) {
    x.emplace_back(many<Bf16>(rows * dim, i + 2));
    f.emplace_back(many<Bf16>(rows * hidden, i + 5));
    y.emplace_back(rows * hidden);
  }
  std::vector<KernelCall> forward, backward;
  for (std::size_t i = 0; i < 3; ++i) {
    forward.emplace_back(ProductGeluCall{y[i], f[i], x[i], weight, nullptr, 1, rows, dim, hidden});
    backward.emplace_back(
        ProductGeluBackwardCall{y[i], x[i], weight, f[i], nullptr, 1, rows, dim, hidden});
  }
  const double bytes = 2 * static_cast<double>(rows) * static_cast<double>(dim + 2 * hidden);
  const std::string shape = " " + std::to_string(rows) + " x " + std::to_string(dim);
  print_time("product that ends in slopes bf16" + shape, backward, bytes);
  print_time("product that ends in gelu bf16" + shape, forward, bytes);
}
TEST_F(CudaKernels, ProductGelu) {
  print_product_gelu(51'456, 384, 1536);  // ViT-5-Small
  print_product_gelu(16'384, 768, 3072);  // GPT-small
}

TEST_F(CudaKernels, Gelu) {
  const std::int64_t per = 201 * 1536, n = 256 * per;
  const auto time = [&]<class Act>(Act, const std::string& type) {
    std::vector<Buffer<Act>> x, y, dx;
    for (std::uint64_t i = 0; i < 2; ++i) {
      x.emplace_back(many<Act>(n, i));
      y.emplace_back(many<Act>(n, i + 2));
      dx.emplace_back(many<Act>(n, i + 4));
    }
    const Buffer<float> scale(many<float>(256, 7));
    std::vector<KernelCall> forward, backward;
    for (std::size_t i = 0; i < 2; ++i) {
      forward.emplace_back(GeluCall{y[i], x[i], scale.data(), per, n});
      backward.emplace_back(GeluBackwardCall{dx[i], y[i], x[i], scale.data(), per, n});
    }
    const double bytes = sizeof(Act) * static_cast<double>(n);
    print_time("gelu forward " + type, forward, 2 * bytes);
    print_time("gelu backward " + type, backward, 3 * bytes);
  };
  time(Bf16{}, "bf16");
  time(float{}, "f32");
}

TEST_F(CudaKernels, Tokens) {
  TokenShape s;
  s.batch = 256;
  s.patch = 16;
  s.image = 224;
  s.registers = 4;
  s.dim = 384;
  s.tokens = 14 * 14 + 1 + s.registers;
  const std::int64_t pixels = s.batch * 3 * s.image * s.image, of_patches = s.patches() * s.dim,
                     n = s.batch * s.tokens * s.dim;
  const Buffer<float> images(many<float>(pixels, 1)), position(many<float>(of_patches, 2)),
      cls(many<float>(s.dim, 3)), registers(many<float>(s.registers * s.dim, 4));
  std::vector<Buffer<Bf16>> patches, embedded, tokens, y;
  for (std::uint64_t i = 0; i < 3; ++i) {
    patches.emplace_back(many<Bf16>(pixels, i));
    embedded.emplace_back(many<Bf16>(s.batch * of_patches, i + 10));
    tokens.emplace_back(many<Bf16>(n, i + 20));
    y.emplace_back(many<Bf16>(s.batch * s.dim, i + 30));
  }
  const double p = static_cast<double>(pixels), e = static_cast<double>(s.batch * of_patches),
               t = static_cast<double>(n);
  std::vector<KernelCall> patchify, last, back, assemble, assemble_back, read, mean, read_back;
  for (std::size_t i = 0; i < 3; ++i) {
    TokenShape other = s;
    other.channels_last = other.mean = true;
    patchify.emplace_back(PatchifyCall{patches[i], images.data(), s});
    last.emplace_back(PatchifyCall{patches[i], images.data(), other});
    back.emplace_back(UnpatchifyCall{images.data(), patches[i], s});
    assemble.emplace_back(
        AssembleCall{tokens[i], embedded[i], position.data(), cls.data(), registers.data(), s});
    assemble_back.emplace_back(AssembleBackwardCall{embedded[i], position.data(), cls.data(),
                                                    registers.data(), tokens[i], s});
    read.emplace_back(ReadOutCall{y[i], tokens[i], s});
    mean.emplace_back(ReadOutCall{y[i], tokens[i], other});
    read_back.emplace_back(ReadOutBackwardCall{tokens[i], {}, y[i], s});
  }
  print_time("patchify bf16", patchify, 6 * p);
  print_time("patchify bf16, channels last", last, 6 * p);
  print_time("unpatchify bf16", back, 6 * p);
  print_time("assemble bf16 bf16", assemble, 2 * (e + t));
  print_time("assemble backward bf16 bf16", assemble_back, 2 * (e + t));
  print_time("read out bf16, class token", read, 4.0 * 256 * 384);
  print_time("read out bf16, mean", mean, 2 * e);
  print_time("read out backward bf16", read_back, 2 * t);
  const std::int64_t rows = 65'536, dim = 768, vocabulary = 50'304;
  std::vector<std::int32_t> ids;
  Draws draws(5);  // few ids are frequent, as in text
  for (std::int64_t r = 0; r < rows; ++r)
    ids.push_back(static_cast<std::int32_t>(
        draws.integer(0, draws.integer(0, draws.integer(0, vocabulary - 1)))));
  const Integers ids_at(ids);
  const Buffer<float> table(many<float>(vocabulary * dim, 6));
  const Buffer<Bf16> rows_at(many<Bf16>(rows * dim, 7));
  const double moved = static_cast<double>(rows * dim);
  print_time("embed bf16", {EmbedCall{rows_at, ids_at.data(), table.data(), rows, dim}}, 6 * moved);
  print_time("embed backward bf16",
             {EmbedBackwardCall{table.data(), ids_at.data(), rows_at, rows, dim, vocabulary}},
             2 * moved);
}

}  // namespace
}  // namespace sluice::train::cuda
