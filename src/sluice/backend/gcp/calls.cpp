// sluice/backend/gcp/calls.cpp - arguments and time limits.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/backend/gcp/calls.h"

#include "sluice/backend/gcp/remote_paths.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::backend::gcp {
namespace {

constexpr double kTransferLimit_s = 900;
constexpr double kCreateLimit_s = 900;
constexpr double kDeleteLimit_s = 600;

// Drivers of the GPU are part of the second image.
constexpr const char* kHostImage = "ubuntu-2404-lts-amd64";
constexpr const char* kHostImageProject = "ubuntu-os-cloud";
constexpr const char* kGpuImage = "pytorch-2-9-cu129-ubuntu-2404-nvidia-580";
constexpr const char* kGpuImageProject = "deeplearning-platform-release";

void append(std::vector<std::string>& to, std::initializer_list<std::string> more) {
  to.insert(to.end(), more);
}

}  // namespace

std::string shell_quoted(std::string_view text) {
  const bool plain = !text.empty() && std::all_of(text.begin(), text.end(), [](char c) {
    return (c >= 'a' && c <= 'z') || (c >= 'A' && c <= 'Z') || (c >= '0' && c <= '9') ||
           std::string_view("-_./:=,@%+").find(c) != std::string_view::npos;
  });
  if (plain) return std::string(text);
  std::string quoted = "'";
  for (const char c : text)
    quoted += c == '\'' ? std::string("'\\''") : std::string(1, c);
  return quoted + "'";
}

std::string to_text(const Call& call) {
  std::string line = "gcloud";
  for (const std::string& argument : call.arguments)
    line += " " + shell_quoted(argument);
  return line;
}

std::string name_filter(const std::string& name) {
  return "name=" + name;
}

std::string label_filter(const std::string& key, const std::string& value) {
  return fmt::format("labels.{}={}", key, value);
}

Call create_instance(const InstanceSpec& spec) {
  std::vector<std::string> arguments = {"compute", "instances", "create", spec.name};
  append(arguments, {"--project", spec.project, "--zone", spec.zone});
  append(arguments, {"--machine-type", spec.machine_type});
  append(arguments, {"--image-family", spec.gpu ? kGpuImage : kHostImage});
  append(arguments, {"--image-project", spec.gpu ? kGpuImageProject : kHostImageProject});
  append(arguments, {"--boot-disk-size", fmt::format("{}GB", spec.disk_gb)});
  append(arguments, {"--boot-disk-type", spec.hyperdisk ? "hyperdisk-balanced" : "pd-balanced"});
  append(arguments, {"--boot-disk-auto-delete", "--scopes", "cloud-platform"});
  append(arguments, {"--tags", kNetworkTag, "--labels", label_list(spec.labels)});
  append(arguments, {"--max-run-duration", fmt::format("{}s", spec.deadline_s)});
  append(arguments, {"--instance-termination-action", "DELETE", "--no-restart-on-failure"});
  if (spec.gpu) append(arguments, {"--maintenance-policy", "TERMINATE"});
  if (!spec.gpu_type.empty())
    append(arguments, {"--accelerator", fmt::format("type={},count=1", spec.gpu_type)});
  if (spec.preemptible) append(arguments, {"--provisioning-model", "SPOT"});
  append(arguments,
         {"--metadata-from-file", fmt::format("startup-script={}", kStartupScript), "--quiet"});
  return {arguments, kCreateLimit_s, 1, spec.stage};
}

Call delete_instance(const std::string& project, const std::string& zone, const std::string& name) {
  return {{"compute", "instances", "delete", name, "--project", project, "--zone", zone,
           "--delete-disks", "all", "--quiet"},
          kDeleteLimit_s,
          1};
}

Call delete_disk(const std::string& project, const std::string& zone, const std::string& name) {
  return {{"compute", "disks", "delete", name, "--project", project, "--zone", zone, "--quiet"},
          kDeleteLimit_s,
          1};
}

Call list_instances(const std::string& project, const std::string& filter) {
  return {{"compute", "instances", "list", "--project", project, "--filter", filter, "--format",
           "json(name,zone,status,labels)"}};
}

Call list_disks(const std::string& project, const std::string& filter) {
  return {{"compute", "disks", "list", "--project", project, "--filter", filter, "--format",
           "json(name,zone)"}};
}

Call list_operations(const std::string& project, const std::string& name) {
  return {{"compute", "operations", "list", "--project", project, "--filter",
           fmt::format("targetLink~/instances/{}$ AND status!=DONE", name), "--format",
           "json(name,status)"}};
}

Call upload(const std::filesystem::path& folder, const std::string& uri) {
  return {{"storage", "rsync", "--recursive", ".", uri}, kTransferLimit_s, 3, folder};
}

Call list_objects(const std::string& prefix) {
  return {{"storage", "ls", under(prefix, "")}};
}

Call download(const std::string& uri, const std::filesystem::path& folder) {
  return {{"storage", "rsync", "--recursive", uri, "."}, kTransferLimit_s, 3, folder};
}

}  // namespace sluice::backend::gcp
