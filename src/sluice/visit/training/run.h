// sluice/visit/training/run.h - one visit of `sluice bench training`: what is measured, in which
// order, and what it leaves.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/visit/training/plan.h"
#include "sluice/visit/visit.h"

namespace sluice::visit {

/// Errors before anything is written: a device that is not there, a batch that does not fit, input
/// that cannot be read. In a sweep a batch that does not fit costs its row only. `folder`: one that
/// is open already; null: that of --out, or a new one.
Result<Visited> run_training(const Caller& caller, const TrainingPlan& plan,
                             const results::RunFolder* folder = nullptr);

/// The machine as a run of `plan` sees it, without argv.
backend::VisitOptions training_visit(const TrainingPlan& plan);

/// "training/vit5-tiny", with the batch and the type where several are measured. The highest rung
/// has no name of its own: it is what stands beside other libraries. Neither has a full last block,
/// the model as it is written; the shortcut, mixing and erasing always have. Storage has one where
/// there are several inputs, and several ranks have their number. Without them: the plan's first
/// last block at the highest rung.
std::string training_case(const TrainingPlan& plan, train::Regime regime, int batch);
std::string training_case(const TrainingPlan& plan, train::Regime regime, int batch,
                          train::Rung rung);
std::string training_case(const TrainingPlan& plan, train::Regime regime, int batch,
                          train::Rung rung, train::LastBlock last_block,
                          const std::string& storage = "", int world = 1, bool sync_alone = false);

}  // namespace sluice::visit
