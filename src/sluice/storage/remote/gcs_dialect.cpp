// sluice/storage/remote/gcs_dialect.cpp - objects by name and generation over JSON.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/remote/gcs_dialect.h"

#include "sluice/core/json.h"
#include "sluice/core/text.h"
#include "sluice/storage/uri.h"

#include <fmt/format.h>

#include <charconv>

namespace sluice::storage {
namespace {

std::string encoded(std::string_view text) {
  return uri_encode(text, false);
}

/// Numbers come as text ("size": "123"), from some emulators as numbers.
std::string text_or_number(const Json& object, const char* key) {
  const auto it = object.find(key);
  if (it == object.end()) return {};
  if (it->is_string()) return it->get<std::string>();
  return it->is_number_unsigned() ? std::to_string(it->get<std::uint64_t>()) : std::string();
}

Error makes_no_sense(const char* what) {
  return {Errc::invalid_input, fmt::format("an answer that is no {}", what)};
}

/// "Not Found" or the like out of {"error": {"message": ..., "errors": [{"reason": ...}]}}.
std::string reason_of(std::string_view body) {
  const auto json = parse_json(body, "answer");
  if (!json || !json->is_object()) return {};
  const auto error = json->find("error");
  if (error == json->end() || !error->is_object()) return {};
  const auto message = error->find("message");
  if (message == error->end() || !message->is_string()) return {};
  return printable(message->get<std::string>().substr(0, 200));
}

class GcsDialect final : public Dialect {
 public:
  explicit GcsDialect(GcsDialectOptions options) : options_(std::move(options)) {}

  [[nodiscard]] std::string name() const override {
    std::string text = fmt::format("gs://{}/{}", options_.bucket, options_.root);
    text.pop_back();  // the '/' at the end
    return printable(text);
  }
  [[nodiscard]] std::string name(std::string_view key) const override {
    return printable(fmt::format("gs://{}/{}{}", options_.bucket, options_.root, key));
  }

  Result<HttpRequest> get(const Object& object, std::uint64_t offset, std::size_t size) override {
    std::string query = "alt=media";
    if (!object.version.empty()) query += "&ifGenerationMatch=" + encoded(object.version);
    SLUICE_TRY(HttpRequest made, request(encoded(options_.root + object.key), query));
    made.headers.push_back(fmt::format("Range: bytes={}-{}", offset, offset + size - 1));
    // Objects stored compressed come as they are stored: unpacked on the way, they have no ranges.
    made.headers.emplace_back("Accept-Encoding: gzip");
    return made;
  }
  Result<HttpRequest> stat(std::string_view key) override {
    return request(encoded(options_.root + std::string(key)), "fields=name,size,generation");
  }
  Result<HttpRequest> list(std::string_view prefix, std::string_view token) override {
    std::string query = fmt::format(
        "maxResults={}&fields=nextPageToken,items(name,size,generation)", options_.page_size);
    if (const std::string all = options_.root + std::string(prefix); !all.empty())
      query += "&prefix=" + encoded(all);
    if (!token.empty()) query += "&pageToken=" + encoded(token);
    return request("", query);
  }

  [[nodiscard]] std::string version_of(const HttpHead& head) const override {
    return head[HttpField::generation];
  }
  Result<Object> parse_stat(std::string_view key, const HttpReply& reply) override {
    SLUICE_TRY(const Json json, parse_json(reply.body, "answer"));
    SLUICE_TRY(Object object, parse_object(json));
    if (object.key != key) return makes_no_sense("description of that object");
    return object;
  }
  Result<ListPage> parse_list(const HttpReply& reply) override;
  Refusal refuse(const HttpHead& head, std::string_view body) override;

 private:
  Result<HttpRequest> request(const std::string& object, const std::string& query);
  Result<Object> parse_object(const Json& json) const;

  GcsDialectOptions options_;
};

Result<HttpRequest> GcsDialect::request(const std::string& object, const std::string& query) {
  HttpRequest made;
  made.url = fmt::format("{}/storage/v1/b/{}/o{}{}?{}", options_.endpoint, encoded(options_.bucket),
                         object.empty() ? "" : "/", object, query);
  if (options_.token) {
    SLUICE_TRY(const Credentials credentials, options_.token->get());
    made.headers.push_back("Authorization: Bearer " + credentials.session_token);
  }
  return made;
}

Result<Object> GcsDialect::parse_object(const Json& json) const {
  if (!json.is_object()) return makes_no_sense("description of an object");
  const std::string name = text_or_number(json, "name");
  const std::string size = text_or_number(json, "size");
  Object object;
  const auto [end, error] = std::from_chars(size.data(), size.data() + size.size(), object.size);
  if (!name.starts_with(options_.root) || size.empty() || error != std::errc{} ||
      end != size.data() + size.size())
    return makes_no_sense("description of an object");
  object.key = name.substr(options_.root.size());
  if (options_.versions) object.version = text_or_number(json, "generation");
  return object;
}

Result<ListPage> GcsDialect::parse_list(const HttpReply& reply) {
  SLUICE_TRY(const Json json, parse_json(reply.body, "answer"));
  if (!json.is_object()) return makes_no_sense("listing");
  ListPage page;
  page.next = text_or_number(json, "nextPageToken");
  const auto items = json.find("items");
  if (items == json.end()) return page;
  if (!items->is_array()) return makes_no_sense("listing");
  page.objects.reserve(items->size());
  for (const Json& item : *items) {
    SLUICE_TRY(Object object, parse_object(item));
    if (!object.key.empty()) page.objects.push_back(std::move(object));
  }
  return page;
}

Refusal GcsDialect::refuse(const HttpHead& head, std::string_view body) {
  const std::string reason = reason_of(body);
  const auto cause = [&](std::string_view what) {
    return reason.empty() ? fmt::format("{} (status {})", what, head.status)
                          : fmt::format("{} (status {}: {})", what, head.status, reason);
  };
  switch (head.status) {
    case 401: {
      if (!options_.token) return {{}, Errc::usage, cause("credentials are needed")};
      Refusal refusal{{}, Errc::usage, cause("credentials refused")};
      const auto used = options_.token->get();
      if (used && options_.token->refused(*used)) refusal.retry = RetryCause::credentials;
      return refusal;
    }
    case 403:
      return {{}, Errc::usage, cause("access denied")};
    case 404:
      return {{}, Errc::not_found, cause("no such bucket or object")};
    case 412:
      return {{}, Errc::invalid_input, cause("the object was replaced")};
    case 429:
      return {RetryCause::throttled, Errc::io, cause("asked to slow down")};
    case 408:
    case 500:
    case 502:
    case 503:
    case 504:
      return {RetryCause::server, Errc::io, cause("the server failed")};
    default:
      return {{}, Errc::io, cause("refused")};
  }
}

}  // namespace

std::unique_ptr<Dialect> make_gcs_dialect(GcsDialectOptions options) {
  return std::make_unique<GcsDialect>(std::move(options));
}

}  // namespace sluice::storage
