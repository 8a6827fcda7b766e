// tests/visit/study_fuzz.cpp - libFuzzer: any bytes as the file of a study are settings that can be
// fitted to a machine, or refused in one line.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/config/parse.h"
#include "sluice/visit/study/file.h"

#include <cstdint>
#include <cstdlib>
#include <string_view>

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace sluice;  // NOLINT(google-build-using-namespace): one function
  const auto node =
      config::parse(std::string_view(reinterpret_cast<const char*>(data), size), "study.yaml");
  if (!node) return 0;
  const auto study = visit::StudyFile::parse(*node);
  if (!study) {
    if (study.error().message.find('\n') != std::string::npos) std::abort();
    return 0;
  }
  visit::StudyLimits limits;
  limits.cpus = 2;
  limits.steps = 3;
  const visit::FittedStudy fitted = visit::fit_study(*study, limits);
  if (fitted.cases.empty() || fitted.cases.size() > study->cases.size()) std::abort();
  for (const visit::StudyCase& one : fitted.cases)
    if (one.knobs.cpus < 1 || one.knobs.cpus > 2) std::abort();
  return 0;
}
