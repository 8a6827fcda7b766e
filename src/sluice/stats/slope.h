// sluice/stats/slope.h - how fast a series grows, with an interval that knows its correlation.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/stats/sample.h"

namespace sluice::stats {

/// Slope of the least squares line of y over x, in the order they were measured. The residuals
/// count as effective_sample_size() values, not as n (Santer et al., Journal of Geophysical
/// Research 105, 2000): a series that wanders has a wide interval. Equal lengths, at least 5
/// values, x not all equal. Residuals worth 3 values or less have no interval: an error that says
/// so.
Result<Estimate> slope(Sample x, Sample y, double confidence = 0.95);

}  // namespace sluice::stats
