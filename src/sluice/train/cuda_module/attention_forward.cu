// sluice/train/cuda_module/attention_forward.cu - QkvAttentionCall: norm, turn, scores, softmax and
// values in one kernel; nothing of tokens x tokens leaves the registers.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda_module/attention_head.cuh"
#include "sluice/train/cuda_module/attention_plain.cuh"
#include "sluice/train/cuda_module/attention_sm90.cuh"

namespace sluice::train::cuda {
namespace {

constexpr int kWarps = 4;
/// Tiles of 16 queries that a warp works on at once: two halve the reads of shared memory.
template <int kDim>
constexpr int kTogether = kDim <= 64 ? 2 : 1;
constexpr int kWide = 2;  // key tiles per step of the softmax; divides the pieces of keys

struct ForwardCall {
  FusedHeads heads;
  __nv_bfloat16* y = nullptr;
  float* lse = nullptr;
  int rows = 0;  // of keys and values in shared memory, a multiple of 16 * kWide if not whole
};

/// kM tiles of queries: sums over the keys seen so far. Index of pairs: rows g and g + 8.
template <int kDim, int kM>
struct Queries {
  unsigned q[kM][kDim / 16][4];
  float o[kM][kDim / 8][4] = {};
  float most[kM][2], sum[kM][2] = {};
  __device__ Queries() {
    for (auto& both : most)
      both[0] = both[1] = -INFINITY;
  }
};

/// What the queries of a warp look at: keys before `end`; causal: up to their own token. `first` is
/// the token of the first query.
struct Sight {
  int first, end;
  bool causal;
};

/// Scores of kWide tiles of keys from token `from`, minus infinity where they do not count.
template <int kDim, int kM>
__device__ void scores(float (&s)[kM][2 * kWide][4], const Queries<kDim, kM>& of, unsigned keys,
                       int from, const Sight& sight, int lane) {
  const int by_columns = RowTiles<kDim>::lane_by_columns(lane);
#pragma unroll
  for (int j = 0; j < kWide; ++j) {
    float d[kM][2][4] = {};
    if (from + 16 * j < sight.end)
      multiply_by_transposed<kDim, kM>(
          d, of.q, keys + static_cast<unsigned>(j * RowTiles<kDim>::kTileBytes), by_columns);
#pragma unroll
    for (int m = 0; m < kM; ++m)
#pragma unroll
      for (int i = 0; i < 8; ++i)
        s[m][2 * j + i / 4][i % 4] = d[m][i / 4][i % 4];
  }
  const int after = from + 16 * kWide;
  if (after <= sight.end && (!sight.causal || after <= sight.first + 1)) return;
#pragma unroll
  for (int m = 0; m < kM; ++m)
#pragma unroll
    for (int n = 0; n < 2 * kWide; ++n)
#pragma unroll
      for (int e = 0; e < 4; ++e) {
        const int key = from + 8 * n + 2 * (lane % 4) + e % 2;
        const int query = sight.first + 16 * m + lane / 4 + e / 2 * 8;
        if (key >= sight.end || (sight.causal && key > query)) s[m][n][e] = -INFINITY;
      }
}

/// Scores of one tile become exp2(score - most). `most` follows the maximum only where it grew by
/// more than kSlack: until then the exponentials are at most 2^kSlack, and nothing is scaled again.
constexpr float kSlack = 8;
template <int kDim>
__device__ void soften(float (&s)[2 * kWide][4], float (&o)[kDim / 8][4], float (&most)[2],
                       float (&sum)[2]) {
  float now[2];
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    now[half] = s[0][2 * half];
#pragma unroll
    for (int n = 0; n < 2 * kWide; ++n)
      now[half] = fmaxf(now[half], fmaxf(s[n][2 * half], s[n][2 * half + 1]));
    now[half] = quad_max(now[half]);  // finite: a row counts the first key of every step it takes
  }
  if (__any_sync(kAllLanes, now[0] > most[0] + kSlack || now[1] > most[1] + kSlack)) {
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const float larger = fmaxf(most[half], now[half]);
      const float factor = exp2_fast(most[half] - larger);
      most[half] = larger;
      sum[half] *= factor;
#pragma unroll
      for (int n = 0; n < kDim / 8; ++n)
        o[n][2 * half] *= factor, o[n][2 * half + 1] *= factor;
    }
  }
#pragma unroll
  for (int n = 0; n < 2 * kWide; ++n)
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      s[n][e] = exp2_fast(s[n][e] - most[e / 2]);
      sum[e / 2] += s[n][e];
    }
}

/// Adds the keys `from` to from + rows - 1, which lie in shared memory.
template <int kDim, int kM>
__device__ void add_keys(Queries<kDim, kM>& of, unsigned keys, unsigned values, int from, int rows,
                         const Sight& sight, int lane) {
  const int by_rows = RowTiles<kDim>::lane_by_rows(lane);
#pragma unroll 1
  for (int r = 0; r < rows && from + r < sight.end; r += 16 * kWide) {
    const unsigned at = static_cast<unsigned>(r * RowTiles<kDim>::kRowBytes);
    float s[kM][2 * kWide][4];
    scores<kDim, kM>(s, of, keys + at, from + r, sight, lane);
#pragma unroll
    for (int m = 0; m < kM; ++m)
      soften<kDim>(s[m], of.o[m], of.most[m], of.sum[m]);
#pragma unroll
    for (int j = 0; j < kWide; ++j)
      if (from + r + 16 * j < sight.end) {
        unsigned p[kM][4];
#pragma unroll
        for (int m = 0; m < kM; ++m)
#pragma unroll
          for (int i = 0; i < 4; ++i)
            p[m][i] = pack(s[m][2 * j + i / 2][i % 2 * 2], s[m][2 * j + i / 2][i % 2 * 2 + 1]);
        multiply_by<kDim, kM>(
            of.o, p, values + at + static_cast<unsigned>(j * RowTiles<kDim>::kTileBytes), by_rows);
      }
  }
}

template <int kDim, int kSpan, int kM>
__device__ void write(const ForwardCall& call, const Head<kDim, kSpan>& head, Queries<kDim, kM>& of,
                      int first, int lane) {
#pragma unroll
  for (int m = 0; m < kM; ++m)
#pragma unroll
    for (int half = 0; half < 2; ++half) {
      const int token = first + 16 * m + 8 * half + lane / 4;
      const float sum = quad_sum(of.sum[m][half]), factor = head.branch / sum;
      unsigned w[kDim / 8];
#pragma unroll
      for (int n = 0; n < kDim / 8; ++n)
        w[n] = pack(of.o[m][n][2 * half] * factor, of.o[m][n][2 * half + 1] * factor);
      words_from_mma<kDim, kSpan>(w, head.t);
      if (!head.there(token)) continue;
      store_words<kDim, kSpan>(call.y + head.output() + token * head.output_row(), w, head.t);
      if (head.t == 0) call.lse[head.lse() + token] = (of.most[m][half] + log2f(sum)) * kLn2;
    }
}

/// A block: one head. kWhole: all its queries, keys and values lie in shared memory at once.
/// Otherwise kTogether tiles of queries per warp, keys and values come in pieces of call.rows.
template <int kDim, int kSpan, bool kWhole>
__global__ void __launch_bounds__(kWarps * 32, kDim <= 64 && kWhole ? 3 : 2)
    attention_forward(const ForwardCall call) {
  constexpr int kM = kTogether<kDim>, kStep = kWarps * kM * 16;
  extern __shared__ __align__(128) unsigned char memory[];
  unsigned char* const key_rows = memory;
  unsigned char* const value_rows = memory + call.rows * RowTiles<kDim>::kRowBytes;
  const unsigned keys = shared_address(key_rows), values = shared_address(value_rows);
  const Head<kDim, kSpan> head(call.heads, static_cast<int>(blockIdx.x));
  const int tokens = call.heads.tokens;
  const auto bring = [&](int from) {
    head.template copy<kWhole>(key_rows, head.first(1), head.row(), from, call.rows);
    head.template copy<kWhole>(value_rows, head.first(2), head.row(), from, call.rows);
    if (kWhole) head.come_near(head.first(0), head.row());
    wait_for_copies();
    head.prepare_rows(key_rows, 1, from, call.rows);
    __syncthreads();
  };
  if constexpr (kWhole) bring(0);

  const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
  const int begin = kWhole ? 0 : static_cast<int>(blockIdx.y) * kStep;
  const int end = kWhole ? tokens : begin + 1;
  for (int step = begin; step < end; step += kStep) {
    const int first = step + warp * kM * 16;
    if (kWhole && first >= tokens) break;
    const Sight sight{.first = first,
                      .end = call.heads.causal ? min(tokens, first + 16 * kM) : tokens,
                      .causal = call.heads.causal};
    Queries<kDim, kM> of;
    head.template prepared_operands<kM>(of.q, 0, first);
    if constexpr (kWhole) {
      add_keys<kDim, kM>(of, keys, values, 0, call.rows, sight, lane);
    } else {
      const int last = call.heads.causal ? min(tokens, begin + kStep) : tokens;
      for (int from = 0; from < last; from += call.rows) {
        __syncthreads();
        bring(from);
        add_keys<kDim, kM>(of, keys, values, from, call.rows, sight, lane);
      }
    }
    write<kDim, kSpan, kM>(call, head, of, first, lane);
  }
}

template <int kDim, int kSpan, bool kWhole>
cudaError_t start(const ForwardCall& of, std::int64_t pairs, const Launch& on) {
  constexpr int kStep = kWarps * kTogether<kDim> * 16;
  const int bytes = 2 * of.rows * RowTiles<kDim>::kRowBytes;
  const auto kernel = attention_forward<kDim, kSpan, kWhole>;
  cudaError_t error =
      cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, bytes);
  if (error == cudaSuccess)  // three blocks of 201 tokens; the rest holds the table of turns
    error = cudaFuncSetAttribute(kernel, cudaFuncAttributePreferredSharedMemoryCarveout, 71);
  if (error != cudaSuccess) return error;
  const dim3 grid(static_cast<unsigned>(pairs),
                  kWhole ? 1U : static_cast<unsigned>((of.heads.tokens + kStep - 1) / kStep));
  kernel<<<grid, kWarps * 32, static_cast<std::size_t>(bytes), on.stream>>>(of);
  return cudaPeekAtLastError();
}

template <int kDim, int kSpan>
cudaError_t launch_forward(const QkvAttentionCall& call, const Launch& on) {
  const int rows = static_cast<int>((call.heads.tokens + 15) / 16 * 16);
  const std::int64_t pairs = call.heads.batch * call.heads.heads;
  if (pairs == 0 || rows == 0) return cudaSuccess;
  if (const cudaError_t error = launch_turns(call, on); error != cudaSuccess) return error;
  ForwardCall of{.heads = fused_heads(call, static_cast<const unsigned*>(on.workspace)),
                 .y = static_cast<__nv_bfloat16*>(call.y.data),
                 .lse = call.lse,
                 .rows = rows};
  if (rows * kDim <= 256 * 64) return start<kDim, kSpan, true>(of, pairs, on);
  of.rows = 128 * 64 / kDim;
  return start<kDim, kSpan, false>(of, pairs, on);
}

}  // namespace

cudaError_t launch(const PackTurnsCall& call, const Launch& on) {
  return pack_turns(call.turns, call.cosine, call.sine, call.heads, on);
}

cudaError_t launch(const QkvAttentionCall& call, const Launch& on) {
  if (!has_fused_form(call) || !in_pieces(call.y.data)) return launch_plain(call, on);
  if (has_sm90_form(call.heads, on)) return launch_sm90(call, on);
  if (has_long_form(call.heads, on)) return launch_long(call, on);
  return with_sizes(call.heads,
                    [&]<int kDim, int kSpan>() { return launch_forward<kDim, kSpan>(call, on); });
}

}  // namespace sluice::train::cuda
