// sluice/train/cuda_module/attention_head.cuh - one (sample, head) of the fused attention: where
// its rows lie, and how rows of queries, keys and values come into shared memory or registers.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/train/cuda_module/launch.h"
#include "sluice/train/cuda_module/quad_row.cuh"

#include <cstdint>

namespace sluice::train::cuda {

inline constexpr float kLog2e = 1.44269504088896340736F, kLn2 = 0.69314718055994530942F;

/// What forward and backward read of the records.
struct FusedHeads {
  const __nv_bfloat16* qkv = nullptr;
  const float *gamma_q = nullptr, *gamma_k = nullptr, *branch_scale = nullptr;
  const unsigned* turns = nullptr;  // a row for each token, see TurnRow
  int tokens = 0, heads = 0, first_pair = 0;
  float epsilon = 0, scale = 0;
  bool causal = false;
};
template <class Call>
FusedHeads fused_heads(const Call& call, const unsigned* turns) {
  return {.qkv = static_cast<const __nv_bfloat16*>(call.qkv.data),
          .gamma_q = call.gamma_q,
          .gamma_k = call.gamma_k,
          .branch_scale = call.branch_scale,
          .turns = call.turns == nullptr ? turns : static_cast<const unsigned*>(call.turns),
          .tokens = static_cast<int>(call.heads.tokens),
          .heads = static_cast<int>(call.heads.heads),
          .first_pair = 0,
          .epsilon = call.heads.epsilon,
          .scale = call.heads.scale,
          .causal = call.heads.causal};
}

/// Whether the tensor core kernels can do it: bf16, head_dim 32, 64 or 128, span head_dim or half
/// of it, everything in pieces of 16 bytes.
inline bool in_pieces(const void* pointer) {
  return reinterpret_cast<std::uintptr_t>(pointer) % 16 == 0;
}
template <class Call>
bool has_fused_form(const Call& call) {
  const Heads& s = call.heads;
  return call.qkv.type == Dtype::bf16 &&
         (s.head_dim == 32 || s.head_dim == 64 || s.head_dim == 128) &&
         (s.rope_span == s.head_dim || 2 * s.rope_span == s.head_dim) &&
         s.tokens <= (std::int64_t{1} << 24) && in_pieces(call.qkv.data) &&
         in_pieces(call.gamma_q) && in_pieces(call.gamma_k);
}
/// Tables of turns (TurnRow): pair of channels after pair.
static __global__ void write_turns(unsigned* to, const float* cosine, const float* sine,
                                   std::int64_t pairs, int half_span, bool alike) {
  const std::int64_t i = static_cast<std::int64_t>(blockIdx.x) * blockDim.x + threadIdx.x;
  if (i >= pairs) return;
  const float sign = (2 * i & half_span) == 0 ? -1.0F : 1.0F;
  if (alike) {
    to[i] = as_word(__floats2half2_rn(cosine[2 * i], sign * sine[2 * i]));
    return;
  }
  unsigned* const at = to + i / 4 * 8 + i % 4;
  at[0] = as_word(__floats2half2_rn(cosine[2 * i], cosine[2 * i + 1]));
  at[4] = as_word(__floats2half2_rn(sign * sine[2 * i], sign * sine[2 * i + 1]));
}
inline std::size_t turns_bytes(const Heads& s) {
  return (static_cast<std::size_t>(s.tokens * s.head_dim) * 4 + 255) / 256 * 256;
}
inline cudaError_t pack_turns(void* to, const float* cosine, const float* sine, const Heads& s,
                              const Launch& on) {
  const std::int64_t pairs = s.tokens * s.head_dim / 2;
  if (pairs == 0) return cudaSuccess;
  write_turns<<<static_cast<unsigned>((pairs + 255) / 256), 256, 0, on.stream>>>(
      static_cast<unsigned*>(to), cosine, sine, pairs, static_cast<int>(s.rope_span / 2),
      neighbours_turn_alike(s.head_dim, s.rope_span));
  return cudaPeekAtLastError();
}
/// At the start of the workspace, unless the call brings them.
template <class Call>
cudaError_t launch_turns(const Call& call, const Launch& on) {
  if (turns_bytes(call.heads) > on.workspace_bytes) return cudaErrorMemoryAllocation;
  if (call.turns != nullptr) return cudaSuccess;
  return pack_turns(on.workspace, call.cosine, call.sine, call.heads, on);
}
/// body.operator()<head_dim, rope_span>() of a call with a fused form.
template <class Body>
cudaError_t with_sizes(const Heads& s, Body body) {
  const bool whole = s.rope_span == s.head_dim;
  if (s.head_dim == 32)
    return whole ? body.template operator()<32, 32>() : body.template operator()<32, 16>();
  if (s.head_dim == 64)
    return whole ? body.template operator()<64, 64>() : body.template operator()<64, 32>();
  return whole ? body.template operator()<128, 128>() : body.template operator()<128, 64>();
}

/// Addresses of one pair, and rows of it. Scores are made in units of log 2: queries carry
/// scale · log2(e).
template <int kDim, int kSpan>
struct Head {
  const FusedHeads& all;
  int pair, sample;
  float branch;                               // branch scale of the sample
  int t = static_cast<int>(threadIdx.x) % 4;  // lane of the quad

  // Little is kept: what follows is made again where it is used, and leaves registers to the sums.
  __device__ Head(const FusedHeads& of, int which)
      : all(of), pair(which), sample(which / of.heads) {
    branch = of.branch_scale == nullptr ? 1.0F : of.branch_scale[sample];
  }
  /// Elements from q to k to v, and from token to token in qkv.
  __device__ std::int64_t part() const { return static_cast<std::int64_t>(all.heads) * kDim; }
  __device__ std::int64_t row() const { return 3 * part(); }
  /// The first token's element in qkv; in y and dy, where tokens are output_row() apart; in lse.
  __device__ std::int64_t input() const {
    return static_cast<std::int64_t>(sample) * all.tokens * row() + head() * kDim;
  }
  __device__ std::int64_t output() const {
    return static_cast<std::int64_t>(sample) * all.tokens * part() + head() * kDim;
  }
  __device__ std::int64_t output_row() const { return part(); }
  __device__ std::int64_t lse() const { return static_cast<std::int64_t>(pair) * all.tokens; }
  __device__ int head() const { return pair - sample * all.heads; }
  const __device__ __nv_bfloat16* first(int which) const {
    return all.qkv + input() + which * part();
  }
  __device__ bool there(int token) const { return token < all.tokens; }
  /// Of the last token where there is none.
  __device__ void load(unsigned (&w)[kDim / 8], int which, int token) const {
    load_words<kDim, kSpan>(w, first(which) + min(token, all.tokens - 1) * row(), t, true);
  }
  __device__ void load_turns_of(TurnRow<kDim, kSpan>& turns, int token) const {
    const int known = min(token, all.tokens - 1);
    load_turns<kDim, kSpan>(
        turns, all.turns + static_cast<std::int64_t>(known) * TurnRow<kDim, kSpan>::kRowWords, t);
  }
  __device__ void load_gamma_of(GammaRow<kDim>& gamma, int which) const {
    load_gamma<kDim, kSpan>(gamma, which == 0 ? all.gamma_q : all.gamma_k, t);
  }
  /// Words of a query (which 0) or key (1) become normed and turned; zeros stay zeros.
  __device__ void prepare(unsigned (&w)[kDim / 8], int which, const GammaRow<kDim>& gamma,
                          const TurnRow<kDim, kSpan>& turns) const {
    norm_and_turn<kDim, kSpan>(w, gamma, turns, all.epsilon,
                               which == 0 ? all.scale * kLog2e : 1.0F);
  }
  /// Prepares row r of tiles in place, as copy() left it.
  __device__ void prepare_row(unsigned char* tiles, int r, int which, const GammaRow<kDim>& gamma,
                              const TurnRow<kDim, kSpan>& turns) const {
    unsigned w[kDim / 8];
    shared_words<kDim, kSpan>(w, tiles, r, t);
    prepare(w, which, gamma, turns);
    __syncwarp();  // the quad has read what it writes in another order
    share_words<kDim>(tiles, r, w, t);
  }
  /// kLast: no one reads them again. Starts to copy tokens `from` and on, as they are, to rows 0 to
  /// rows - 1 of tiles; zeros where there is no token. Rows of a thread: those of its quad, every
  /// blockDim / 4.
  template <bool kLast = true>
  __device__ void copy(unsigned char* tiles, const __nv_bfloat16* token0, std::int64_t stride,
                       int from, int rows) const {
    const unsigned long long policy = for_the_last_time();
    for (int r = quad(); r < rows; r += quads()) {
      const bool is_there = there(from + r);
      const __nv_bfloat16* const at = token0 + (is_there ? (from + r) * stride : 0);
#pragma unroll
      for (int m = 0; m < kDim / 32; ++m) {
        const unsigned to =
            shared_address(tiles + RowTiles<kDim>::offset(r, chunk_of<kDim, kSpan>(m, t)));
        if constexpr (kLast)
          copy_later(to, at + 8 * chunk_of<kDim, kSpan>(m, t), is_there, policy);
        else
          copy_later(to, at + 8 * chunk_of<kDim, kSpan>(m, t), is_there);
      }
    }
  }
  /// Then, after wait_for_copies(), by the same threads: q (which 0) or k (1) normed and turned.
  __device__ void prepare_rows(unsigned char* tiles, int which, int from, int rows) const {
    GammaRow<kDim> gamma;
    load_gamma_of(gamma, which);
    for (int r = quad(); r < rows; r += 2 * quads()) {
      TurnRow<kDim, kSpan> turns, next;
      load_turns_of(turns, from + r);
      load_turns_of(next, from + r + quads());
      prepare_row(tiles, r, which, gamma, turns);
      if (r + quads() < rows) prepare_row(tiles, r + quads(), which, gamma, next);
    }
  }
  /// Asks for a row to come near: half of what it would be waited for later.
  __device__ void come_near(const __nv_bfloat16* token0, std::int64_t stride) const {
    for (int r = static_cast<int>(threadIdx.x); r < all.tokens; r += static_cast<int>(blockDim.x))
      asm volatile("prefetch.global.L2 [%0];" ::"l"(token0 + r * stride));
  }
  __device__ static int quad() {
    return static_cast<int>(threadIdx.x) / 4;
  }
  __device__ static int quads() {
    return static_cast<int>(blockDim.x) / 4;
  }
  /// Tokens from `from`, kM tiles of sixteen, of q or k: as they are, and prepared, as operands.
  template <int kM>
  __device__ void load_rows(unsigned (&w)[2 * kM][kDim / 8], int which, int from) const {
#pragma unroll
    for (int i = 0; i < 2 * kM; ++i)
      load(w[i], which, from + static_cast<int>(threadIdx.x) % 32 / 4 + 8 * i);
  }
  template <int kM>
  __device__ void prepare_operands(unsigned (&a)[kM][kDim / 16][4], unsigned (&w)[2 * kM][kDim / 8],
                                   int which, int from) const {
    GammaRow<kDim> gamma;
    load_gamma_of(gamma, which);
#pragma unroll
    for (int i = 0; i < 2 * kM; ++i) {
      TurnRow<kDim, kSpan> turns;
      load_turns_of(turns, from + static_cast<int>(threadIdx.x) % 32 / 4 + 8 * i);
      prepare(w[i], which, gamma, turns);
      operand_row<kDim>(a[i / 2], w[i], i % 2);
    }
  }
  template <int kM>
  __device__ void prepared_operands(unsigned (&a)[kM][kDim / 16][4], int which, int from) const {
    unsigned w[2 * kM][kDim / 8];
    load_rows<kM>(w, which, from);
    prepare_operands<kM>(a, w, which, from);
  }
};

}  // namespace sluice::train::cuda
