// sluice/storage/remote/s3_store.cpp - requests to S3, signed, and what its refusals mean.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/remote/s3_store.h"

#include "sluice/core/text.h"
#include "sluice/storage/credentials/sigv4.h"
#include "sluice/storage/uri.h"

#include <fmt/format.h>

#include <algorithm>
#include <atomic>
#include <charconv>
#include <chrono>
#include <cstdlib>
#include <mutex>

namespace sluice::storage {

namespace {

/// What a server forgives without saying so is less; AWS forgives 15 minutes.
constexpr std::int64_t kSkewSeen_s = 300;

std::int64_t unix_now() {
  const auto now = std::chrono::system_clock::now().time_since_epoch();
  return std::chrono::duration_cast<std::chrono::seconds>(now).count();
}

struct Endpoint {
  std::string scheme;
  std::string host;  // with its port, unless that is the usual one
  std::string path;  // without a slash at its end
};

Result<Endpoint> parse_endpoint(std::string_view text) {
  const auto refuse = [&] {
    return Error{
        Errc::usage,
        fmt::format("endpoint `{}`: expected http://HOST[:PORT] or https://...", printable(text))};
  };
  SLUICE_CHECK(check_no_password("endpoint", text));
  Endpoint endpoint;
  std::string_view rest = text;
  if (rest.starts_with("http://"))
    endpoint.scheme = "http";
  else if (rest.starts_with("https://"))
    endpoint.scheme = "https";
  else
    return refuse();
  rest.remove_prefix(endpoint.scheme.size() + 3);
  const std::size_t slash = rest.find('/');
  endpoint.host = rest.substr(0, slash);
  if (slash != std::string_view::npos) endpoint.path = rest.substr(slash);
  while (endpoint.path.ends_with('/'))
    endpoint.path.pop_back();
  const std::string_view usual = endpoint.scheme == "http" ? ":80" : ":443";
  if (endpoint.host.ends_with(usual)) endpoint.host.resize(endpoint.host.size() - usual.size());
  if (endpoint.host.empty() || text.find_first_of("@?# \t\r\n") != std::string_view::npos)
    return refuse();
  return endpoint;
}

/// Fits into a host name, and under a wildcard certificate.
bool is_host_label(std::string_view bucket) {
  return bucket.size() >= 3 && bucket.size() <= 63 && std::ranges::all_of(bucket, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
         });
}

bool is_s3_bucket_name(std::string_view bucket) {
  return bucket.size() >= 3 && bucket.size() <= 255 && std::ranges::all_of(bucket, [](char c) {
           return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                  c == '-' || c == '.' || c == '_';
         });
}

bool is_region(std::string_view region) {
  return !region.empty() && region.size() <= 64 && std::ranges::all_of(region, [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9') || c == '-';
  });
}

/// Not to be sent elsewhere because somebody says so: the same server, or AWS itself. Another port
/// of the same machine may be another user's.
bool is_trusted(std::string_view host, std::string_view ours) {
  return host == ours || host.ends_with(".amazonaws.com") || host.ends_with(".amazonaws.com.cn");
}

class S3Dialect final : public Dialect {
 public:
  S3Dialect(const S3Options& options, std::optional<Endpoint> endpoint, std::string root)
      : options_(options),
        root_(std::move(root)),
        endpoint_(std::move(endpoint)),
        region_(options.region) {}

  [[nodiscard]] std::string name() const override {
    std::string text = fmt::format("{}://{}", options_.scheme, options_.bucket);
    if (!root_.empty()) text += "/" + printable(root_.substr(0, root_.size() - 1));
    return text;
  }
  [[nodiscard]] std::string name(std::string_view key) const override {
    return fmt::format("{}://{}/{}{}", options_.scheme, options_.bucket, printable(root_),
                       printable(key));
  }
  Result<HttpRequest> get(const Object& object, std::uint64_t offset, std::size_t size) override;
  Result<HttpRequest> stat(std::string_view key) override {
    return request("HEAD", root_ + std::string(key), {});
  }
  Result<HttpRequest> list(std::string_view prefix, std::string_view token) override;
  [[nodiscard]] std::string version_of(const HttpHead& head) const override {
    return s3_version(head[HttpField::etag]);
  }
  Result<Object> parse_stat(std::string_view key, const HttpReply& reply) override;
  Result<ListPage> parse_list(const HttpReply& reply) override {
    return parse_s3_listing(reply.body, root_);
  }
  Refusal refuse(const HttpHead& head, std::string_view body) override;

 private:
  struct Place {
    std::string base;  // "https://bucket.host"
    std::string host;
    std::string path;  // before the key, not encoded
    std::string region;
  };
  [[nodiscard]] Place place() const;
  Result<HttpRequest> request(std::string method, std::string_view key,
                              std::vector<std::pair<std::string, std::string>> query);
  bool learn_region(const std::string& region);
  bool learn_place(const std::string& location);
  Refusal redirected(const HttpHead& head, const S3ErrorBody& error);
  std::optional<Refusal> forbidden(const HttpHead& head, const S3ErrorBody& error);

  S3Options options_;
  std::string root_;  // empty, or ends with a slash
  std::atomic<std::int64_t> skew_s_{0};
  Signer signer_{"s3"};
  mutable std::mutex mutex_;  // of what redirects change
  std::optional<Endpoint> endpoint_;
  std::string region_;
};

S3Dialect::Place S3Dialect::place() const {
  const std::scoped_lock lock(mutex_);
  Place place{.base = {}, .host = {}, .path = {}, .region = region_};
  const bool label = is_host_label(options_.bucket);
  bool as_host = options_.addressing == Addressing::virtual_host;
  if (options_.addressing == Addressing::automatic) as_host = label && !endpoint_;
  std::string scheme = "https";
  std::string path;
  if (endpoint_) {
    scheme = endpoint_->scheme;
    place.host = endpoint_->host;
    path = endpoint_->path;
  } else {
    place.host =
        fmt::format("s3.{}.amazonaws.com{}", region_, region_.starts_with("cn-") ? ".cn" : "");
  }
  if (as_host && !place.host.starts_with(options_.bucket + "."))
    place.host = options_.bucket + "." + place.host;
  place.base = scheme + "://" + place.host;
  place.path = as_host ? path + "/" : path + "/" + options_.bucket + "/";
  return place;
}

Result<HttpRequest> S3Dialect::request(std::string method, std::string_view key,
                                       std::vector<std::pair<std::string, std::string>> query) {
  const Place where = place();
  SigningRequest signing;
  signing.method = method;
  signing.path = where.path + std::string(key);
  signing.query = std::move(query);
  signing.headers.emplace_back("host", where.host);
  HttpRequest out;
  out.method = std::move(method);
  out.url = where.base + uri_encode(signing.path, true);
  if (const std::string text = canonical_query(signing.query); !text.empty()) out.url += "?" + text;
  if (!options_.credentials) return out;
  SLUICE_TRY(const Credentials credentials, options_.credentials->get());
  out.headers = signer_.sign(std::move(signing), credentials, where.region,
                             unix_now() + skew_s_.load(std::memory_order_relaxed));
  return out;
}

Result<HttpRequest> S3Dialect::get(const Object& object, std::uint64_t offset, std::size_t size) {
  SLUICE_TRY(HttpRequest out, request("GET", root_ + object.key, {}));
  out.headers.push_back(fmt::format("range: bytes={}-{}", offset, offset + size - 1));
  if (!object.version.empty())
    out.headers.push_back(fmt::format("if-match: \"{}\"", object.version));
  return out;
}

Result<HttpRequest> S3Dialect::list(std::string_view prefix, std::string_view token) {
  std::vector<std::pair<std::string, std::string>> query{{"list-type", "2"},
                                                         {"encoding-type", "url"},
                                                         {"max-keys", "1000"},
                                                         {"prefix", root_ + std::string(prefix)}};
  if (!token.empty()) query.emplace_back("continuation-token", token);
  return request("GET", "", std::move(query));
}

Result<Object> S3Dialect::parse_stat(std::string_view key, const HttpReply& reply) {
  Object object{std::string(key), 0, s3_version(reply.head[HttpField::etag])};
  const std::string& length = reply.head[HttpField::content_length];
  const char* end = length.data() + length.size();
  const auto parsed = std::from_chars(length.data(), end, object.size);
  if (length.empty() || parsed.ec != std::errc() || parsed.ptr != end)
    return Error{Errc::invalid_input, "the answer has no Content-Length"};
  return object;
}

bool S3Dialect::learn_region(const std::string& region) {
  if (!is_region(region)) return false;
  const std::scoped_lock lock(mutex_);
  region_ = region;
  return true;
}

/// Follows a Location for this and all later requests.
bool S3Dialect::learn_place(const std::string& location) {
  const std::size_t scheme = location.find("://");
  if (scheme == std::string::npos) return false;
  const std::size_t end = location.find_first_of("/?", scheme + 3);
  auto target = parse_endpoint(std::string_view(location).substr(0, end));
  const std::string ours = place().host;
  const std::scoped_lock lock(mutex_);
  const std::string current = endpoint_ ? endpoint_->scheme : "https";
  if (!target || !is_trusted(target->host, ours) ||
      (current == "https" && target->scheme != "https"))
    return false;
  if (target->host == ours) return true;  // to the same place: try again
  target->path = endpoint_ ? endpoint_->path : "";
  endpoint_ = std::move(*target);
  // A host that already names the bucket must not be given it again.
  if (endpoint_->host.starts_with(options_.bucket + "."))
    options_.addressing = Addressing::virtual_host;
  return true;
}

Refusal S3Dialect::redirected(const HttpHead& head, const S3ErrorBody& error) {
  const std::string& named = head[HttpField::bucket_region];
  const std::string& region = named.empty() ? error.region : named;
  const std::string& location = head[HttpField::location];
  const bool known = learn_region(region);
  if (known || learn_place(location))
    return {RetryCause::redirect, Errc::io, fmt::format("redirected ({})", head.status)};
  const std::string to = location.empty() ? "nowhere" : host_of(location);
  return {std::nullopt, Errc::usage,
          fmt::format("redirected to {} ({}), which is not followed: set the endpoint or region",
                      to, head.status)};
}

/// What may be mended: the clock, or keys that have expired.
std::optional<Refusal> S3Dialect::forbidden(const HttpHead& head, const S3ErrorBody& error) {
  const auto date = parse_http_date(head[HttpField::date]);
  if (date) {
    const std::int64_t skew = *date - unix_now();
    const std::int64_t known = skew_s_.load(std::memory_order_relaxed);
    const bool off = std::abs(skew - known) > kSkewSeen_s;
    if (error.code == "RequestTimeTooSkewed" || (error.code.empty() && off)) {
      skew_s_.store(skew, std::memory_order_relaxed);
      return Refusal{
          RetryCause::skew, Errc::usage,
          fmt::format("the clock differs from the server's by {} s ({})", skew, head.status)};
    }
  }
  if (error.code != "ExpiredToken" && error.code != "ExpiredTokenException" &&
      error.code != "TokenRefreshRequired")
    return std::nullopt;
  Refusal refusal{std::nullopt, Errc::usage,
                  fmt::format("the session token has expired ({} {})", head.status, error.code)};
  if (options_.credentials) {
    const auto used = options_.credentials->get();
    if (used && options_.credentials->refused(*used)) refusal.retry = RetryCause::credentials;
  }
  return refusal;
}

/// In words, for those that users meet.
std::string_view meaning(int status, std::string_view code) {
  constexpr std::pair<std::string_view, std::string_view> kCodes[] = {
      {"NoSuchBucket", "no such bucket"},
      {"NoSuchKey", "no such object"},
      {"AccessDenied", "access denied"},
      {"InvalidAccessKeyId", "the access key is not known"},
      {"SignatureDoesNotMatch", "the secret key does not fit the access key"},
      {"AllAccessDisabled", "access denied"},
      {"InvalidObjectState", "archived: restore it first"},
      {"PreconditionFailed", "has changed since it was listed"},
      {"SlowDown", "asked to slow down"},
  };
  for (const auto& [known, text] : kCodes)
    if (code == known) return text;
  if (status == 404) return "no such object or bucket";
  if (status == 403 || status == 401) return "access denied";
  if (status == 412) return "has changed since it was listed";
  if (status == 416) return "has fewer bytes than when it was listed";
  if (status == 429) return "asked to slow down";
  return status >= 500 ? "server error" : "refused";
}

Refusal S3Dialect::refuse(const HttpHead& head, std::string_view body) {
  const S3ErrorBody error = parse_s3_error(body);
  const int status = head.status;
  const std::string& region = head[HttpField::bucket_region];
  const bool wrong_region = error.code == "AuthorizationHeaderMalformed" ||
                            error.code == "IllegalLocationConstraintException" ||
                            (status == 400 && body.empty() && !region.empty());
  if ((status >= 300 && status < 400 && status != 304) ||
      (wrong_region && place().region != (region.empty() ? error.region : region)))
    return redirected(head, error);
  if (status == 403 || status == 400)
    if (auto mended = forbidden(head, error)) return *mended;

  Refusal refusal;
  refusal.cause = fmt::format("{} ({}{}{})", meaning(status, error.code), status,
                              error.code.empty() ? "" : " ", printable(error.code));
  const bool slow = status == 429 || error.code == "SlowDown" || error.code == "Throttling" ||
                    error.code == "RequestLimitExceeded" || error.code == "TooManyRequests";
  const bool late = status == 408 || error.code == "RequestTimeout";
  if (slow)
    refusal.retry = RetryCause::throttled;
  else if (status == 500 || status == 502 || status == 503 || status == 504 || late)
    refusal.retry = RetryCause::server;
  else if (status == 404)
    refusal.code = Errc::not_found;
  else if (status == 412 || status == 416)
    refusal.code = Errc::invalid_input;
  else if (status >= 400 && status < 500)
    refusal.code = Errc::usage;
  if (late) refusal.code = Errc::timeout;
  return refusal;
}

}  // namespace

Result<std::unique_ptr<Dialect>> make_s3_dialect(const S3Options& options) {
  if (!is_s3_bucket_name(options.bucket))
    return Error{Errc::usage, fmt::format("`{}` is not the name of a bucket: 3 to 63 letters, "
                                          "digits, `-` and `.`",
                                          printable(options.bucket))};
  if (!is_region(options.region))
    return Error{Errc::usage, fmt::format("region `{}`: expected a name like us-east-1",
                                          printable(options.region))};
  std::optional<Endpoint> endpoint;
  if (!options.endpoint.empty()) {
    SLUICE_TRY(endpoint, parse_endpoint(options.endpoint));
  }
  std::string root = options.prefix;
  while (root.ends_with('/'))
    root.pop_back();
  if (!root.empty()) root += '/';
  return std::unique_ptr<Dialect>(
      std::make_unique<S3Dialect>(options, std::move(endpoint), std::move(root)));
}

Result<std::unique_ptr<ObjectStore>> open_s3(const S3Options& options) {
  SLUICE_TRY(auto dialect, make_s3_dialect(options));
  return open_remote(std::move(dialect), options.remote);
}

}  // namespace sluice::storage
