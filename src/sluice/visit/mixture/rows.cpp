// sluice/visit/mixture/rows.cpp - specs of rows, and their runs read back.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/visit/mixture/rows.h"

#include "sluice/core/text.h"
#include "sluice/measure/axes.h"
#include "sluice/measure/policy.h"
#include "sluice/peers/launch.h"
#include "sluice/peers/places.h"
#include "sluice/results/run_folder.h"
#include "sluice/scenario/mixture/peer.h"

#include <fmt/format.h>

namespace sluice::visit {
namespace {

namespace fs = std::filesystem;

}  // namespace

measure::SubjectSpec named_mixture_row(const scenario::MixtureSpec& spec,
                                       const std::string& library,
                                       const std::map<std::string, std::string>& axes) {
  measure::SubjectSpec row;
  row.case_name = measure::case_name("mixture/" + loader::episodes::preset_label(spec.preset),
                                     measure::State{axes});
  row.params = axes;
  row.library = library;
  row.unit = "samples/s";
  return row;
}

Result<measure::SubjectSpec> mixture_row(const scenario::MixtureSpec& spec,
                                         const std::string& library,
                                         const std::map<std::string, std::string>& axes,
                                         const fs::path& batches) {
  measure::SubjectSpec row = named_mixture_row(spec, library, axes);
  row.params["batch_size"] = std::to_string(spec.options.batch_size);
  scenario::MixtureSpec sent = spec;
  if (!sent.remote()) sent.root = fs::absolute(sent.root).string();
  if (loader::episodes::is_preset_file(sent.preset))
    sent.preset = fs::absolute(sent.preset).string();
  const bool one_file = batches.extension() == ".jsonl";
  sent.batch_times =
      fs::absolute(one_file ? batches
                            : batches / results::file_name_part(row.case_name + "-" + library))
          .string();
  row.spec = to_json(sent);
  row.threads = spec.options.decode_threads;
  row.thread_policy = measure::kLoaderThreads;
  row.cpu_limit = measure::kNoCpuLimit;
  row.single_pass = true;
  row.cpus = spec.cpus;
  if (library == "sluice") {
    SLUICE_TRY(const peers::Places places, peers::find_places());
    row.command = places.worker();
    return row;
  }
  SLUICE_TRY(row.spec, scenario::peer_spec(sent));
  SLUICE_TRY(auto command, peers::worker_command(library, "mixture", measure::kLoaderThreads));
  row.command = std::move(command.command);
  row.environment = std::move(command.environment);
  return row;
}

Result<std::vector<MixtureTake>> mixture_takes(const std::vector<measure::Row>& rows) {
  std::vector<MixtureTake> takes;
  for (const measure::Row& row : rows) {
    for (const measure::Run& run : row.runs) {
      if (!run.details.is_array() || run.details.empty()) continue;
      const auto wrong = [&](const Error& error) {
        return Error{error.code,
                     fmt::format("{} in {}: {}", row.case_name, row.library, error.message)};
      };
      MixtureTake take{.case_name = row.case_name, .library = row.library, .block = run.block};
      auto read = scenario::mixture_run_from_json(run.details.front());
      if (!read) return wrong(read.error());
      take.run = std::move(*read);
      if (!take.run.batch_times.empty()) {
        auto batches = results::read_batch_times(take.run.batch_times);
        if (!batches) return wrong(batches.error());
        take.batches = std::move(*batches);
      }
      takes.push_back(std::move(take));
    }
  }
  return takes;
}

analysis::MixtureFacts mixture_facts_of(const MixtureTake& take,
                                        const scenario::MixtureSpec& spec) {
  analysis::MixtureFacts facts = analysis::mixture_facts(to_json(take.run.stats));
  facts.batch_size = spec.options.batch_size;
  facts.mix_block = spec.options.mix_block;
  facts.mix = to_string(spec.options.mix);
  facts.stage_cpu_s.clear();
  for (std::size_t i = 0; i < loader::mixture::kStages; ++i)
    facts.stage_cpu_s.emplace_back(to_string(static_cast<loader::mixture::MixtureStage>(i)),
                                   take.run.stage_cpu_s[i]);
  facts.cpu_s = take.run.cpu_s;
  facts.start_s = take.run.start_s;
  facts.stop_s = take.run.teardown_s;
  return facts;
}

}  // namespace sluice::visit
