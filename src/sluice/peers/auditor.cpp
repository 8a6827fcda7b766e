// sluice/peers/auditor.cpp - prepare, check with samples, read them back, compare.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/peers/auditor.h"

#include "sluice/core/file.h"
#include "sluice/core/log.h"
#include "sluice/core/text.h"
#include "sluice/measure/worker/session.h"

#include <fmt/format.h>

#include <cstring>

namespace sluice::peers {
namespace {

constexpr std::int64_t kMaxSide = 1 << 14;  // of a sample, in pixels
constexpr std::int64_t kMaxChannels = 64;

/// The libraries whose agreement makes a transform; `sluice` and `opencv` do not count.
bool has_vote(const std::string& library) {
  return library != "sluice" && library.rfind("opencv", 0) != 0;
}

struct Witness {
  std::string library;
  measure::SessionOptions how;
  measure::WorkerSession session;

  Status start(const measure::RunnerContext& context) {
    SLUICE_CHECK(session.start(how, context));
    session.pause();
    return ok;
  }
};

Result<std::vector<Witness>> start_all(const AuditOptions& options,
                                       const measure::RunnerContext& context) {
  std::vector<Witness> witnesses;
  auto bar = context.progress->bar("libraries", options.members.size(), "libraries");
  for (const Member& member : options.members) {
    bar.add(1, "starting " + member.library);
    if (!member.absent.empty()) {
      log::warn("{}: {}", member.library, member.absent);
      continue;
    }
    measure::SubjectSpec spec = spec_of(member);
    spec.thread_policy = "micro-single";
    auto how = measure::session_options(spec, context, options.timeout_s, options.seed);
    how.load = options.load;
    Witness witness{member.library, std::move(how), {}};
    const Status started = witness.start(context);
    if (started) {
      witnesses.push_back(std::move(witness));
    } else if (started.error().code == Errc::interrupted) {
      return started.error();
    } else {
      log::warn("{}: {}", member.library, started.error().message);
    }
  }
  return witnesses;
}

/// What one library makes of the inputs.
Result<Outputs> hear(Witness& witness, const CrewCase& one, const AuditOptions& options) {
  const std::size_t items = options.inputs.size();
  const std::filesystem::path file = options.folder / "samples.f32";
  SLUICE_CHECK(witness.session.ask(measure::Prepare{one.name, one.spec}, options.timeout_s));
  SLUICE_TRY(
      const auto checked,
      witness.session.ask(measure::Check{{{file, static_cast<std::int64_t>(items), options.draws}}},
                          options.timeout_s));
  SLUICE_TRY(auto pictures,
             read_samples(file, checked.shapes, items * static_cast<std::size_t>(options.draws)));
  Outputs outputs{witness.library, {}, has_vote(witness.library)};
  for (std::size_t i = 0; i < items; ++i) {
    auto& draws = outputs.outputs.emplace_back();
    for (int d = 0; d < options.draws; ++d)
      draws.push_back(std::move(
          pictures[i * static_cast<std::size_t>(options.draws) + static_cast<std::size_t>(d)]));
  }
  return outputs;
}

}  // namespace

Result<std::vector<Picture>> read_samples(const std::filesystem::path& file, const Json& shapes,
                                          std::size_t expected) {
  SLUICE_TRY(const auto bytes, read_binary_file(file));
  const auto refuse = [&](const std::string& what) {
    return Error{Errc::measurement, fmt::format("check: samples: {}", what)};
  };
  if (!shapes.is_array() || shapes.size() != expected)
    return refuse(
        fmt::format("{} shapes; expected {}", shapes.is_array() ? shapes.size() : 0, expected));
  std::vector<Picture> pictures;
  std::size_t at = 0;
  for (const Json& entry : shapes) {
    const auto shape = entry.is_object() ? entry.find("shape") : entry.end();
    if (!entry.is_object() || shape == entry.end() || !shape->is_array() || shape->size() != 3)
      return refuse("a shape must be [height, width, channels]");
    std::int64_t sides[3] = {0, 0, 0};
    for (std::size_t k = 0; k < 3; ++k) {
      if (!(*shape)[k].is_number_integer()) return refuse("a shape must hold integers");
      sides[k] = (*shape)[k].get<std::int64_t>();
      if (sides[k] < 1 || sides[k] > (k == 2 ? kMaxChannels : kMaxSide))
        return refuse(fmt::format("a side of {} is out of range", sides[k]));
    }
    Picture picture{
        static_cast<int>(sides[0]), static_cast<int>(sides[1]), static_cast<int>(sides[2]), {}};
    const auto count = static_cast<std::size_t>(sides[0] * sides[1] * sides[2]);
    if ((bytes.size() - at) / sizeof(float) < count)
      return refuse(fmt::format("the file ends after {} bytes", bytes.size()));
    picture.values.resize(count);
    std::memcpy(picture.values.data(), bytes.data() + at, count * sizeof(float));
    at += count * sizeof(float);
    pictures.push_back(std::move(picture));
  }
  return pictures;
}

Result<std::map<std::string, Agreement>> run_audit(const AuditOptions& options,
                                                   const measure::RunnerContext& context) {
  SLUICE_TRY(auto witnesses, start_all(options, context));
  std::map<std::string, Agreement> found;
  auto bar = context.progress->bar("audit", options.cases.size(), "transforms");
  for (const CrewCase& one : options.cases) {
    if (context.interrupted && context.interrupted())
      return Error{Errc::interrupted, "interrupted"};
    const std::string& transform = one.params.at("transform");
    bar.add(1, transform);
    std::vector<Outputs> heard;
    for (Witness& witness : witnesses) {
      if (!witness.session.alive()) continue;
      witness.session.resume();
      auto outputs = hear(witness, one, options);
      if (outputs) {
        heard.push_back(std::move(*outputs));
      } else if (outputs.error().code == Errc::interrupted) {
        return outputs.error();
      } else {
        log::info("{} in {}: {}", transform, witness.library, outputs.error().message);
        if (outputs.error().code != Errc::unsupported) {  // it may be gone, or confused
          witness.session.stop();
          if (const Status again = witness.start(context); !again)
            log::warn("{}: {}; left out from here", witness.library, again.error().message);
          continue;
        }
      }
      witness.session.pause();
    }
    if (!heard.empty()) found[transform] = agreement(options.inputs, heard);
  }
  for (Witness& witness : witnesses)
    witness.session.stop();
  return found;
}

}  // namespace sluice::peers
