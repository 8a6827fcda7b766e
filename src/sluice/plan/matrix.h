// sluice/plan/matrix.h - what can be measured: scenario x mode x library, with devices and scopes.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/json.h"
#include "sluice/plan/transforms.h"

#include <optional>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::plan {

enum class Mode { micro, pipeline, decode };
enum class Media { image, video };
/// What a pipeline row times; every scope collates a batch.
enum class Scope {
  memory_dataloader_augment,            // decoded samples in memory
  decode_dataloader_augment,            // files, decoded in the workers
  decode_dataloader_augment_batch_copy  // the same, and the batch copied to the device
};
/// Who carries a job out.
enum class Backend {
  native,      // a program without Python: ours, OpenCV's C++ worker, anybody's worker
  python,      // a micro adapter in the environment of its group
  dataloader,  // the torch DataLoader adapter
  dali,        // the DALI adapter
  decoder,     // the adapter of the video decoders
};

struct MatrixScenario {
  std::string_view name;
  Media media;
  int channels;
  int clip_length;  // frames of an item; 1 for images
  std::vector<Mode> modes;
  Mode default_mode;
  std::optional<TransformSet> set;  // none: decoders only
};

/// One library in one scenario and mode. In decode mode the libraries are the decoders.
struct Support {
  std::string_view scenario;
  Mode mode;
  std::string_view library;
  std::vector<std::string_view> devices;  // accepted values of execution.device
  std::vector<Scope> scopes;              // pipeline mode only
  std::string_view group;                 // of requirements; empty: no environment needed
  Backend backend;
  bool optional = false;    // a table is complete without it
  bool named_only = false;  // measured only when selection.libraries names it
  bool host_fallback =
      false;  // a device that it lacks: runs on the host, labelled, and is no error
};

const std::vector<MatrixScenario>& scenarios();
const MatrixScenario* find_scenario(std::string_view name);
const std::vector<Support>& matrix();
const Support* find_support(std::string_view scenario, Mode mode, std::string_view library);
/// The libraries of a scenario and mode in the order of tables.
std::vector<std::string> library_names(std::string_view scenario, Mode mode);
/// Those measured when none is named: what runs on `device` and has `scope`, named_only left out.
std::vector<std::string> default_libraries(std::string_view scenario, Mode mode,
                                           std::string_view device, Scope scope);
/// The rows of one result file: opencv is its C++ worker and the wheel, any other is itself.
std::vector<std::string> row_libraries(const Support& support);

[[nodiscard]] bool has_mode(const MatrixScenario& scenario, Mode mode);
[[nodiscard]] bool has_scope(const Support& support, Scope scope);
[[nodiscard]] bool has_device(const Support& support, std::string_view device);
/// There, or on the host and labelled so: clips (host_fallback), and any library whose batches are
/// copied to the device after its transforms.
[[nodiscard]] bool runs_on(const Support& support, std::string_view device, Scope scope);

const char* to_string(Mode mode);
const char* to_string(Media media);
const char* to_string(Scope scope);
const char* to_string(Backend backend);
Json matrix_json();

}  // namespace sluice::plan
