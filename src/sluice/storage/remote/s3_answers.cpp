// sluice/storage/remote/s3_answers.cpp - what S3 writes: listings and errors.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/remote/s3_store.h"
#include "sluice/storage/remote/xml.h"

#include <charconv>
#include <utility>

namespace sluice::storage {

namespace {

Error invalid(std::string what) {
  return Error{Errc::invalid_input, "a listing with " + std::move(what)};
}

struct RawEntry {
  std::string key;
  std::string size;
  std::string etag;
};

/// One entry as an object; its key is empty for the marker of the root itself.
Result<Object> to_object(RawEntry raw, bool encoded, std::string_view root) {
  Object object;
  if (encoded) {
    auto key = url_decoded(raw.key);
    if (!key) return invalid("a key that is not encoded as it says");
    raw.key = std::move(*key);
  }
  if (!std::string_view(raw.key).starts_with(root)) return invalid("a key of another prefix");
  object.key = raw.key.substr(root.size());
  const char* end = raw.size.data() + raw.size.size();
  const auto parsed = std::from_chars(raw.size.data(), end, object.size);
  if (raw.size.empty() || parsed.ec != std::errc() || parsed.ptr != end)
    return invalid("an object without a size");
  object.version = s3_version(raw.etag);
  return object;
}

}  // namespace

std::string s3_version(std::string_view etag) {
  if (etag.starts_with("W/")) etag.remove_prefix(2);
  std::string out(etag);
  std::erase(out, '"');
  return out;
}

Result<ListPage> parse_s3_listing(std::string_view xml, std::string_view root) {
  XmlReader reader(xml);
  std::vector<RawEntry> entries;
  std::string token;
  bool truncated = false;
  bool encoded = false;
  bool listing = false;
  while (true) {
    SLUICE_TRY(const XmlReader::Event event, reader.next());
    if (event == XmlReader::Event::end) break;
    const std::string_view name = reader.name();
    if (event == XmlReader::Event::open) {
      if (reader.depth() == 1) listing = name == "ListBucketResult";
      if (reader.depth() == 2 && name == "Contents") entries.emplace_back();
      continue;
    }
    if (reader.depth() == 1) {
      if (name == "IsTruncated") truncated = reader.text() == "true";
      if (name == "NextContinuationToken") token = reader.text();
      if (name == "EncodingType") encoded = reader.text() == "url";
    } else if (reader.depth() == 2 && !entries.empty()) {
      RawEntry& entry = entries.back();
      if (name == "Key") entry.key = reader.text();
      if (name == "Size") entry.size = reader.text();
      if (name == "ETag") entry.etag = reader.text();
    }
  }
  if (!listing) return invalid("no ListBucketResult");
  if (truncated && token.empty()) return invalid("no token for its next page");
  ListPage page;
  page.objects.reserve(entries.size());
  for (RawEntry& entry : entries) {
    SLUICE_TRY(Object object, to_object(std::move(entry), encoded, root));
    if (!object.key.empty()) page.objects.push_back(std::move(object));
  }
  if (truncated) page.next = std::move(token);
  return page;
}

S3ErrorBody parse_s3_error(std::string_view xml) {
  S3ErrorBody body;
  XmlReader reader(xml);
  bool error = false;
  while (true) {
    const auto event = reader.next();
    if (!event || *event == XmlReader::Event::end) break;
    const std::string_view name = reader.name();
    if (*event == XmlReader::Event::open) {
      if (name == "Error") error = true;
      continue;
    }
    if (!error) continue;
    if (name == "Code") body.code = reader.text();
    if (name == "Message") body.message = reader.text();
    if (name == "Region") body.region = reader.text();
  }
  return body;
}

}  // namespace sluice::storage
