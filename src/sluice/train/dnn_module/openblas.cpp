// sluice/train/dnn_module/openblas.cpp - libsluice_dnn.so on OpenBLAS: fp32 only.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/dnn_table.h"

#include <cblas.h>
#include <string>

namespace sluice::dnn_module {
namespace {

void f32(const SluiceDnnProduct* product, float* c, const float* a, const float* b) {
  const SluiceDnnProduct& p = *product;
  const auto sized = [](std::int64_t size) { return static_cast<blasint>(size); };
  cblas_sgemm(CblasRowMajor, p.transpose_a != 0 ? CblasTrans : CblasNoTrans,
              p.transpose_b != 0 ? CblasTrans : CblasNoTrans, sized(p.m), sized(p.n), sized(p.k),
              1.0F, a, sized(p.lda), b, sized(p.ldb), p.add != 0 ? 1.0F : 0.0F, c, sized(p.ldc));
}

/// "OpenBLAS 0.3.21" of "OpenBLAS 0.3.21 NO_LAPACKE ...".
std::string version() {
  const std::string text = openblas_get_config();
  return text.substr(0, text.find(' ', text.find(' ') + 1));
}

}  // namespace
}  // namespace sluice::dnn_module

extern "C" __attribute__((visibility("default"))) const SluiceDnnTable* sluice_dnn_table() {
  using namespace sluice::dnn_module;  // NOLINT(google-build-using-namespace): one function
  static const std::string library = version();
  static const SluiceDnnTable table = [] {
    openblas_set_num_threads(1);  // for the process; our own threads divide the work
    return SluiceDnnTable{kSluiceDnnAbi, library.c_str(), 0, f32, nullptr, nullptr};
  }();
  return &table;
}
