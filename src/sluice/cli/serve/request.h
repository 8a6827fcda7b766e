// sluice/cli/serve/request.h - the first lines of an HTTP request, read with suspicion.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstddef>
#include <string>
#include <string_view>

namespace sluice::cli {

inline constexpr std::size_t kLongestRequest = 16 << 10;  // line and headers, bytes

struct Request {
  std::string path;  // decoded, begins with '/'; without the query
  bool head = false;
};

struct ParsedRequest {
  int status = 0;  // 0: more bytes are needed; 200: `request` holds; else refuse with it
  std::string why;
  Request request;
};

/// Of the bytes that came so far. GET and HEAD of HTTP/1.x only, and one Host header that names
/// this machine (127.0.0.1, localhost or [::1], with `port` or none): a page of another site whose
/// name was pointed here must not read what we serve.
ParsedRequest parse_request(std::string_view bytes, int port);

}  // namespace sluice::cli
