// sluice/cli/data/data.cpp - the commands of `data`; `data info` looks at a folder or file.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/commands.h"
#include "sluice/cli/data/episodes.h"
#include "sluice/cli/data/text.h"
#include "sluice/cli/print.h"
#include "sluice/core/file.h"
#include "sluice/core/json.h"
#include "sluice/core/text.h"
#include "sluice/image/codec.h"
#include "sluice/image/dataset.h"
#include "sluice/image/npy.h"
#include "sluice/image/video.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <cstdio>
#include <filesystem>
#include <memory>
#include <string>

namespace sluice::cli {
namespace {

namespace fs = std::filesystem;

void print_json(const Json& json) {
  // File names need not be UTF-8; what is not becomes a replacement character instead of an
  // exception.
  print("{}\n", json.dump(2, ' ', false, Json::error_handler_t::replace));
}

Json to_json(const image::Range& range) {
  return {{"min", range.min}, {"median", range.median}, {"max", range.max}};
}

Json to_json(const image::DatasetInfo& info, const fs::path& path) {
  Json errors = Json::array();
  for (const auto& [file, reason] : info.errors)
    errors.push_back({{"file", file}, {"reason", reason}});
  const bool clips = info.kind == image::MediaKind::clips;
  return {{"path", path.string()},
          {"kind", to_string(info.kind)},
          {"count", info.count},
          {"usable", info.usable},
          {"bytes", info.bytes},
          {"hash", info.hash},
          {"formats", info.formats},
          {"width", info.usable > 0 ? to_json(info.width) : Json()},
          {"height", info.usable > 0 ? to_json(info.height) : Json()},
          {"frames", clips && info.usable > 0 ? to_json(info.frames) : Json()},
          {"oriented", info.oriented},
          {"misnamed", info.misnamed},
          {"others", info.others},
          {"errors", errors}};
}

void print_info(const image::DatasetInfo& info, const fs::path& path) {
  print("{}: {} {}, {} usable, {} bytes\n", printable(path.string()), info.count,
        to_string(info.kind), info.usable, info.bytes);
  for (const auto& [format, count] : info.formats)
    print("  {:<10} {}\n", format, count);
  if (info.usable > 0) {
    print("  {:<10} {} to {}, median {}\n", "width", info.width.min, info.width.max,
          info.width.median);
    print("  {:<10} {} to {}, median {}\n", "height", info.height.min, info.height.max,
          info.height.median);
    if (info.kind == image::MediaKind::clips)
      print("  {:<10} {} to {}, median {}\n", "frames", info.frames.min, info.frames.max,
            info.frames.median);
  }
  if (info.others > 0)
    print("  {:<10} {} files of another kind, not looked at\n", "others", info.others);
  if (info.oriented > 0)
    print("  {:<10} {} with an EXIF orientation (applied with --exif)\n", "oriented",
          info.oriented);
  if (info.misnamed > 0)
    print("  {:<10} {} of another format than the name says\n", "misnamed", info.misnamed);
  print("  {:<10} {}\n", "hash", info.hash);
  constexpr std::size_t kShown = 20;
  for (std::size_t i = 0; i < info.errors.size() && i < kShown; ++i)
    print("  bad: {}: {}\n", printable(info.errors[i].file), info.errors[i].reason);
  if (info.errors.size() > kShown)
    print("  bad: {} more (all with --json)\n", info.errors.size() - kShown);
}

Result<ExitCode> info_folder(const fs::path& path, const image::DecodeOptions& options,
                             const Context& context) {
  SLUICE_TRY(const auto info, image::inspect_media(path, options, *context.globals.progress));
  if (context.globals.json)
    print_json(to_json(info, path));
  else
    print_info(info, path);
  if (info.usable == 0)
    return Error{Errc::invalid_input,
                 fmt::format("{}: none of {} {} is usable; the first, {}: {}",
                             printable(path.string()), info.count, to_string(info.kind),
                             printable(info.errors.front().file), info.errors.front().reason)};
  return ExitCode::done;
}

Result<ExitCode> info_file(const fs::path& path, const image::DecodeOptions& options,
                           const Context& context) {
  SLUICE_TRY(const auto info, image::inspect_file(path, options));
  if (context.globals.json) {
    print_json({{"path", path.string()},
                {"format", to_string(info.format)},
                {"width", info.width},
                {"height", info.height},
                {"channels", info.channels},
                {"bit_depth", info.bit_depth},
                {"progressive", info.progressive},
                {"orientation", info.orientation},
                {"subsampling", info.subsampling.empty() ? Json() : Json(info.subsampling)}});
    return ExitCode::done;
  }
  print("{}: {} {}x{}, {} channels of {} bits{}{}{}\n", printable(path.string()),
        to_string(info.format), info.width, info.height, info.channels, info.bit_depth,
        info.subsampling.empty() ? "" : ", " + info.subsampling,
        info.progressive ? (info.format == image::Format::jpeg ? ", progressive" : ", interlaced")
                         : "",
        info.orientation != 1 ? fmt::format(", EXIF orientation {}", info.orientation) : "");
  return ExitCode::done;
}

Result<ExitCode> info_clip(const fs::path& path, const image::DecodeOptions& options,
                           const Context& context) {
  image::VideoOptions video;
  video.allow_damaged = options.allow_truncated;
  SLUICE_TRY(const auto info, image::probe_video(path, video));
  image::VideoClip clip;
  SLUICE_CHECK(image::decode_clip(clip, path, 16, video));
  if (context.globals.json) {
    print_json({{"path", path.string()},
                {"format", info.codec},
                {"container", info.container},
                {"width", info.width},
                {"height", info.height},
                {"frames", info.frames},
                {"frames_guessed", info.frames_guessed},
                {"fps", info.fps > 0 ? Json(info.fps) : Json()}});
    return ExitCode::done;
  }
  print("{}: {} {}x{}, {}{} frames{}\n", printable(path.string()), info.codec, info.width,
        info.height, info.frames_guessed ? "about " : "", info.frames,
        info.fps > 0 ? fmt::format(", {:.4g} per second", info.fps) : "");
  return ExitCode::done;
}

Result<ExitCode> info_array(const fs::path& path, const Context& context) {
  SLUICE_TRY(const auto bytes, read_binary_file(path));
  const auto array = image::parse_npy(bytes);
  if (!array)
    return Error{array.error().code,
                 fmt::format("{}: {}", printable(path.string()), array.error().message)};
  if (context.globals.json)
    print_json({{"path", path.string()},
                {"format", "npy"},
                {"dtype", to_string(array->dtype)},
                {"shape", array->shape}});
  else
    print("{}: npy {} of shape ({})\n", printable(path.string()), to_string(array->dtype),
          fmt::format("{}", fmt::join(array->shape, ", ")));
  return ExitCode::done;
}

void add_info(CLI::App& data, Context& context) {
  struct Args {
    fs::path path;
    image::DecodeOptions options;
    bool preset = false;
  };
  auto args = std::make_shared<Args>();
  CLI::App* info_app = add_command(
      data, context, "info",
      "Decode a file, or a folder of images, arrays, clips, episodes or tokens, and say what is "
      "there",
      [args, &context]() -> Result<ExitCode> {
        std::error_code code;
        const bool episodes = holds_episodes(args->path.string());
        if (args->preset && !episodes)
          return Error{Errc::usage,
                       fmt::format("--preset: {} holds no episodes as TFDS writes them",
                                   printable(args->path.string()))};
        if (args->preset) return draft_episodes(args->path.string());
        if (episodes) return info_episodes(args->path.string(), context);
        if (holds_tokens(args->path)) return info_tokens(args->path, context);
        if (!fs::exists(args->path, code))
          return Error{Errc::not_found,
                       fmt::format("{}: no such file or folder", printable(args->path.string()))};
        if (fs::is_directory(args->path, code))
          return info_folder(args->path, args->options, context);
        if (image::has_clip_suffix(args->path))
          return info_clip(args->path, args->options, context);
        if (image::lower_suffix(args->path) == ".npy") return info_array(args->path, context);
        return info_file(args->path, args->options, context);
      });
  info_app
      ->add_option("path", args->path,
                   "folder, or a JPEG, PNG, npy or video file; episodes also at s3:// or gs://")
      ->required()
      ->type_name("DIR|FILE");
  info_app->add_flag("--exif", args->options.exif, "rotate images as their EXIF orientation says");
  info_app->add_flag("--allow-truncated", args->options.allow_truncated, "accept damaged files");
  info_app->add_flag(
      "--preset", args->preset,
      "print a preset of the episodes to start from, for `sluice bench mixture --preset`");
  add_examples(*info_app,
               {"sluice data info photos", "sluice data info photos/rgb-000000.jpg --json",
                "sluice data info robots --preset > my.yaml"});
}

}  // namespace

void add_data(CLI::App& root, Context& context) {
  CLI::App* data = add_family(root, "data", "Make, inspect, stage, shrink and bundle data sets");
  add_data_make(*data, context);
  add_info(*data, context);
  add_data_stage(*data, context);
  add_data_bundle(*data, context);
  add_data_shrink(*data, context);
}

}  // namespace sluice::cli
