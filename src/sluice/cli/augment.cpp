// sluice/cli/augment.cpp - `sluice augment`: images through a list of transforms, with their draws.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/compose.h"
#include "sluice/cli/commands.h"
#include "sluice/cli/output_files.h"
#include "sluice/cli/print.h"
#include "sluice/core/file.h"
#include "sluice/core/json.h"
#include "sluice/core/text.h"
#include "sluice/image/codec.h"
#include "sluice/image/npy.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

#include <algorithm>
#include <filesystem>
#include <memory>
#include <string>
#include <vector>

namespace sluice::cli {
namespace {

namespace fs = std::filesystem;
using image::DType;
using image::Image;

struct AugmentArgs {
  std::vector<fs::path> images;
  fs::path pipeline;
  std::uint64_t index = 0;
  std::uint64_t epoch = 0;
  fs::path draws;
  fs::path replay;
};

Error at_file(const fs::path& path, const Error& error) {
  return Error{error.code, fmt::format("{}: {}", printable(path.string()), error.message)};
}

Result<Image> load(const fs::path& path) {
  SLUICE_TRY(const auto bytes, read_binary_file(path));
  Image made;
  const Status done =
      image::is_npy(bytes) ? image::decode_npy(made, bytes) : image::decode(made, bytes);
  if (!done) return at_file(path, done.error());
  return made;
}

bool fits_png(const Image& one) {
  return one.dtype() == DType::u8 && one.channels() <= 4;
}

/// "photo.png", or "photo.npy" for what PNG cannot hold.
fs::path output_name(const fs::path& input, const Image& result) {
  return input.stem().string() + (fits_png(result) ? ".png" : ".npy");
}

Status write(OutputFiles& files, const fs::path& path, const Image& one) {
  std::vector<std::uint8_t> bytes;
  if (fits_png(one))
    SLUICE_CHECK(image::encode_png(bytes, one.view<std::uint8_t>()));
  else if (one.dtype() == DType::u8)
    SLUICE_CHECK(image::encode_npy(bytes, one.view<std::uint8_t>()));
  else
    SLUICE_CHECK(image::encode_npy(bytes, one.view<float>()));
  return files.write(path, {reinterpret_cast<const char*>(bytes.data()), bytes.size()},
                     Flush::later);
}

/// The items of a file that an earlier call wrote with --draws.
Result<Json> replayed_items(const AugmentArgs& args) {
  SLUICE_TRY(const std::string text, read_text_file(args.replay));
  SLUICE_TRY(const Json document, parse_json(text, args.replay.string()));
  const auto wrong = [&](const std::string& what) {
    return at_file(args.replay, Error{Errc::invalid_input, what});
  };
  if (!document.is_object() || !document.contains("items") || !document["items"].is_array())
    return wrong("accepted is a file written with --draws");
  const Json& items = document["items"];
  if (items.size() != args.images.size())
    return wrong(
        fmt::format("draws of {} images, {} were given", items.size(), args.images.size()));
  for (const Json& item : items)
    if (!item.is_object() || !item.contains("steps")) return wrong("an item without steps");
  return items;
}

Status refuse_equal_stems(const std::vector<fs::path>& images) {
  std::vector<std::string> stems;
  for (const fs::path& path : images)
    stems.push_back(path.stem().string());
  std::sort(stems.begin(), stems.end());
  const auto twice = std::adjacent_find(stems.begin(), stems.end());
  if (twice != stems.end())
    return Error{Errc::usage, fmt::format("two images are called '{}': they would be one file",
                                          printable(*twice))};
  return ok;
}

/// Under either ending: which of them an output gets is known only when it is made.
Status claim_outputs(OutputFiles& files, const AugmentArgs& args, const Globals& globals) {
  std::vector<fs::path> outputs;
  for (const fs::path& path : args.images)
    for (const char* ending : {".png", ".npy"})
      outputs.push_back(globals.out / (path.stem().string() + ending));
  std::error_code missing;
  for (const fs::path& output : outputs) {
    if (!fs::exists(output, missing)) continue;
    const auto is_output = [&](const fs::path& input) {
      std::error_code unknown;
      return fs::equivalent(input, output, unknown);
    };
    const auto input = std::ranges::find_if(args.images, is_output);
    if (input != args.images.end() && !globals.force)
      return Error{Errc::usage, fmt::format("{}: would be written over by its own output; name "
                                            "another --out, or add --force",
                                            printable(input->string()))};
  }
  SLUICE_CHECK(files.claim(outputs));
  if (!args.draws.empty()) SLUICE_CHECK(files.claim({args.draws}, NamedBy::user));
  return ok;
}

Json list_of(aug::Shape shape) {
  return Json::array({shape.width, shape.height, shape.channels});
}

Result<Json> augment_all(const AugmentArgs& args, const Context& context, OutputFiles& files) {
  SLUICE_TRY(const aug::Compose compose, aug::Compose::load(args.pipeline));
  Json replay;
  if (!args.replay.empty()) {
    SLUICE_TRY(replay, replayed_items(args));
  }
  aug::Workspace workspace;
  aug::Drawn drawn;
  std::vector<Image> out;
  Json items = Json::array();
  for (std::size_t i = 0; i < args.images.size(); ++i) {
    const fs::path& path = args.images[i];
    SLUICE_TRY(const Image input, load(path));
    const aug::Shape shape{input.width(), input.height(), input.channels()};
    const aug::ItemKey key{
        .seed = context.globals.seed, .epoch = args.epoch, .index = args.index + i};
    if (replay.is_array()) {
      auto read = compose.drawn_from_json(replay[i]["steps"]);
      if (!read) return at_file(args.replay, read.error());
      drawn = std::move(*read);
    } else {
      compose.sample(drawn, key, shape);
    }
    const Status done = compose.apply(out, {&input, 1}, drawn, workspace);
    if (!done) return at_file(path, done.error());
    const fs::path to = context.globals.out / output_name(path, out[0]);
    SLUICE_CHECK(write(files, to, out[0]));
    Json item = {{"input", path.string()}, {"output", to.string()}};
    if (!replay.is_array()) item["index"] = key.index;
    item["from"] = list_of(shape);
    item["to"] = list_of({out[0].width(), out[0].height(), out[0].channels()});
    item["steps"] = compose.to_json(drawn);
    items.push_back(std::move(item));
  }
  Json document = {{"pipeline", args.pipeline.string()}, {"steps", compose.to_json()}};
  if (replay.is_array())
    document["replay"] = args.replay.string();
  else
    document.update({{"seed", context.globals.seed}, {"epoch", args.epoch}});
  document["items"] = std::move(items);
  return document;
}

Result<ExitCode> augment(Context& context, const AugmentArgs& args) {
  if (context.globals.out.empty())
    return Error{Errc::usage, "--out DIR is missing: the folder to write the images to"};
  SLUICE_CHECK(refuse_equal_stems(args.images));
  OutputFiles files(context.globals);
  SLUICE_CHECK(claim_outputs(files, args, context.globals));
  SLUICE_TRY(const Json document, augment_all(args, context, files));
  if (!args.draws.empty()) SLUICE_CHECK(files.write(args.draws, dump_json(document) + "\n"));
  if (context.globals.json) {
    print("{}\n", dump_json(document));
    return ExitCode::done;
  }
  for (const Json& item : document["items"]) {
    std::vector<std::string> applied;
    for (const Json& step : item["steps"])
      if (step["applied"].get<bool>()) applied.push_back(step["name"].get<std::string>());
    print("{} -> {}: {}\n", printable(item["input"].get<std::string>()),
          printable(item["output"].get<std::string>()),
          applied.empty() ? "as it was" : join(applied));
  }
  return ExitCode::done;
}

}  // namespace

void add_augment(CLI::App& root, Context& context) {
  auto [sub, args] = add_command<AugmentArgs>(
      root, context, "augment",
      "Apply a list of transforms to images, and say which parameters were drawn", augment);
  sub.add_option("image", args.images, "JPEG, PNG or npy files")->required()->type_name("FILE");
  sub.add_option("--pipeline", args.pipeline, "YAML file with the list of transforms")
      ->required()
      ->type_name("FILE");
  CLI::Option* index =
      sub.add_option("--index", args.index, "index of the first image; the others follow")
          ->capture_default_str();
  CLI::Option* epoch =
      sub.add_option("--epoch", args.epoch, "epoch for which random parameters are drawn")
          ->capture_default_str();
  add_value(sub, "--draws", args.draws, "FILE", "file to write the drawn parameters to");
  add_value(sub, "--replay", args.replay, "FILE",
            "use the drawn parameters of this file instead of drawing new ones")
      ->excludes(index)
      ->excludes(epoch);
  add_force_flag(sub, context.globals);
  add_examples(
      sub, {"sluice augment photo.jpg --pipeline configs/pipelines/augment.yaml --out augmented",
            "sluice augment photo.jpg --pipeline configs/pipelines/augment.yaml --replay "
            "draws.json --out again"});
}

}  // namespace sluice::cli
