// sluice/train/cuda_module/attention_backward_sm90.cu - QkvAttentionBackwardCall by warp groups:
// one block a multiprocessor, head after head. Each of three groups owns 64 keys and goes over all
// queries; ds stays in shared memory, and then each owns 64 queries. The last rows of a head, at
// most 16, are shared by all warps.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda_module/attention_backward_head.cuh"
#include "sluice/train/cuda_module/attention_backward_launch.cuh"
#include "sluice/train/cuda_module/attention_sm90.cuh"
#include "sluice/train/cuda_module/wgmma.cuh"

namespace sluice::train::cuda {
namespace {

constexpr int kDim = 64, kGroups = 3, kThreads = kGroups * 128, kWarps = kThreads / 32;
constexpr int kMain = kGroups * 64;    // rows that groups own; the last tile is shared
constexpr int kLast = kWideTiles - 1;  // its number
static_assert(kMain == kLast * 16);
using Tiles = RowTiles<kDim>;
constexpr int kTile = Tiles::kTileBytes;

/// Shared memory: a head; ds by keys, in panels of 64 queries and one of the last 16; of the last
/// keys p and ds as factors; sums of the last keys and queries; d_gamma of both.
struct Memory {
  unsigned char* at;
  static constexpr int kPanel = kWideRows * 128, kLastRow = 32, kFactors = kWideTiles * 512;
  static constexpr int kPanels = WholeHead<kDim>::bytes(kWideTiles, 0) / 1024 * 1024 + 1024,
                       kLastPanel = kPanels + kGroups * kPanel,
                       kP = kLastPanel + kWideRows * kLastRow, kDs = kP + kFactors,
                       kSums = kDs + kFactors, kGamma = kSums + 2 * 16 * kDim * 4,
                       kGammaOne = kWarps * 8 * 64, kShared = kGamma + 2 * kGammaOne,
                       kBytes = kShared + 16;
  static_assert(kBytes <= 227 * 1024);
  __device__ WholeHead<kDim> head() const { return {at, kWideTiles, 0}; }
  __device__ unsigned char* panel(int i) const { return at + kPanels + i * kPanel; }
  __device__ unsigned char* last_panel() const { return at + kLastPanel; }
  /// Of tile j of the queries, what a lane has of it.
  __device__ uint4* p(int j, int lane) const {
    return reinterpret_cast<uint4*>(at + kP + 512 * j) + lane;
  }
  __device__ uint4* ds(int j, int lane) const {
    return reinterpret_cast<uint4*>(at + kDs + 512 * j) + lane;
  }
  __device__ float* sums(bool keys) const {  // [16, kDim]
    return reinterpret_cast<float*>(at + kSums) + (keys ? 16 * kDim : 0);
  }
  __device__ float4* gamma(bool keys, int i) const {  // of lanes 0 to 7
    const int lane = static_cast<int>(threadIdx.x) % 32, warp = static_cast<int>(threadIdx.x) / 32;
    return reinterpret_cast<float4*>(at + kGamma + (keys ? kGammaOne : 0)) + (warp * 4 + i) * 8 +
           lane % 8;
  }
};

/// A barrier in shared memory: a thread says that it is done, and later waits for the others.
struct Meeting {
  unsigned address;
  __device__ void open() const {
    asm volatile("mbarrier.init.shared.b64 [%0], %1;" ::"r"(address), "r"(kThreads) : "memory");
  }
  __device__ void arrive() const {
    asm volatile("{.reg .b64 state; mbarrier.arrive.shared.b64 state, [%0];}" ::"r"(address)
                 : "memory");
  }
  /// `parity`: of the number of meetings before this one.
  __device__ void wait(unsigned parity) const {
    unsigned done = 0;
    while (done == 0)
      asm volatile(
          "{.reg .pred done; mbarrier.try_wait.parity.shared.b64 done, [%1], %2; selp.u32 %0, 1, "
          "0, "
          "done;}"
          : "=r"(done)
          : "r"(address), "r"(parity)
          : "memory");
    __syncwarp();
  }
};

/// Sums of d_gamma wait in shared memory, four rows of lanes together.
__device__ __forceinline__ void put_aside(const Memory& in, bool keys, const QuadRow<kDim>& sums) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    float v[4];
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      v[e] = sums.x[4 * i + e];
      v[e] += __shfl_xor_sync(kAllLanes, v[e], 16);
      v[e] += __shfl_xor_sync(kAllLanes, v[e], 8);
    }
    if (threadIdx.x % 32 < 8) {
      float4* const at = in.gamma(keys, i);
      const float4 old = *at;
      *at = make_float4(old.x + v[0], old.y + v[1], old.z + v[2], old.w + v[3]);
    }
  }
}

/// Starts to copy what products of keys read; the keys themselves come when the last head's are
/// done with.
template <int kSpan>
__device__ __forceinline__ void bring_others(const BackwardCall& call,
                                             const Head<kDim, kSpan>& head, const Memory& to) {
  const int r = static_cast<int>(threadIdx.x);
  const WholeHead<kDim> in = to.head();
  if (r < kWideRows)
    copy_word_later(shared_address(in.lse() + r), call.lse + head.lse() + (head.there(r) ? r : 0),
                    head.there(r));
  head.template copy<false>(in.q(), head.first(0), head.row(), 0, kWideRows);
  head.template copy<false>(in.dy(), call.dy + head.output(), head.output_row(), 0, kWideRows);
  head.template copy<false>(in.v(), head.first(2), head.row(), 0, kWideRows);
}
/// q and k normed and turned, lse in units of log 2, delta; then a barrier is due.
template <int kSpan>
__device__ __forceinline__ void prepare_all(const BackwardCall& call, const Head<kDim, kSpan>& head,
                                            const Memory& to) {
  constexpr int kQuads = kThreads / 4, kTogether = (kWideRows + kQuads - 1) / kQuads;
  const WholeHead<kDim> in = to.head();
  unsigned y[kTogether][kDim / 8];  // where there is no token another's: its dy is zero
#pragma unroll
  for (int i = 0; i < kTogether; ++i)
    load_words<kDim, kSpan>(y[i], y_of(call, head, head.quad() + i * kQuads), head.t, true);
  GammaRow<kDim> gamma_q, gamma_k;
  head.load_gamma_of(gamma_q, 0);
  head.load_gamma_of(gamma_k, 1);
  wait_for_copies();
  if (const int r = static_cast<int>(threadIdx.x); r < kWideRows)
    in.lse()[r] = head.there(r) ? in.lse()[r] * kLog2e : INFINITY;
#pragma unroll
  for (int i = 0; i < kTogether; ++i) {
    const int r = head.quad() + i * kQuads;
    if (r >= kWideRows) break;  // of whole warps
    TurnRow<kDim, kSpan> turns;
    head.load_turns_of(turns, r);
    unsigned dy[kDim / 8];
    shared_words<kDim, kSpan>(dy, in.dy(), r, head.t);
    const float delta = dot_words<kDim>(dy, y[i]);
    if (head.t == 0) in.delta()[r] = delta;
    head.prepare_row(in.q(), r, 0, gamma_q, turns);
    head.prepare_row(in.k(), r, 1, gamma_k, turns);
  }
}

/// p and ds of a row of keys and a column of queries, from the score and what dy gives it.
__device__ __forceinline__ void soften(float& s, float& d, float lse, float delta, float branch) {
  s = exp2_fast(s - lse);
  d = s * (d * branch - delta);
}

__device__ __forceinline__ void share_word(unsigned address, unsigned word) {
  asm volatile("st.shared.u32 [%0], %1;" ::"r"(address), "r"(word) : "memory");
}
/// ds of 16 keys and tile `j` of the queries to its panel. `ds_at`: where the first row is in the
/// panel of queries 0 to 63, `last_at` in the last one.
__device__ __forceinline__ void share_ds(const unsigned (&ds)[4], int j, unsigned ds_at,
                                         unsigned last_at, int g, int t) {
#pragma unroll
  for (int i = 0; i < 4; ++i) {
    const int key = g + i % 2 * 8;
    const unsigned to =
        j == kLast ? last_at + static_cast<unsigned>(key * Memory::kLastRow + i / 2 * 16 + 4 * t)
                   : ds_at + static_cast<unsigned>(j / 4 * Memory::kPanel + key * 128 +
                                                   (((j % 4 * 2 + i / 2) ^ g) << 4) + 4 * t);
    share_word(to, ds[i]);
  }
}

/// What products of a group's keys read.
struct Wide {
  std::uint64_t k, v;   // its 64 rows
  std::uint64_t q, dy;  // all rows
  unsigned lse, delta;  // addresses
};
/// Sums of a warp's 16 rows.
struct Sums {
  float dk[1][kDim / 8][4] = {}, dv[1][kDim / 8][4] = {};
};
/// kTiles tiles of queries, from tile kFrom on; see share_ds(). `meanwhile` is done while the last
/// products are under way.
template <int kFrom, int kTiles, class Meanwhile>
__device__ __forceinline__ void add_queries(Sums& of, const Wide& in, float branch, unsigned ds_at,
                                            unsigned last_at, Meanwhile meanwhile) {
  constexpr int kCount = 2 * kTiles;
  constexpr unsigned kAt = kFrom * (kTile >> 4);
  const int lane = static_cast<int>(threadIdx.x) % 32, g = lane / 4, t = lane % 4;
  float s[kCount][4], d[kCount][4];
  before_products();
#pragma unroll
  for (unsigned step = 0; step < kDim / 16; ++step)
    multiply_wide(s, in.k + 2 * step, in.q + kAt + 2 * step, static_cast<int>(step));
#pragma unroll
  for (unsigned step = 0; step < kDim / 16; ++step)
    multiply_wide(d, in.v + 2 * step, in.dy + kAt + 2 * step, static_cast<int>(step));
  wait_for_products();
  settle(s);
  settle(d);
#pragma unroll
  for (int n = 0; n < kCount; ++n) {
    const auto column = static_cast<unsigned>(4 * (16 * kFrom + 8 * n + 2 * t));
    const float2 lse = shared_pair(in.lse + column), delta = shared_pair(in.delta + column);
#pragma unroll
    for (int e = 0; e < 4; ++e)
      soften(s[n][e], d[n][e], e % 2 == 0 ? lse.x : lse.y, e % 2 == 0 ? delta.x : delta.y, branch);
  }
  unsigned p[kTiles][4], ds[kTiles][4];
#pragma unroll
  for (int j = 0; j < kTiles; ++j)
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      const int n = 2 * j + i / 2, e = i % 2 * 2;
      p[j][i] = pack(s[n][e], s[n][e + 1]);
      ds[j][i] = pack(d[n][e], d[n][e + 1]);
    }
  settle(p);
  settle(ds);
  before_products();
#pragma unroll
  for (unsigned j = 0; j < kTiles; ++j)
    multiply_wide_by_rows(of.dv[0], p[j], in.dy + kAt + 128 * j, 1);
#pragma unroll
  for (unsigned j = 0; j < kTiles; ++j)
    multiply_wide_by_rows(of.dk[0], ds[j], in.q + kAt + 128 * j, 1);
#pragma unroll
  for (int j = 0; j < kTiles; ++j)
    share_ds(ds[j], kFrom + j, ds_at, last_at, g, t);
  meanwhile();
  wait_for_products();
  settle(p);
  settle(ds);
  settle(of.dk[0]);
  settle(of.dv[0]);
}
/// p and ds of the last keys and tile `j` of the queries; one warp.
__device__ __forceinline__ void share_last_keys(const Memory& in, const TileSight& sight, int j,
                                                int lane) {
  const WholeHead<kDim> head = in.head();
  const unsigned last = kLast * kTile, tile = static_cast<unsigned>(j * kTile);
  const int by_rows = Tiles::lane_by_rows(lane), by_columns = Tiles::lane_by_columns(lane);
  const int g = lane / 4, t = lane % 4;
  float s[1][2][4] = {}, d[1][2][4] = {};
  unsigned own[1][kDim / 16][4];
  load_operand<kDim>(own[0], shared_address(head.k()) + last, by_rows);
  multiply_by_transposed<kDim, 1>(s, own, shared_address(head.q()) + tile, by_columns);
  load_operand<kDim>(own[0], shared_address(head.v()) + last, by_rows);
  multiply_by_transposed<kDim, 1>(d, own, shared_address(head.dy()) + tile, by_columns);
  unsigned p[4], ds[4];
#pragma unroll
  for (int n = 0; n < 2; ++n) {
    const int column = 16 * j + 8 * n + 2 * t;
    const float2 lse = shared_pair(shared_address(head.lse() + column)),
                 delta = shared_pair(shared_address(head.delta() + column));
#pragma unroll
    for (int e = 0; e < 4; ++e) {
      soften(s[0][n][e], d[0][n][e], e % 2 == 0 ? lse.x : lse.y, e % 2 == 0 ? delta.x : delta.y,
             sight.branch);
      // A key that is not there is zero, but 0 · ds must not be 0 · infinity.
      if (kMain + g + e / 2 * 8 >= sight.tokens) s[0][n][e] = d[0][n][e] = 0;
    }
    p[2 * n] = pack(s[0][n][0], s[0][n][1]), p[2 * n + 1] = pack(s[0][n][2], s[0][n][3]);
    ds[2 * n] = pack(d[0][n][0], d[0][n][1]), ds[2 * n + 1] = pack(d[0][n][2], d[0][n][3]);
  }
  *in.p(j, lane) = make_uint4(p[0], p[1], p[2], p[3]);
  *in.ds(j, lane) = make_uint4(ds[0], ds[1], ds[2], ds[3]);
  share_ds(ds, j, shared_address(in.panel(0)) + kMain * 128,
           shared_address(in.last_panel()) + kMain * Memory::kLastRow, g, t);
}

/// d (16 x 16) = Σ over tiles of factor(j) · 16 channels of the rows of tile j, from channel
/// 16 · step on.
template <class Factor>
__device__ __forceinline__ void add_last(float (&d)[2][4], const unsigned char* rows, int step,
                                         int lane, Factor factor) {
  const unsigned at =
      shared_address(rows) + static_cast<unsigned>(Tiles::lane_by_rows(lane) ^ (step * 32));
#pragma unroll
  for (int j = 0; j < kWideTiles; ++j) {
    unsigned a[4], b[4];
    factor(a, j);
    load_tiles_transposed(b, at + static_cast<unsigned>(j * kTile));
    mma(d[0], a, b[0], b[1]);
    mma(d[1], a, b[2], b[3]);
  }
}
__device__ __forceinline__ void share_sums(float* to, const float (&d)[2][4], int step, int lane) {
#pragma unroll
  for (int n = 0; n < 2; ++n)
#pragma unroll
    for (int half = 0; half < 2; ++half)
      *reinterpret_cast<float2*>(to + (lane / 4 + 8 * half) * kDim + 16 * step + 8 * n +
                                 lane % 4 * 2) = make_float2(d[n][2 * half], d[n][2 * half + 1]);
}
/// dk and dv of the last keys, by the first eight warps: dk to in.sums(), dv to memory.
template <int kSpan>
__device__ __forceinline__ void add_last_keys(const BackwardCall& call,
                                              const Head<kDim, kSpan>& head, const Memory& in,
                                              int warp, int lane) {
  const int step = warp % 4;
  float d[2][4] = {};
  const bool is_dk = warp < 4;
  add_last(d, is_dk ? in.head().q() : in.head().dy(), step, lane, [&](unsigned(&a)[4], int j) {
    const uint4 v = is_dk ? *in.ds(j, lane) : *in.p(j, lane);
    a[0] = v.x, a[1] = v.y, a[2] = v.z, a[3] = v.w;
  });
  if (is_dk) return share_sums(in.sums(true), d, step, lane);
#pragma unroll
  for (int half = 0; half < 2; ++half) {
    const int token = kMain + lane / 4 + 8 * half;
    if (!head.there(token)) continue;
    __nv_bfloat16* const row = call.d_qkv + head.input() + token * head.row() + 2 * head.part();
#pragma unroll
    for (int n = 0; n < 2; ++n)
      *reinterpret_cast<unsigned*>(row + 16 * step + 8 * n + lane % 4 * 2) =
          pack(d[n][2 * half] * head.branch, d[n][2 * half + 1] * head.branch);
  }
}
/// dq of the last queries to in.sums(), by the four warps of a group.
__device__ __forceinline__ void add_last_queries(const Memory& in, int step, int lane) {
  float d[2][4] = {};
  const unsigned from =
      shared_address(in.last_panel()) +
      static_cast<unsigned>(((lane & 7) + lane / 16 * 8) * Memory::kLastRow + lane / 8 % 2 * 16);
  add_last(d, in.head().k(), step, lane, [&](unsigned(&a)[4], int j) {
    load_tiles_transposed(a, from + static_cast<unsigned>(j * 16 * Memory::kLastRow));
  });
  share_sums(in.sums(false), d, step, lane);
}
/// The last keys (two warps) or queries (two others) of a head, from in.sums().
template <int kSpan, bool kKeys>
__device__ __forceinline__ void finish_last(const BackwardCall& call, const Head<kDim, kSpan>& head,
                                            const Memory& in, int half, int lane) {
  const int row = 8 * half + lane / 4, token = kMain + row,
            known = min(token, call.heads.tokens - 1);
  const bool there = head.there(token);
  unsigned w[kDim / 8];
  TurnRow<kDim, kSpan> turns;
  QuadRow<kDim> x, d, gamma, d_gamma = {};
  head.load(w, kKeys ? 1 : 0, known);
  head.load_turns_of(turns, known);
  load_floats<kDim, kSpan>(gamma, kKeys ? call.heads.gamma_k : call.heads.gamma_q, head.t);
  widen(x, w);
  const float factor = there ? (kKeys ? kLn2 : call.heads.scale) : 0.0F;
#pragma unroll
  for (int n = 0; n < kDim / 8; ++n) {
    const float2 v =
        *reinterpret_cast<const float2*>(in.sums(kKeys) + row * kDim + 8 * n + head.t * 2);
    d.x[2 * n] = v.x * factor, d.x[2 * n + 1] = v.y * factor;
  }
  norm_and_turn_backward<kDim, kSpan>(d, d_gamma, x, gamma, turns, call.heads.epsilon);
  narrow(w, d);
  if (there)
    store_words<kDim, kSpan>(
        call.d_qkv + head.input() + token * head.row() + (kKeys ? head.part() : 0), w, head.t);
  put_aside(in, kKeys, d_gamma);
}

/// The group's 64 keys.
template <int kSpan>
__device__ __forceinline__ void do_keys(const BackwardCall& call, const Head<kDim, kSpan>& head,
                                        const Memory& in, int group, int warp, int lane) {
  const WholeHead<kDim> rows = in.head();
  const auto own = static_cast<unsigned>(group * 4 * (kTile >> 4));
  const int first = 64 * group + 16 * (warp % 4);
  const Wide wide{.k = row_tiles(shared_address(rows.k())) + own,
                  .v = row_tiles(shared_address(rows.v())) + own,
                  .q = row_tiles(shared_address(rows.q())),
                  .dy = row_tiles(shared_address(rows.dy())),
                  .lse = shared_address(rows.lse()),
                  .delta = shared_address(rows.delta())};
  const unsigned ds_at = shared_address(in.panel(0)) + static_cast<unsigned>(first * 128);
  const unsigned last_at =
      shared_address(in.last_panel()) + static_cast<unsigned>(first * Memory::kLastRow);
  Sums of;
  const auto nothing = [] {};
  add_queries<0, 4>(of, wide, head.branch, ds_at, last_at, nothing);
  add_queries<4, 3>(of, wide, head.branch, ds_at, last_at, nothing);
  add_queries<7, 3>(of, wide, head.branch, ds_at, last_at, nothing);
  RawRows<kDim, kSpan, 1> raw;
  add_queries<10, 3>(of, wide, head.branch, ds_at, last_at,
                     [&] { load_raw(raw, head, 1, first, lane); });
  QuadRow<kDim> sums = {};
  finish<kDim, kSpan, true, 1>(call, head, of.dk, of.dv, raw, sums, first, lane);
  put_aside(in, true, sums);
}
/// The group's 64 queries.
template <int kSpan>
__device__ __forceinline__ void do_queries(const BackwardCall& call, const Head<kDim, kSpan>& head,
                                           const Memory& in, int group, int warp, int lane) {
  const std::uint64_t ds = row_tiles(shared_address(in.panel(group))),
                      k = row_tiles(shared_address(in.head().k()));
  const int first = 64 * group + 16 * (warp % 4);
  float dq[1][kDim / 8][4];
  before_products();
#pragma unroll
  for (unsigned j = 0; j < kWideTiles; ++j)
    multiply_wide_both_by_rows(dq[0], ds + 128 * j, k + 128 * j, static_cast<int>(j));
  RawRows<kDim, kSpan, 1> raw;
  load_raw(raw, head, 0, first, lane);
  wait_for_products();
  settle(dq[0]);
  QuadRow<kDim> sums = {};
  finish<kDim, kSpan, false, 1>(call, head, dq, dq, raw, sums, first, lane);
  put_aside(in, false, sums);
}

/// The next of a block's pairs whose branch was not dropped, or `end`; those that were are zeroed.
template <int kSpan>
__device__ __forceinline__ int next_pair(const BackwardCall& call, int pair, int end) {
#pragma unroll 1
  for (; pair < end; pair += static_cast<int>(gridDim.x)) {
    const Head<kDim, kSpan> head(call.heads, pair);
    if (head.branch != 0) return pair;
    write_zeros(call, head, 0, call.heads.tokens, 0, 2);
  }
  return end;
}

template <int kSpan>
__global__ void __launch_bounds__(kThreads, 1)
    attention_backward_sm90(const __grid_constant__ BackwardCall call, int pairs) {
#ifdef __CUDA_ARCH_FEAT_SM90_ALL
  extern __shared__ __align__(1024) unsigned char memory[];
  const Memory in{memory};
  const int lane = static_cast<int>(threadIdx.x) % 32;
  // The same in all lanes, and the compiler knows it.
  const int warp = __shfl_sync(kAllLanes, static_cast<int>(threadIdx.x) / 32, 0), group = warp / 4;
  for (int i = 0; i < 4 && lane < 8; ++i)
    *in.gamma(true, i) = *in.gamma(false, i) = make_float4(0, 0, 0, 0);
  const Meeting shared_last{shared_address(memory) + Memory::kShared};
  if (threadIdx.x == 0) shared_last.open();  // barriers follow before it is used
  unsigned parity = 0;
  const int end = call.heads.first_pair + pairs;
  const auto finish_last_of = [&](int pair) {
    const Head<kDim, kSpan> head(call.heads, pair);
    // By warps that have fewer rows to prepare.
    if (warp == 8 || warp == 9) finish_last<kSpan, true>(call, head, in, warp - 8, lane);
    if (warp == 10 || warp == 11) finish_last<kSpan, false>(call, head, in, warp - 10, lane);
  };
  int before = -1,
      pair = next_pair<kSpan>(call, call.heads.first_pair + static_cast<int>(blockIdx.x), end);
  if (pair < end) bring_others(call, Head<kDim, kSpan>(call.heads, pair), in);
#pragma unroll 1
  while (pair < end) {
    const Head<kDim, kSpan> head(call.heads, pair);
    head.template copy<false>(in.head().k(), head.first(1), head.row(), 0, kWideRows);
    if (before >= 0) finish_last_of(before);
    prepare_all(call, head, in);
    show_to_products();
    __syncthreads();
    const TileSight sight{call.heads.tokens, false, head.branch};
    share_last_keys(in, sight, warp, lane);
    if (warp == kWarps - 1) share_last_keys(in, sight, kLast, lane);
    shared_last.arrive();
    const int next = next_pair<kSpan>(call, pair + static_cast<int>(gridDim.x), end);
    if (next < end) ask_for<kDim, kSpan>(call, next);
    do_keys(call, head, in, group, warp, lane);
    shared_last.wait(parity);
    parity ^= 1U;
    if (warp < 8) add_last_keys(call, head, in, warp, lane);
    show_to_products();
    __syncthreads();
    if (next < end) bring_others(call, Head<kDim, kSpan>(call.heads, next), in);
    if (group == 2) add_last_queries(in, warp % 4, lane);
    do_queries(call, head, in, group, warp, lane);
    __syncthreads();
    before = pair;
    pair = next;
  }
  if (before >= 0) finish_last_of(before);
  QuadRow<kDim> sums[2] = {};
#pragma unroll
  for (int i = 0; i < 4; ++i)
#pragma unroll
    for (int keys = 0; keys < 2 && lane < 8; ++keys) {
      const float4 v = *in.gamma(keys == 1, i);
      sums[keys].x[4 * i] = v.x, sums[keys].x[4 * i + 1] = v.y;
      sums[keys].x[4 * i + 2] = v.z, sums[keys].x[4 * i + 3] = v.w;
    }
  auto* const shared = reinterpret_cast<float*>(memory);  // [2, kWarps, kDim]
  for (int keys = 0; keys < 2; ++keys)
    share_gamma<kDim, kSpan>(shared + (keys * kWarps + warp) * kDim, sums[keys], lane);
  __syncthreads();
  const std::int64_t row = static_cast<std::int64_t>(blockIdx.x) * kDim;
  write_partial<kDim>(call.partial_q + row, shared, kWarps);
  write_partial<kDim>(call.partial_k + row, shared + kWarps * kDim, kWarps);
#endif
}

}  // namespace

cudaError_t launch_sm90(const QkvAttentionBackwardCall& call, const Launch& on) {
  return launch_by_pairs<kDim>(call, kWideRows, 1, on, [&](BackwardCall& of, dim3 grid) {
    const auto kernel = call.heads.rope_span == kDim ? attention_backward_sm90<kDim>
                                                     : attention_backward_sm90<kDim / 2>;
    const int pairs = static_cast<int>(grid.x);
    of.partials = std::min(pairs, on.multiprocessors);
    const cudaError_t error =
        cudaFuncSetAttribute(kernel, cudaFuncAttributeMaxDynamicSharedMemorySize, Memory::kBytes);
    if (error != cudaSuccess) return error;
    kernel<<<static_cast<unsigned>(of.partials), kThreads, Memory::kBytes, on.stream>>>(of, pairs);
    return cudaPeekAtLastError();
  });
}

}  // namespace sluice::train::cuda
