// tests/train/cuda_mix_test.cpp - Mixup and CutMix on the device against the CPU's, bit by bit:
// random shapes, layouts, boxes, addresses.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/mixup.h"

#include "tests/train/cuda_support.h"
#include "tests/train/engine_mix_case.h"

namespace sluice::train::cuda::testing::cuda_mix_test {
namespace {

class CudaMix : public OnDevice {
 protected:
  static MixImagesCall call_of(const MixupImages& shape, const MixupDraw& draw, float* images) {
    MixImagesCall call;
    call.images = images;
    call.batch = shape.batch;
    call.channels = shape.channels;
    call.height = shape.height;
    call.width = shape.width;
    call.channels_last = shape.channels_last;
    call.cut = draw.kind == MixupDraw::Kind::cutmix;
    call.keep = static_cast<float>(draw.lambda);
    call.take = static_cast<float>(1 - draw.lambda);
    call.top = draw.top;
    call.bottom = draw.bottom;
    call.left = draw.left;
    call.right = draw.right;
    return call;
  }
};

TEST_F(CudaMix, BitsAreTheCpus) {
  Draws draws(611);
  for (std::uint64_t i = 0; i < 60; ++i) {
    SCOPED_TRACE(i);
    MixupImages shape;
    shape.batch = 2 * static_cast<int>(draws.integer(1, 20));
    shape.channels = i % 3 == 0 ? static_cast<int>(draws.integer(1, 5)) : 3;
    shape.height = static_cast<int>(draws.integer(1, 60));
    shape.width = static_cast<int>(draws.integer(1, 60));
    shape.channels_last = i % 2 == 0;
    const std::int64_t count =
        std::int64_t{shape.batch} * shape.channels * shape.height * shape.width;
    const std::int64_t skip = draws.integer(0, 3);  // an address that vectors do not like
    std::vector<float> host = draws.normals<float>(count + skip);
    const Buffer<float> device(host);
    const MixupDraw draw = draw_mixup({}, 9, i, 0, shape.height, shape.width);
    run(KernelCall(call_of(shape, draw, device.data() + skip)));
    shape.values = std::span(host).subspan(static_cast<std::size_t>(skip));
    ASSERT_TRUE(mix_images(shape, draw));
    EXPECT_EQ(device.values(), host);
  }
}

TEST_F(CudaMix, AWholeBatchAndNothing) {
  Draws draws(612);
  MixupImages shape;
  shape.batch = 256;
  shape.height = shape.width = 64;
  std::vector<float> host = draws.normals<float>(std::int64_t{256} * 3 * 64 * 64);
  const Buffer<float> device(host);
  shape.values = host;
  for (const MixupDraw& draw :
       {MixupDraw{MixupDraw::Kind::mixup, 0.3, 0, 0, 0, 0},
        MixupDraw{MixupDraw::Kind::cutmix, 0, 0, 64, 0, 64},    // everything
        MixupDraw{MixupDraw::Kind::cutmix, 1, 5, 5, 0, 64}}) {  // an empty box
    run(KernelCall(call_of(shape, draw, device.data())));
    ASSERT_TRUE(mix_images(shape, draw));
    EXPECT_EQ(device.values(), host);
  }
}

TEST_F(CudaMix, TheEngineMixesOnTheDevice) {
  engine_mixes_where_it_holds_the_batch("cuda:0");
}

}  // namespace
}  // namespace sluice::train::cuda::testing::cuda_mix_test
