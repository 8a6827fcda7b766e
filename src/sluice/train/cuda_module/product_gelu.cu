// sluice/train/cuda_module/product_gelu.cu - a product that ends in GELU or its slope: by one
// kernel on a Hopper, else by a plain product and GELU after it.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda_module/product_gelu_ending.cuh"
#include "sluice/train/cuda_module/product_gelu_sm90.cuh"
#include "sluice/train/cuda_module/products.h"

namespace sluice::train::cuda {
namespace {

template <class Call>
cudaError_t launch_sm90(const Call& c, const Launch& on) {
  if (c.rows == 0) return cudaSuccess;
  return c.dim <= kKeptDepth ? launch_kept(c, on) : launch_streamed(c, on);
}

}  // namespace

cudaError_t describe_tiles(CUtensorMap& map, const void* matrix, std::int64_t rows,
                           std::int64_t columns, unsigned tile_rows) {
  using Encode = decltype(&cuTensorMapEncodeTiled);
  static const Encode encode = [] {
    void* found = nullptr;
    cudaDriverEntryPointQueryResult result{};
#if CUDART_VERSION >= 12050
    const cudaError_t error = cudaGetDriverEntryPointByVersion("cuTensorMapEncodeTiled", &found,
                                                               12000, cudaEnableDefault, &result);
#else
    const cudaError_t error =
        cudaGetDriverEntryPoint("cuTensorMapEncodeTiled", &found, cudaEnableDefault, &result);
#endif
    return error == cudaSuccess && result == cudaDriverEntryPointSuccess
               ? reinterpret_cast<Encode>(found)
               : nullptr;
  }();
  if (encode == nullptr) return cudaErrorNotSupported;
  const cuuint64_t sizes[2] = {static_cast<cuuint64_t>(columns), static_cast<cuuint64_t>(rows)};
  const cuuint64_t row_bytes[1] = {static_cast<cuuint64_t>(columns) * 2};
  const cuuint32_t tile[2] = {kDepth, tile_rows}, steps[2] = {1, 1};
  const CUresult result =
      encode(&map, CU_TENSOR_MAP_DATA_TYPE_BFLOAT16, 2, const_cast<void*>(matrix), sizes, row_bytes,
             tile, steps, CU_TENSOR_MAP_INTERLEAVE_NONE, CU_TENSOR_MAP_SWIZZLE_128B,
             CU_TENSOR_MAP_L2_PROMOTION_L2_256B, CU_TENSOR_MAP_FLOAT_OOB_FILL_NONE);
  return result == CUDA_SUCCESS ? cudaSuccess : cudaErrorInvalidValue;
}

cudaError_t launch(const ProductGeluCall& c, const Launch& on) {
  if (has_sm90_form(c, on)) return launch_sm90(c, on);
  const Product product{c.rows, c.hidden, c.dim, false, true,     c.dim,
                        c.dim,  c.hidden, c.f,   c.x,   c.weight, {}};
  if (const cudaError_t error = multiply_plain(product, on); error != cudaSuccess) return error;
  return launch(GeluCall{c.y,
                         {c.f.data, c.f.type},
                         c.branch_scale,
                         c.rows_per_scale * c.hidden,
                         c.rows * c.hidden},
                on);
}

cudaError_t launch(const ProductGeluBackwardCall& c, const Launch& on) {
  if (has_sm90_form(c, on)) return launch_sm90(c, on);
  const Product product{c.rows,   c.hidden, c.dim, false, false,    c.dim,
                        c.hidden, c.hidden, c.df,  c.dy,  c.weight, {}};
  if (const cudaError_t error = multiply_plain(product, on); error != cudaSuccess) return error;
  return launch(GeluBackwardCall{c.df,
                                 {c.df.data, c.df.type},
                                 c.f,
                                 c.branch_scale,
                                 c.rows_per_scale * c.hidden,
                                 c.rows * c.hidden},
                on);
}

}  // namespace sluice::train::cuda
