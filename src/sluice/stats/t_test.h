// sluice/stats/t_test.h - Student's t for one sample and for pairs, Welch's for two samples.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/stats/sample.h"

namespace sluice::stats {

/// A sample (or two) without any spread gives p = 1 and t = 0 when there is no difference, p = 0
/// and t = +-infinity when there is one; the interval is then the difference itself. Spread and
/// differences within the rounding of the values (a few units in the last place of the mean) count
/// as none.
struct TTest {
  double difference = 0;      // of means; one sample: the mean
  double standard_error = 0;  // of the difference
  double t = 0;
  double df = 0;
  double p = 1;
  Estimate interval;  // two-sided, of the difference
};

struct TTestOptions {
  Alternative alternative = Alternative::two_sided;
  double confidence = 0.95;  // of the interval
};

/// Is the mean different from 0? At least 2 values.
Result<TTest> one_sample_t(Sample values, const TTestOptions& options = {});
/// Is the mean of a[i] - b[i] different from 0? Equal lengths, at least 2 pairs.
Result<TTest> paired_t(Sample a, Sample b, const TTestOptions& options = {});
/// Do the means differ, the variances being whatever they are? At least 2 values a side. Degrees of
/// freedom by Welch and Satterthwaite.
Result<TTest> welch_t(Sample a, Sample b, const TTestOptions& options = {});
/// Welch's test on the logarithms of positive values: `difference` is log(geometric mean a /
/// geometric mean b), so exp() of it and of the interval's ends is a ratio.
Result<TTest> welch_t_on_logs(Sample a, Sample b, const TTestOptions& options = {});

/// Geometric mean of positive ratios, with the t interval of their logarithms taken back by exp().
/// At least 2.
Result<Estimate> geometric_mean_interval(Sample ratios, double confidence = 0.95);

/// t interval of the mean. At least 2 values.
Result<Estimate> mean_interval(Sample values, double confidence = 0.95);

}  // namespace sluice::stats
