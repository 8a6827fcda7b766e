// sluice/backend/gcp/gcloud.h - the program gcloud: found, called with a time limit, called again.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/backend/gcp/calls.h"
#include "sluice/core/result.h"

#include <optional>
#include <string>
#include <vector>

namespace sluice::backend::gcp {

/// How long is waited between looks and tries. Tests make it short by SLUICE_GCP_WAIT_S (all
/// waits) and SLUICE_GCP_CALL_S (the limit of every call), in seconds.
struct Pace {
  double poll_s = 30;
  double retry_s = 5;
  std::optional<double> call_limit_s;
  static Result<Pace> from_environment();
};

class Gcloud {
 public:
  /// gcloud in PATH. Errc::not_found, naming it, where there is none.
  static Result<Gcloud> find(int cancel_fd);

  /// What it printed. Tried `attempts` times; Errc::timeout, Errc::interrupted, or Errc::io with
  /// what it complained of.
  [[nodiscard]] Result<std::string> run(const Call& call) const;
  /// Waits; false: the user asked to stop meanwhile.
  [[nodiscard]] bool wait(double seconds) const;
  /// From now on Ctrl-C ends no call: what was made is being deleted. A second one still ends us.
  void finish_whatever_comes() { cancel_fd_ = -1; }
  [[nodiscard]] const Pace& pace() const { return pace_; }

 private:
  [[nodiscard]] Result<std::string> run_once(const Call& call) const;
  std::string program_;
  Pace pace_;
  int cancel_fd_ = -1;
};

/// The zone has none of these machines now: another zone may.
bool is_stock_out(const Error& error);

struct Instance {
  std::string name, zone, status;
  std::map<std::string, std::string> labels;
  [[nodiscard]] std::string label(const char* key) const;
};
Result<std::vector<Instance>> instances(const Gcloud& gcloud, const Call& call);

}  // namespace sluice::backend::gcp
