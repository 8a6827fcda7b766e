// sluice/train/cuda_module/update.cu - one optimizer step: the norm of all gradients, then LAMB or
// AdamW and the average. A block does one stretch of a tensor; its sums stay in the workspace.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda_module/vectors.cuh"

namespace sluice::train::cuda {
namespace {

constexpr int kThreads = 512;

/// What the norm decides, for the launches after it.
struct Verdict {
  float clip = 1;  // times the gradient
  int go = 0;      // 0: the norm is not finite
};
/// p² and u² of a stretch, summed.
struct Squares {
  double value, update;
};
/// In the workspace, one per stretch after the verdict.
struct Scratch {
  Verdict* verdict = nullptr;
  double* gradient = nullptr;  // [stretches]
  Squares* squares = nullptr;  // [stretches]
  std::size_t bytes = 0;
};
Scratch scratch_of(void* workspace, int stretches) {
  const auto count = static_cast<std::size_t>(stretches);
  auto* start = static_cast<unsigned char*>(workspace);
  const std::size_t sums = 16, squares = sums + (count + count % 2) * sizeof(double);
  return {reinterpret_cast<Verdict*>(start), reinterpret_cast<double*>(start + sums),
          reinterpret_cast<Squares*>(start + squares), squares + count * sizeof(Squares)};
}

__device__ inline double square(float x) {
  return static_cast<double>(x) * static_cast<double>(x);
}

/// Four elements of an array of this stretch, or its last one to three: those past the end are 0,
/// and not written.
struct Part {
  std::int64_t first;
  int count;   // 1 to 4
  bool whole;  // 4, and the arrays may be accessed by 16 bytes
};
__device__ inline Pack<float, 4> get(const float* from, const Part& part) {
  if (part.whole) return load<4>(from + part.first);
  Pack<float, 4> got{};
#pragma unroll
  for (int i = 0; i < 4; ++i)
    if (i < part.count) got.values[i] = from[part.first + i];
  return got;
}
__device__ inline void put(float* to, const Pack<float, 4>& values, const Part& part) {
  if (part.whole) {
    store(to + part.first, values.values);
    return;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
    if (i < part.count) to[part.first + i] = values.values[i];
}
/// The copy of a tensor, where it has one.
__device__ inline void put_copy(void* copy, const Pack<float, 4>& values, const Part& part) {
  if (copy == nullptr) return;
  auto* const to = static_cast<Bfloat*>(copy) + part.first;
  if (part.whole) {
    store(to, values.values);
    return;
  }
#pragma unroll
  for (int i = 0; i < 4; ++i)
    if (i < part.count) to[i] = __float2bfloat16_rn(values[i]);
}
/// body(part) for all elements of a stretch: the loop without a branch first.
template <class Body>
__device__ inline void each_part(const Stretch& s, bool at_16, Body body) {
  const int whole = at_16 ? s.count / 4 * 4 : 0;
#pragma unroll 4
  for (int i = static_cast<int>(threadIdx.x) * 4; i < whole; i += kThreads * 4)
    body(Part{s.begin + i, 4, true});
  for (int i = whole + static_cast<int>(threadIdx.x) * 4; i < s.count; i += kThreads * 4)
    body(Part{s.begin + i, min(4, s.count - i), false});
}
template <class... Pointers>
__device__ inline bool at_16_bytes(const Stretch& s, const Pointers*... pointers) {
  return ((s.begin % 4 == 0) && ... && (reinterpret_cast<std::uintptr_t>(pointers) % 16 == 0));
}

__global__ void __launch_bounds__(kThreads)
    gradient_squares_kernel(double* sums, const UpdateTensor* tensors, const Stretch* stretches) {
  const Stretch s = stretches[blockIdx.x];
  const float* gradient = tensors[s.tensor].gradient;
  double sum = 0;
  each_part(s, at_16_bytes(s, gradient), [&](const Part& part) {
    const Pack<float, 4> g = get(gradient, part);
    sum += (square(g[0]) + square(g[1])) + (square(g[2]) + square(g[3]));
  });
  sum = block_sum(sum);
  if (threadIdx.x == 0) sums[blockIdx.x] = sum;
}

/// One block.
__global__ void __launch_bounds__(kThreads)
    gradient_norm_kernel(UpdateState* state, Verdict* verdict, const double* sums, int count,
                         float max_gradient_norm) {
  double sum = 0;
  for (int i = static_cast<int>(threadIdx.x); i < count; i += kThreads)
    sum += sums[i];
  sum = block_sum(sum);
  if (threadIdx.x != 0) return;
  const double norm = sqrt(sum), most = max_gradient_norm;
  state->gradient_norm = norm;
  verdict->go = isfinite(norm) ? 1 : 0;
  verdict->clip = static_cast<float>(1 / (most > 0 ? fmax(norm / most, 1.0) : 1.0));
}

/// The numbers of one step; those that change with the step are read from the state.
struct Rates {
  float beta1, gain1, beta2, gain2, epsilon, weight_decay, average_gain;
};
struct Now {
  float clip, rate, correction1, correction2;
};
__device__ inline Now now(const UpdateState* state, const Verdict& verdict) {
  return {verdict.clip, state->rate, state->correction1, state->correction2};
}

/// Both moments; returns m̂ / (√v̂ + epsilon).
__device__ inline float adam_direction(float gradient, float& m, float& v, const Rates& r,
                                       const Now& n) {
  const float g = gradient * n.clip;
  m = fmaf(r.beta1, m, r.gain1 * g);
  v = fmaf(r.beta2, v, r.gain2 * (g * g));
  return m * n.correction1 / (sqrtf(v * n.correction2) + r.epsilon);
}
/// average += gain · (p − average), where there is one.
__device__ inline void follow(float* average, const Pack<float, 4>& p, float gain,
                              const Part& part) {
  if (average == nullptr) return;
  Pack<float, 4> a = get(average, part);
#pragma unroll
  for (int i = 0; i < 4; ++i)
    a.values[i] = fmaf(gain, p[i] - a[i], a[i]);
  put(average, a, part);
}
/// Whether a tensor's step has a trust ratio.
__device__ inline bool adapts(const UpdateTensor& t, const Rates& r) {
  return t.decayed && r.weight_decay != 0;
}

/// kLamb: the gradient becomes u = m̂ / (√v̂ + epsilon) + decay · p, and the squares of p and u are
/// left; a tensor without trust ratio takes its step at once. Else the AdamW step, whole.
template <bool kLamb>
__global__ void __launch_bounds__(kThreads)
    direction_kernel(Squares* squares, const UpdateTensor* tensors, const Stretch* stretches,
                     const UpdateState* state, const Verdict* verdict, Rates r) {
  if (verdict->go == 0) return;
  const Stretch s = stretches[blockIdx.x];
  const UpdateTensor t = tensors[s.tensor];
  const Now n = now(state, *verdict);
  const float decay = t.decayed ? r.weight_decay : 0.0F, kept = 1 - n.rate * decay;
  const bool later = kLamb && adapts(t, r);
  double value = 0, update = 0;
  const bool at_16 =
      at_16_bytes(s, t.value, t.gradient, t.first_moment, t.second_moment, t.average, t.copy);
  each_part(s, at_16, [&](const Part& part) {
    const Pack<float, 4> g = get(t.gradient, part);
    Pack<float, 4> p = get(t.value, part), m = get(t.first_moment, part),
                   v = get(t.second_moment, part), u{};
#pragma unroll
    for (int i = 0; i < 4; ++i) {
      u.values[i] = adam_direction(g[i], m.values[i], v.values[i], r, n);
      if constexpr (kLamb) u.values[i] = fmaf(decay, p[i], u[i]);
      if (later && i < part.count) {
        value += square(p[i]);
        update += square(u[i]);
      }
    }
    put(t.first_moment, m, part);
    put(t.second_moment, v, part);
    if constexpr (kLamb) put(t.gradient, u, part);
    if (later) return;
#pragma unroll
    for (int i = 0; i < 4; ++i)
      p.values[i] = fmaf(-n.rate, u[i], kLamb ? p[i] : kept * p[i]);
    put(t.value, p, part);
    put_copy(t.copy, p, part);
    follow(t.average, p, r.average_gain, part);
  });
  if (!later) return;  // the whole block
  value = block_sum(value);
  update = block_sum(update);
  if (threadIdx.x == 0) squares[blockIdx.x] = {value, update};
}

/// rate · ‖p‖ / ‖u‖ of the tensor of stretch `own`, the same bits in all of its blocks. One warp.
__device__ inline float trust_rate(const Squares* squares, const Stretch* stretches, int own,
                                   int count, float rate) {
  const int lane = static_cast<int>(threadIdx.x % 32), tensor = stretches[own].tensor;
  const auto reach = [&](int direction) {  // the last stretch of the same tensor that way
    for (int at = own;; at += 32 * direction) {
      const int i = at + (lane + 1) * direction;
      const bool same = i >= 0 && i < count && stretches[i].tensor == tensor;
      const unsigned others = __ballot_sync(0xffffffffU, !same);
      if (others != 0) return at + (__ffs(static_cast<int>(others)) - 1) * direction;
    }
  };
  const int first = reach(-1), last = reach(1);
  double value = 0, update = 0;
  for (int i = first + lane; i <= last; i += 32) {
    value += squares[i].value;
    update += squares[i].update;
  }
  value = lanes_sum(value);
  update = lanes_sum(update);
  const double trust = value != 0 && update != 0 ? sqrt(value / update) : 1.0;
  return static_cast<float>(static_cast<double>(rate) * trust);
}

/// LAMB's second half: p −= rate · trust ratio · u, and the average.
__global__ void __launch_bounds__(kThreads)
    lamb_step_kernel(const Squares* squares, const UpdateTensor* tensors, const Stretch* stretches,
                     int stretch_count, const UpdateState* state, const Verdict* verdict, Rates r) {
  __shared__ float shared_ratio;
  if (verdict->go == 0) return;
  const Stretch s = stretches[blockIdx.x];
  const UpdateTensor t = tensors[s.tensor];
  if (!adapts(t, r)) return;
  if (threadIdx.x < 32) {
    const float found =
        trust_rate(squares, stretches, static_cast<int>(blockIdx.x), stretch_count, state->rate);
    if (threadIdx.x == 0) shared_ratio = found;
  }
  __syncthreads();
  const float ratio = shared_ratio;
  each_part(s, at_16_bytes(s, t.value, t.gradient, t.average, t.copy), [&](const Part& part) {
    const Pack<float, 4> u = get(t.gradient, part);
    Pack<float, 4> p = get(t.value, part);
#pragma unroll
    for (int i = 0; i < 4; ++i)
      p.values[i] = fmaf(-ratio, u[i], p[i]);
    put(t.value, p, part);
    put_copy(t.copy, p, part);
    follow(t.average, p, r.average_gain, part);
  });
}

}  // namespace

cudaError_t launch(const UpdateCall& c, const Launch& on) {
  const Scratch scratch = scratch_of(on.workspace, c.stretch_count);
  if (scratch.bytes > on.workspace_bytes) return cudaErrorMemoryAllocation;
  const auto blocks = static_cast<unsigned>(c.stretch_count);
  const Rates rates{c.beta1, c.gain1, c.beta2, c.gain2, c.epsilon, c.weight_decay, c.average_gain};
  if (blocks != 0)
    gradient_squares_kernel<<<blocks, kThreads, 0, on.stream>>>(scratch.gradient, c.tensors,
                                                                c.stretches);
  gradient_norm_kernel<<<1, kThreads, 0, on.stream>>>(c.state, scratch.verdict, scratch.gradient,
                                                      c.stretch_count, c.max_gradient_norm);
  if (blocks == 0) return cudaGetLastError();
  if (c.lamb) {
    direction_kernel<true><<<blocks, kThreads, 0, on.stream>>>(
        scratch.squares, c.tensors, c.stretches, c.state, scratch.verdict, rates);
    lamb_step_kernel<<<blocks, kThreads, 0, on.stream>>>(
        scratch.squares, c.tensors, c.stretches, c.stretch_count, c.state, scratch.verdict, rates);
  } else {
    direction_kernel<false><<<blocks, kThreads, 0, on.stream>>>(
        scratch.squares, c.tensors, c.stretches, c.state, scratch.verdict, rates);
  }
  return cudaGetLastError();
}

}  // namespace sluice::train::cuda
