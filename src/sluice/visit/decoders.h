// sluice/visit/decoders.h - other libraries as decoders of image files, beside the rows of `bench
// decode` and `quick`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/visit/session.h"

#include <string>
#include <vector>

namespace sluice::visit {

/// Rows in which other libraries decode too, each on one thread.
inline constexpr const char* kJpegCase = "decode/jpeg/threads=1";
inline constexpr const char* kProgressiveCase = "decode/jpeg-progressive/threads=1";

/// The names of libraries that decode image files (mode `jpeg` of the table of libraries).
std::vector<std::string> decoder_names();
/// `library` as a peer of one row. Errc::unsupported: it is not installed, or not for this machine.
Result<Peer> decoder_of(const std::string& library, const std::string& case_name);

}  // namespace sluice::visit
