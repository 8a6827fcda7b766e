// sluice/cli/report.cpp - `sluice report DIR|FILE...`: renders result files again.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/report/report.h"

#include "sluice/cli/commands.h"
#include "sluice/core/file.h"
#include "sluice/core/text.h"
#include "sluice/results/result_file.h"

#include <fmt/format.h>

#include <cstdlib>
#include <memory>
#include <unistd.h>

namespace sluice::cli {
namespace {

namespace fs = std::filesystem;

struct ReportArgs {
  std::vector<std::string> inputs;
  std::string format;
};

struct Loaded {
  std::vector<fs::path> paths;
  std::vector<results::ResultFile> files;
};

Result<Loaded> load(const std::vector<std::string>& inputs) {
  Loaded loaded;
  for (const auto& input : inputs) {
    SLUICE_TRY(const auto paths, results::find(input));
    for (const auto& path : paths) {
      SLUICE_TRY(auto file, results::read(path));
      loaded.paths.push_back(path);
      loaded.files.push_back(std::move(file));
    }
  }
  return loaded;
}

/// Beside the results: in the run folder itself, or next to the one file that was named.
Result<fs::path> output_folder(const ReportArgs& args, const fs::path& out) {
  if (!out.empty()) return out;
  if (args.inputs.size() > 1) {
    return Error{Errc::usage, "report: several inputs: say where the report goes with --out DIR"};
  }
  const fs::path input = args.inputs.front();
  std::error_code code;
  if (fs::is_directory(input, code)) return input;
  return input.has_parent_path() ? input.parent_path() : fs::path(".");
}

bool colour_wanted() {
  const char* no_colour = std::getenv("NO_COLOR");  // NOLINT(concurrency-mt-unsafe)
  return ::isatty(STDOUT_FILENO) == 1 && (no_colour == nullptr || *no_colour == '\0');
}

struct Rendered {
  const char* format;
  const char* file_name;
  std::string (*render)(const std::vector<results::ResultFile>&);
};

std::string text_on_stdout(const std::vector<results::ResultFile>& files) {
  report::TextOptions options;
  options.colour = colour_wanted();
  return report::text_table(files, options);
}

std::string plain_text(const std::vector<results::ResultFile>& files) {
  return report::text_table(files);
}

constexpr Rendered kFormats[] = {{"md", "report.md", report::markdown},
                                 {"html", "report.html", report::html},
                                 {"csv", "results.csv", report::csv},
                                 {"text", "report.txt", plain_text}};

void print(const std::string& text) {
  std::fwrite(text.data(), 1, text.size(), stdout);
}

Result<ExitCode> print_json(const Loaded& loaded) {
  Json document = {{"schema_version", results::kSchemaVersion}, {"files", Json::array()}};
  for (std::size_t i = 0; i < loaded.files.size(); ++i) {
    document["files"].push_back(
        Json{{"path", loaded.paths[i].string()}, {"result", results::to_json(loaded.files[i])}});
  }
  print(results::to_text(document));
  return ExitCode::done;
}

Result<ExitCode> run_report(const ReportArgs& args, const Globals& globals) {
  SLUICE_TRY(const Loaded loaded, load(args.inputs));
  if (globals.json) return print_json(loaded);
  if (!args.format.empty() && globals.out.empty()) {
    for (const auto& format : kFormats) {
      if (args.format != format.format) continue;
      print(args.format == "text" ? text_on_stdout(loaded.files) : format.render(loaded.files));
    }
    return ExitCode::done;
  }
  SLUICE_TRY(const fs::path folder, output_folder(args, globals.out));
  SLUICE_CHECK(create_folders(folder));
  for (const auto& format : kFormats) {
    const bool wanted =
        args.format.empty() ? format.render != plain_text : args.format == format.format;
    if (!wanted) continue;
    const fs::path path = folder / format.file_name;
    SLUICE_CHECK(write_file_atomic(path, format.render(loaded.files)));
    print(printable(path.string()) + "\n");
  }
  return ExitCode::done;
}

}  // namespace

void add_report(CLI::App& root, Context& context) {
  auto args = std::make_shared<ReportArgs>();
  CLI::App* sub =
      add_command(root, context, "report", "Render result files as Markdown, HTML and CSV",
                  [args, &context] { return run_report(*args, context.globals); });
  sub->add_option("inputs", args->inputs, "Result files or run folders")
      ->required()
      ->type_name("DIR|FILE");
  sub->add_option("--format", args->format,
                  "Only this one: on stdout, or into the folder that --out names")
      ->check(CLI::IsMember({"html", "md", "csv", "text"}));
  add_examples(*sub,
               {"sluice report runs/20260131T120000Z-quick-cpu", "sluice report R --format text",
                "sluice report R --format csv > rows.csv", "sluice report A B --out compared"});
}

}  // namespace sluice::cli
