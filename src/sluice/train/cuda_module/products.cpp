// sluice/train/cuda_module/products.cpp - one plan per kind of product, chosen by timing what
// cuBLASLt proposes on the operands of the first call.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda_module/products.h"

#include "sluice/train/cuda_module/device.h"
#include "sluice/train/cuda_module/product_kind.h"

#include <algorithm>
#include <array>
#include <cstdint>
#include <limits>
#include <map>
#include <mutex>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::train::cuda {
namespace {

constexpr int kProposals = 32;
constexpr std::size_t kFinalists = 4;
constexpr float kTie = 1.005F;  // within this of the best, the earliest proposal is taken
constexpr std::int64_t kWorthKeeping = 1 << 27;  // m · n · k; the search of less takes no time

/// Everything but the addresses. The descriptors hold no memory of their own.
struct Plan {
  bool plain = false;  // by our own kernel
  cublasLtMatmulDescOpaque_t operation{};
  cublasLtMatrixLayoutOpaque_t first{}, second{}, sum{};
  cublasLtMatmulAlgo_t algorithm{};
};

/// What of one address changes from call to call.
struct Addresses {
  void* d;
  const void *a, *b, *c;
};

std::uint32_t alignment(const void* address) {
  const auto bits = reinterpret_cast<std::uintptr_t>(address);
  return bits % 16 == 0 ? 16U : static_cast<std::uint32_t>(bits & (~bits + 1));
}

std::size_t bytes_of(Dtype type) {
  return type == Dtype::bf16 ? 2 : 4;
}

cudaDataType cuda_type(Dtype type) {
  return type == Dtype::bf16 ? CUDA_R_16BF : CUDA_R_32F;
}

Kind kind_of(const Device& device, const Product& p) {
  const void* c = p.c.data == nullptr ? p.d.data : p.c.data;
  return {device.index,
          p.m,
          p.n,
          p.k,
          p.lda,
          p.ldb,
          p.ldd,
          p.transpose_a,
          p.transpose_b,
          p.a.type,
          p.d.type,
          p.c.data == nullptr    ? Addend::none
          : p.c.data == p.d.data ? Addend::in_place
                                 : Addend::other,
          alignment(p.a.data),
          alignment(p.b.data),
          alignment(c),
          alignment(p.d.data)};
}

int check(Device& device, const Product& p) {
  const auto number = [](Dtype type) { return type == Dtype::f32 || type == Dtype::bf16; };
  if (p.m < 0 || p.n < 0 || p.k < 0)
    return refuse(device, "product: %lld x %lld x %lld", static_cast<long long>(p.m),
                  static_cast<long long>(p.n), static_cast<long long>(p.k));
  if (p.a.type != p.b.type || !number(p.a.type) || !number(p.d.type) ||
      (p.c.data != nullptr && p.c.type != p.d.type))
    return refuse(device, "product: a and b are both f32 or both bf16, c is as d");
  // Some of cuBLASLt's algorithms round the product to bf16 before they add in place.
  if (p.c.data != nullptr && p.c.data == p.d.data && p.d.type != Dtype::f32)
    return refuse(device, "product: c may be d where that is f32");
  if (p.lda < (p.transpose_a ? p.m : p.k) || p.ldb < (p.transpose_b ? p.k : p.n) || p.ldd < p.n)
    return refuse(device, "product: a row is longer than its ld (%lld, %lld, %lld)",
                  static_cast<long long>(p.lda), static_cast<long long>(p.ldb),
                  static_cast<long long>(p.ldd));
  return kDone;
}

/// Row-major d = op(a)·op(b) is column-major dᵀ = op(b)ᵀ·op(a)ᵀ, and a row-major matrix read as
/// column-major is its own transpose: b comes first and neither flag changes.
cublasStatus_t describe(Plan& plan, const Product& p) {
  const auto rows_first = [](bool transposed, std::int64_t rows, std::int64_t columns) {
    return transposed ? std::array{columns, rows} : std::array{rows, columns};
  };
  const auto layout = [](cublasLtMatrixLayoutOpaque_t& made, Dtype type,
                         std::array<std::int64_t, 2> size, std::int64_t ld) {
    return cublasLtMatrixLayoutInit(&made, cuda_type(type), static_cast<std::uint64_t>(size[0]),
                                    static_cast<std::uint64_t>(size[1]), ld);
  };
  const cublasOperation_t of_first = p.transpose_b ? CUBLAS_OP_T : CUBLAS_OP_N;
  const cublasOperation_t of_second = p.transpose_a ? CUBLAS_OP_T : CUBLAS_OP_N;
  cublasStatus_t status = cublasLtMatmulDescInit(&plan.operation, CUBLAS_COMPUTE_32F, CUDA_R_32F);
  if (status == CUBLAS_STATUS_SUCCESS)
    status = cublasLtMatmulDescSetAttribute(&plan.operation, CUBLASLT_MATMUL_DESC_TRANSA, &of_first,
                                            sizeof of_first);
  if (status == CUBLAS_STATUS_SUCCESS)
    status = cublasLtMatmulDescSetAttribute(&plan.operation, CUBLASLT_MATMUL_DESC_TRANSB,
                                            &of_second, sizeof of_second);
  if (status == CUBLAS_STATUS_SUCCESS)
    status = layout(plan.first, p.b.type, rows_first(p.transpose_b, p.n, p.k), p.ldb);
  if (status == CUBLAS_STATUS_SUCCESS)
    status = layout(plan.second, p.a.type, rows_first(p.transpose_a, p.k, p.m), p.lda);
  if (status == CUBLAS_STATUS_SUCCESS) status = layout(plan.sum, p.d.type, {p.n, p.m}, p.ldd);
  return status;
}

cublasStatus_t run(Device& device, const Plan& plan, const cublasLtMatmulAlgo_t& algorithm,
                   const Addresses& at) {
  const float alpha = 1, beta = at.c == nullptr ? 0.0F : 1.0F;
  // cuBLASLt's descriptors are pointers to what it does not change.
  auto& kept = const_cast<Plan&>(plan);
  return cublasLtMatmul(device.products, &kept.operation, &alpha, at.b, &kept.first, at.a,
                        &kept.second, &beta, at.c == nullptr ? at.d : at.c, &kept.sum, at.d,
                        &kept.sum, &algorithm, device.product_workspace, kWorkspaceBytes,
                        device.launch.stream);
}

/// Sums of parts are made in fp32 in the workspace, in order: never by atomic additions into d.
bool repeats(const cublasLtMatmulAlgo_t& algorithm) {
  std::uint32_t scheme = CUBLASLT_REDUCTION_SCHEME_INPLACE;
  std::size_t written = 0;
  const cublasStatus_t status = cublasLtMatmulAlgoConfigGetAttribute(
      &algorithm, CUBLASLT_ALGO_CONFIG_REDUCTION_SCHEME, &scheme, sizeof scheme, &written);
  return status == CUBLAS_STATUS_SUCCESS && (scheme == CUBLASLT_REDUCTION_SCHEME_NONE ||
                                             scheme == CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE);
}

/// What cuBLASLt expects to be fast, best first; empty where it does not take the kind.
cublasStatus_t propose(std::vector<cublasLtMatmulAlgo_t>& usable, Device& device, Plan& plan,
                       const Kind& kind) {
  cublasLtMatmulPreferenceOpaque_t preference{};
  const std::size_t workspace = kWorkspaceBytes;
  const std::uint32_t schemes = CUBLASLT_REDUCTION_SCHEME_COMPUTE_TYPE;  // and none
  cublasStatus_t status = cublasLtMatmulPreferenceInit(&preference);
  const auto prefer = [&](cublasLtMatmulPreferenceAttributes_t what, const auto& value) {
    if (status == CUBLAS_STATUS_SUCCESS)
      status = cublasLtMatmulPreferenceSetAttribute(&preference, what, &value, sizeof value);
  };
  prefer(CUBLASLT_MATMUL_PREF_MAX_WORKSPACE_BYTES, workspace);
  prefer(CUBLASLT_MATMUL_PREF_REDUCTION_SCHEME_MASK, schemes);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_A_BYTES, kind.b_alignment);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_B_BYTES, kind.a_alignment);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_C_BYTES, kind.c_alignment);
  prefer(CUBLASLT_MATMUL_PREF_MIN_ALIGNMENT_D_BYTES, kind.d_alignment);
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  std::array<cublasLtMatmulHeuristicResult_t, kProposals> found{};
  int count = 0;
  status = cublasLtMatmulAlgoGetHeuristic(device.products, &plan.operation, &plan.first,
                                          &plan.second, &plan.sum, &plan.sum, &preference,
                                          kProposals, found.data(), &count);
  if (status == CUBLAS_STATUS_NOT_SUPPORTED) return CUBLAS_STATUS_SUCCESS;
  if (status != CUBLAS_STATUS_SUCCESS) return status;
  for (int i = 0; i < count; ++i) {
    const cublasLtMatmulHeuristicResult_t& result = found[static_cast<std::size_t>(i)];
    if (result.state == CUBLAS_STATUS_SUCCESS && result.workspaceSize <= kWorkspaceBytes &&
        repeats(result.algo))
      usable.push_back(result.algo);
  }
  return CUBLAS_STATUS_SUCCESS;
}

/// Times proposals between two events.
class Stopwatch {
 public:
  explicit Stopwatch(Device& device) : device_(device) {
    sound_ = cudaEventCreate(&begin_) == cudaSuccess && cudaEventCreate(&end_) == cudaSuccess;
  }
  Stopwatch(const Stopwatch&) = delete;
  Stopwatch& operator=(const Stopwatch&) = delete;
  ~Stopwatch() {
    if (begin_ != nullptr) static_cast<void>(cudaEventDestroy(begin_));
    if (end_ != nullptr) static_cast<void>(cudaEventDestroy(end_));
    static_cast<void>(cudaGetLastError());
  }
  /// Milliseconds of one of `times` runs; infinite for what does not run.
  float time(const Plan& plan, const cublasLtMatmulAlgo_t& algorithm, const Addresses& at,
             int times) {
    constexpr float kNever = std::numeric_limits<float>::infinity();
    if (!sound_ || cudaEventRecord(begin_, device_.launch.stream) != cudaSuccess) return kNever;
    for (int i = 0; i < times; ++i)
      if (cuda::run(device_, plan, algorithm, at) != CUBLAS_STATUS_SUCCESS) return kNever;
    float milliseconds = kNever;
    if (cudaEventRecord(end_, device_.launch.stream) != cudaSuccess ||
        cudaEventSynchronize(end_) != cudaSuccess ||
        cudaEventElapsedTime(&milliseconds, begin_, end_) != cudaSuccess)
      return kNever;
    return milliseconds / static_cast<float>(times);
  }

 private:
  Device& device_;
  cudaEvent_t begin_ = nullptr, end_ = nullptr;
  bool sound_ = false;
};

float median(std::vector<float> values) {
  const auto middle = values.begin() + static_cast<std::ptrdiff_t>(values.size() / 2);
  std::nth_element(values.begin(), middle, values.end());
  return *middle;
}

struct Candidate {
  std::size_t place = 0;  // among the proposals
  float milliseconds = std::numeric_limits<float>::infinity();
  int times = 1;  // runs per sample
  std::vector<float> samples;
};

/// The place of the fastest proposal. Two rounds: all of them briefly; then the best, and
/// cuBLASLt's own first choice, in turns, so that a clock that changes hurts none.
std::size_t fastest(Device& device, const Plan& plan,
                    const std::vector<cublasLtMatmulAlgo_t>& proposed, const Addresses& at) {
  constexpr float kSample = 0.3F;  // milliseconds that one sample is worth
  constexpr int kBrief = 3, kThorough = 7, kMostRuns = 10;
  Stopwatch watch(device);
  std::vector<Candidate> candidates;
  float best = std::numeric_limits<float>::infinity();
  for (std::size_t place = 0; place < proposed.size(); ++place) {
    Candidate one;
    one.place = place;
    watch.time(plan, proposed[place], at, 1);  // loads the kernel
    const float once = watch.time(plan, proposed[place], at, 1);
    if (!(once < 3 * best)) continue;
    one.times = std::clamp(static_cast<int>(kSample / std::max(once, 1e-3F)), 1, kMostRuns);
    for (int i = 0; i < kBrief; ++i)
      one.samples.push_back(watch.time(plan, proposed[place], at, one.times));
    one.milliseconds = median(one.samples);
    best = std::min(best, one.milliseconds);
    candidates.push_back(one);
  }
  if (candidates.empty()) return 0;
  std::stable_sort(candidates.begin(), candidates.end(), [](const auto& a, const auto& b) {
    return (a.place == 0 ? 0 : a.milliseconds) < (b.place == 0 ? 0 : b.milliseconds);
  });
  candidates.resize(std::min(candidates.size(), kFinalists + 1));
  for (Candidate& one : candidates)
    one.samples.clear();
  for (int i = 0; i < kThorough; ++i)
    for (Candidate& one : candidates)
      one.samples.push_back(watch.time(plan, proposed[one.place], at, one.times));
  best = std::numeric_limits<float>::infinity();
  for (Candidate& one : candidates) {
    one.milliseconds = median(one.samples);
    best = std::min(best, one.milliseconds);
  }
  std::size_t chosen = proposed.size();
  for (const Candidate& one : candidates)
    if (one.milliseconds <= best * kTie) chosen = std::min(chosen, one.place);
  return chosen == proposed.size() ? candidates.front().place : chosen;
}

/// Chooses on the operands themselves, but adds to a copy of d where d is added to. Afterwards d is
/// as before or, where nothing is added, may hold the product.
cublasLtMatmulAlgo_t choose(Device& device, const Plan& plan, const Product& p,
                            const std::vector<cublasLtMatmulAlgo_t>& proposed) {
  Addresses at{p.d.data, p.a.data, p.b.data, p.c.data};
  if (proposed.size() == 1) return proposed.front();
  if (p.c.data != p.d.data) return proposed[fastest(device, plan, proposed, at)];
  const std::size_t bytes = static_cast<std::size_t>((p.m - 1) * p.ldd + p.n) * bytes_of(p.d.type);
  const std::size_t offset = reinterpret_cast<std::uintptr_t>(p.d.data) % 256;  // aligned alike
  void* memory = nullptr;
  std::size_t place = 0;
  if (cudaMalloc(&memory, bytes + offset) == cudaSuccess) {
    void* copy = static_cast<char*>(memory) + offset;
    if (cudaMemcpyAsync(copy, p.d.data, bytes, cudaMemcpyDeviceToDevice, device.launch.stream) ==
        cudaSuccess) {
      at.d = copy;
      at.c = copy;
      place = fastest(device, plan, proposed, at);
    }
    static_cast<void>(cudaStreamSynchronize(device.launch.stream));
    static_cast<void>(cudaFree(memory));
  }
  static_cast<void>(cudaGetLastError());
  return proposed[place];
}

/// Per device and kind, for the life of the process. Entries never move.
struct Plans {
  std::mutex mutex;
  std::map<Kind, Plan> made;
  std::map<Kind, cublasLtMatmulAlgo_t> offered;  // by another process, in its search
};
Plans& plans() {
  static Plans kept;
  return kept;
}

/// Does this library still take it for that? Also what would not repeat is not taken.
bool usable(Device& device, Plan& plan, const cublasLtMatmulAlgo_t& algorithm) {
  cublasLtMatmulHeuristicResult_t found{};
  return cublasLtMatmulAlgoCheck(device.products, &plan.operation, &plan.first, &plan.second,
                                 &plan.sum, &plan.sum, &algorithm,
                                 &found) == CUBLAS_STATUS_SUCCESS &&
         found.state == CUBLAS_STATUS_SUCCESS && found.workspaceSize <= kWorkspaceBytes &&
         repeats(algorithm);
}

int make_plan(Plan& plan, Device& device, const Product& p, const Kind& kind) {
  std::vector<cublasLtMatmulAlgo_t> proposed;
  // cuBLASLt has no such type; what else it does not take, it says.
  plan.plain = p.a.type == Dtype::f32 && p.d.type != Dtype::f32;
  if (plan.plain) return kDone;
  if (const cublasStatus_t status = describe(plan, p))
    return fail(device, "cublasLtMatrixLayoutInit", status);
  const auto& offered = plans().offered;
  if (const auto found = offered.find(kind);
      found != offered.end() && usable(device, plan, found->second)) {
    plan.algorithm = found->second;
    return kDone;
  }
  if (const cublasStatus_t status = propose(proposed, device, plan, kind))
    return fail(device, "cublasLtMatmulAlgoGetHeuristic", status);
  plan.plain = proposed.empty();
  if (!plan.plain) plan.algorithm = choose(device, plan, p, proposed);
  return kDone;
}

int plan_for(Device& device, const Product& p, const Plan*& plan) {
  const Kind kind = kind_of(device, p);
  Plans& kept = plans();
  const std::scoped_lock lock(kept.mutex);
  auto found = kept.made.find(kind);
  if (found == kept.made.end()) {
    if (device.capturing)
      return refuse(device, "product %lld x %lld x %lld: must have run once before it is captured",
                    static_cast<long long>(p.m), static_cast<long long>(p.n),
                    static_cast<long long>(p.k));
    Plan made;
    if (const int result = make_plan(made, device, p, kind)) return result;
    found = kept.made.emplace(kind, made).first;
  }
  plan = &found->second;
  return kDone;
}

}  // namespace

std::string choices(const Device& device) {
  Plans& kept = plans();
  const std::scoped_lock lock(kept.mutex);
  std::map<Kind, cublasLtMatmulAlgo_t> all = kept.offered;
  for (const auto& [kind, plan] : kept.made) {
    if (!plan.plain && kind.m * kind.n * kind.k >= kWorthKeeping) all[kind] = plan.algorithm;
  }
  std::string text;
  for (const auto& [kind, algorithm] : all)
    if (kind.device == device.index) text += line_of(kind, algorithm);
  return text;
}

void offer_choices(const Device& device, std::string_view text) {
  Plans& kept = plans();
  const std::scoped_lock lock(kept.mutex);
  while (!text.empty()) {
    const std::size_t end = std::min(text.find('\n'), text.size());
    Kind kind{};
    cublasLtMatmulAlgo_t algorithm{};
    if (parse_line(text.substr(0, end), kind, algorithm)) {
      kind.device = device.index;
      kept.offered.insert_or_assign(kind, algorithm);
    }
    text.remove_prefix(std::min(end + 1, text.size()));
  }
}

int multiply(Device& device, const Product& product) {
  if (const int result = enter(device)) return result;
  if (const int result = check(device, product)) return result;
  if (product.m == 0 || product.n == 0) return kDone;
  const Plan* plan = nullptr;
  if (product.k > 0)
    if (const int result = plan_for(device, product, plan)) return result;
  if (plan == nullptr || plan->plain) {
    const cudaError_t error = multiply_plain(product, device.launch);
    return error == cudaSuccess ? int{kDone} : fail(device, "product", error);
  }
  const cublasStatus_t status =
      run(device, *plan, plan->algorithm,
          {product.d.data, product.a.data, product.b.data, product.c.data});
  return status == CUBLAS_STATUS_SUCCESS ? int{kDone} : fail(device, "cublasLtMatmul", status);
}

}  // namespace sluice::train::cuda
