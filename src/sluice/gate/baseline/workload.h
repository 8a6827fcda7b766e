// sluice/gate/baseline/workload.h - what a run computed: only runs of equal work are compared.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/gate/baseline/compare.h"

#include <map>
#include <string>
#include <vector>

namespace sluice::gate {

/// Values by field, such as "model" or "eval.fixed_shard_sha256". What a file does not tell, as
/// those of other programs and of earlier versions may not, is not among them.
using Workload = std::map<std::string, std::string>;

/// Of a training: model and its shape, batch, sequence, accumulation, number format, mode, kind of
/// device, optimizer, how far it is fused, input, how images are mixed and erased; of
/// threads only on the CPU. Nothing of how long it was measured. Of a watched program its words and
/// by which clock its steps are. The last block is judged by training_work.h, which knows what
/// files that do not tell it mean.
Workload workload_of(const results::TrainingMetrics& metrics);
/// Of an eval: the text and the probe sets, by their digests, tokenizer and how both were asked; of
/// the built-in model how it was trained, by the digest of its examples. The weights may differ:
/// what became of them is what is judged.
Workload workload_of(const Json& eval);
/// Of a run: of both files.
Workload workload_of(const RunFiles& files);

/// "model (baseline 'gpt-tiny', run 'vit5-tiny')" for each field that both tell and that differs.
std::vector<std::string> differences(const Workload& baseline, const Workload& run);

/// Eight hexadecimal digits, part of the name of a stored baseline. Of the training alone: evals
/// of one training share its baseline.
std::string workload_digest(const RunFiles& files);

}  // namespace sluice::gate
