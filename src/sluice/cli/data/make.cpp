// sluice/cli/data/make.cpp - `data make`: generated data, one record per kind.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/commands.h"
#include "sluice/cli/data/episodes.h"
#include "sluice/cli/data/text.h"
#include "sluice/cli/print.h"
#include "sluice/core/json.h"
#include "sluice/core/text.h"
#include "sluice/image/inputs/array_maker.h"
#include "sluice/image/inputs/photo_dataset.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <string>
#include <vector>

namespace sluice::cli {
namespace {

/// Of all kinds; each takes those that its record names.
struct MakeFlags {
  std::string kind = "rgb";
  image::PhotoDatasetOptions files;
  std::uint64_t bytes = image::ArrayOptions().bytes;
  EpisodeFlags episodes;
  TextFlags text;
  CLI::App* app = nullptr;
};

Result<ExitCode> make_photos(const MakeFlags& flags, image::MadeKind kind, const Context& context) {
  image::PhotoDatasetOptions options = flags.files;
  options.kind = kind;
  options.folder = context.globals.out;
  options.seed = context.globals.seed;
  SLUICE_TRY(const auto made, image::make_photo_dataset(options, *context.globals.progress));
  if (context.globals.json) {
    Json json = {{"path", options.folder.string()},
                 {"kind", to_string(options.kind)},
                 {"count", made.count},
                 {"bytes", made.bytes},
                 {"hash", made.hash},
                 {"seed", options.seed},
                 {"written", made.written}};
    if (!made.frames_hash.empty()) json["frames_hash"] = made.frames_hash;
    print("{}\n", dump_json(json));
    return ExitCode::done;
  }
  print("{}: {} {}, {} bytes, {} written\nhash {}\n", printable(options.folder.string()),
        made.count, options.kind == image::MadeKind::video ? "clips" : "images", made.bytes,
        made.written, made.hash);
  if (!made.frames_hash.empty()) print("hash of the frames {}\n", made.frames_hash);
  return ExitCode::done;
}

Result<ExitCode> make_arrays(const MakeFlags& flags, const Context& context) {
  const image::ArrayOptions options{.folder = context.globals.out,
                                    .count = flags.files.count,
                                    .bytes = flags.bytes,
                                    .seed = context.globals.seed,
                                    .force = flags.files.force};
  SLUICE_TRY(const auto made, image::make_arrays(options, *context.globals.progress));
  if (context.globals.json)
    print("{}\n", dump_json({{"path", options.folder.string()},
                             {"kind", "arrays"},
                             {"count", made.count},
                             {"bytes", made.bytes},
                             {"hash", made.hash},
                             {"seed", options.seed},
                             {"written", made.written}}));
  else
    print("{}: {} arrays, {} bytes, {} written\nhash {}\n", printable(options.folder.string()),
          made.count, made.bytes, made.written, made.hash);
  return ExitCode::done;
}

struct MakeKind {
  std::string name;
  std::string what;                // for the help
  std::vector<std::string> flags;  // that it takes beside those of every command
  std::string required;            // one of them; empty: none
  Result<ExitCode> (*make)(const MakeFlags& flags, const Context& context);
};

const std::vector<MakeKind>& make_kinds() {
  static const std::vector<MakeKind> kinds{
      {"rgb",
       "JPEG images",
       {"--count", "--width", "--height", "--classes", "--force"},
       "--count",
       [](const MakeFlags& flags, const Context& context) {
         return make_photos(flags, image::MadeKind::rgb, context);
       }},
      {"9ch",
       ".npy arrays of nine channels",
       {"--count", "--width", "--height", "--force"},
       "--count",
       [](const MakeFlags& flags, const Context& context) {
         return make_photos(flags, image::MadeKind::nine_channels, context);
       }},
      {"video",
       "H.264 clips",
       {"--count", "--width", "--height", "--force"},
       "--count",
       [](const MakeFlags& flags, const Context& context) {
         return make_photos(flags, image::MadeKind::video, context);
       }},
      {"arrays",
       ".npy vectors of random bytes",
       {"--count", "--bytes", "--force"},
       "--count",
       make_arrays},
      {"episodes",
       "data sets of episodes",
       {"--preset", "--episodes", "--max-gb"},
       "",
       [](const MakeFlags& flags, const Context& context) {
         return make_episodes(flags.episodes, context);
       }},
      {"text",
       "tokens of a text",
       {"--tokens", "--vocabulary", "--shards", "--force"},
       "--tokens",
       [](const MakeFlags& flags, const Context& context) {
         return make_text(flags.text, flags.files.force, context);
       }}};
  return kinds;
}

bool kind_takes(const MakeKind& kind, const std::string& flag) {
  return std::find(kind.flags.begin(), kind.flags.end(), flag) != kind.flags.end();
}

/// Flags of other kinds, and one that is missing.
Status check_kind(const MakeKind& kind, const CLI::App& app) {
  for (const MakeKind& owner : make_kinds())
    for (const std::string& flag : owner.flags)
      if (app.count(flag) > 0 && !kind_takes(kind, flag))
        return Error{Errc::usage, fmt::format("{} is not for --kind {}, but for {}; accepted: {}",
                                              flag, kind.name, owner.name, join(kind.flags))};
  if (!kind.required.empty() && app.count(kind.required) == 0)
    return Error{Errc::usage,
                 fmt::format("{} is required for --kind {}", kind.required, kind.name)};
  return ok;
}

Result<ExitCode> run_make(Context& context, const MakeFlags& flags) {
  const auto& kinds = make_kinds();
  const auto kind = std::find_if(kinds.begin(), kinds.end(),
                                 [&](const MakeKind& one) { return one.name == flags.kind; });
  SLUICE_CHECK(check_kind(*kind, *flags.app));
  return kind->make(flags, context);
}

}  // namespace

void add_data_make(CLI::App& data, Context& context) {
  auto [app, flags] = add_command<MakeFlags>(
      data, context, "make", "Write generated images, clips, arrays, episodes or text", run_make);
  flags.app = &app;
  std::vector<std::string> names, texts;
  for (const MakeKind& kind : make_kinds()) {
    names.push_back(kind.name);
    texts.push_back(kind.what);
  }
  add_choice(app, "--kind", flags.kind, names, "what to make: " + join(texts));
  add_value(app, "--count", flags.files.count, "N",
            "number of files; required except for episodes and text");
  add_value(app, "--width", flags.files.width, "W",
            "width of every file; default: about 500x375, clips 320x240");
  add_value(app, "--height", flags.files.height, "H", "height of every file");
  add_value(app, "--bytes", flags.bytes, "N", "size of each file of kind arrays, in bytes")
      ->capture_default_str();
  add_value(app, "--classes", flags.files.classes, "N",
            "for kind rgb: number of classes to train on, each with its own folder and tint")
      ->check(CLI::Range(2, image::kMaxClasses));
  app.add_flag("--force", flags.files.force, "write even into a folder that holds other files");
  add_episode_flags(app, flags.episodes);
  add_text_flags(app, flags.text);
  add_examples(app, {"sluice data make --kind rgb --count 256 --out photos --seed 0",
                     "sluice data make --kind rgb --count 256 --classes 4 --out labelled",
                     "sluice data make --kind video --count 50 --out clips",
                     "sluice data make --kind arrays --count 10000 --bytes 20480 --out arrays",
                     "sluice data make --kind episodes --preset oxe29 --episodes 8 --out oxe",
                     "sluice data make --kind text --tokens 1000000 --vocabulary 4096 --shards 4 "
                     "--out text"});
}

}  // namespace sluice::cli
