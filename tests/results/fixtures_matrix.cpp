// tests/results/fixtures_matrix.cpp - what `sluice run` leaves: several regimes, rows of every
// status.
// SPDX-License-Identifier: Apache-2.0
#include <fmt/format.h>

#include "tests/results/fixtures.h"

namespace sluice::fixtures {
namespace {

using measure::RowStatus;

constexpr const char* kSession = "20260131T120000Z-4711";

const std::vector<std::string> kTransforms = {"Resize", "HorizontalFlip", "Pad",
                                              "Rotate", "Elastic",        "MedianBlur",
                                              "Rain",   "Solarize",       "Transpose"};

measure::Row named(measure::Row row, const MatrixShape& shape, const std::string& transform) {
  row.params = {{"transform", transform}};
  if (shape.mode == "pipeline") {
    row.params["scope"] = shape.scope;
    row.params["batch_size"] = std::to_string(shape.batch_size);
    row.params["workers"] = std::to_string(shape.workers);
  }
  row.unit = shape.scenario.starts_with("video") ? "clips/s" : "img/s";
  row.thread_policy.name = shape.mode == "micro" ? "micro-single" : "pipeline-default";
  return row;
}

std::string case_of(const MatrixShape& shape, const std::string& transform) {
  const std::string recipe =
      shape.mode == "pipeline" ? "RandomCrop224+" + transform + "+Normalize+ToTensor" : transform;
  return fmt::format("{}/{}/{}", shape.scenario, shape.mode, recipe);
}

/// One cell to be: a rate, or the reason why there is none.
struct Cell {
  const char* transform;
  const char* library;
  double rate;
  RowStatus status = RowStatus::ok;
  const char* reason = "";
  const char* not_comparable = "";
  double spread = 0.01;
};

constexpr Cell kMicro[] = {
    {"Resize", "albumentationsx", 2463},
    {"Resize", "torchvision", 979, RowStatus::ok, "", "keeps the aspect ratio: short side 512"},
    {"Resize", "pillow", 396.3},
    {"Resize", "opencv", 2623},
    {"Resize", "opencv-wheel", 1625},
    {"HorizontalFlip", "albumentationsx", 8416},
    {"HorizontalFlip", "torchvision", 1999},
    {"HorizontalFlip", "pillow", 2612},
    {"HorizontalFlip", "opencv", 5347},
    {"HorizontalFlip", "opencv-wheel", 9428},
    {"Pad", "albumentationsx", 13181},
    {"Pad", "torchvision", 2420},
    {"Pad", "pillow", 3167},
    {"Pad", "opencv", 0, RowStatus::unsupported, "the OpenCV worker offers no Pad"},
    {"Pad", "opencv-wheel", 0, RowStatus::unsupported, "the OpenCV worker offers no Pad"},
    {"Rotate", "albumentationsx", 1408},
    {"Rotate", "torchvision", 222.9},
    {"Rotate", "pillow", 1710, RowStatus::ok, "", "", 0.3},
    {"Rotate", "opencv", 985},
    {"Elastic", "albumentationsx", 191},
    {"Elastic", "torchvision", 0, RowStatus::early_stopped,
     "Elastic slower than threshold: 0.122 sec/image >= 0.050"},
    {"Elastic", "pillow", 0, RowStatus::unsupported, "Elastic is not available in pillow"},
    {"Elastic", "opencv", 0, RowStatus::unsupported, "the OpenCV worker offers no Elastic"},
    {"MedianBlur", "albumentationsx", 843.3},
    {"MedianBlur", "torchvision", 0, RowStatus::unsupported,
     "MedianBlur is not available in torchvision"},
    {"MedianBlur", "pillow", 0, RowStatus::early_stopped,
     "MedianBlur slower than threshold: 0.166 sec/image >= 0.050"},
    {"MedianBlur", "opencv", 802},
    {"Rain", "albumentationsx", 1259},
    {"Rain", "torchvision", 0, RowStatus::failed, "worker killed by signal 11 (SIGSEGV)"},
    {"Rain", "pillow", 0, RowStatus::unsupported, "Rain is not available in pillow"},
    {"Rain", "opencv", 0, RowStatus::skipped, "interrupted before it was measured"},
    {"Solarize", "albumentationsx", 3010, RowStatus::ok, "", "", 0.02},
    {"Solarize", "torchvision", 4210, RowStatus::ok, "",
     "compares 8-bit values with 0.5: inverts all but black"},
    {"Solarize", "pillow", 2980, RowStatus::ok, "", "", 0.02},
};

constexpr Cell kLoader[] = {
    {"Resize", "albumentationsx", 4614},
    {"Resize", "torchvision", 3322},
    {"Resize", "pillow", 3241},
    {"HorizontalFlip", "albumentationsx", 5120},
    {"HorizontalFlip", "torchvision", 4410},
    {"HorizontalFlip", "pillow", 3980},
    {"Elastic", "albumentationsx", 1130},
    {"Elastic", "torchvision", 233},
    {"Elastic", "pillow", 0, RowStatus::unsupported, "Elastic is not available in pillow"},
};

constexpr Cell kGpu[] = {
    {"Resize", "torchvision", 2533},
    {"Resize", "kornia", 605},
    {"HorizontalFlip", "torchvision", 2900},
    {"HorizontalFlip", "kornia", 0, RowStatus::failed, "CUDA error: out of memory"},
};

constexpr Cell kVideo[] = {
    {"Resize", "albumentationsx", 210},
    {"Resize", "kornia", 18.6},
    {"MedianBlur", "albumentationsx", 132.3},
    {"MedianBlur", "kornia", 0, RowStatus::early_stopped,
     "MedianBlur slower than threshold: 2.131 sec/video >= 2.000"},
};

template <std::size_t N>
void add_files(std::vector<results::ResultFile>& files, const MatrixShape& shape,
               const Cell (&cells)[N]) {
  std::vector<std::string> order;
  std::vector<results::ResultFile> made;
  std::uint64_t seed = 31;
  for (const Cell& cell : cells) {
    const std::string library = cell.library;
    const std::string name = library == "opencv-wheel" ? "opencv" : library;
    std::size_t at = 0;
    while (at < order.size() && order[at] != name)
      ++at;
    if (at == order.size()) {
      order.push_back(name);
      made.push_back(matrix_file(shape, name));
    }
    ++seed;
    auto row = matrix_row(shape, cell.transform, library, cell.rate, cell.spread, seed);
    if (cell.status != RowStatus::ok) {
      row.status = cell.status;
      row.reason = cell.reason;
      row.runs.clear();
      row.summary.reset();
      row.output_digest.clear();
      row.peak_rss_bytes.reset();
    }
    row.not_comparable = cell.not_comparable;
    if (shape.device == "cuda" && row.summary)
      row.gpu_memory = measure::GpuMemory{std::int64_t{501} << 20, std::int64_t{2810} << 20};
    made[at].rows.push_back(std::move(row));
  }
  for (auto& file : made)
    files.push_back(std::move(file));
}

}  // namespace

results::ResultFile matrix_file(const MatrixShape& shape, const std::string& library) {
  results::ResultFile file = quick();
  file.rows.clear();
  file.argv = {"sluice", "run", "--config", "configs/examples/local_rgb_micro_cpu.yaml"};
  file.session_id = kSession;
  const bool loader = shape.mode == "pipeline";
  file.timing.scope = loader ? "pipeline" : "kernel";
  file.timing.includes_decode = loader && shape.scope != "memory_dataloader_augment";
  file.timing.includes_collate = loader;
  file.timing.includes_transfer = loader && shape.device != "none";
  file.run_config = Json{{"version", 1},
                         {"selection",
                          {{"scenario", shape.scenario},
                           {"mode", shape.mode},
                           {"media", shape.scenario.starts_with("video") ? "video" : "image"},
                           {"libraries", {library}},
                           {"transforms", kTransforms}}},
                         {"data", {{"data_dir", "data/val"}, {"num_items", 64}}},
                         {"execution",
                          {{"num_runs", shape.runs},
                           {"batch_size", shape.batch_size},
                           {"workers", loader ? shape.workers : 0},
                           {"pipeline_scope", shape.scope},
                           {"device", shape.device},
                           {"thread_policy", loader ? Json("pipeline-default") : Json(nullptr)}}},
                         {"output", {{"output_dir", "runs/matrix"}}}};
  return file;
}

measure::Row matrix_row(const MatrixShape& shape, const std::string& transform,
                        const std::string& library, double rate, double spread,
                        std::uint64_t seed) {
  measure::Row row = make_row({.case_name = case_of(shape, transform),
                               .library = library,
                               .rate = rate > 0 ? rate : 1,
                               .spread = spread,
                               .runs = shape.runs,
                               .samples = 2,
                               .seed = seed});
  return named(std::move(row), shape, transform);
}

std::vector<results::ResultFile> matrix() {
  std::vector<results::ResultFile> files;
  add_files(files, {}, kMicro);
  using Rates = std::vector<std::pair<std::string, double>>;
  const std::pair<std::size_t, Rates> published[] = {
      {0, {{"Resize", 2462.7}, {"HorizontalFlip", 8416.0}, {"Rotate", 1407.6}}},
      {1, {{"Resize", 978.9}, {"HorizontalFlip", 1999.2}, {"Rotate", 222.9}}},
      {2, {{"Resize", 396.3}, {"HorizontalFlip", 2612.5}, {"Rotate", 1045.5}}}};
  for (const auto& [at, rates] : published)
    files[at].matrix.emplace().published = rates;
  MatrixShape loader{.mode = "pipeline", .batch_size = 256, .workers = 8};
  add_files(files, loader, kLoader);
  loader.device = "cuda";
  add_files(files, loader, kGpu);
  MatrixShape small{
      .mode = "pipeline", .scope = "decode_dataloader_augment", .batch_size = 32, .workers = 2};
  add_files(files, small, kLoader);
  MatrixShape video;
  video.scenario = "video-16f";
  add_files(files, video, kVideo);
  return files;
}

}  // namespace sluice::fixtures
