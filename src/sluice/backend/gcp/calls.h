// sluice/backend/gcp/calls.h - every command line of gcloud that we use, as a value.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include <cstdint>
#include <filesystem>
#include <map>
#include <string>
#include <string_view>
#include <vector>

namespace sluice::backend::gcp {

struct Call {
  std::vector<std::string> arguments;  // after "gcloud"
  double timeout_s = 120;
  int attempts = 3;                // all of them may fail; one that makes something has one
  std::filesystem::path folder{};  // to start in: paths of ours never stand in an argument
};

/// As one would type it; nothing in it is left to the shell.
std::string to_text(const Call& call);
std::string shell_quoted(std::string_view text);

/// What an instance is made of.
struct InstanceSpec {
  std::string project, zone, name;
  std::string machine_type, gpu_type;  // an accelerator that the machine does not bring itself
  bool gpu = false;                    // some GPU is in it
  bool hyperdisk = false;
  bool preemptible = false;
  std::int64_t disk_gb = 100;
  std::int64_t deadline_s = 0;  // the cloud itself deletes it then
  std::map<std::string, std::string> labels;
  std::filesystem::path stage;  // the local folder with the start-up script
};

Call create_instance(const InstanceSpec& spec);
Call delete_instance(const std::string& project, const std::string& zone, const std::string& name);
Call delete_disk(const std::string& project, const std::string& zone, const std::string& name);
/// JSON: [{name, zone, status, labels}].
Call list_instances(const std::string& project, const std::string& filter);
/// JSON: [{name, zone}].
Call list_disks(const std::string& project, const std::string& filter);
/// JSON: what the cloud still does to an instance.
Call list_operations(const std::string& project, const std::string& name);
/// The whole folder; what is there already is not sent again.
Call upload(const std::filesystem::path& folder, const std::string& uri);
/// Names right under `prefix`, one per line.
Call list_objects(const std::string& prefix);
Call download(const std::string& uri, const std::filesystem::path& folder);

std::string name_filter(const std::string& name);
std::string label_filter(const std::string& key, const std::string& value);

}  // namespace sluice::backend::gcp
