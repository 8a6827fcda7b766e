// tests/train/cuda_update_test.cpp - the optimizer step and the weights' copies on the device,
// against the CPU's.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cpu/update.h"
#include "sluice/train/cuda/update_settings.h"

#include "tests/train/cuda_elementwise.h"

namespace sluice::train::cuda::cuda_update_test {
namespace {

using namespace testing;

class CudaUpdate : public OnDevice {};
class CudaWeights : public OnDevice {};

/// One tensor on both sides: [value, gradient, first moment, second moment, average].
struct Tensor {
  std::vector<std::vector<float>> host;
  std::vector<Shifted<float>> device;
  std::vector<Shifted<Bf16>> copy;  // of the value, or none
  bool decayed = false, averaged = false;
  [[nodiscard]] std::int64_t elements() const { return static_cast<std::int64_t>(host[0].size()); }
};

struct Model {
  std::vector<Tensor> tensors;
  std::vector<UpdateTensor> records;
  std::vector<Stretch> stretches;

  /// Every other tensor has a copy.
  void add(std::int64_t count, bool decayed, bool averaged, double size, std::int64_t shift,
           std::int64_t longest, Draws& draws) {
    const bool copied = tensors.size() % 2 == 0;
    Tensor t;
    t.decayed = decayed;
    t.averaged = averaged;
    for (int i = 0; i < 5; ++i) {
      auto values = draws.normals<float>(count, i == 0 ? size : 0.1);
      if (i == 3)
        for (float& v : values)
          v *= v;
      t.device.emplace_back(values, shift);
      t.host.push_back(std::move(values));
    }
    const auto& d = t.device;
    if (copied) t.copy.emplace_back(count, shift);
    records.push_back({d[0].data(), d[1].data(), d[2].data(), d[3].data(),
                       averaged ? d[4].data() : nullptr, count, decayed,
                       copied ? t.copy[0].data() : nullptr});
    for (std::int64_t begin = 0; begin < count; begin += longest)
      stretches.push_back({static_cast<std::int32_t>(tensors.size()),
                           static_cast<std::int32_t>(std::min(longest, count - begin)), begin});
    tensors.push_back(std::move(t));
  }
  std::vector<cpu::UpdateTensor> on_host() {
    std::vector<cpu::UpdateTensor> made;
    for (Tensor& t : tensors)
      made.push_back({t.host[0].data(), t.host[1].data(), t.host[2].data(), t.host[3].data(),
                      t.averaged ? t.host[4].data() : nullptr, t.elements(), t.decayed});
    return made;
  }
  /// The same new gradient on both sides.
  void draw_gradients(double size, Draws& draws) {
    for (Tensor& t : tensors) {
      for (float& g : t.host[1])
        g = static_cast<float>(size * draws.normal());
      upload_gradient(t);
    }
  }
  static void upload_gradient(const Tensor& t) {
    ASSERT_EQ(OnDevice::table().upload(OnDevice::device(), t.device[1].data(), t.host[1].data(),
                                       t.host[1].size() * 4),
              kDone);
  }
};

Model draw_model(Draws& draws, std::int64_t longest) {
  Model m;
  const auto shift = [&] { return draws.integer(0, 3) == 0 ? draws.integer(1, 3) : 0; };
  m.add(150'001, true, true, 0.02, 0, longest, draws);
  m.add(65'536, true, true, 0.02, 0, longest, draws);
  m.add(192, false, true, 1, 0, longest, draws);
  m.add(1, true, true, 0.5, 0, longest, draws);
  m.add(1, false, false, 0.5, 1, longest, draws);
  m.add(77, true, false, 0, 0, longest, draws);  // zero weights: no trust ratio
  for (int i = 0; i < 6; ++i)
    m.add(draws.integer(1, 90'000), draws.integer(0, 1) == 0, draws.integer(0, 1) == 0, 0.1,
          shift(), longest, draws);
  return m;
}

OptimizerConfig config_of(bool lamb, double clip, double decay) {
  OptimizerConfig c;
  c.kind = lamb ? OptimizerKind::lamb : OptimizerKind::adamw;
  c.max_gradient_norm = clip;
  c.weight_decay = decay;
  c.average_decay = 0.9;
  return c;
}

UpdateCall call_of(const OptimizerConfig& c, const Records<UpdateTensor>& tensors, int tensor_count,
                   const Records<Stretch>& stretches, int stretch_count,
                   const Records<UpdateState>& state) {
  UpdateCall call = update_call(c);
  call.tensors = tensors.data();
  call.tensor_count = tensor_count;
  call.stretches = stretches.data();
  call.stretch_count = stretch_count;
  call.state = state.data();
  return call;
}

void expect_same_model(const Model& m, bool exactly) {
  static constexpr const char* kNames[] = {"value", "gradient", "m", "v", "average"};
  for (std::size_t t = 0; t < m.tensors.size(); ++t)
    for (std::size_t i = 0; i < 5; ++i)
      EXPECT_LE(relative_error(m.tensors[t].device[i].values(), m.tensors[t].host[i]),
                exactly ? 0 : 2e-6)
          << kNames[i] << " of tensor " << t << ", " << m.tensors[t].elements() << " elements";
}
/// Copies are the values rounded once; or, where nothing was updated, as they were.
void expect_copies(const Model& m, bool updated) {
  for (const Tensor& t : m.tensors)
    for (const Shifted<Bf16>& copy : t.copy) {
      const std::vector<Bf16> values = copy.values();
      if (!updated) {
        EXPECT_TRUE(poisoned_outside(values, 0, 0)) << t.elements() << " elements";
        continue;
      }
      EXPECT_EQ(converted<float>(values), converted<float>(converted<Bf16>(t.device[0].values())))
          << t.elements() << " elements";
    }
}

void check_steps(const OptimizerConfig& config, std::int64_t longest, double gradient_size,
                 std::uint64_t seed) {
  SCOPED_TRACE(std::string(to_string(config.kind)) + " stretch " + std::to_string(longest) +
               " clip " + std::to_string(config.max_gradient_norm) + " seed " +
               std::to_string(seed));
  Draws draws(seed);
  Model m = draw_model(draws, longest);
  cpu::Team team(1);
  cpu::Updater updater(m.on_host(), config, 1);
  const Records<UpdateTensor> tensors(m.records);
  const Records<Stretch> stretches(m.stretches);
  const Records<UpdateState> state({UpdateState{}});
  const KernelCall call = call_of(config, tensors, static_cast<int>(m.records.size()), stretches,
                                  static_cast<int>(m.stretches.size()), state);
  for (std::uint64_t step = 0; step < 3; ++step) {
    m.draw_gradients(gradient_size, draws);
    state.write({update_state(config, step)});
    const double norm = updater.gradient_norm(team);
    updater.step(team, step, norm);
    ASSERT_EQ(OnDevice::table().launch(OnDevice::device(), &call), kDone)
        << OnDevice::table().message(OnDevice::device());
    EXPECT_NEAR(state.read()[0].gradient_norm, norm, 1e-9 * norm);
    expect_same_model(m, false);
    expect_copies(m, true);
  }
}

TEST_F(CudaUpdate, IsTheCpuUpdater) {
  static constexpr std::int64_t kLongest[] = {65'536, 16'384, 1000};
  std::uint64_t seed = 1;
  for (const bool lamb : {true, false})
    for (const double clip : {0.0, 1.0, 1e6})  // none, active, not active
      for (const double decay : {0.05, 0.0}) {
        ++seed;
        check_steps(config_of(lamb, clip, decay), kLongest[seed % 3], 0.3, seed);
      }
}

TEST_F(CudaUpdate, ANormThatIsNotFiniteLeavesEverything) {
  for (const bool lamb : {true, false})
    for (const float bad : {std::nanf(""), std::numeric_limits<float>::infinity()}) {
      Draws draws(7);
      Model m = draw_model(draws, 65'536);
      const OptimizerConfig config = config_of(lamb, 1, 0.05);
      const Records<UpdateTensor> tensors(m.records);
      const Records<Stretch> stretches(m.stretches);
      const Records<UpdateState> state({update_state(config, 0)});
      Tensor& spoiled = m.tensors[1];
      const float before = spoiled.host[1][500];
      spoiled.host[1][500] = bad;
      Model::upload_gradient(spoiled);
      run(call_of(config, tensors, static_cast<int>(m.records.size()), stretches,
                  static_cast<int>(m.stretches.size()), state));
      EXPECT_FALSE(std::isfinite(state.read()[0].gradient_norm));
      spoiled.host[1][500] = before;
      auto gradient = spoiled.device[1].values();
      EXPECT_FALSE(std::isfinite(gradient[500]));
      gradient[500] = before;
      EXPECT_EQ(gradient, spoiled.host[1]);
      Model::upload_gradient(spoiled);
      expect_same_model(m, true);
      expect_copies(m, false);
    }
}

TEST_F(CudaUpdate, TwoRunsGiveTheSameBits) {
  std::vector<std::vector<float>> first;
  for (int again = 0; again < 3; ++again) {
    Draws draws(9);
    Model m = draw_model(draws, 16'384);
    const OptimizerConfig config = config_of(true, 1, 0.05);
    const Records<UpdateTensor> tensors(m.records);
    const Records<Stretch> stretches(m.stretches);
    const Records<UpdateState> state({update_state(config, 0)});
    run(call_of(config, tensors, static_cast<int>(m.records.size()), stretches,
                static_cast<int>(m.stretches.size()), state));
    std::vector<std::vector<float>> values;
    for (const Tensor& t : m.tensors)
      values.push_back(t.device[0].values());
    if (first.empty()) first = values;
    EXPECT_EQ(values, first);
  }
}

TEST_F(CudaWeights, CopiesAreRoundedOnce) {
  Draws draws(3);
  std::vector<std::vector<float>> values, scales;
  std::vector<Shifted<float>> value_at, wide_at;
  std::vector<Shifted<Bf16>> narrow_at;
  std::vector<Buffer<float>> scale_at;
  std::vector<WeightCopy> list;
  std::int64_t most = 0;
  for (int i = 0; i < 40; ++i) {
    const std::int64_t columns = i % 3 == 0 ? 8 * draws.integer(1, 40) : draws.integer(1, 300);
    const std::int64_t rows = draws.integer(1, 400), n = rows * columns, shift = i % 7 == 0 ? 1 : 0;
    values.push_back(draws.normals<float>(n));
    scales.push_back(draws.normals<float>(rows));
    value_at.emplace_back(values.back(), shift);
    scale_at.emplace_back(scales.back());
    wide_at.emplace_back(n, shift);
    narrow_at.emplace_back(n, shift);
    const Written to = i % 4 == 0 ? Written(wide_at.back()) : Written(narrow_at.back());
    list.push_back({value_at.back().data(), to, i % 2 == 0 ? scale_at.back().data() : nullptr, n,
                    i % 2 == 0 ? columns : 1});
    most = std::max(most, n);
  }
  const Records<WeightCopy> list_at(list);
  run(CopyWeightsCall{list_at.data(), static_cast<int>(list.size()), most});
  for (std::size_t i = 0; i < list.size(); ++i) {
    std::vector<float> want = values[i];
    if (list[i].row_scale != nullptr)
      for (std::size_t e = 0; e < want.size(); ++e)
        want[e] *= scales[i][e / static_cast<std::size_t>(list[i].columns)];
    if (i % 4 == 0)
      EXPECT_EQ(wide_at[i].values(), want) << i;
    else
      EXPECT_EQ(narrow_at[i].values(), converted<Bf16>(want)) << i;
  }
}

TEST_F(CudaWeights, LayerScaleFolded) {
  Draws draws(4);
  for (int i = 0; i < 24; ++i) {
    const std::int64_t rows = draws.integer(1, 400),
                       columns = i % 2 == 0 ? 4 * draws.integer(1, 400) : draws.integer(1, 900),
                       n = rows * columns, shift = i % 5 == 0 ? 1 : 0;
    const bool add = i % 3 == 0;
    const auto d_folded = draws.normals<float>(n), weight = draws.normals<float>(n),
               before = draws.normals<float>(n);
    const auto gamma = draws.normals<float>(rows), d_gamma = draws.normals<float>(rows);
    std::vector<double> want = zeros(n), want_gamma = doubles(d_gamma);
    for (std::int64_t e = 0; e < n; ++e) {
      const std::int64_t row = e / columns;
      want[at(e)] =
          static_cast<double>(gamma[at(row)]) * d_folded[at(e)] + (add ? before[at(e)] : 0.0F);
      want_gamma[at(row)] += static_cast<double>(d_folded[at(e)]) * weight[at(e)];
    }
    const Shifted<float> d_weight_at(add ? before : poisoned<float>(n), shift),
        d_folded_at(d_folded, shift), weight_at(weight, shift);
    const Buffer<float> gamma_at(gamma), d_gamma_at(d_gamma);
    run(FoldLayerScaleCall{d_weight_at.data(), d_gamma_at.data(), d_folded_at.data(),
                           weight_at.data(), gamma_at.data(), rows, columns, add});
    expect_close(d_weight_at.values(), want, "d_weight");
    expect_close(d_gamma_at.values(), want_gamma, "d_gamma");
  }
}

TEST_F(CudaWeights, Cleared) {
  const Buffer<float> what(1001);
  run(ClearCall{what.data(), 1001 * sizeof(float)});
  EXPECT_EQ(what.values(), std::vector<float>(1001, 0.0F));
}

}  // namespace
}  // namespace sluice::train::cuda::cuda_update_test
