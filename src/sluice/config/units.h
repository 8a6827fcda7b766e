// sluice/config/units.h - numbers with units, as people write them: "250ms", "5%", "2GiB".
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <cstdint>
#include <string_view>

namespace sluice::config {

/// Errors are Errc::usage, so that flags can use these too; the message is "'5x' is not …".
/// ns, us, ms, s, min, h; a bare number is seconds. Never negative.
Result<double> parse_seconds(std::string_view text);
/// "5%" and "0.05" are the same share. Any sign: the caller states the range.
Result<double> parse_share(std::string_view text);
/// B, kB, MB, GB, TB (powers of 1000), KiB, MiB, GiB, TiB (powers of 1024); a bare number is bytes;
/// must come to whole bytes.
Result<std::uint64_t> parse_bytes(std::string_view text);
/// Finite, decimal; no hexadecimal, no "inf".
Result<double> parse_number(std::string_view text);
/// Decimal, with sign.
Result<std::int64_t> parse_integer(std::string_view text);
Result<std::uint64_t> parse_unsigned(std::string_view text);

}  // namespace sluice::config
