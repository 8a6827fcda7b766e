// sluice/storage/net_module/table.cpp - libsluice_net.so: HTTP through libcurl.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/remote/net_table.h"

#include <cstdio>
#include <cstring>
#include <curl/curl.h>
#include <new>
#include <string>

namespace {

/// Larger reads mean fewer turns of the loop per MiB; 512 KiB is what libcurl allows.
constexpr long kReceiveBuffer = 512L << 10;

struct Slot {
  CURL* easy = nullptr;
  curl_slist* headers = nullptr;
  SluiceNetSink sink{};
  bool active = false;  // in the multi handle
  bool done = false;
  CURLcode result = CURLE_OK;
  char text[CURL_ERROR_SIZE]{};
};

std::size_t take_line(char* data, std::size_t, std::size_t size, void* self) {
  const SluiceNetSink& sink = static_cast<Slot*>(self)->sink;
  return sink.line(sink.user, data, size) == 0 ? size : 0;
}

std::size_t take_body(char* data, std::size_t, std::size_t size, void* self) {
  const SluiceNetSink& sink = static_cast<Slot*>(self)->sink;
  return sink.body(sink.user, data, size) == 0 ? size : CURL_WRITEFUNC_ERROR;
}

std::int32_t code_of(CURLcode result) {
  switch (result) {
    case CURLE_OK:
      return kSluiceNetOk;
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
      return kSluiceNetResolve;
    case CURLE_COULDNT_CONNECT:
    case CURLE_SSL_CONNECT_ERROR:   // broken off half-way: worth another try
    case CURLE_OPERATION_TIMEDOUT:  // the one limit that is set here is that of connecting
      return kSluiceNetConnect;
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
    case CURLE_SSL_CERTPROBLEM:
    case CURLE_SSL_ISSUER_ERROR:
      return kSluiceNetTls;
    case CURLE_PARTIAL_FILE:
      return kSluiceNetTruncated;
    case CURLE_WRITE_ERROR:
    case CURLE_ABORTED_BY_CALLBACK:
      return kSluiceNetStopped;
    case CURLE_URL_MALFORMAT:
    case CURLE_BAD_FUNCTION_ARGUMENT:
      return kSluiceNetInvalid;
    case CURLE_OUT_OF_MEMORY:
      return kSluiceNetNoMemory;
    case CURLE_UNSUPPORTED_PROTOCOL:  // what was sent as an answer is taken for HTTP/0.9
    case CURLE_WEIRD_SERVER_REPLY:
    case CURLE_BAD_CONTENT_ENCODING:
      return kSluiceNetProtocol;
    default:
      return kSluiceNetReset;  // CURLE_GOT_NOTHING, CURLE_RECV_ERROR, CURLE_SEND_ERROR and the like
  }
}

/// What holds for every request of a handle.
void set_constants(Slot& slot) {
  CURL* easy = slot.easy;
  curl_easy_setopt(easy, CURLOPT_NOSIGNAL, 1L);
#if LIBCURL_VERSION_NUM >= 0x075500
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS_STR, "http,https");
#else
  curl_easy_setopt(easy, CURLOPT_PROTOCOLS, CURLPROTO_HTTP | CURLPROTO_HTTPS);
#endif
#if LIBCURL_VERSION_NUM >= 0x075700
  curl_easy_setopt(easy, CURLOPT_QUICK_EXIT, 1L);  // a lookup under way does not hold up a cancel
#endif
  curl_easy_setopt(easy, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
  curl_easy_setopt(easy, CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy, CURLOPT_PATH_AS_IS, 1L);  // "a/../b" is a key like any other
  curl_easy_setopt(easy, CURLOPT_BUFFERSIZE, kReceiveBuffer);
  curl_easy_setopt(easy, CURLOPT_TCP_NODELAY, 1L);
  curl_easy_setopt(easy, CURLOPT_TCP_KEEPALIVE, 1L);
  curl_easy_setopt(easy, CURLOPT_HEADERFUNCTION, take_line);
  curl_easy_setopt(easy, CURLOPT_HEADERDATA, &slot);
  curl_easy_setopt(easy, CURLOPT_WRITEFUNCTION, take_body);
  curl_easy_setopt(easy, CURLOPT_WRITEDATA, &slot);
  curl_easy_setopt(easy, CURLOPT_ERRORBUFFER, slot.text);
}

void set_method(CURL* easy, const SluiceNetRequest& request) {
  const bool head = std::strcmp(request.method, "HEAD") == 0;
  const bool sends =
      std::strcmp(request.method, "POST") == 0 || std::strcmp(request.method, "PUT") == 0;
  curl_easy_setopt(easy, CURLOPT_HTTPGET, 1L);  // undoes whatever the handle did before
  curl_easy_setopt(easy, CURLOPT_NOBODY, head ? 1L : 0L);
  curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, nullptr);
  if (!sends) return;
  curl_easy_setopt(easy, CURLOPT_POST, 1L);
  curl_easy_setopt(easy, CURLOPT_POSTFIELDS, request.body_size > 0 ? request.body : "");
  curl_easy_setopt(easy, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(request.body_size));
  curl_easy_setopt(easy, CURLOPT_CUSTOMREQUEST, request.method);
}

bool set_headers(Slot& slot, const SluiceNetRequest& request) {
  curl_slist* list = curl_slist_append(nullptr, "Expect:");  // no waiting for "100 Continue"
  for (std::size_t i = 0; i < request.header_count && list != nullptr; ++i) {
    curl_slist* longer = curl_slist_append(list, request.headers[i]);
    if (longer == nullptr) curl_slist_free_all(list);
    list = longer;
  }
  if (list == nullptr) return false;
  curl_easy_setopt(slot.easy, CURLOPT_HTTPHEADER, list);
  curl_slist_free_all(slot.headers);
  slot.headers = list;
  return true;
}

}  // namespace

struct SluiceNetLane {
  CURLM* multi = nullptr;
  Slot slots[kSluiceNetSlots];
};

namespace {

void stop_slot(SluiceNetLane* lane, std::int32_t number) {
  Slot& slot = lane->slots[number];
  if (slot.active) curl_multi_remove_handle(lane->multi, slot.easy);
  slot.active = false;
  slot.done = false;
}

void close_lane(SluiceNetLane* lane) {
  for (std::int32_t i = 0; i < kSluiceNetSlots; ++i) {
    stop_slot(lane, i);
    curl_easy_cleanup(lane->slots[i].easy);
    curl_slist_free_all(lane->slots[i].headers);
  }
  curl_multi_cleanup(lane->multi);
  delete lane;
}

SluiceNetLane* open_lane() {
  auto* lane = new (std::nothrow) SluiceNetLane;
  if (lane == nullptr) return nullptr;
  lane->multi = curl_multi_init();
  bool whole = lane->multi != nullptr;
  for (Slot& slot : lane->slots) {
    slot.easy = curl_easy_init();
    whole = whole && slot.easy != nullptr;
    if (slot.easy != nullptr) set_constants(slot);
  }
  if (whole) return lane;
  close_lane(lane);
  return nullptr;
}

std::int32_t start_slot(SluiceNetLane* lane, std::int32_t number, const SluiceNetRequest* request,
                        const SluiceNetSink* sink) {
  stop_slot(lane, number);
  Slot& slot = lane->slots[number];
  slot.sink = *sink;
  slot.text[0] = '\0';
  CURL* easy = slot.easy;
  if (curl_easy_setopt(easy, CURLOPT_URL, request->url) != CURLE_OK) return kSluiceNetInvalid;
  set_method(easy, *request);
  if (!set_headers(slot, *request)) return kSluiceNetNoMemory;
  const bool fresh = request->fresh != 0;
  curl_easy_setopt(easy, CURLOPT_FRESH_CONNECT, fresh ? 1L : 0L);
  curl_easy_setopt(easy, CURLOPT_DNS_CACHE_TIMEOUT, fresh ? 0L : 60L);
  curl_easy_setopt(easy, CURLOPT_CONNECTTIMEOUT_MS, static_cast<long>(request->connect_ms));
  curl_easy_setopt(easy, CURLOPT_PROXY, request->unproxied != 0 ? "" : nullptr);
  if (request->ca_file != nullptr) curl_easy_setopt(easy, CURLOPT_CAINFO, request->ca_file);
  if (curl_multi_add_handle(lane->multi, easy) != CURLM_OK) return kSluiceNetNoMemory;
  slot.active = true;
  return kSluiceNetOk;
}

void collect(SluiceNetLane* lane) {
  int left = 0;
  while (const CURLMsg* message = curl_multi_info_read(lane->multi, &left)) {
    if (message->msg != CURLMSG_DONE) continue;
    for (Slot& slot : lane->slots) {
      if (slot.easy != message->easy_handle) continue;
      slot.result = message->data.result;
      slot.done = true;
    }
  }
}

std::int32_t poll_lane(SluiceNetLane* lane, std::int32_t wait_ms) {
  int running = 0;
  if (curl_multi_perform(lane->multi, &running) != CURLM_OK) return kSluiceNetNoMemory;
  collect(lane);
  for (const Slot& slot : lane->slots)
    if (slot.done) return kSluiceNetOk;  // there is something to look at: no waiting
  if (running > 0 && wait_ms > 0 &&
      curl_multi_poll(lane->multi, nullptr, 0, wait_ms, nullptr) != CURLM_OK)
    return kSluiceNetNoMemory;
  return kSluiceNetOk;
}

std::int32_t slot_ended(SluiceNetLane* lane, std::int32_t number, SluiceNetOutcome* outcome) {
  Slot& slot = lane->slots[number];
  if (!slot.done) return 0;
  long connects = 0;
  curl_easy_getinfo(slot.easy, CURLINFO_NUM_CONNECTS, &connects);
  outcome->code = code_of(slot.result);
  long sent = 0;  // bytes of the request
  curl_easy_getinfo(slot.easy, CURLINFO_REQUEST_SIZE, &sent);
  if (slot.result == CURLE_UNSUPPORTED_PROTOCOL && sent == 0) outcome->code = kSluiceNetInvalid;
  outcome->new_connections = static_cast<std::int32_t>(connects);
  const char* text = slot.text[0] != '\0' ? slot.text : curl_easy_strerror(slot.result);
  std::snprintf(outcome->text, sizeof outcome->text, "%s", slot.result == CURLE_OK ? "" : text);
  stop_slot(lane, number);
  return 1;
}

}  // namespace

extern "C" __attribute__((visibility("default"))) const SluiceNetTable* sluice_net_table() {
  static const std::string version = curl_version();
  // Once per process and never undone: the module stays loaded. Thread-safe as the table is asked
  // for under the lock of a local static.
  static const bool ready = curl_global_init(CURL_GLOBAL_DEFAULT) == CURLE_OK;
  static const SluiceNetTable table{
      .abi = kSluiceNetAbi,
      .version = version.c_str(),
      .open = open_lane,
      .start = start_slot,
      .poll = poll_lane,
      .ended = slot_ended,
      .stop = stop_slot,
      .close = close_lane,
  };
  return ready ? &table : nullptr;
}
