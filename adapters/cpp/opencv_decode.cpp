// adapters/cpp/opencv_decode.cpp - cv::imdecode: the peer that our decoder is measured beside.
// SPDX-License-Identifier: Apache-2.0
#include "adapters/cpp/opencv_decode.h"

#include "sluice/image/codec.h"
#include "sluice/scenario/inputs.h"
#include "sluice/scenario/item_subject.h"

#include <fmt/format.h>

#include <algorithm>
#include <cstdlib>
#include <opencv2/core.hpp>
#include <opencv2/imgcodecs.hpp>
#include <stdexcept>

namespace sluice::opencv {
namespace {

constexpr int kTolerance = 1;  // another build of a library may round the chroma differently

/// cv::imdecode of the same files in memory, each into a matrix that is kept, as ours are.
class OpencvDecodeSubject final : public scenario::ItemSubject {
 public:
  OpencvDecodeSubject(std::vector<scenario::EncodedFile> files, int threads)
      : ItemSubject(files.size(), threads), files_(std::move(files)), outputs_(files_.size()) {}

  Result<std::string> check() override {
    run_pass();
    image::Image ours;
    for (std::size_t i = 0; i < files_.size(); ++i) {
      SLUICE_CHECK(scenario::named(files_[i].name, image::decode(ours, files_[i].bytes)));
      if (const int worst = distance(ours.view<std::uint8_t>(), outputs_[i]); worst > kTolerance) {
        return Error{Errc::measurement,
                     fmt::format("{}: {} from our pixels", files_[i].name, worst)};
      }
    }
    return std::string("within 1 of sluice");
  }
  [[nodiscard]] double bytes_per_item() const override { return 0; }

 protected:
  void run_item(std::size_t index, unsigned) override {
    auto& bytes = files_[index].bytes;
    const cv::Mat encoded(1, static_cast<int>(bytes.size()), CV_8UC1, bytes.data());
    cv::imdecode(encoded, cv::IMREAD_COLOR | cv::IMREAD_IGNORE_ORIENTATION, &outputs_[index]);
    if (outputs_[index].empty())
      throw std::runtime_error(files_[index].name + ": OpenCV decodes nothing");
  }

 private:
  /// Largest difference, theirs being BGR; 256 when the sizes differ.
  static int distance(image::ImageView<std::uint8_t> ours, const cv::Mat& theirs) {
    if (theirs.cols != ours.width() || theirs.rows != ours.height() || theirs.channels() != 3)
      return 256;
    int worst = 0;
    for (int y = 0; y < ours.height(); ++y) {
      const auto* row = theirs.ptr<std::uint8_t>(y);
      for (int x = 0; x < ours.width(); ++x) {
        for (int c = 0; c < 3; ++c)
          worst = std::max(worst, std::abs(ours.at(x, y, c) - row[3 * x + 2 - c]));
      }
    }
    return worst;
  }

  std::vector<scenario::EncodedFile> files_;
  std::vector<cv::Mat> outputs_;
};

Result<std::unique_ptr<measure::Subject>> make(Result<std::vector<scenario::EncodedFile>> files,
                                               int threads) {
  if (!files) return std::move(files).error();
  return std::unique_ptr<measure::Subject>(
      std::make_unique<OpencvDecodeSubject>(std::move(files).value(), threads));
}

}  // namespace

void add_decode(measure::Catalogue& catalogue) {
  catalogue.scenarios["decode/jpeg"] = [](const measure::SubjectContext& context) {
    return make(scenario::read_files(context.data_dir), context.threads);
  };
  catalogue.scenarios["decode/jpeg-progressive"] = [](const measure::SubjectContext& context) {
    return make(scenario::read_progressive_files(context.data_dir), context.threads);
  };
  catalogue.scenarios["decode/png"] = [](const measure::SubjectContext& context) {
    return make(scenario::read_files_as(context.data_dir, image::Format::png), context.threads);
  };
  catalogue.scenarios["decode/webp"] = [](const measure::SubjectContext& context) {
    return make(scenario::read_files_as(context.data_dir, image::Format::webp), context.threads);
  };
}

}  // namespace sluice::opencv
