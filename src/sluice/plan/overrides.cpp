// sluice/plan/overrides.cpp - flags put into the document before it is read, so that errors name
// them.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/config/override.h"
#include "sluice/config/parse.h"
#include "sluice/core/text.h"
#include "sluice/plan/run_config.h"

#include <fmt/format.h>

#include <memory>

namespace sluice::plan {
namespace {

using config::Node;

void mark(Node& node, const std::shared_ptr<const std::string>& origin) {
  node.set_origin(origin, 0);
  for (Node& item : node.items())
    item.set_origin(origin, 0);
}

/// A section that is no map stays as it is: reading the document reports it.
void put(Node& root, std::string_view section_name, std::string_view key, Node value,
         std::string_view flag, std::string_view text) {
  mark(value, std::make_shared<const std::string>(fmt::format("{} {}", flag, printable(text))));
  Node* section = root.find(section_name);
  if (section == nullptr) section = &root.set(section_name, Node::map());
  if (section->is_null() || section->is_map()) section->set(key, std::move(value));
}

template <class T>
void put_value(Node& root, std::string_view section, std::string_view key, std::string_view flag,
               const std::optional<T>& value) {
  if constexpr (std::is_same_v<T, std::string>) {
    if (value) put(root, section, key, Node::of(std::string_view(*value)), flag, *value);
  } else if constexpr (std::is_same_v<T, std::vector<std::string>>) {
    if (value) put(root, section, key, Node::of(*value), flag, join(*value, ","));
  } else {
    if (value) put(root, section, key, Node::of(*value), flag, std::to_string(*value));
  }
}

/// `key` as if the file had not said it, because a flag replaces what it would win over.
void forget(Node& root, std::string_view section_name, std::string_view key) {
  Node* section = root.find(section_name);
  if (section != nullptr && section->find(key) != nullptr) section->set(key, Node());
}

void drop_section(Node& root, std::string_view name) {
  std::erase_if(root.entries(), [&](const config::Entry& entry) { return entry.key == name; });
}

void apply_flags(Node& root, const Overrides& flags) {
  put_value(root, "data", "data_dir", "--data-dir", flags.data_dir);
  put_value(root, "data", "num_items", "--num-items", flags.num_items);
  put_value(root, "execution", "num_runs", "--num-runs", flags.num_runs);
  put_value(root, "execution", "device", "--device", flags.device);
  put_value(root, "execution", "workers", "--workers", flags.workers);
  put_value(root, "execution", "batch_size", "--batch-size", flags.batch_size);
  put_value(root, "execution", "seed", "--seed", flags.seed);
  put_value(root, "output", "output_dir", "--output", flags.output);
  if (flags.libraries) forget(root, "selection", "decoders");
  put_value(root, "selection", "libraries", "--libraries", flags.libraries);
  if (flags.transform_set && !flags.transforms) forget(root, "selection", "transforms");
  put_value(root, "selection", "transforms", "--transforms", flags.transforms);
  put_value(root, "selection", "transform_set", "--transform-set", flags.transform_set);
  if (flags.allow_generated)
    put_value(root, "data", "generated", "--allow-generated", std::optional<bool>(true));
  if (flags.local) drop_section(root, "cloud");
}

}  // namespace

Result<RunConfig> read_run_config(config::Node document, const Overrides& overrides) {
  for (const std::string& assignment : overrides.set)
    SLUICE_CHECK(config::apply_override(document, assignment));
  if (document.is_map()) apply_flags(document, overrides);
  document.set_place(nullptr);
  SLUICE_TRY(RunConfig run, RunConfig::parse(document));
  if (overrides.batch_size && run.mode() != Mode::pipeline) {
    return Error{Errc::usage, fmt::format("--batch-size {}: {} mode has no batches",
                                          *overrides.batch_size, to_string(run.mode()))};
  }
  return run;
}

Result<RunConfig> load_run_config(const std::filesystem::path& path, const Overrides& overrides) {
  SLUICE_TRY(config::Node document, config::load(path));
  return read_run_config(std::move(document), overrides);
}

}  // namespace sluice::plan
