// sluice/train/cuda/forms.cpp - the module's list of forms against a device.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/cuda/forms.h"

#include "sluice/train/cuda/library.h"

#include <fmt/format.h>

#include <algorithm>
#include <dlfcn.h>
#include <string_view>

namespace sluice::train::cuda {

std::vector<FormInForce> forms_for(std::span<const KernelForm> forms, int capability) {
  std::vector<FormInForce> list;
  for (const KernelForm& form : forms) {
    const bool taken = std::any_of(list.begin(), list.end(), [&](const FormInForce& other) {
      return other.kernel == form.kernel && other.in_force && other.takes == "all";
    });
    list.push_back({form.kernel, form.form, form.takes, form.least,
                    !taken && form.least <= capability && capability <= form.most});
  }
  return list;
}

Result<DeviceForms> forms_on(int index) {
  // Asked first, since loading the module (and cuBLASLt with it) takes most of a second.
  void* driver = dlopen("libcuda.so.1", RTLD_LAZY | RTLD_LOCAL);
  if (driver == nullptr)
    return Error{Errc::usage,
                 fmt::format("device cuda:{}: no CUDA driver is installed (libcuda.so.1)", index)};
  dlclose(driver);
  SLUICE_TRY(const DeviceFacts facts, device_facts(index));
  SLUICE_TRY(const Table* table, library());
  const int capability = facts.major * 10 + facts.minor;
  return DeviceForms{
      fmt::format("cuda:{} {}, sm_{}", index, facts.name, capability),
      forms_for({table->forms, static_cast<std::size_t>(table->form_count)}, capability)};
}

std::string to_text(const Result<DeviceForms>& forms) {
  if (!forms) return "none: " + forms.error().message;
  std::vector<std::string> kinds;  // in the order of the list, "portable" last
  for (const FormInForce& one : forms->forms)
    if (one.in_force && one.form != "portable" &&
        std::find(kinds.begin(), kinds.end(), one.form) == kinds.end())
      kinds.push_back(one.form);
  std::string text = forms->device + ": ";
  for (const std::string& kind : kinds) {
    std::string_view separator = "";
    text += kind + " (";
    for (const FormInForce& one : forms->forms) {
      if (!one.in_force || one.form != kind) continue;
      text += separator;
      text += one.kernel;
      separator = ", ";
    }
    text += "), ";
  }
  return text + "portable for the rest";
}

Json to_json(const Result<DeviceForms>& forms) {
  if (!forms) return Json{{"reason", forms.error().message}};
  Json list = Json::array();
  for (const FormInForce& one : forms->forms)
    list.push_back(Json{{"kernel", one.kernel},
                        {"form", one.form},
                        {"min_sm", one.least},
                        {"takes", one.takes},
                        {"in_force", one.in_force}});
  return Json{{"device", forms->device}, {"forms", std::move(list)}};
}

}  // namespace sluice::train::cuda
