// tests/storage/fault_server_objects.cpp - the objects of the S3 server: found, given out, listed.
// SPDX-License-Identifier: Apache-2.0
#include "tests/storage/fault_server.h"
#include <algorithm>
#include <cstring>

namespace sluice::storage::testing {
namespace {

std::string url_encoded(std::string_view text) {
  std::string out;
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    const bool plain = (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
                       c == '-' || c == '.' || c == '_' || c == '~' || c == '/';
    if (plain) {
      out += c;
    } else {
      out += '%';
      out += "0123456789ABCDEF"[byte >> 4];
      out += "0123456789ABCDEF"[byte & 15];
    }
  }
  return out;
}

std::string to_token(std::string_view key) {
  std::string out = "t";
  for (const char c : key) {
    out += "0123456789abcdef"[static_cast<unsigned char>(c) >> 4];
    out += "0123456789abcdef"[static_cast<unsigned char>(c) & 15];
  }
  return out;
}

std::string from_token(std::string_view token) {
  std::string encoded;
  for (std::size_t i = 1; i + 1 < token.size(); i += 2)
    encoded += "%" + std::string(token.substr(i, 2));
  return percent_decode(encoded);
}

}  // namespace

std::string xml_escaped(std::string_view text) {
  std::string out;
  for (const char c : text) {
    if (c == '&') {
      out += "&amp;";
    } else if (c == '<') {
      out += "&lt;";
    } else if (c == '>') {
      out += "&gt;";
    } else if (c == '"') {
      out += "&quot;";
    } else if (static_cast<unsigned char>(c) < 32) {
      out += "&#" + std::to_string(int{c}) + ";";
    } else {
      out += c;
    }
  }
  return out;
}

void FaultServer::Found::fill(std::uint64_t offset, std::span<std::byte> out) const {
  if (content) {
    std::memcpy(out.data(), content->data() + offset, out.size());
  } else {
    generated_content(out, key, version, offset);
  }
}

std::optional<FaultServer::Found> FaultServer::find(const std::string& key) const {
  {
    const std::scoped_lock lock(mutex_);
    if (const auto it = held_.find(key); it != held_.end())
      return Found{key, it->second.content->size(), it->second.etag, 0, it->second.content};
  }
  if (!options_.generated.holds(key)) return std::nullopt;
  const std::uint64_t version = version_;
  return Found{key, options_.generated.size, etag_of(key, version), version, nullptr};
}

std::optional<FaultServer::Wanted> FaultServer::wanted(std::string_view range, std::uint64_t size) {
  const Wanted all{0, size, false};
  if (!range.starts_with("bytes=")) return all;
  range.remove_prefix(6);
  const std::size_t dash = range.find('-');
  if (dash == std::string_view::npos || range.find(',') != std::string_view::npos) return all;
  const auto first = parse_number(range.substr(0, dash));
  const auto last = parse_number(range.substr(dash + 1));
  if (!first && !last) return all;
  Wanted wanted{0, size, true};
  if (!first) {
    wanted.begin = size - std::min(size, *last);
  } else {
    wanted.begin = *first;
    if (last) wanted.end = std::min(size, *last + 1);
  }
  if (wanted.begin >= wanted.end) return std::nullopt;
  return wanted;
}

HttpReply FaultServer::get(const HttpRequest& request, const std::string& key,
                           std::optional<Fault> fault) {
  auto found = find(key);
  if (!found) return error(404, "NoSuchKey", "The specified key does not exist.");
  const bool google = options_.protocol == Protocol::google;
  const std::string match(google ? request.parameter("ifGenerationMatch")
                                 : std::string(request.header("if-match")));
  const std::string current = google ? generation_of(found->version) : found->etag;
  if (options_.honours_if_match && !match.empty() && match != current && match != "*")
    return error(412, "PreconditionFailed",
                 "At least one of the pre-conditions you specified did not hold");
  auto part = wanted(request.header("range"), found->size);
  if (!part) return error(416, "InvalidRange", "The requested range is not satisfiable");
  HttpReply reply;
  bool says_range = part->ranged;
  reply.status = part->ranged ? 206 : 200;
  if (fault == Fault::whole_object) {
    *part = {0, found->size, false};
    says_range = false;
    reply.status = 200;
  }
  if (fault == Fault::range_with_200) reply.status = 200;
  if (fault == Fault::changed_etag) {
    found->version = ~changes_++;  // never the same twice
    found->etag = etag_of(key, found->version);
    found->content = nullptr;
  }
  // Shifted where the object allows it; at least the words are wrong in one that ends here.
  const std::uint64_t shift = fault == Fault::wrong_content_range ? 1 : 0;
  const std::uint64_t from = part->end + shift <= found->size ? part->begin + shift : part->begin;
  if (says_range)
    reply.headers.emplace_back("Content-Range", "bytes " + std::to_string(part->begin + shift) +
                                                    "-" + std::to_string(part->end - 1 + shift) +
                                                    "/" + std::to_string(found->size));
  if (google) reply.headers.emplace_back("x-goog-generation", generation_of(found->version));
  reply.headers.emplace_back("ETag", found->etag);
  reply.headers.emplace_back("Accept-Ranges", "bytes");
  reply.headers.emplace_back("Content-Type", "application/octet-stream");
  reply.headers.emplace_back("Last-Modified", http_date(1'700'000'000));
  reply.body_size = part->end - part->begin;
  reply.fill = [object = std::move(*found), from](std::uint64_t offset, std::span<std::byte> out) {
    object.fill(from + offset, out);
  };
  return reply;
}

FaultServer::Page FaultServer::page(const std::string& prefix, const std::string& after,
                                    std::size_t most) const {
  const GeneratedObjects& generated = options_.generated;
  const bool from_prefix = after < prefix;  // also when there is no `after`
  const std::string& bound = from_prefix ? prefix : after;
  std::uint64_t index = generated.first(bound, !from_prefix && !after.empty());
  const std::scoped_lock lock(mutex_);
  auto held = from_prefix || after.empty() ? held_.lower_bound(bound) : held_.upper_bound(bound);
  Page page;
  for (;;) {
    std::string made = index < generated.count ? generated.key(index) : "";
    if (!made.starts_with(prefix)) made.clear();
    const bool has_held = held != held_.end() && held->first.starts_with(prefix);
    if (made.empty() && !has_held) return page;
    if (page.objects.size() == most) {
      page.truncated = true;
      return page;
    }
    if (has_held && (made.empty() || held->first <= made)) {
      if (held->first == made) ++index;
      page.objects.push_back(
          {held->first, held->second.content->size(), held->second.etag, 0, nullptr});
      ++held;
    } else {
      page.objects.push_back({made, generated.size, etag_of(made, version_), version_, nullptr});
      ++index;
    }
  }
}

HttpReply FaultServer::list(const HttpRequest& request) {
  if (request.parameter("list-type") != "2" || !request.parameter("delimiter").empty())
    return error(501, "NotImplemented", "Only ListObjectsV2 without a delimiter is served");
  const std::string prefix = request.parameter("prefix");
  const std::string token = request.parameter("continuation-token");
  const std::string after = token.empty() ? request.parameter("start-after") : from_token(token);
  const std::size_t most = std::min<std::size_t>(
      options_.page_size, parse_number(request.parameter("max-keys")).value_or(1000));
  const bool encoded = request.parameter("encoding-type") == "url";
  const auto name = [encoded](std::string_view key) {
    return encoded ? url_encoded(key) : xml_escaped(key);
  };
  const Page found = page(prefix, after, most);
  HttpReply reply;
  reply.headers.emplace_back("Content-Type", "application/xml");
  reply.body =
      "<?xml version=\"1.0\" encoding=\"UTF-8\"?>\n"
      "<ListBucketResult xmlns=\"http://s3.amazonaws.com/doc/2006-03-01/\"><Name>" +
      options_.bucket + "</Name><Prefix>" + name(prefix) + "</Prefix><KeyCount>" +
      std::to_string(found.objects.size()) + "</KeyCount><MaxKeys>" + std::to_string(most) +
      "</MaxKeys>" + (encoded ? "<EncodingType>url</EncodingType>" : "") + "<IsTruncated>" +
      (found.truncated ? "true" : "false") + "</IsTruncated>";
  if (found.truncated)
    reply.body +=
        "<NextContinuationToken>" + to_token(found.objects.back().key) + "</NextContinuationToken>";
  for (const Found& object : found.objects)
    reply.body += "<Contents><Key>" + name(object.key) +
                  "</Key><LastModified>2023-11-14T22:13:20.000Z</LastModified><ETag>" +
                  xml_escaped(object.etag) + "</ETag><Size>" + std::to_string(object.size) +
                  "</Size><StorageClass>STANDARD</StorageClass></Contents>";
  reply.body += "</ListBucketResult>";
  return reply;
}

}  // namespace sluice::storage::testing
