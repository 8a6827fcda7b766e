// sluice/cli/serve/serve.cpp - `sluice serve`: the page of stored runs, live, for this machine
// alone.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/cli/commands.h"
#include "sluice/cli/print.h"
#include "sluice/cli/serve/beneath.h"
#include "sluice/cli/serve/live.h"
#include "sluice/cli/serve/server.h"
#include "sluice/core/file.h"
#include "sluice/core/json.h"
#include "sluice/core/log.h"
#include "sluice/gate/baseline/store.h"
#include "sluice/measure/interrupt.h"

#include <fmt/format.h>

#include <utility>

namespace sluice::cli {
namespace {

namespace fs = std::filesystem;

struct ServeFlags {
  fs::path dir = "runs";
  fs::path baselines = gate::kBaselineDir;
  int port = 0;
  double keep_p = 1e-3;
};

/// A script in a file of the folder must not run as if it were ours.
constexpr const char* kFilePolicy =
    "default-src 'none'; style-src 'unsafe-inline'; img-src data:; sandbox";
/// As the page says it of itself, for what is looked at before it is read.
constexpr const char* kPagePolicy = "frame-ancestors 'none'; base-uri 'none'";

const char* type_of(const std::string& path) {
  static constexpr std::pair<std::string_view, const char*> kTypes[] = {
      {".json", "application/json"},
      {".html", "text/html; charset=utf-8"},
      {".svg", "image/svg+xml"},
      {".jsonl", "text/plain; charset=utf-8"},
      {".md", "text/plain; charset=utf-8"},
      {".txt", "text/plain; charset=utf-8"},
      {".csv", "text/plain; charset=utf-8"},
      {".yaml", "text/plain; charset=utf-8"},
      {".log", "text/plain; charset=utf-8"},
      {".prom", "text/plain; charset=utf-8"},
      {".xml", "text/plain; charset=utf-8"}};
  for (const auto& [ending, type] : kTypes)
    if (path.ends_with(ending)) return type;
  return "application/octet-stream";
}

Response not_found() {
  Response response;
  response.status = 404;
  response.body = std::make_shared<const std::string>("404: no such file here\n");
  return response;
}

Response file_of(const fs::path& folder, const std::string& relative) {
  OpenedFile opened = open_beneath(folder, relative);
  if (!opened.fd.open()) return not_found();
  Response response;
  response.type = type_of(relative);
  response.policy = kFilePolicy;
  response.file = std::move(opened.fd);
  response.file_bytes = opened.bytes;
  return response;
}

std::string runs_event(const LiveView& view) {
  return "event: runs\ndata: " + view.runs + "\n\n";
}

Response answer_to(const Request& request, const LiveSite& site, const ServeFlags& flags) {
  const std::string& path = request.path;
  Response response;
  if (path == "/" || path == "/index.html") {
    response.type = "text/html; charset=utf-8";
    response.policy = kPagePolicy;
    response.body = site.view().page;
  } else if (path == "/data.json") {
    response.type = "application/json";
    response.body = site.view().data;
  } else if (path == "/events") {
    response.type = "text/event-stream";
    response.events = true;
    response.body = std::make_shared<const std::string>(runs_event(site.view()));
  } else if (path.starts_with("/runs/")) {
    return file_of(flags.dir, path.substr(6));
  } else if (path.starts_with("/baselines/")) {
    return file_of(flags.baselines, path.substr(11));
  } else {
    return not_found();
  }
  return response;
}

Result<ExitCode> run_serve(const ServeFlags& flags, const Globals& globals) {
  std::error_code code;
  if (!fs::is_directory(flags.dir, code))
    return Error{Errc::not_found, fmt::format("{}: no such folder; give one that holds run folders",
                                              sluice::shown(flags.dir))};
  const measure::Interrupt interrupt;
  SLUICE_TRY(Server server, Server::listen(flags.port));
  LiveSite::Options options;
  options.runs = flags.dir;
  options.baselines = flags.baselines;
  options.changes.seed = globals.seed;
  options.changes.keep_p = flags.keep_p;
  SLUICE_TRY(const std::unique_ptr<LiveSite> site, LiveSite::start(options));
  for (const std::string& problem : site->problems())
    log::warn("{}; left out", problem);
  const std::string url = fmt::format("http://127.0.0.1:{}/", server.port());
  if (globals.json)
    print("{}\n", dump_json(Json{{"url", url}, {"port", server.port()}}));
  else
    print("{} shows {}; Ctrl-C ends it\n", url, sluice::shown(flags.dir));
  SLUICE_CHECK(finish_stdout());  // who started us waits for the address
  std::uint64_t shown_number = site->view().number;
  SLUICE_CHECK(
      server.serve([&](const Request& request) { return answer_to(request, *site, flags); },
                   interrupt.fd(), site->wake_fd(),
                   [&] {
                     const LiveView view = site->view();
                     std::string text = runs_event(view);
                     if (view.number != shown_number)
                       text += fmt::format("event: site\ndata: {}\n\n", view.number);
                     shown_number = view.number;
                     return text;
                   }));
  return ExitCode::done;  // Ctrl-C is how it ends
}

}  // namespace

void add_serve(CLI::App& root, Context& context) {
  auto [command, flags] = add_command<ServeFlags>(
      root, context, "serve", "Show stored and running runs in a browser of this machine, live",
      run_serve);
  add_value(command, "DIR", flags.dir, "DIR", "folder of run folders")->capture_default_str();
  add_value(command, "--baseline-dir", flags.baselines, "DIR",
            "folder of baselines and stored runs")
      ->capture_default_str();
  add_number(command, "--port", flags.port, 0, 65535,
             "port on 127.0.0.1; 0 takes any that is free");
  add_number(command, "--p", flags.keep_p, 1e-12, 0.5,
             "significance level at which a change is reported");
  add_examples(command, {"sluice serve", "sluice serve runs --port 8080"});
}

}  // namespace sluice::cli
