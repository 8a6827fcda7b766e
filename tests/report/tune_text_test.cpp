// tests/report/tune_text_test.cpp - the answer of `tune` agrees with itself, whatever was found;
// the line to paste.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/tune_text.h"

#include "sluice/report/torch_line.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace sluice::report::tune_text_test {
namespace {

using results::TuneSetting;
using ::testing::HasSubstr;
using ::testing::Not;

/// 2/4 is first, 2/2 and 4/2 are behind it.
results::ResultFile winner() {
  results::ResultFile file;
  results::TuneSummary& tune = file.tune.emplace();
  tune.start = {2, 2};
  tune.best = tune.recommended = {2, 4};
  tune.reference = {2, 2};
  tune.flags = "--batch-size 16 --num-workers 2 --prefetch 4";
  tune.choice = "first";
  tune.worth = 0.02;
  tune.settled = true;
  tune.noise = 0.01;
  tune.blocks = 9;
  tune.elapsed_s = 40;
  tune.budget_s = 120;
  tune.loss = stats::Estimate{0, 0, 0.004};
  tune.gain = stats::Estimate{1.2, 1.15, 1.25};
  tune.ranking = {{TuneSetting{2, 4}, 9, 255, {}},
                  {TuneSetting{2, 2}, 9, 212, stats::Estimate{0.833, 0.8, 0.87}},
                  {TuneSetting{4, 2}, 4, 210, stats::Estimate{0.824, 0.78, 0.86}}};
  return file;
}

TEST(TuneText, AClearWinner) {
  EXPECT_EQ(
      tune_text(winner()),
      "workers / prefetch    samples/s  to the first  95 % interval        measured\n"
      "2 / 4                       255                                           9x\n"
      "2 / 2                       212       -16.7 %  -20.0 to -13.0 %           9x\n"
      "4 / 2                       210       -17.6 %  -22.0 to -14.0 %           4x\n"
      "\n"
      "Recommended: 2 workers, prefetch 4. It is the first of the ranking; no cheaper setting "
      "is known to lose less than 2 % to it.\n"
      "  sluice bench dataloader --batch-size 16 --num-workers 2 --prefetch 4\n"
      "Gain over 2 workers, prefetch 2: +20.0 % (95 % interval +15.0 to +25.0 %)\n"
      "Loss to the fastest setting of the ranking: 0.0 % (95 % interval 0.0 to 0.4 %)\n"
      "Settled after 9 blocks in 40 s: no setting near it is faster by more than 2 %.\n");
}

TEST(TuneText, OfAGpuItSaysWhoDecodes) {
  results::ResultFile file = winner();
  results::TuneSummary& tune = *file.tune;
  for (results::TunePlace& one : tune.ranking)
    one.setting.loader = "hybrid";
  tune.best = tune.recommended = {2, 4, "hybrid", 6};
  const std::string text = tune_text(file);
  EXPECT_THAT(text, HasSubstr("workers / prefetch / loader  samples/s"));
  EXPECT_THAT(text, HasSubstr("2 / 4 / hybrid "));
  EXPECT_THAT(text,
              HasSubstr("Recommended: 2 workers, prefetch 4, loader hybrid (6 pinned slots)."));
  EXPECT_THAT(text, HasSubstr("first of the ranking"));
  tune.best.loader = "gpu";
  EXPECT_THAT(tune_text(file), HasSubstr("the cheapest setting"));
}

TEST(TuneText, ATieTakesTheCheapestAndSaysSo) {
  results::ResultFile file = winner();
  file.tune->recommended = {2, 2};
  file.tune->choice = "cheapest";
  file.tune->gain.reset();
  file.tune->ranking[1].ratio = stats::Estimate{0.998, 0.99, 1.006};
  const std::string text = tune_text(file);
  EXPECT_THAT(text, HasSubstr("Recommended: 2 workers, prefetch 2. It is the cheapest setting that "
                              "loses no more than 2 % to the first."));
  EXPECT_THAT(text, Not(HasSubstr("Gain over")));
}

TEST(TuneText, TooLittleDataSaysHowMuchIsMissing) {
  results::ResultFile file = winner();
  file.tune->settled = false;
  file.tune->noise = 0.08;
  file.tune->open = 2;
  file.tune->loss = stats::Estimate{0, 0, 0.09};
  file.tune->gain = stats::Estimate{1.2, 0.9, 1.6};
  file.tune->more_s = 610;
  const std::string text = tune_text(file);
  EXPECT_THAT(text,
              HasSubstr("Not enough data: 2 other settings may be faster by more than 2 %, and "
                        "a measurement varies by 8.0 %. It takes about 11 minutes more: "
                        "--budget-s 730.\n"));
  EXPECT_THAT(text, HasSubstr("(95 % interval -10.0 to +60.0 %); that may be chance\n"));
  EXPECT_THAT(text, Not(HasSubstr("Settled")));
  // What may be lost is said in one place.
  EXPECT_EQ(text.find("Loss"), text.rfind("Loss"));
  EXPECT_THAT(text, Not(HasSubstr("expected loss")));
}

TEST(TuneText, NoiseThatNoTimeOvercomesIsSaid) {
  results::ResultFile file = winner();
  file.tune->settled = false;
  file.tune->noise = 0.6;
  file.tune->open = 1;
  file.tune->more_s = 1e7;
  EXPECT_THAT(tune_text(file), HasSubstr("1 other setting may be faster by more than 2 %"));
  EXPECT_THAT(tune_text(file), HasSubstr("would take days: make the machine quieter"));
}

TEST(TuneText, OneBlockHasNoIntervals) {
  results::ResultFile file = winner();
  file.tune->settled = false;
  file.tune->noise.reset();
  file.tune->loss.reset();
  file.tune->gain.reset();
  file.tune->more_s = 30;
  for (results::TunePlace& one : file.tune->ranking)
    one.ratio.reset();
  const std::string text = tune_text(file);
  EXPECT_THAT(text, HasSubstr("too few blocks"));
  EXPECT_THAT(text, HasSubstr("A first look takes about 1 minute more: --budget-s 150."));
}

TEST(TuneText, ASearchThatWasCutShortSaysSo) {
  results::ResultFile file = winner();
  file.tune->settled = false;
  file.tune->complete = false;
  EXPECT_THAT(tune_text(file), HasSubstr("ended before all settings near it were tried. Give it a "
                                         "larger --budget-s than 120."));
}

TEST(TuneText, TorchGetsALineToPaste) {
  results::ResultFile file = winner();
  file.tune->library = "torch-pil";
  file.tune->flags.clear();
  file.tune->reference = {0, 2};
  file.tune->paste = torch_loader_line(file.tune->recommended);
  const std::string text = tune_text(file);
  EXPECT_THAT(text, HasSubstr("\n  DataLoader(num_workers=2, prefetch_factor=4, "
                              "persistent_workers=True)\n"));
  EXPECT_THAT(text, HasSubstr("Gain over DataLoader(num_workers=0), PyTorch's default: +20.0 %"));
  EXPECT_THAT(text, Not(HasSubstr("sluice bench dataloader")));
}

TEST(TorchLine, SaysOnlyWhatTorchAccepts) {
  EXPECT_EQ(torch_loader_line({4, 8}),
            "DataLoader(num_workers=4, prefetch_factor=8, persistent_workers=True)");
  EXPECT_EQ(torch_loader_line({0, 2}), "DataLoader(num_workers=0)");  // else torch raises
}

TEST(TorchLine, AdviceOnWaitingNeedsWaiting) {
  EXPECT_EQ(waiting_advice(0), "");
  EXPECT_EQ(waiting_advice(0.09), "");
  EXPECT_THAT(waiting_advice(0.34), HasSubstr("waits for data in 34 % of a step"));
  EXPECT_THAT(waiting_advice(0.34), HasSubstr("persistent_workers=True"));
}

TEST(MinutesText, RoundsUp) {
  EXPECT_EQ(minutes_text(3), "1 minute");
  EXPECT_EQ(minutes_text(61), "2 minutes");
  EXPECT_EQ(minutes_text(7199), "2 hours");
}

}  // namespace
}  // namespace sluice::report::tune_text_test
