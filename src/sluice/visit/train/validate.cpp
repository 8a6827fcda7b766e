// sluice/visit/train/validate.cpp - `sluice train --validate`: a checkpoint against recorded
// figures.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/core/file.h"
#include "sluice/core/text.h"
#include "sluice/measure/interrupt.h"
#include "sluice/train/checkpoint.h"
#include "sluice/train/safetensors.h"
#include "sluice/visit/train/request.h"

#include <fmt/format.h>

#include <algorithm>
#include <cmath>

namespace sluice::visit {
namespace {

namespace fs = std::filesystem;

/// How far a figure may be off where the file does not say; written by --record.
struct Figure {
  const char* name;
  double tolerance;
};
constexpr Figure kFigures[] = {{"val_accuracy", 0.005},
                               {"val_loss", 0.01},
                               {"ema_val_accuracy", 0.005},
                               {"ema_val_loss", 0.01}};

struct Wanted {
  std::string name;
  double value = 0;
  double tolerance = 0;
};

Result<double> number_of(const Json& json, const std::string& file, const std::string& key) {
  if (json.is_number() && std::isfinite(json.get<double>()) && json.get<double>() >= 0)
    return json.get<double>();
  return Error{Errc::invalid_input,
               fmt::format("{}: '{}' is {}; a number of at least 0 is accepted", file, key,
                           printable(json.dump()))};
}

Result<bool> holds_average(const fs::path& checkpoint) {
  SLUICE_TRY(const train::SafetensorsFile file, train::SafetensorsFile::read(checkpoint));
  return std::any_of(file.entries().begin(), file.entries().end(),
                     [](const auto& entry) { return entry.name.starts_with("ema."); });
}

Result<std::vector<Wanted>> read_expectation(const fs::path& path) {
  const std::string file = printable(path.string());
  SLUICE_TRY(const std::string text, read_text_file(path, 1 << 20));
  SLUICE_TRY(const Json json, parse_json(text, file));
  const Json tolerance = json.is_object() ? json.value("tolerance", Json::object()) : Json();
  if (!json.is_object() || !tolerance.is_object())
    return Error{Errc::invalid_input,
                 fmt::format("{}: an object with val_accuracy, val_loss and an object tolerance "
                             "is accepted; --record writes one",
                             file)};
  std::vector<Wanted> wanted;
  for (const Figure& figure : kFigures) {
    if (!json.contains(figure.name)) continue;
    Wanted one{figure.name, 0, figure.tolerance};
    SLUICE_TRY(one.value, number_of(json.at(figure.name), file, one.name));
    if (tolerance.contains(figure.name)) {
      SLUICE_TRY(one.tolerance,
                 number_of(tolerance.at(figure.name), file, "tolerance." + one.name));
    }
    wanted.push_back(one);
  }
  if (wanted.empty())
    return Error{Errc::invalid_input,
                 fmt::format("{}: names no figure; val_accuracy, val_loss, ema_val_accuracy and "
                             "ema_val_loss are accepted",
                             file)};
  return wanted;
}

struct Comparison {
  Json lines = Json::array();
  bool inside = true;
};

Result<Comparison> compare(const std::vector<Wanted>& wanted, const Json& found) {
  Comparison comparison;
  for (const Wanted& one : wanted) {
    if (!found.contains(one.name))
      return Error{Errc::invalid_input,
                   fmt::format("--expect: names {}, but the checkpoint holds no average of the "
                               "weights",
                               one.name)};
    const double value = found.at(one.name).get<double>();
    const bool inside = std::abs(value - one.value) <= one.tolerance;
    comparison.inside = comparison.inside && inside;
    comparison.lines.push_back(Json{{"figure", one.name},
                                    {"expected", one.value},
                                    {"tolerance", one.tolerance},
                                    {"found", value},
                                    {"inside", inside}});
  }
  return comparison;
}

Status record(const fs::path& path, const Json& found) {
  Json json = found;
  for (const Figure& figure : kFigures)
    if (found.contains(figure.name)) json["tolerance"][figure.name] = figure.tolerance;
  return write_file_atomic(path, dump_json(json) + "\n");
}

}  // namespace

Result<ValidateResult> run_validate(ValidateRequest asked) {
  std::vector<Wanted> wanted;
  if (!asked.expect.empty()) {
    SLUICE_TRY(wanted, read_expectation(asked.expect));
  }
  TrainRequest& request = asked.train;
  SLUICE_TRY(request.engine.average, holds_average(asked.checkpoint));
  request.engine.optimizer = false;
  request.engine.soft_targets = false;
  SLUICE_TRY(const TrainData data, open_validation_data(request));
  SLUICE_TRY(const auto engine, train::Engine::make(request.engine));
  SLUICE_CHECK(data.validation->connect(*engine));
  SLUICE_TRY(const train::LoadedCheckpoint loaded,
             train::load_checkpoint(asked.checkpoint, *engine));
  const measure::Interrupt interrupt;
  const scenario::Stop stop = [&] { return interrupt.requested(); };
  SLUICE_TRY(const auto plain, scenario::evaluate(*engine, *data.validation, false, stop));
  Json found{
      {"samples", plain.samples}, {"val_accuracy", plain.top1()}, {"val_loss", plain.loss()}};
  if (request.engine.average) {
    SLUICE_TRY(const auto average, scenario::evaluate(*engine, *data.validation, true, stop));
    found["ema_val_accuracy"] = average.top1();
    found["ema_val_loss"] = average.loss();
  }
  SLUICE_TRY(const Comparison comparison, compare(wanted, found));
  if (!asked.record.empty()) SLUICE_CHECK(record(asked.record, found));
  const Json document{{"checkpoint", asked.checkpoint.string()}, {"step", loaded.step},
                      {"engine", engine_json(*engine)},          {"found", found},
                      {"comparison", comparison.lines},          {"inside", comparison.inside}};
  return ValidateResult{document, comparison.inside};
}

}  // namespace sluice::visit
