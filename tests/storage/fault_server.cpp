// tests/storage/fault_server.cpp - the dialects, and where each fault comes in.
// SPDX-License-Identifier: Apache-2.0
#include "tests/storage/fault_server.h"

#include "sluice/core/rng.h"

#include <algorithm>
#include <ctime>

namespace sluice::storage::testing {
namespace {

constexpr std::array<std::string_view, kFaults> kNames{
    "slow_down",    "truncated",      "reset",        "slow_first_byte", "wrong_content_range",
    "whole_object", "range_with_200", "changed_etag", "redirect",        "clock_skew",
    "server_error", "expired_token"};

}  // namespace

std::string to_string(Fault fault) {
  return std::string(kNames[static_cast<std::size_t>(fault)]);
}

std::optional<Fault> parse_fault(std::string_view name) {
  for (std::size_t i = 0; i < kFaults; ++i)
    if (kNames[i] == name) return static_cast<Fault>(i);
  return std::nullopt;
}

bool can_be(Fault fault, Protocol protocol) {
  const bool google = protocol == Protocol::google;
  if (fault == Fault::redirect || fault == Fault::clock_skew) return !google;
  return fault != Fault::expired_token || google;
}

FaultPlan FaultPlan::uniform(double total, std::uint64_t seed, Protocol protocol) {
  FaultPlan plan;
  plan.seed = seed;
  double kinds = 0;
  for (std::size_t i = 0; i < kFaults; ++i)
    kinds += plan.rate[i] = can_be(static_cast<Fault>(i), protocol) ? 1 : 0;
  for (double& rate : plan.rate)
    rate *= total / kinds;
  return plan;
}

std::string generation_of(std::uint64_t version) {
  return std::to_string(version + 1'700'000'000);
}

FaultServer::FaultServer(FaultServerOptions options)
    : options_(std::move(options)),
      http_([this](const HttpRequest& request) { return handle(request); }) {}

void FaultServer::put(const std::string& key, std::string content) {
  const std::scoped_lock lock(mutex_);
  ++puts_;
  held_[key] = {std::make_shared<const std::string>(std::move(content)),
                etag_of(key, 1'000'000 + puts_)};
}

void FaultServer::remove(const std::string& key) {
  const std::scoped_lock lock(mutex_);
  held_.erase(key);
}

void FaultServer::expire(const std::string& key_id) {
  const std::scoped_lock lock(mutex_);
  options_.signature.keys[key_id].expired = true;
}

void FaultServer::inject(Fault fault, std::uint64_t count) {
  const std::scoped_lock lock(mutex_);
  injected_.insert(injected_.end(), count, fault);
}

void FaultServer::set_plan(const FaultPlan& plan) {
  const std::scoped_lock lock(mutex_);
  options_.faults = plan;
  burst_left_ = 0;
  draws_ = 0;
}

std::uint64_t FaultServer::delivered(Fault fault) const {
  return delivered_[static_cast<std::size_t>(fault)];
}

Json FaultServer::counters() const {
  Json faults = Json::object();
  for (std::size_t i = 0; i < kFaults; ++i)
    faults[std::string(kNames[i])] = delivered_[i].load();
  return {{"requests", http_.requests()},
          {"connections", http_.connections()},
          {"bytes", http_.bytes_sent()},
          {"faults", faults}};
}

std::int64_t FaultServer::now() const {
  return std::time(nullptr) + options_.clock_offset_s;
}

HttpReply FaultServer::error(int status, std::string_view code, std::string_view message) const {
  HttpReply reply;
  reply.status = status;
  if (options_.protocol == Protocol::google) {
    reply.body = dump_json({{"error", {{"code", status}, {"message", code}}}});
    return reply;
  }
  reply.headers = {{"Content-Type", "application/xml"}, {"Date", http_date(now())}};
  reply.body = "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n<Error><Code>" + std::string(code) +
               "</Code><Message>" + xml_escaped(message) + "</Message>";
  if (code == "AuthorizationHeaderMalformed")
    reply.body += "<Region>" + options_.signature.region + "</Region>";
  if (code == "RequestTimeTooSkewed")
    reply.body += "<ServerTime>" + amz_date(now()) + "</ServerTime>";
  reply.body += "<RequestId>0123456789ABCDEF</RequestId></Error>";
  return reply;
}

bool FaultServer::can_be_now(Fault fault, Asked asked) const {
  if (!can_be(fault, options_.protocol)) return false;
  switch (fault) {
    case Fault::slow_down:
    case Fault::slow_first_byte:
    case Fault::redirect:
    case Fault::clock_skew:
    case Fault::server_error:
    case Fault::expired_token:
      return true;
    case Fault::truncated:
    case Fault::reset:
      return asked != Asked::head;
    case Fault::changed_etag:
      return asked == Asked::object || asked == Asked::range;
    case Fault::wrong_content_range:
    case Fault::whole_object:
    case Fault::range_with_200:
      return asked == Asked::range;
  }
  return false;
}

std::optional<FaultServer::Drawn> FaultServer::draw(Asked asked) {
  const std::scoped_lock lock(mutex_);
  for (auto it = injected_.begin(); it != injected_.end(); ++it) {
    if (!can_be_now(*it, asked)) continue;
    const Drawn drawn{*it};
    injected_.erase(it);
    return drawn;
  }
  const FaultPlan& plan = options_.faults;
  const auto moment = std::chrono::steady_clock::now();
  if (burst_left_ > 0 && moment < burst_end_) {
    --burst_left_;
    return Drawn{Fault::slow_down};
  }
  Rng rng({.seed = plan.seed, .index = draws_++});
  double left = rng.uniform();
  for (std::size_t i = 0; i < kFaults; ++i) {
    const auto fault = static_cast<Fault>(i);
    left -= fault == Fault::slow_down ? plan.rate[i] / plan.burst : plan.rate[i];
    if (left >= 0) continue;
    if (!can_be_now(fault, asked)) return std::nullopt;
    if (fault == Fault::slow_down) {
      burst_left_ = plan.burst - 1;
      burst_end_ = moment + std::chrono::duration_cast<std::chrono::steady_clock::duration>(
                                std::chrono::duration<double>(plan.burst_s));
    }
    return Drawn{fault, rng.uniform()};
  }
  return std::nullopt;
}

std::optional<HttpReply> FaultServer::refuse(Fault fault, const HttpRequest& request) {
  const bool google = options_.protocol == Protocol::google;
  if (fault == Fault::slow_down)
    return error(google ? 429 : 503, "SlowDown", "Please reduce your request rate.");
  if (fault == Fault::server_error)
    return error(google ? 503 : 500, "InternalError", "We encountered an internal error.");
  if (fault == Fault::expired_token) {
    const std::scoped_lock lock(mutex_);
    ++tokens_;
    return error(401, "Invalid Credentials", "");
  }
  if (fault == Fault::clock_skew)
    return error(403, "RequestTimeTooSkewed",
                 "The difference between the request time and the current time is too large.");
  if (fault != Fault::redirect) return std::nullopt;
  bool by_location = false;
  {
    const std::scoped_lock lock(mutex_);
    by_location = redirects_++ % 2 == 0;
  }
  HttpReply reply = by_location
                        ? error(307, "TemporaryRedirect", "Please re-send this request")
                        : error(301, "PermanentRedirect", "The bucket must be addressed elsewhere");
  if (by_location)
    reply.headers.emplace_back("Location", "http://" + std::string(request.header("host")) +
                                               request.path +
                                               (request.query.empty() ? "" : "?" + request.query));
  reply.headers.emplace_back("x-amz-bucket-region", options_.signature.region);
  return reply;
}

HttpReply FaultServer::handle(const HttpRequest& request) {
  if (options_.seen) options_.seen(request);
  if (options_.protocol == Protocol::google) return handle_google(request);
  SignatureRules rules;
  {
    const std::scoped_lock lock(mutex_);
    rules = options_.signature;
  }
  if (const Refusal refusal = check_signature(request, rules, now()); !refusal.code.empty())
    return error(refusal.status, refusal.code, refusal.message);
  if (request.method != "GET" && request.method != "HEAD")
    return error(405, "MethodNotAllowed", "The specified method is not allowed.");

  // Virtual-host style is bucket.localhost; all else is path style.
  std::string path = percent_decode(request.path);
  std::string_view host = request.header("host");
  host = host.substr(0, host.rfind(':'));
  if (host.ends_with(".localhost"))
    path = "/" + std::string(host.substr(0, host.size() - 10)) + path;
  const std::size_t slash = std::min(path.find('/', 1), path.size());
  const std::string bucket = path.substr(std::min<std::size_t>(1, path.size()), slash - 1);
  const std::string key = path.substr(std::min(slash + 1, path.size()));
  if (bucket != options_.bucket)
    return error(404, "NoSuchBucket", "The specified bucket does not exist");

  Asked asked = Asked::range;
  if (request.method == "HEAD") {
    asked = Asked::head;
  } else if (key.empty()) {
    asked = Asked::listing;
  } else if (request.header("range").empty()) {
    asked = Asked::object;
  }
  return faulty(request, key, asked);
}

HttpReply FaultServer::handle_google(const HttpRequest& request) {
  std::string token;
  {
    const std::scoped_lock lock(mutex_);
    token = "token-" + std::to_string(tokens_);
  }
  if (request.path == "/computeMetadata/v1/instance/service-accounts/default/token") {
    HttpReply reply;
    reply.body =
        dump_json({{"access_token", token}, {"expires_in", 3599}, {"token_type", "Bearer"}});
    return reply;
  }
  if (request.header("authorization") != "Bearer " + token)
    return error(401, "Invalid Credentials", "");
  const std::string objects = "/storage/v1/b/" + options_.bucket + "/o/";
  if (!request.path.starts_with(objects) || request.parameter("alt") != "media" ||
      request.header("range").empty())
    return error(501, "only ranges of objects are served", "");
  return faulty(request, percent_decode(request.path.substr(objects.size())), Asked::range);
}

HttpReply FaultServer::faulty(const HttpRequest& request, const std::string& key, Asked asked) {
  const std::optional<Drawn> drawn = draw(asked);
  HttpReply reply = answer(request, key, asked, drawn);
  if (drawn) ++delivered_[static_cast<std::size_t>(drawn->fault)];
  return reply;
}

HttpReply FaultServer::answer(const HttpRequest& request, const std::string& key, Asked asked,
                              const std::optional<Drawn>& drawn) {
  if (drawn)
    if (auto refusal = refuse(drawn->fault, request)) return std::move(*refusal);
  HttpReply reply;
  if (asked == Asked::listing) {
    reply = list(request);
  } else if (!key.empty()) {
    reply = get(request, key, drawn ? std::optional(drawn->fault) : std::nullopt);
  }
  reply.headers.emplace_back("Date", http_date(now()));
  if (!drawn) return reply;
  if (drawn->fault == Fault::slow_first_byte) {
    const std::scoped_lock lock(mutex_);
    reply.delay_s = options_.faults.slow_s;
  }
  if (drawn->fault == Fault::truncated || drawn->fault == Fault::reset) {
    const auto size = static_cast<double>(reply.fill ? reply.body_size : reply.body.size());
    reply.send_bytes = static_cast<std::uint64_t>(size * drawn->where);
    reply.end = drawn->fault == Fault::reset ? HttpReply::End::reset : HttpReply::End::close;
  }
  return reply;
}

}  // namespace sluice::storage::testing
