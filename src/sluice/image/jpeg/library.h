// sluice/image/jpeg/library.h - one libjpeg-turbo decompressor with our errors, source and limits.
// SPDX-License-Identifier: Apache-2.0
//
// libjpeg reports errors by longjmp. Everything that may jump runs inside guarded(), in lambdas
// that own nothing with a destructor; memory they need is allocated before.
#pragma once

#include "sluice/image/codec.h"
#include "sluice/image/limits.h"

#include <fmt/format.h>

#include <array>
#include <csetjmp>
#include <cstddef>
#include <cstdio>
#include <type_traits>

// After <cstdio>: the header needs size_t and FILE.
#include <jpeglib.h>
// After <jpeglib.h>.
#include <jerror.h>

namespace sluice::image {

inline constexpr std::array<JOCTET, 2> kJpegEnd = {0xFF, JPEG_EOI};

struct JpegLibrary {
  // The library hands back pointers to its own parts; they are the first member of ours, so a cast
  // finds the rest.
  struct ErrorManager {
    jpeg_error_mgr base;
    std::jmp_buf jump;
    bool warnings_are_errors;
    std::array<char, JMSG_LENGTH_MAX> text;
  };
  struct Source {
    jpeg_source_mgr base;
    bool allow_truncated;
    bool ran_dry;
  };
  struct Monitor {
    jpeg_progress_mgr base;
    Deadline deadline;
    int max_scans;
    double max_seconds;
  };

  jpeg_decompress_struct jpeg{};
  ErrorManager error{};
  Source source{};
  Monitor monitor{};
  bool created = false;
  Bytes bytes;
  DecodeOptions options;

  JpegLibrary() = default;
  JpegLibrary(const JpegLibrary&) = delete;
  JpegLibrary& operator=(const JpegLibrary&) = delete;
  ~JpegLibrary() { close(); }

  void close() {
    if (created) jpeg_destroy_decompress(&jpeg);
    created = false;
  }

  /// Runs `body`; false when the library gave up, with the reason in error.text.
  template <class Body>
  bool guarded(Body body) {
    static_assert(std::is_trivially_destructible_v<Body>);
    if (setjmp(error.jump) != 0) return false;  // NOLINT: the only way libjpeg offers
    body();
    return true;
  }

  [[noreturn]] static void fail(j_common_ptr common, const char* text) {
    auto* manager = reinterpret_cast<ErrorManager*>(common->err);
    std::snprintf(manager->text.data(), manager->text.size(), "%s", text);
    std::longjmp(manager->jump, 1);
  }

  static void on_error(j_common_ptr common) {
    auto* manager = reinterpret_cast<ErrorManager*>(common->err);
    common->err->format_message(common, manager->text.data());
    std::longjmp(manager->jump, 1);
  }

  static void on_message(j_common_ptr common, int level) {
    if (level >= 0) return;  // trace
    ++common->err->num_warnings;
    auto* manager = reinterpret_cast<ErrorManager*>(common->err);
    // A JFIF version from the future changes no pixel; every other warning may.
    if (manager->warnings_are_errors && common->err->msg_code != JWRN_JFIF_MAJOR) on_error(common);
  }

  static void on_output(j_common_ptr /*common*/) {}  // never stderr

  static void on_source_start(j_decompress_ptr /*jpeg*/) {}
  static void on_source_end(j_decompress_ptr /*jpeg*/) {}

  static boolean on_source_empty(j_decompress_ptr decompress) {
    auto* source = reinterpret_cast<Source*>(decompress->src);
    if (!source->allow_truncated)
      fail(reinterpret_cast<j_common_ptr>(decompress), "truncated: the data ends early");
    source->ran_dry = true;
    source->base.next_input_byte = kJpegEnd.data();
    source->base.bytes_in_buffer = kJpegEnd.size();
    return TRUE;
  }

  static void on_source_skip(j_decompress_ptr decompress, long count) {
    if (count <= 0) return;
    jpeg_source_mgr* source = decompress->src;
    const auto wanted = static_cast<std::size_t>(count);
    if (wanted > source->bytes_in_buffer) {
      on_source_empty(decompress);
      return;
    }
    source->next_input_byte += wanted;
    source->bytes_in_buffer -= wanted;
  }

  static void on_progress(j_common_ptr common) {
    const auto* monitor = reinterpret_cast<const Monitor*>(common->progress);
    std::array<char, JMSG_LENGTH_MAX> text{};
    if (monitor->deadline.passed()) {
      std::snprintf(text.data(), text.size(), "decoding takes longer than the limit of %g s",
                    monitor->max_seconds);
      fail(common, text.data());
    }
    if (reinterpret_cast<j_decompress_ptr>(common)->input_scan_number > monitor->max_scans) {
      std::snprintf(text.data(), text.size(),
                    "more than %d scans, the limit for a progressive JPEG", monitor->max_scans);
      fail(common, text.data());
    }
  }

  void set_up() {
    jpeg = {};
    jpeg.err = jpeg_std_error(&error.base);
    error.base.error_exit = on_error;
    error.base.emit_message = on_message;
    error.base.output_message = on_output;
    error.warnings_are_errors = !options.allow_truncated;
    source.base = {};
    source.base.next_input_byte = bytes.data();
    source.base.bytes_in_buffer = bytes.size();
    source.base.init_source = on_source_start;
    source.base.fill_input_buffer = on_source_empty;
    source.base.skip_input_data = on_source_skip;
    source.base.resync_to_restart = jpeg_resync_to_restart;
    source.base.term_source = on_source_end;
    source.allow_truncated = options.allow_truncated;
    source.ran_dry = false;
    monitor.base = {};
    monitor.base.progress_monitor = on_progress;
    monitor.deadline = Deadline(options);
    monitor.max_scans = options.max_scans;
    monitor.max_seconds = options.max_seconds;
  }

  [[nodiscard]] Error explain(Errc code = Errc::invalid_input) const {
    return Error{code, fmt::format("JPEG: {}", error.text.data())};
  }
};

}  // namespace sluice::image
