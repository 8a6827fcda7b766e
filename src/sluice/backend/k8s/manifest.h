// sluice/backend/k8s/manifest.h - a run, or a command, as Indexed Jobs of Kubernetes: pure
// functions.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/backend/cluster/folder.h"
#include "sluice/core/result.h"
#include "sluice/plan/run_config.h"

#include <string>
#include <vector>

namespace sluice::backend {

/// A ConfigMap with what tasks must know, then per node type an Indexed Job (batch/v1) with a task
/// per index: one at a time on a node, evicted pods not counted as failures, a failing index tried
/// three times by itself, unless another try would end the same: bad input, the verdict of a
/// command. The task that ends last collects. `out` is the folder of the run on the volume;
/// `config` is, of a command, its cluster and k8s alone. Errc::usage where the k8s section lacks
/// the image or the volume.
Result<std::vector<Json>> k8s_objects(const plan::RunConfig& config, const Submission& submission,
                                      const std::string& out);

/// The objects as one YAML file, as `kubectl apply -f` takes it.
std::string k8s_manifest(const std::vector<Json>& objects);

/// `text` as the name of an object: small letters, digits and '-', at most 63.
std::string k8s_name(const std::string& text);

}  // namespace sluice::backend
