// sluice/cli/data/text.cpp - `data make --kind text`, and `data info` of such a folder.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/data/text.h"

#include "sluice/cli/print.h"
#include "sluice/core/json.h"
#include "sluice/core/text.h"
#include "sluice/loader/tokens/text_maker.h"
#include "sluice/loader/tokens/token_dataset.h"
#include "sluice/storage/open_store.h"

#include <CLI/CLI.hpp>
#include <fmt/format.h>

namespace sluice::cli {

void add_text_flags(CLI::App& make, TextFlags& flags) {
  add_value(make, "--tokens", flags.tokens, "N", "for kind text: tokens of all shards together");
  add_value(make, "--vocabulary", flags.vocabulary, "N",
            "for kind text: number of token ids; 0 ends a document")
      ->capture_default_str();
  add_value(make, "--shards", flags.shards, "N", "for kind text: number of files")
      ->capture_default_str();
}

Result<ExitCode> make_text(const TextFlags& flags, bool force, const Context& context) {
  const std::filesystem::path& folder = context.globals.out;
  SLUICE_TRY(const auto made, loader::make_text({.folder = folder,
                                                 .tokens = flags.tokens,
                                                 .vocabulary = flags.vocabulary,
                                                 .shards = flags.shards,
                                                 .seed = context.globals.seed,
                                                 .force = force},
                                                *context.globals.progress));
  if (context.globals.json)
    print("{}\n", dump_json({{"path", folder.string()},
                             {"kind", "text"},
                             {"tokens", made.tokens},
                             {"vocabulary", flags.vocabulary},
                             {"documents", made.documents},
                             {"shards", flags.shards},
                             {"bytes", made.bytes},
                             {"unigram_nats", made.unigram_nats},
                             {"hash", made.hash},
                             {"seed", context.globals.seed},
                             {"written", made.written}}));
  else
    print(
        "{}: {} tokens, {} documents, {} shards, {} bytes, {} written\n"
        "entropy of the tokens' frequencies {:.4f} nats: a loss below it has learnt from order\n"
        "hash {}\n",
        printable(folder.string()), made.tokens, made.documents, flags.shards, made.bytes,
        made.written, made.unigram_nats, made.hash);
  return ExitCode::done;
}

bool holds_tokens(const std::filesystem::path& path) {
  std::error_code unknown;
  return std::filesystem::is_regular_file(path / loader::kTokenIndexName, unknown);
}

Result<ExitCode> info_tokens(const std::filesystem::path& path, const Context& context) {
  storage::StoreOptions options;
  options.input = path.string();
  options.read_mode = storage::ReadMode::mmap;
  SLUICE_TRY(auto store, storage::open_store(options));
  SLUICE_TRY(const auto text, loader::TokenDataset::open(std::move(store), 1));
  SLUICE_CHECK(text->check_ids(loader::kMostWords));
  const loader::TokenIndex& index = text->index();
  if (context.globals.json) {
    Json json = loader::to_json(index);
    json["path"] = path.string();
    json["kind"] = "text";
    json["tokens"] = index.tokens();
    print("{}\n", dump_json(json));
    return ExitCode::done;
  }
  print("{}: {} {} tokens in {} shards, {} bytes, vocabulary {}\n", printable(path.string()),
        index.tokens(), to_string(index.type), index.shards.size(),
        index.tokens() * bytes_of(index.type), index.vocabulary);
  return ExitCode::done;
}

}  // namespace sluice::cli
