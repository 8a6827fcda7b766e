// tests/train/tokens_test.cpp - patches, tokens, readout, embeddings: each backward is the
// transpose of its forward in the references, and those are what the fast paths do.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cpu/tokens.h"

#include "sluice/train/cpu/tokens_reference.h"

#include "tests/train/support.h"

namespace sluice::train::cpu::tokens_test {
namespace {

using namespace train::testing;
using Doubles = std::vector<double>;

TokenShape draw_shape(Draws& draws) {
  TokenShape s;
  s.batch = draws.integer(1, 4);
  s.patch = draws.integer(1, 9);
  s.image = s.patch * draws.integer(1, 4);
  s.registers = draws.integer(0, 4);
  s.dim = draws.integer(1, 90);
  s.tokens = s.patches() + 1 + s.registers;
  s.channels_last = draws.integer(0, 1) > 0;
  s.mean = draws.integer(0, 1) > 0;
  return s;
}

Rows draw_part(Draws& draws, std::int64_t count) {
  const std::int64_t begin = draws.integer(0, count - 1);
  return {begin, draws.integer(begin, count)};
}

Rows scaled(Rows rows, std::int64_t by) {
  return {rows.begin * by, rows.end * by};
}

/// The part that was asked for is as wanted, the rest still NaN.
template <class T>
void expect_part(const std::vector<T>& got, const Doubles& want, Rows part,
                 const std::string& what) {
  expect_close(slice(got, part.begin, part.end), slice(want, part.begin, part.end), what);
  EXPECT_TRUE(poisoned_outside(got, part.begin, part.end)) << what;
}

TEST(TokensReference, PatchesAreCutWhereTheyStand) {
  TokenShape s;
  s.batch = 1, s.image = 4, s.patch = 2;
  Doubles images(48), patches(48);
  for (std::size_t i = 0; i < 48; ++i)
    images[i] = static_cast<double>(i);
  reference::patchify(patches.data(), images.data(), s, {0, 1});
  EXPECT_EQ(slice(patches, 12, 24),
            (Doubles{2, 3, 6, 7, 18, 19, 22, 23, 34, 35, 38, 39}));  // the upper right patch
  s.channels_last = true;
  reference::patchify(patches.data(), images.data(), s, {0, 1});
  EXPECT_EQ(slice(patches, 12, 24), (Doubles{6, 9, 18, 21, 7, 10, 19, 22, 8, 11, 20, 23}));
}

/// All of them are linear: ⟨forward(x), w⟩ = ⟨x, backward(w)⟩, by differences like the others.
TEST(TokensReference, BackwardIsThatOfDifferences) {
  Draws draws(1);
  for (int round = 0; round < 8; ++round) {
    TokenShape s = draw_shape(draws);
    s.patch = std::min<std::int64_t>(s.patch, 3), s.dim = std::min<std::int64_t>(s.dim, 5);
    s.image = s.patch * 2, s.registers = 2, s.tokens = 7;
    const Rows all = {0, s.batch};
    const std::int64_t pixels = s.batch * 3 * s.image * s.image;
    const Doubles images = draws.normals<double>(pixels), weight = draws.normals<double>(pixels);
    Doubles d_images(images.size());
    reference::unpatchify(d_images.data(), weight.data(), s, all);
    const auto patches_of = [&](const Doubles& at) {
      Doubles y(at.size());
      reference::patchify(y.data(), at.data(), s, all);
      return dot(y, weight);
    };
    EXPECT_LE(relative_error(d_images, numeric_gradient(patches_of, images)), 1e-6);

    const Doubles embedded = draws.normals<double>(s.batch * 4 * s.dim);
    const Doubles position = draws.normals<double>(4 * s.dim);
    const Doubles class_token = draws.normals<double>(s.dim);
    const Doubles registers = draws.normals<double>(2 * s.dim);
    const Doubles d_tokens = draws.normals<double>(s.batch * 7 * s.dim);
    const auto tokens_of = [&](const Doubles& e, const Doubles& p, const Doubles& c,
                               const Doubles& r) {
      Doubles y(d_tokens.size());
      reference::assemble_tokens(y.data(), e.data(), p.data(), c.data(), r.data(), s, all);
      return dot(y, d_tokens);
    };
    Doubles d_embedded(embedded.size()), d_position(position.size()), d_class(class_token.size()),
        d_registers(registers.size());
    reference::assemble_tokens_backward(d_embedded.data(), d_tokens.data(), s, all);
    reference::assemble_tokens_backward_parameters(
        d_position.data(), d_class.data(), d_registers.data(), d_tokens.data(), s, {0, s.dim});
    const auto by_embedded = [&](auto& at) {
      return tokens_of(at, position, class_token, registers);
    };
    const auto by_position = [&](auto& at) {
      return tokens_of(embedded, at, class_token, registers);
    };
    const auto by_class = [&](auto& at) { return tokens_of(embedded, position, at, registers); };
    const auto by_registers = [&](auto& at) {
      return tokens_of(embedded, position, class_token, at);
    };
    EXPECT_LE(relative_error(d_embedded, numeric_gradient(by_embedded, embedded)), 1e-6);
    EXPECT_LE(relative_error(d_position, numeric_gradient(by_position, position)), 1e-6);
    EXPECT_LE(relative_error(d_class, numeric_gradient(by_class, class_token)), 1e-6);
    EXPECT_LE(relative_error(d_registers, numeric_gradient(by_registers, registers)), 1e-6);
  }
}

TEST(TokensReference, ReadoutAndEmbeddingAreThoseOfDifferences) {
  Draws draws(2);
  TokenShape s;
  s.batch = 2, s.image = 4, s.patch = 2, s.registers = 1, s.dim = 3, s.tokens = 6;
  for (const bool mean : {false, true}) {
    s.mean = mean;
    const Doubles tokens = draws.normals<double>(2 * 6 * 3), dy = draws.normals<double>(2 * 3);
    Doubles d_tokens(tokens.size());
    reference::read_out_backward(d_tokens.data(), dy.data(), s, {0, 2});
    const auto out = [&](const Doubles& at) {
      Doubles y(dy.size());
      reference::read_out(y.data(), at.data(), s, {0, 2});
      return dot(y, dy);
    };
    EXPECT_LE(relative_error(d_tokens, numeric_gradient(out, tokens)), 1e-6);
  }
  const std::vector<std::int32_t> ids = {1, 0, 3, 1};
  const Doubles table = draws.normals<double>(4 * 5), weight = draws.normals<double>(4 * 5);
  Doubles d_table(table.size());
  reference::embed_backward(d_table.data(), ids.data(), weight.data(), 4, 5, {0, 5});
  const auto rows = [&](const Doubles& at) {
    Doubles y(weight.size());
    reference::embed(y.data(), ids.data(), at.data(), {0, 4}, 5);
    return dot(y, weight);
  };
  EXPECT_LE(relative_error(d_table, numeric_gradient(rows, table)), 1e-6);
}

template <class Act>
void check_patches(std::uint64_t seed) {
  Draws draws(seed);
  const TokenShape s = draw_shape(draws);
  const std::int64_t sample = 3 * s.image * s.image;
  const Rows samples = draw_part(draws, s.batch), part = scaled(samples, sample);
  const auto images = draws.normals<float>(s.batch * sample);
  const auto d_patches = draws.normals<Act>(s.batch * sample);
  Doubles want(images.size()), want_d(images.size());
  reference::patchify(want.data(), converted<double>(images).data(), s, samples);
  reference::unpatchify(want_d.data(), converted<double>(d_patches).data(), s, samples);
  auto patches = poisoned<Act>(s.batch * sample);
  auto d_images = poisoned<float>(s.batch * sample);
  patchify(patches.data(), images.data(), s, samples);
  unpatchify(d_images.data(), d_patches.data(), s, samples);
  expect_part(patches, want, part, "patches");
  expect_part(d_images, want_d, part, "d_images");
}

template <class Act, class Res>
void check_tokens(std::uint64_t seed) {
  Draws draws(seed);
  const TokenShape s = draw_shape(draws);
  const std::int64_t count = s.patches() * s.dim;
  const Rows samples = draw_part(draws, s.batch);
  const auto embedded = draws.normals<Act>(s.batch * count);
  const auto position = draws.normals<float>(count), class_token = draws.normals<float>(s.dim);
  const auto registers = draws.normals<float>(s.registers * s.dim);
  const auto d_tokens = draws.normals<Res>(s.batch * s.tokens * s.dim);
  Doubles want(d_tokens.size()), want_d(embedded.size());
  reference::assemble_tokens(
      want.data(), converted<double>(embedded).data(), converted<double>(position).data(),
      converted<double>(class_token).data(), converted<double>(registers).data(), s, samples);
  reference::assemble_tokens_backward(want_d.data(), converted<double>(d_tokens).data(), s,
                                      samples);
  auto tokens = poisoned<Res>(s.batch * s.tokens * s.dim);
  auto d_embedded = poisoned<Act>(s.batch * count);
  assemble_tokens(tokens.data(), embedded.data(), position.data(), class_token.data(),
                  s.registers > 0 ? registers.data() : nullptr, s, samples);
  assemble_tokens_backward(d_embedded.data(), d_tokens.data(), s, samples);
  expect_part(tokens, want, scaled(samples, s.tokens * s.dim), "tokens");
  expect_part(d_embedded, want_d, scaled(samples, count), "d_embedded");
}

template <class Res>
void check_parameters(std::uint64_t seed) {
  Draws draws(seed);
  const TokenShape s = draw_shape(draws);
  const Rows columns = draw_part(draws, s.dim);
  const auto d_tokens = draws.normals<Res>(s.batch * s.tokens * s.dim);
  auto position = draws.normals<float>(s.patches() * s.dim);
  auto class_token = draws.normals<float>(s.dim);
  auto registers = draws.normals<float>(s.registers * s.dim);
  const bool with_registers = draws.integer(0, 1) > 0;
  Doubles want_p = converted<double>(position), want_c = converted<double>(class_token),
          want_r = converted<double>(registers);
  reference::assemble_tokens_backward_parameters(want_p.data(), want_c.data(),
                                                 with_registers ? want_r.data() : nullptr,
                                                 converted<double>(d_tokens).data(), s, columns);
  assemble_tokens_backward_parameters(position.data(), class_token.data(),
                                      with_registers ? registers.data() : nullptr, d_tokens.data(),
                                      s, columns);
  expect_close(position, want_p, "d_position");
  expect_close(class_token, want_c, "d_class_token");
  expect_close(registers, want_r, "d_registers");
}

template <class Res>
void check_readout(std::uint64_t seed) {
  Draws draws(seed);
  const TokenShape s = draw_shape(draws);
  const Rows samples = draw_part(draws, s.batch);
  const auto tokens = draws.normals<Res>(s.batch * s.tokens * s.dim);
  const auto dy = draws.normals<Res>(s.batch * s.dim);
  Doubles want(dy.size()), want_d(tokens.size());
  reference::read_out(want.data(), converted<double>(tokens).data(), s, samples);
  reference::read_out_backward(want_d.data(), converted<double>(dy).data(), s, samples);
  auto y = poisoned<Res>(s.batch * s.dim), d_tokens = poisoned<Res>(s.batch * s.tokens * s.dim);
  read_out(y.data(), tokens.data(), s, samples);
  read_out_backward(d_tokens.data(), dy.data(), s, samples);
  expect_part(y, want, scaled(samples, s.dim), "y");
  expect_part(d_tokens, want_d, scaled(samples, s.tokens * s.dim), "d_tokens");
}

template <class Res>
void check_embedding(std::uint64_t seed) {
  Draws draws(seed);
  const std::int64_t count = draws.integer(1, 20), dim = draws.integer(1, 90), words = 7;
  const Rows rows = draw_part(draws, count), columns = draw_part(draws, dim);
  std::vector<std::int32_t> ids;
  for (std::int64_t r = 0; r < count; ++r)  // some words more than once
    ids.push_back(static_cast<std::int32_t>(draws.integer(0, words - 1)));
  const auto table = draws.normals<float>(words * dim);
  const auto d_tokens = draws.normals<Res>(count * dim);
  auto d_table = draws.normals<float>(words * dim);
  Doubles want(static_cast<std::size_t>(count * dim)), want_d = converted<double>(d_table);
  reference::embed(want.data(), ids.data(), converted<double>(table).data(), rows, dim);
  reference::embed_backward(want_d.data(), ids.data(), converted<double>(d_tokens).data(), count,
                            dim, columns);
  auto tokens = poisoned<Res>(count * dim);
  embed(tokens.data(), ids.data(), table.data(), rows, dim);
  embed_backward(d_table.data(), ids.data(), d_tokens.data(), count, dim, columns);
  expect_part(tokens, want, scaled(rows, dim), "tokens");
  expect_close(d_table, want_d, "d_table");
}

TEST(Tokens, AreTheReference) {
  for (std::uint64_t seed = 0; seed < 100; ++seed) {
    SCOPED_TRACE("seed " + std::to_string(seed));
    check_patches<float>(seed);
    check_patches<Bf16>(seed);
    check_tokens<float, float>(seed);
    check_tokens<Bf16, float>(seed);
    check_tokens<Bf16, Bf16>(seed);
    check_parameters<float>(seed);
    check_parameters<Bf16>(seed);
    check_readout<float>(seed);
    check_readout<Bf16>(seed);
    check_embedding<float>(seed);
    check_embedding<Bf16>(seed);
  }
}

}  // namespace
}  // namespace sluice::train::cpu::tokens_test
