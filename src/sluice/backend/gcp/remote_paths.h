// sluice/backend/gcp/remote_paths.h - the one place of every name that a run has outside this
// machine: instances, labels, objects of the bucket, folders of the VM.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/result.h"

#include <map>
#include <string>
#include <string_view>

namespace sluice::backend::gcp {

inline constexpr const char* kDone = "DONE";
inline constexpr const char* kFailed = "FAILED";
inline constexpr const char* kExitCode = "exit_code.txt";
inline constexpr const char* kRunMeta = "run_meta.json";
inline constexpr const char* kVmLog = "vm.log";
inline constexpr const char* kRunFolder =
    "run";  // under the prefix: the run folder as the VM has it
inline constexpr const char* kJobFolder = "job";    // what the VM is given
inline constexpr const char* kEarlier = "earlier";  // in it: rows that are finished already
inline constexpr const char* kStartupScript = "startup.sh";
inline constexpr const char* kJobFile = "job.json";
inline constexpr const char* kConfigFile = "config.yaml";

/// Labels of every instance of ours; values are made of a-z, 0-9, '-' and '_'.
inline constexpr const char* kLabel = "benchmark";
inline constexpr const char* kLabelValue = "augmentation";
inline constexpr const char* kRunIdLabel = "benchmark-run-id";
inline constexpr const char* kSessionLabel = "benchmark-session";
inline constexpr const char* kOwnerLabel = "benchmark-owner";      // user and machine, hashed
inline constexpr const char* kProcessLabel = "benchmark-process";  // pid and when it began
inline constexpr const char* kModeLabel = "benchmark-mode";        // attached or detached
inline constexpr const char* kTtlLabel = "benchmark-ttl-hours";
inline constexpr const char* kExpiresLabel = "benchmark-expires";  // Unix seconds
inline constexpr const char* kKeepLabel = "benchmark-keep";  // the user keeps it until it expires
inline constexpr const char* kNetworkTag = "benchmark";

/// 32 hexadecimal digits from the system's random numbers.
std::string new_id();

/// benchmark-<machine type, at most 24>-<12 digits of the run id>: a valid name of at most 63.
std::string instance_name(std::string_view machine_type, std::string_view run_id);

/// gs://bucket/folder/<run id>, without a slash at the end.
std::string run_prefix(std::string_view results_uri, std::string_view run_id);
/// gs://bucket/folder/bundles/<digest>: programs, shared by all runs that use the same.
std::string bundle_prefix(std::string_view results_uri, std::string_view digest);
/// Environments of other libraries: augmentation-cache beside the results.
std::string environment_cache(std::string_view results_uri);
/// "a/b": with exactly one slash between them.
std::string under(std::string_view prefix, std::string_view name);

/// gs://bucket[/name...] with nothing that a shell, a wildcard or a URL could take otherwise.
Status check_uri(std::string_view key, std::string_view uri);
/// project, zone or the like: a-z, 0-9, '-', and ':' and '.' of old projects.
Status check_name(std::string_view key, std::string_view name);

/// Folders of the VM, of root.
inline constexpr const char* kVmWork = "/var/lib/sluice-run";

/// k=v,k=v for --labels.
std::string label_list(const std::map<std::string, std::string>& labels);

}  // namespace sluice::backend::gcp
