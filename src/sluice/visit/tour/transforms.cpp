// sluice/visit/tour/transforms.cpp - the tour's rows beside other libraries: who is here, a few
// transforms in one crew.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/backend/media.h"
#include "sluice/backend/members.h"
#include "sluice/config/from_json.h"
#include "sluice/core/folder_guard.h"
#include "sluice/core/log.h"
#include "sluice/peers/crew.h"
#include "sluice/peers/launch.h"
#include "sluice/peers/places.h"
#include "sluice/peers/semantics.h"
#include "sluice/results/resume.h"
#include "sluice/visit/decoders.h"
#include "sluice/visit/tour/tour.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <optional>

namespace sluice::visit {
namespace {

constexpr std::array kTourPeers = {"pillow", "opencv-wheel"};
constexpr const char* kScenario = "image-rgb";
constexpr const char* kSingle = "micro-single";
/// One of each kind, in which all three compute the same: memory, interpolation, warp, filter,
/// histogram. The codec has the row decode/jpeg.
constexpr std::array kTourTransforms = {"HorizontalFlip", "Resize", "Rotate", "GaussianBlur",
                                        "Equalize"};
constexpr std::int64_t kMostItems = 32;  // a sample is at least a pass over them

std::vector<std::string> with_ours(const std::vector<std::string>& libraries) {
  std::vector<std::string> all{"sluice"};
  all.insert(all.end(), libraries.begin(), libraries.end());
  return all;
}

std::string tour_case(const char* transform) {
  return plan::case_name(kScenario, plan::Mode::micro, transform);
}

/// What `sluice run` would read from a file.
Result<plan::Plan> tour_plan(const LaterPart& part, const measure::Policy& session) {
  Json document{
      {"version", 1},
      {"selection", Json{{"scenario", kScenario},
                         {"mode", "micro"},
                         {"libraries", {"sluice", "pillow", "opencv"}},
                         {"transforms", kTourTransforms}}},
      {"data", Json{{"num_items", std::clamp<std::int64_t>(part.file.dataset.count, 1, kMostItems)},
                    {"data_dir", part.data_dir.string()}}},
      {"execution", Json{{"num_runs", session.runs}}}};
  SLUICE_TRY(const plan::RunConfig config,
             plan::read_run_config(config::from_json(document), plan::Overrides{}));
  return plan::make_plan(config);
}

measure::Row not_measured(const plan::Case& one, const std::string& library, const Error& error) {
  measure::SubjectSpec spec;
  spec.case_name = one.name;
  spec.params = one.params;
  spec.library = library;
  spec.thread_policy = kSingle;
  return measure::refused_row(spec, error);
}

/// The rows of one case in place of those that are there.
Status put_case(const LaterPart& part, const std::string& name, std::vector<measure::Row> rows) {
  std::erase_if(part.file.rows, [&](const measure::Row& row) { return row.case_name == name; });
  part.file.rows.insert(part.file.rows.end(), std::make_move_iterator(rows.begin()),
                        std::make_move_iterator(rows.end()));
  return part.write();
}

/// One crew over all cases that are not finished.
class TransformPart {
 public:
  TransformPart(const LaterPart& part, const plan::Plan& plan, std::vector<std::string> libraries,
                std::optional<peers::Audit> audit)
      : part_(part), plan_(plan), libraries_(std::move(libraries)), audit_(std::move(audit)) {}

  Status run(const measure::Policy& session) {
    if (unfinished().empty()) return ok;
    const FolderGuard inputs(part_.folder / "inputs");
    const auto media = backend::prepare_media(plan_.config, inputs.path(), *part_.runner.progress);
    if (!media) return refuse_all(media.error());
    peers::CrewOptions options = backend::crew_options_of(
        plan_, media->load, part_.file.block_order_seed,
        {session.min_sample_ms, session.warmup_ms, session.step_timeout_s, session.cpus, 1});
    options.policy.data_seed = session.data_seed;
    options.members = backend::members_of(plan_);
    std::erase_if(options.members, [&](const peers::Member& member) {
      return std::find(libraries_.begin(), libraries_.end(), member.library) == libraries_.end();
    });
    peers::Crew crew(options, part_.runner);
    SLUICE_TRY(const std::vector<std::string> left_out, crew.start());
    return measure(crew, left_out);
  }

 private:
  [[nodiscard]] const std::vector<plan::Case>& cases() const { return plan_.jobs.front().cases; }

  [[nodiscard]] std::vector<std::size_t> unfinished() const {
    const auto finished = results::finished_cases(part_.file);
    std::vector<std::size_t> left;
    for (std::size_t c = 0; c < cases().size(); ++c)
      if (!results::is_finished(finished, cases()[c].name, libraries_)) left.push_back(c);
    return left;
  }

  Status measure(peers::Crew& crew, const std::vector<std::string>& left_out) {
    const std::vector<std::size_t> left = unfinished();
    auto bar = part_.runner.progress->bar("transforms", left.size(), "cases");
    for (std::size_t i = 0; i < left.size(); ++i) {
      const plan::Case& one = cases()[left[i]];
      bar.set(i, one.transform);
      SLUICE_TRY(std::vector<measure::Row> rows,
                 crew.measure(backend::crew_case_of(plan_, left[i]), static_cast<int>(left[i])));
      for (const std::string& library : left_out)
        rows.push_back(not_measured(
            one, library,
            {Errc::unsupported, "there is not enough memory for its workers beside the others"}));
      for (measure::Row& row : rows)
        if (audit_)
          row.not_comparable = audit_->not_comparable(kScenario, one.transform, row.library);
      SLUICE_CHECK(put_case(part_, one.name, std::move(rows)));
    }
    bar.set(left.size());
    return ok;
  }

  Status refuse_all(const Error& error) {
    log::warn("transforms: {}", error.message);
    for (const plan::Case& one : cases()) {
      std::vector<measure::Row> rows;
      for (const std::string& library : libraries_)
        rows.push_back(not_measured(one, library, error));
      SLUICE_CHECK(put_case(part_, one.name, std::move(rows)));
    }
    return ok;
  }

  const LaterPart& part_;
  const plan::Plan& plan_;
  std::vector<std::string> libraries_;
  std::optional<peers::Audit> audit_;
};

}  // namespace

std::vector<std::string> TourPeers::libraries() const {
  std::vector<std::string> names;
  for (const Peer& peer : decoders)
    names.push_back(peer.name);
  return names;
}

TourPeers find_tour_peers() {
  TourPeers found;
  for (const char* name : kTourPeers) {
    auto decoder = decoder_of(name, kJpegCase);
    if (!decoder) {
      const std::string& message = decoder.error().message;
      found.reason = message.substr(0, message.find("; run:"));  // the last sentence says it
      return found;
    }
    found.decoders.push_back(std::move(*decoder));
  }
  return found;
}

std::vector<std::string> tour_rows(const TourPeers& peers) {
  std::vector<std::string> rows;
  for (const char* transform : kTourTransforms)
    for (const std::string& library : with_ours(peers.libraries()))
      rows.push_back(tour_case(transform) + " in " + library);
  for (const char* part : {"training", "end-to-end"})
    rows.push_back(fmt::format("{}/{} in sluice", part, kTourModel));
  return rows;
}

Status tour_transforms(const LaterPart& part, const measure::Policy& session,
                       const TourPeers& peers) {
  SLUICE_TRY(const plan::Plan plan, tour_plan(part, session));
  SLUICE_TRY(const peers::Places places, peers::find_places());
  SLUICE_TRY(auto audit, peers::read_audit(places.adapters / "semantics.json"));
  return TransformPart(part, plan, with_ours(peers.libraries()), std::move(audit)).run(session);
}

}  // namespace sluice::visit
