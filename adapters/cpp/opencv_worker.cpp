// adapters/cpp/opencv_worker.cpp - OpenCV behind the worker protocol, without Python.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/worker/server.h"
#include "sluice/scenario/micro/micro.h"

#include "adapters/cpp/opencv_decode.h"
#include "adapters/cpp/opencv_op.h"
#include <cstdio>
#include <opencv2/core.hpp>
#include <opencv2/core/ocl.hpp>

namespace sluice::opencv {
namespace {

/// OpenCV itself uses one thread; those of `decode/...` are ours, each with a decode of its own.
Result<Json> limit_threads(const measure::SubjectContext&) {
  cv::setNumThreads(1);
  cv::ocl::setUseOpenCL(false);
  return Json{{"opencv", cv::getNumThreads()}, {"opencl", cv::ocl::useOpenCL()}};
}

measure::Catalogue catalogue() {
  measure::Catalogue catalogue{"opencv", cv::getVersionString(), {}};
  catalogue.versions["opencv"] = catalogue.version;
  add_decode(catalogue);
  scenario::add_micro(catalogue, recipe_names(), make_op);
  catalogue.configure = limit_threads;
  return catalogue;
}

}  // namespace
}  // namespace sluice::opencv

int main() {
  (void)sluice::opencv::limit_threads({});
  const auto served = sluice::measure::serve_on_environment(sluice::opencv::catalogue());
  if (served) return 0;
  std::fprintf(stderr, "opencv_worker: %s\n", served.error().message.c_str());
  return 2;
}
