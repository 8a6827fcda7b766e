// sluice/storage/remote/http_text.cpp - what HTTP says and how errors say it.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/text.h"
#include "sluice/storage/remote/http.h"

#include <fmt/format.h>

#include <algorithm>
#include <charconv>
#include <chrono>

namespace sluice::storage {

std::string_view to_string(HttpFault fault) {
  switch (fault) {
    case HttpFault::none:
      return "none";
    case HttpFault::resolve:
      return "no address for the host";
    case HttpFault::connect:
      return "no connection";
    case HttpFault::tls:
      return "no secure connection";
    case HttpFault::first_byte:
      return "no answer in time";
    case HttpFault::stall:
      return "stalled";
    case HttpFault::truncated:
      return "truncated answer";
    case HttpFault::reset:
      return "connection lost";
    case HttpFault::stopped:
      return "stopped";
    case HttpFault::cancelled:
      return "cancelled";
    case HttpFault::invalid:
      return "invalid request";
    case HttpFault::protocol:
      return "not an HTTP answer";
    case HttpFault::too_long:
      return "answer too long";
  }
  return "unknown";
}

Error http_error(std::string_view what, HttpFault fault, std::string_view cause) {
  Errc code = Errc::io;
  if (fault == HttpFault::first_byte || fault == HttpFault::stall) code = Errc::timeout;
  if (fault == HttpFault::cancelled) code = Errc::interrupted;
  if (fault == HttpFault::too_long || fault == HttpFault::invalid) code = Errc::invalid_input;
  if (cause.empty()) return Error{code, fmt::format("{}: {}", what, to_string(fault))};
  return Error{code, fmt::format("{}: {} ({})", what, to_string(fault), cause)};
}

std::string host_of(std::string_view url) {
  if (const std::size_t scheme = url.find("://"); scheme != std::string_view::npos)
    url.remove_prefix(scheme + 3);
  url = url.substr(0, url.find_first_of("/?#"));
  if (const std::size_t at = url.rfind('@'); at != std::string_view::npos)
    url.remove_prefix(at + 1);
  return printable(url);
}

std::optional<std::int64_t> parse_http_date(std::string_view text) {
  // "Sun, 06 Nov 1994 08:49:37 GMT": the one form that servers may send.
  constexpr std::string_view kMonths = "JanFebMarAprMayJunJulAugSepOctNovDec";
  if (text.size() != 29 || text.substr(25) != " GMT" || text[3] != ',' || text[19] != ':' ||
      text[22] != ':')
    return std::nullopt;
  const auto number = [&](std::size_t from, std::size_t count) {
    unsigned value = 0;
    const char* end = text.data() + from + count;
    const auto [stop, error] = std::from_chars(text.data() + from, end, value);
    return error == std::errc() && stop == end ? static_cast<int>(value) : -1;
  };
  const std::size_t month = kMonths.find(text.substr(8, 3));
  const int day = number(5, 2);
  const int year = number(12, 4);
  const int hour = number(17, 2);
  const int minute = number(20, 2);
  const int second = number(23, 2);
  if (month == std::string_view::npos || month % 3 != 0 ||
      std::min({day, year, hour, minute, second}) < 0)
    return std::nullopt;
  const std::chrono::year_month_day date{std::chrono::year(year),
                                         std::chrono::month(static_cast<unsigned>(month / 3 + 1)),
                                         std::chrono::day(static_cast<unsigned>(day))};
  if (!date.ok() || hour > 23 || minute > 59 || second > 60) return std::nullopt;
  const auto days = std::chrono::sys_days(date).time_since_epoch().count();
  return std::int64_t{days} * 86400 + hour * 3600 + minute * 60 + second;
}

}  // namespace sluice::storage
