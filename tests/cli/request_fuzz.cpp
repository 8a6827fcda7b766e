// tests/cli/request_fuzz.cpp - libFuzzer: any bytes as a request to `sluice serve` are refused in
// one line, want more, or name a path of this machine; and the same however they are cut.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/serve/request.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice::cli;  // NOLINT(google-build-using-namespace): one function
  const std::string_view bytes(reinterpret_cast<const char*>(data), size);
  const ParsedRequest whole = parse_request(bytes, 8080);
  if (whole.status == 0) {
    if (bytes.find("\r\n\r\n") != std::string_view::npos) std::abort();
    return 0;
  }
  if (whole.why.find('\n') != std::string::npos) std::abort();
  if (whole.status == 200) {
    const std::string& path = whole.request.path;
    if (path.empty() || path.front() != '/' || path.find('\0') != std::string::npos) std::abort();
    const std::size_t end = bytes.find("\r\n\r\n") + 4;
    if (end <= kLongestRequest && parse_request(bytes.substr(0, end - 1), 8080).status != 0)
      std::abort();
    if (parse_request(bytes.substr(0, end), 8080).request.path != path) std::abort();
  }
  return 0;
}
