// sluice/train/profile/peaks.cpp - the list of devices. Data sheets print the sparse figure of
// recent ones in bold; here stands half of it.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/profile/peaks.h"

#include "sluice/core/text.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cctype>
#include <string>

namespace sluice::train {
namespace {

constexpr std::array kTypes{PeakType::bf16, PeakType::fp16, PeakType::fp32};
constexpr std::array<std::string_view, 3> kSlower{"mig", "laptop", "max q"};

/// " nvidia a100 sxm4 80gb ": lower-case words between single spaces, also at both ends.
std::string words_of(std::string_view text) {
  std::string out = " ";
  for (const char c : text) {
    const auto byte = static_cast<unsigned char>(c);
    if (std::isalnum(byte) != 0)
      out += static_cast<char>(std::tolower(byte));
    else if (out.back() != ' ')
      out += ' ';
  }
  if (out.back() != ' ') out += ' ';
  return out;
}

}  // namespace

const char* to_string(PeakType type) {
  switch (type) {
    case PeakType::bf16:
      return "bf16";
    case PeakType::fp16:
      return "fp16";
    case PeakType::fp32:
      return "fp32";
  }
  return "";
}

Result<PeakType> parse_peak_type(std::string_view text) {
  for (const PeakType type : kTypes)
    if (text == to_string(type)) return type;
  return Error{Errc::usage, fmt::format("dtype '{}' has no peak; bf16, fp16, fp32 are accepted",
                                        printable(text))};
}

double DevicePeak::tflops(PeakType type) const {
  return type == PeakType::bf16 ? bf16 : type == PeakType::fp16 ? fp16 : fp32;
}

const std::vector<DevicePeak>& device_peaks() {
  constexpr std::string_view kH100 = "NVIDIA H100 data sheet, halved for dense";
  constexpr std::string_view kH200 = "NVIDIA H200 data sheet, halved for dense";
  constexpr std::string_view kAda = "NVIDIA Ada GPU architecture white paper, FP32 accumulate";
  constexpr std::string_view kAmpere = "NVIDIA GA102 GPU architecture white paper, FP32 accumulate";
  constexpr std::string_view kBlackwell =
      "NVIDIA RTX Blackwell GPU architecture white paper, FP32 accumulate";
  static const std::vector<DevicePeak> peaks{
      {"B200", 2250, 2250, 75, "NVIDIA HGX B200 data sheet, an eighth, halved for dense"},
      {"GB200", 2500, 2500, 80, "NVIDIA GB200 data sheet, per GPU, halved for dense"},
      {"H200", 989, 989, 67, kH200},
      {"H200 NVL", 835, 835, 60, kH200},
      {"GH200", 989, 989, 67, "NVIDIA GH200 data sheet, halved for dense"},
      {"H100 SXM", 989, 989, 67, kH100},
      {"H100 SXM5", 989, 989, 67, kH100},
      {"H100 80GB HBM3", 989, 989, 67, kH100},  // what the driver calls the SXM board
      {"H100 PCIe", 756, 756, 51, kH100},
      {"H100 NVL", 835, 835, 60, kH100},
      {"A100", 312, 312, 19.5, "NVIDIA A100 data sheet"},
      {"A40", 149.7, 149.7, 37.4, "NVIDIA A40 data sheet"},
      {"A30", 165, 165, 10.3, "NVIDIA A30 data sheet"},
      {"A10", 125, 125, 31.2, "NVIDIA A10 data sheet"},
      {"L40S", 362, 362, 91.6, "NVIDIA L40S data sheet"},
      {"L40", 181, 181, 90.5, "NVIDIA L40 data sheet"},
      {"L4", 121, 121, 30.3, "NVIDIA L4 data sheet, halved for dense"},
      {"V100", 0, 112, 14, "NVIDIA V100 data sheet, PCIe"},
      {"V100 SXM2", 0, 125, 15.7, "NVIDIA V100 data sheet"},
      {"V100 SXM3", 0, 125, 15.7, "NVIDIA V100 data sheet"},
      {"T4", 0, 65, 8.1, "NVIDIA T4 data sheet"},
      {"RTX 6000 Ada", 364.2, 364.2, 91.1, kAda},
      {"RTX A6000", 154.8, 154.8, 38.7, kAmpere},
      {"RTX 5090", 209.5, 209.5, 104.8, kBlackwell},
      {"RTX 4090", 165.2, 165.2, 82.6, kAda},
      {"RTX 4090 D", 147.1, 147.1, 73.5, kAda},
      {"RTX 4080 SUPER", 104.4, 104.4, 52.2, kAda},
      {"RTX 4080", 97.5, 97.5, 48.7, kAda},
      {"RTX 4070 Ti SUPER", 88.2, 88.2, 44.1, kAda},
      {"RTX 4070 Ti", 80.2, 80.2, 40.1, kAda},
      {"RTX 4070 SUPER", 71, 71, 35.5, kAda},
      {"RTX 4070", 58.3, 58.3, 29.1, kAda},
      {"RTX 3090 Ti", 80, 80, 40, kAmpere},
      {"RTX 3090", 71.2, 71.2, 35.6, kAmpere},
      {"RTX 3080 Ti", 68.2, 68.2, 34.1, kAmpere},
      {"RTX 3080", 59.5, 59.5, 29.8, kAmpere},
  };
  return peaks;
}

std::optional<DevicePeak> find_peak(std::string_view device_name) {
  const std::string name = words_of(device_name);
  for (const std::string_view slower : kSlower)
    if (name.find(words_of(slower)) != std::string::npos) return std::nullopt;
  const DevicePeak* best = nullptr;
  for (const DevicePeak& peak : device_peaks()) {
    if (name.find(words_of(peak.device)) == std::string::npos) continue;
    if (best == nullptr || peak.device.size() > best->device.size()) best = &peak;
  }
  if (best == nullptr) return std::nullopt;
  return *best;
}

Result<double> peak_tflops(std::string_view device_name, PeakType type) {
  const auto peak = find_peak(device_name);
  if (peak && peak->tflops(type) > 0) return peak->tflops(type);
  return Error{Errc::unsupported,
               fmt::format("the {} peak of '{}' is not known; --peak-tflops N gives its dense "
                           "TFLOP/s (half of what a data sheet prints \"with sparsity\")",
                           to_string(type), printable(device_name))};
}

}  // namespace sluice::train
