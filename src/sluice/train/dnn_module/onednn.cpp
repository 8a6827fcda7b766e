// sluice/train/dnn_module/onednn.cpp - libsluice_dnn.so on oneDNN: fp32 by sgemm, bf16 by matmul
// primitives that each thread keeps.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/dnn_table.h"

#include <compare>
#include <csignal>
#include <cstddef>
#include <cstring>
#include <exception>
#include <map>
#include <memory>
#include <new>
#include <oneapi/dnnl/dnnl.hpp>
#include <string>
#include <unordered_map>

// Of the OpenMP that oneDNN itself was linked with, if any: not of this compiler's.
extern "C" __attribute__((weak)) void omp_set_num_threads(int count);

namespace sluice::dnn_module {
namespace {

/// Our own threads divide the work: oneDNN must not start any of its own.
void stay_in_this_thread() {
  thread_local const bool done = [] {
    if (omp_set_num_threads != nullptr) omp_set_num_threads(1);
    return true;
  }();
  static_cast<void>(done);
}

/// While it lives this thread takes no signal. AVX-512 kernels of oneDNN 2.6.3 write anywhere when
/// a handler interrupts them (seen; perhaps they keep values below the stack pointer).
class WithoutSignals {
 public:
  WithoutSignals() {
    sigset_t all;
    sigfillset(&all);
    pthread_sigmask(SIG_SETMASK, &all, &before_);
  }
  ~WithoutSignals() { pthread_sigmask(SIG_SETMASK, &before_, nullptr); }
  WithoutSignals(const WithoutSignals&) = delete;
  WithoutSignals& operator=(const WithoutSignals&) = delete;

 private:
  sigset_t before_;
};

const dnnl::engine& engine() {
  static const dnnl::engine made(dnnl::engine::kind::cpu, 0);
  return made;
}

/// 64-byte aligned bytes that grow and are kept.
class Buffer {
 public:
  void* at_least(std::size_t bytes) {
    if (bytes > size_) {
      bytes_.reset();
      bytes_.reset(::operator new (bytes, std::align_val_t{kAlignment}));
      size_ = bytes;
    }
    return bytes_.get();
  }

 private:
  static constexpr std::size_t kAlignment = 64;
  struct Free {
    void operator()(void* bytes) const { ::operator delete (bytes, std::align_val_t{kAlignment}); }
  };
  std::unique_ptr<void, Free> bytes_;
  std::size_t size_ = 0;
};

using Type = dnnl::memory::data_type;

struct Key {
  std::int64_t m, n, k;
  bool transpose_a, transpose_b, add, to_f32;
  auto operator<=>(const Key&) const = default;
};

/// A primitive with the memory objects whose addresses each call sets.
struct Product {
  dnnl::matmul primitive;
  dnnl::memory a, b, c, scratch;
  std::size_t scratch_bytes = 0;
};

dnnl::memory::desc matrix(std::int64_t rows, std::int64_t columns, Type type, bool transposed) {
  return {{rows, columns},
          type,
          transposed ? dnnl::memory::dims{1, rows} : dnnl::memory::dims{columns, 1}};
}

Product make_product(const Key& key) {
  const dnnl::memory::desc a = matrix(key.m, key.k, Type::bf16, key.transpose_a);
  const dnnl::memory::desc b = matrix(key.k, key.n, Type::bf16, key.transpose_b);
  const dnnl::memory::desc c = matrix(key.m, key.n, key.to_f32 ? Type::f32 : Type::bf16, false);
  dnnl::primitive_attr attributes;
  attributes.set_scratchpad_mode(dnnl::scratchpad_mode::user);
  if (key.add) {
    dnnl::post_ops sum;
    sum.append_sum(1.0F);
    attributes.set_post_ops(sum);
  }
#if DNNL_VERSION_MAJOR >= 3  // Ubuntu 24.04, Debian 13
  const dnnl::matmul::primitive_desc described(engine(), a, b, c, attributes);
#else
  const dnnl::matmul::primitive_desc described({a, b, c}, attributes, engine());
#endif
  const dnnl::memory::desc scratch = described.scratchpad_desc();
  const auto unplaced = [](const dnnl::memory::desc& desc) {
    return dnnl::memory(desc, engine(), DNNL_MEMORY_NONE);
  };
  return {dnnl::matmul(described), unplaced(a),       unplaced(b), unplaced(c),
          unplaced(scratch),       scratch.get_size()};
}

/// What one thread keeps between calls.
class Lane {
 public:
  static Lane& mine() {
    thread_local Lane lane;
    return lane;
  }

  template <class C>
  void run(const SluiceDnnProduct& p, C* c, const std::uint16_t* a, const std::uint16_t* b) {
    // The fast kernels of oneDNN take dense matrices alone: three times the speed, so what has gaps
    // is copied. With k = 63 its AMX kernels of version 2.6 use tiles they did not set up.
    const std::int64_t k = p.k == 63 ? 64 : p.k;
    const bool dense_c = p.ldc == p.n || p.m == 1;
    a = p.transpose_a != 0 ? dense(a_, a, {p.k, p.m, p.lda}, k, p.m)
                           : dense(a_, a, {p.m, p.k, p.lda}, p.m, k);
    b = p.transpose_b != 0 ? dense(b_, b, {p.n, p.k, p.ldb}, p.n, k)
                           : dense(b_, b, {p.k, p.n, p.ldb}, k, p.n);
    C* sums = c;
    if (!dense_c) {
      sums = static_cast<C*>(c_.at_least(static_cast<std::size_t>(p.m * p.n) * sizeof(C)));
      if (p.add != 0) copy_rows(sums, p.n, c, p.ldc, p.m, p.n);
    }
    multiply({p.m, p.n, k, p.transpose_a != 0, p.transpose_b != 0, p.add != 0, sizeof(C) == 4},
             sums, a, b);
    if (!dense_c) copy_rows(c, p.ldc, sums, p.n, p.m, p.n);
  }

 private:
  /// Shapes kept at most; a model has tens.
  static constexpr std::size_t kProducts = 512;

  template <class T>
  static void copy_rows(T* to, std::int64_t to_stride, const T* from, std::int64_t from_stride,
                        std::int64_t rows, std::int64_t columns) {
    for (std::int64_t row = 0; row < rows; ++row)
      std::memcpy(to + row * to_stride, from + row * from_stride,
                  static_cast<std::size_t>(columns) * sizeof(T));
  }

  struct Stored {
    std::int64_t rows, columns, stride;
  };
  /// Rows of `columns` without gaps, the last ones zero where the matrix has fewer.
  static const std::uint16_t* dense(Buffer& buffer, const std::uint16_t* values, const Stored& is,
                                    std::int64_t rows, std::int64_t columns) {
    const bool whole = rows == is.rows && columns == is.columns;
    if (whole && (is.stride == columns || rows == 1)) return values;
    const std::size_t bytes = static_cast<std::size_t>(rows * columns) * sizeof(std::uint16_t);
    auto* copy = static_cast<std::uint16_t*>(buffer.at_least(bytes));
    if (!whole) std::memset(copy, 0, bytes);
    copy_rows(copy, columns, values, is.stride, is.rows, is.columns);
    return copy;
  }

  void multiply(const Key& key, void* c, const std::uint16_t* a, const std::uint16_t* b) {
    auto found = products_.find(key);
    if (found == products_.end()) {
      if (products_.size() >= kProducts) products_.clear();
      found = products_.emplace(key, make_product(key)).first;
    }
    Product& product = found->second;
    // oneDNN has one type for what it reads and what it writes.
    product.a.set_data_handle(const_cast<std::uint16_t*>(a));
    product.b.set_data_handle(const_cast<std::uint16_t*>(b));
    product.c.set_data_handle(c);
    product.scratch.set_data_handle(scratch_.at_least(product.scratch_bytes));
    const dnnl_exec_arg_t arguments[] = {{DNNL_ARG_SRC, product.a.get()},
                                         {DNNL_ARG_WEIGHTS, product.b.get()},
                                         {DNNL_ARG_DST, product.c.get()},
                                         {DNNL_ARG_SCRATCHPAD, product.scratch.get()}};
    dnnl::error::wrap_c_api(
        dnnl_primitive_execute(product.primitive.get(), stream_.get(), 4, arguments),
        "matrix product");
  }

  dnnl::stream stream_{engine()};
  std::map<Key, Product> products_;
  Buffer scratch_, a_, b_, c_;
};

void f32(const SluiceDnnProduct* product, float* c, const float* a, const float* b) noexcept {
  stay_in_this_thread();
  const WithoutSignals undisturbed;
  const SluiceDnnProduct& p = *product;
  const dnnl_status_t status =
      dnnl_sgemm(p.transpose_a != 0 ? 'T' : 'N', p.transpose_b != 0 ? 'T' : 'N', p.m, p.n, p.k,
                 1.0F, a, p.lda, b, p.ldb, p.add != 0 ? 1.0F : 0.0F, c, p.ldc);
  if (status != dnnl_success) std::terminate();
}

void bf16_to_f32(const SluiceDnnProduct* product, float* c, const std::uint16_t* a,
                 const std::uint16_t* b) noexcept {
  stay_in_this_thread();
  const WithoutSignals undisturbed;
  Lane::mine().run(*product, c, a, b);
}

void bf16(const SluiceDnnProduct* product, std::uint16_t* c, const std::uint16_t* a,
          const std::uint16_t* b) noexcept {
  stay_in_this_thread();
  const WithoutSignals undisturbed;
  Lane::mine().run(*product, c, a, b);
}

std::string version() {
  const dnnl_version_t& of = *dnnl_version();  // of the library that was loaded
  return "oneDNN " + std::to_string(of.major) + "." + std::to_string(of.minor) + "." +
         std::to_string(of.patch);
}

/// Instruction sets are masks: AMX holds all of AVX512_BF16's bits.
bool has_bf16() {
  const auto has = static_cast<unsigned>(dnnl_get_effective_cpu_isa());
  const auto needs = static_cast<unsigned>(dnnl_cpu_isa_avx512_core_bf16);
  return (has & needs) == needs;
}

}  // namespace
}  // namespace sluice::dnn_module

extern "C" __attribute__((visibility("default"))) const SluiceDnnTable* sluice_dnn_table() {
  using namespace sluice::dnn_module;  // NOLINT(google-build-using-namespace): one function
  static const std::string library = version();
  static const SluiceDnnTable table{kSluiceDnnAbi, library.c_str(), has_bf16() ? 1 : 0,
                                    f32,           bf16_to_f32,     bf16};
  return &table;
}
