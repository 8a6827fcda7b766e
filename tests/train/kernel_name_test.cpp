// tests/train/kernel_name_test.cpp - names of kernels as CUPTI gives them: ours, cuBLAS's,
// CUTLASS's, PyTorch's and Triton's.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/profile/kernel_name.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <iterator>
#include <string>
#include <utility>
#include <vector>

namespace sluice::train::kernel_name_test {
namespace {

// As nvcc mangled them: kernels of unnamed namespaces carry their file.
const char* const kOurs = "_ZN6sluice5train4cuda";
std::string ours(const std::string& rest) {
  return kOurs + rest;
}

TEST(KernelName, IsReadable) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      {ours("39_GLOBAL__N__066ff5c3_7_gelu_cu_dfda495311gelu_kernelI13__nv_"
            "bfloat16Li8ELb0EEEvPT_PKS5_S8_PKfll"),
       "gelu_kernel<__nv_bfloat16, 8, false>"},
      {ours("41_GLOBAL__N__288239ec_9_update_cu_e00ddd0620gradient_norm_kernelEPNS1_"
            "11UpdateStateEPNS2_7VerdictEPKdif"),
       "gradient_norm_kernel"},
      {ours("19add_partials_kernelILi32EEEvPfPKfil"), "add_partials_kernel<32>"},
      {"nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_NNT", "nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_NNT"},
      {"_ZN2at6native29vectorized_elementwise_kernelILi4ENS0_"
       "11FillFunctorIfEESt5arrayIPcLm1EEEEviT0"
       "_T1_",
       "at::native::vectorized_elementwise_kernel<4, at::native::FillFunctor<float>, "
       "std::array<char*, 1ul> >"},
      {"_Znonsense", "_Znonsense"},
      {"", ""},
  };
  for (const auto& [name, expected] : cases)
    EXPECT_EQ(readable_kernel(name), expected) << name;
}

TEST(KernelName, HasACategory) {
  const std::vector<std::pair<std::string, std::string>> cases = {
      // Ours.
      {ours("53_GLOBAL__N__5d9291e1_20_attention_forward_cu_cbac7d4717attention_"
            "forwardILi64ELi32ELb1EEEvNS2_11ForwardCallE"),
       "attention"},
      {ours("54_GLOBAL__N__e51db3d8_21_attention_backward_cu_f435ba1a24attention_backward_"
            "wholeILi64ELi32EEEvNS1_12BackwardCallE"),
       "attention"},
      {ours("51_GLOBAL__N__bfae2ccc_18_attention_plain_cu_5c6328e113plain_forwardIfEEvNS2_"
            "10PlainHeadsIT_EE"),
       "attention"},
      {ours("11write_turnsEPjPKfS4_l"), "attention"},
      {ours("48_GLOBAL__N__d4327476_15_qk_norm_rope_cu_4941313421qk_norm_rope_backwardIfEEvNS2_"
            "5PartsIT_EE"),
       "attention"},
      {ours("39_GLOBAL__N__7811c5e5_7_norm_cu_9501996b23rms_norm_forward_kernelIffLi8ELi3EEEvPT_"
            "PfPKT0_PKfNS2_6SweepsEf"),
       "norm"},
      {ours("39_GLOBAL__N__066ff5c3_7_gelu_cu_dfda495311gelu_kernelIfLi1ELb0EEEvPT_PKS4_S7_PKfll"),
       "activation"},
      {ours("41_GLOBAL__N__288239ec_9_update_cu_e00ddd0620gradient_norm_kernelEPNS1_"
            "11UpdateStateEPNS2_7VerdictEPKdif"),
       "optimizer"},
      {"lamb_step_kernel", "optimizer"},
      {"direction_kernel", "optimizer"},
      {"gradient_squares_kernel", "optimizer"},
      {ours("43_GLOBAL__N__35a7b155_10_weights_cu_1f6b071019copy_weights_kernelEPKNS1_"
            "10WeightCopyE"),
       "copies"},
      {ours("49_GLOBAL__N__86d4ab2c_16_cross_entropy_cu_cdc3e00915sum_rows_kernelEPfPKflf"),
       "other"},
      {"patchify_kernel", "other"},
      {"add_branch_forward_kernel", "other"},
      {"product_plain_kernel", "products"},
      // cuBLAS and CUTLASS.
      {"nvjet_hsh_128x256_64x4_2x1_v_bz_coopA_NNT", "products"},
      {"sm90_xmma_gemm_bf16bf16_bf16f32_f32_tn_n_tilesize128x128x64_warpgroupsize1x1x1_execute_"
       "segment_k_off_kernel__5x_cublas",
       "products"},
      {"_ZN7cutlass7Kernel2I61cutlass_80_wmma_tensorop_bf16_s161616gemm_bf16_16x16_128x2_tn_"
       "align8EEvNT_6ParamsE",
       "products"},
      {"ampere_bf16_s16816gemm_bf16_128x128_ldg8_relu_f2f_stages_64x3_tn", "products"},
      {"void cublasLt::splitKreduce_kernel<32, 16, int, float>", "products"},
      // PyTorch.
      {"void pytorch_flash::flash_fwd_kernel<Flash_fwd_kernel_traits<64, 128, 128, 4, false, "
       "cutlass::bfloat16_t>>",
       "attention"},
      {"fmha_cutlassF_bf16_aligned_64x64_rf_sm80(PyTorchMemEffAttention::Params)", "attention"},
      {"cudnn_generated_fort_native_sdpa_sm90_flash_fprop_wgmma_f16_knob", "attention"},
      {"void (anonymous namespace)::softmax_warp_forward<float, float, float, 8, false, false>",
       "attention"},
      {"void at::native::(anonymous namespace)::cunn_SoftMaxForward<4, float, float, float, "
       "at::native::(anonymous namespace)::LogSoftMaxForwardEpilogue>",
       "other"},
      {"void at::native::(anonymous namespace)::vectorized_layer_norm_kernel<float, float>",
       "norm"},
      {"void at::native::vectorized_elementwise_kernel<4, at::native::GeluCUDAKernelImpl(...)::"
       "{lambda()#1}>",
       "activation"},
      {"void at::native::vectorized_elementwise_kernel<4, at::native::(...)::{lambda(float)#1}>",
       "other"},
      {"void at::native::(anonymous namespace)::multi_tensor_apply_kernel<at::native::TensorList"
       "Metadata<2>, at::native::lpnorm_functor<float>>",
       "optimizer"},
      {"void at::native::unrolled_elementwise_kernel<at::native::direct_copy_kernel_cuda>",
       "copies"},
      {"void at::native::(anonymous namespace)::CatArrayBatchedCopy<float>", "copies"},
      // Triton.
      {"triton_red_fused__to_copy_add_mean_mul_pow_rsqrt_3", "norm"},
      {"triton_poi_fused_gelu_7", "activation"},
      {"triton_tem_fused_mm_12", "products"},
      {"triton_poi_fused_add_mul_1", "other"},
      {"", "other"},
  };
  for (const auto& [name, expected] : cases) {
    EXPECT_EQ(kernel_category(name), expected) << name;
    EXPECT_NE(std::find(std::begin(kKernelCategories), std::end(kKernelCategories),
                        kernel_category(name)),
              std::end(kKernelCategories));
  }
}

}  // namespace
}  // namespace sluice::train::kernel_name_test
