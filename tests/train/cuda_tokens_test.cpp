// tests/train/cuda_tokens_test.cpp - images and ids to tokens and back on the device, against the
// references in double.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cpu/tokens_reference.h"

#include "tests/train/cuda_elementwise.h"

namespace sluice::train::cuda::cuda_tokens_test {
namespace {

using namespace testing;
namespace reference = cpu::reference;

class CudaTokens : public OnDevice {};
class CudaEmbed : public OnDevice {};

TokenShape shape_of(std::int64_t batch, std::int64_t patch, std::int64_t grid,
                    std::int64_t registers, std::int64_t dim) {
  TokenShape s;
  s.batch = batch;
  s.patch = patch;
  s.image = patch * grid;
  s.registers = registers;
  s.dim = dim;
  s.tokens = grid * grid + 1 + registers;
  return s;
}

std::string words(const TokenShape& s) {
  return "batch " + std::to_string(s.batch) + " patch " + std::to_string(s.patch) + " image " +
         std::to_string(s.image) + " registers " + std::to_string(s.registers) + " dim " +
         std::to_string(s.dim);
}

std::vector<TokenShape> shapes() {
  Draws draws(1);
  std::vector<TokenShape> made = {shape_of(1, 1, 1, 0, 1), shape_of(3, 16, 3, 4, 384),
                                  shape_of(300, 2, 2, 1, 24), shape_of(2, 16, 14, 4, 192)};
  for (int i = 0; i < 24; ++i) {
    static constexpr std::int64_t kPatches[] = {1, 2, 3, 4, 7, 8, 12, 16};
    const std::int64_t dim = i % 2 == 0 ? 8 * draws.integer(1, 50) : draws.integer(1, 300);
    made.push_back(shape_of(draws.integer(1, 40), kPatches[draws.integer(0, 7)],
                            draws.integer(1, 5), draws.integer(0, 4), dim));
  }
  return made;
}

template <class Act>
void check_patchify(TokenShape s, std::int64_t shift, std::uint64_t seed) {
  Draws draws(seed);
  const std::int64_t n = s.batch * s.patches() * 3 * s.patch * s.patch;
  for (const bool last : {false, true}) {
    s.channels_last = last;
    const auto images = draws.normals<float>(n);
    const auto d_patches = draws.normals<Act>(n);
    std::vector<double> patches = zeros(n), d_images = zeros(n);
    reference::patchify(patches.data(), doubles(images).data(), s, {0, s.batch});
    reference::unpatchify(d_images.data(), doubles(d_patches).data(), s, {0, s.batch});
    const Shifted<float> images_at(images, shift), d_images_at(n, shift);
    const Shifted<Act> patches_at(n, shift), d_patches_at(d_patches, shift);
    const KernelCall forward = PatchifyCall{patches_at, images_at.data(), s};
    const KernelCall backward = UnpatchifyCall{d_images_at.data(), d_patches_at, s};
    ASSERT_EQ(OnDevice::table().launch(OnDevice::device(), &forward), kDone);
    ASSERT_EQ(OnDevice::table().launch(OnDevice::device(), &backward), kDone);
    EXPECT_EQ(relative_error(patches_at.values(), doubles(converted<Act>(patches))), 0) << last;
    EXPECT_EQ(relative_error(d_images_at.values(), d_images), 0) << last;
  }
}

TEST_F(CudaTokens, PatchesAreTheReference) {
  std::uint64_t seed = 10;
  for (const TokenShape& s : shapes()) {
    SCOPED_TRACE(words(s));
    const std::int64_t shift = static_cast<std::int64_t>(++seed % 5 == 0 ? 1 : 0);
    check_patchify<float>(s, shift, seed);
    check_patchify<Bf16>(s, shift, seed);
  }
}

template <class Act, class Res>
void check_assemble(const TokenShape& s, std::int64_t shift, std::uint64_t seed) {
  Draws draws(seed);
  const std::int64_t of_patches = s.patches() * s.dim, of_registers = s.registers * s.dim;
  const std::int64_t n = s.batch * s.tokens * s.dim;
  const auto embedded = draws.normals<Act>(s.batch * of_patches);
  const auto position = draws.normals<float>(of_patches), cls = draws.normals<float>(s.dim),
             registers = draws.normals<float>(of_registers);
  std::vector<double> tokens = zeros(n);
  reference::assemble_tokens(tokens.data(), doubles(embedded).data(), doubles(position).data(),
                             doubles(cls).data(), doubles(registers).data(), s, {0, s.batch});
  const Shifted<Act> embedded_at(embedded, shift);
  const Shifted<Res> tokens_at(n, shift);
  const Buffer<float> position_at(position), cls_at(cls), registers_at(registers);
  const bool none = s.registers == 0;
  const KernelCall forward = AssembleCall{tokens_at,
                                          embedded_at,
                                          position_at.data(),
                                          cls_at.data(),
                                          none ? nullptr : registers_at.data(),
                                          s};
  ASSERT_EQ(OnDevice::table().launch(OnDevice::device(), &forward), kDone);
  expect_sums(tokens_at.values(), tokens, "tokens");

  const auto d_tokens = draws.normals<Res>(n);
  std::vector<double> d_embedded = zeros(s.batch * of_patches), d_position = doubles(position),
                      d_cls = doubles(cls), d_registers = doubles(registers);
  reference::assemble_tokens_backward(d_embedded.data(), doubles(d_tokens).data(), s, {0, s.batch});
  reference::assemble_tokens_backward_parameters(
      d_position.data(), d_cls.data(), d_registers.data(), doubles(d_tokens).data(), s, {0, s.dim});
  const Shifted<Res> d_tokens_at(d_tokens, shift);
  const Shifted<Act> d_embedded_at(s.batch * of_patches, shift);
  const KernelCall backward =
      AssembleBackwardCall{d_embedded_at, position_at.data(),
                           cls_at.data(), none ? nullptr : registers_at.data(),
                           d_tokens_at,   s};
  ASSERT_EQ(OnDevice::table().launch(OnDevice::device(), &backward), kDone);
  EXPECT_EQ(relative_error(d_embedded_at.values(), doubles(converted<Act>(d_embedded))), 0);
  expect_close(position_at.values(), d_position, "d_position");
  expect_close(cls_at.values(), d_cls, "d_class_token");
  expect_close(registers_at.values(), d_registers, "d_registers");
}

TEST_F(CudaTokens, AssemblingIsTheReference) {
  std::uint64_t seed = 100;
  for (const TokenShape& s : shapes()) {
    SCOPED_TRACE(words(s));
    const std::int64_t shift = static_cast<std::int64_t>(++seed % 5 == 0 ? 1 : 0);
    each_pair([&]<class Act, class Res>(Act, Res) { check_assemble<Act, Res>(s, shift, seed); });
  }
}

template <class Act, class Res>
void check_read_out(TokenShape s, std::int64_t shift, std::uint64_t seed) {
  Draws draws(seed);
  const std::int64_t n = s.batch * s.tokens * s.dim, of_y = s.batch * s.dim;
  const auto tokens = draws.normals<Res>(n), dy = draws.normals<Res>(of_y);
  const Shifted<Res> tokens_at(tokens, shift), dy_at(dy, shift);
  for (const bool mean : {false, true}) {
    s.mean = mean;
    std::vector<double> y = zeros(of_y), d_tokens = zeros(n);
    reference::read_out(y.data(), doubles(tokens).data(), s, {0, s.batch});
    reference::read_out_backward(d_tokens.data(), doubles(dy).data(), s, {0, s.batch});
    const Shifted<Res> y_at(of_y, shift), d_tokens_at(n, shift);
    const Shifted<Act> copy_at(n, shift);
    const KernelCall forward = ReadOutCall{y_at, tokens_at, s};
    ASSERT_EQ(OnDevice::table().launch(OnDevice::device(), &forward), kDone);
    expect_sums(y_at.values(), y, "y");
    ReadOutBackwardCall call{d_tokens_at, {}, dy_at, s};
    if (mean) call.copy = copy_at;
    const KernelCall backward = call;
    ASSERT_EQ(OnDevice::table().launch(OnDevice::device(), &backward), kDone);
    expect_close(d_tokens_at.values(), d_tokens, "d_tokens");
    if (mean)
      expect_close(copy_at.values(), d_tokens, "copy");
    else
      EXPECT_TRUE(poisoned_outside(copy_at.values(), 0, 0));
  }
}

TEST_F(CudaTokens, ReadingOutIsTheReference) {
  std::uint64_t seed = 200;
  for (const TokenShape& s : shapes()) {
    SCOPED_TRACE(words(s));
    const std::int64_t shift = static_cast<std::int64_t>(++seed % 5 == 0 ? 1 : 0);
    each_pair([&]<class Act, class Res>(Act, Res) { check_read_out<Act, Res>(s, shift, seed); });
  }
}

template <class Res>
void check_embed(std::int64_t rows, std::int64_t dim, std::int64_t vocabulary, std::int64_t drawn,
                 std::uint64_t seed) {
  SCOPED_TRACE(std::to_string(rows) + " rows of " + std::to_string(dim) + ", ids below " +
               std::to_string(drawn) + " of " + std::to_string(vocabulary));
  Draws draws(seed);
  std::vector<std::int32_t> ids;
  for (std::int64_t r = 0; r < rows; ++r)
    ids.push_back(static_cast<std::int32_t>(vocabulary - 1 - draws.integer(0, drawn - 1)));
  const auto table = draws.normals<float>(vocabulary * dim);
  const auto d_tokens = draws.normals<Res>(rows * dim);
  std::vector<double> tokens = zeros(rows * dim), d_table = doubles(table);
  reference::embed(tokens.data(), ids.data(), doubles(table).data(), {0, rows}, dim);
  reference::embed_backward(d_table.data(), ids.data(), doubles(d_tokens).data(), rows, dim,
                            {0, dim});
  const std::int64_t shift = static_cast<std::int64_t>(seed % 3 == 0 ? 1 : 0);
  const Integers ids_at(ids);
  const Shifted<float> table_at(table, shift);
  const Shifted<Res> tokens_at(rows * dim, shift), d_tokens_at(d_tokens, shift);
  const KernelCall forward = EmbedCall{tokens_at, ids_at.data(), table_at.data(), rows, dim};
  ASSERT_EQ(OnDevice::table().launch(OnDevice::device(), &forward), kDone);
  EXPECT_EQ(relative_error(tokens_at.values(), doubles(converted<Res>(tokens))), 0);
  std::vector<float> first;
  for (int again = 0; again < 2; ++again) {
    const Shifted<float> d_table_at(table, shift);
    const KernelCall backward =
        EmbedBackwardCall{d_table_at.data(), ids_at.data(), d_tokens_at, rows, dim, vocabulary};
    ASSERT_EQ(OnDevice::table().launch(OnDevice::device(), &backward), kDone);
    const std::vector<float> got = d_table_at.values();
    expect_close(got, d_table, "d_table");
    if (first.empty()) first = got;
    EXPECT_EQ(got, first) << "another order of the sum";
  }
}

TEST_F(CudaEmbed, IsTheReference) {
  Draws draws(2);
  std::uint64_t seed = 300;
  for (int i = 0; i < 16; ++i) {
    const std::int64_t vocabulary = draws.integer(1, 2000), dim = draws.integer(1, 300);
    const std::int64_t drawn =
        i % 2 == 0 ? vocabulary : draws.integer(1, std::min<std::int64_t>(5, vocabulary));
    check_embed<float>(draws.integer(1, 2000), dim, vocabulary, drawn, ++seed);
    check_embed<Bf16>(draws.integer(1, 2000), (dim + 7) / 8 * 8, vocabulary, drawn, ++seed);
  }
  check_embed<Bf16>(20'000, 40, 3000, 3, ++seed);  // lists longer than a block holds
  check_embed<Bf16>(5000, 768, 700, 700, ++seed);
}

}  // namespace
}  // namespace sluice::train::cuda::cuda_tokens_test
