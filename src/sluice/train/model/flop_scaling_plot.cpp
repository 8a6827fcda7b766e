// sluice/train/model/flop_scaling_plot.cpp - the scaling rows as an SVG with logarithmic axes.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/model/flop_scaling.h"

#include <fmt/format.h>

#include <algorithm>
#include <array>
#include <cmath>

namespace sluice::train {
namespace {

constexpr double kWidth = 760, kHeight = 480;  // pixels
constexpr double kLeft = 70, kRight = 190, kTop = 46, kBottom = 56;
constexpr int kUsualPatches = 196;  // 224 pixels in patches of 16

struct Curve {
  const char* name;
  const char* colour;
  bool dashed;  // inference
  double (*value)(const ScalingRow&);
};

const std::array kCurves{
    Curve{"Attention", "#c2410c", false, [](const ScalingRow& row) { return row.attention.train; }},
    Curve{"Hyena, training", "#1d4ed8", false,
          [](const ScalingRow& row) { return row.hyena.train; }},
    Curve{"Hyena, inference", "#1d4ed8", true,
          [](const ScalingRow& row) { return row.hyena.infer; }},
    Curve{"Hyena + FiLM", "#15803d", false,
          [](const ScalingRow& row) { return row.hyena_film.train; }},
    Curve{"CKConv in Hyena, training", "#7e22ce", false,
          [](const ScalingRow& row) { return row.ckconv.train; }},
    Curve{"CKConv in Hyena, inference", "#7e22ce", true,
          [](const ScalingRow& row) { return row.ckconv.infer; }}};

/// From a value to a pixel, logarithmic.
struct Axis {
  double low, high;    // log10 of the ends
  double start, stop;  // pixels
  [[nodiscard]] double at(double value) const {
    return start + (std::log10(value) - low) / (high - low) * (stop - start);
  }
};

std::string line(double x1, double y1, double x2, double y2, std::string_view style) {
  return fmt::format("<line x1=\"{:.1f}\" y1=\"{:.1f}\" x2=\"{:.1f}\" y2=\"{:.1f}\" {}/>\n", x1, y1,
                     x2, y2, style);
}

std::string text(double x, double y, std::string_view anchor, std::string_view words) {
  return fmt::format("<text x=\"{:.1f}\" y=\"{:.1f}\" text-anchor=\"{}\">{}</text>\n", x, y, anchor,
                     words);
}

std::string grid_lines(const std::vector<ScalingRow>& rows, const Axis& x, const Axis& y) {
  std::string out;
  for (int power = static_cast<int>(y.low); power <= static_cast<int>(y.high); ++power) {
    const double at = y.at(std::pow(10, power));
    out += line(x.start, at, x.stop, at, "stroke=\"#ddd\"");
    out += text(x.start - 8, at + 4, "end", fmt::format("{:g}", std::pow(10, power)));
  }
  double last = -1e9;
  for (const ScalingRow& row : rows) {
    const double at = x.at(row.patches);
    out += line(at, y.start, at, y.start + 4, "stroke=\"#555\"");
    if (at - last < 34) continue;  // the numbers would touch
    out += text(at, y.start + 18, "middle", fmt::format("{}", row.patches));
    last = at;
  }
  out += line(x.start, y.start, x.stop, y.start, "stroke=\"#555\"");
  out += line(x.start, y.start, x.start, y.stop, "stroke=\"#555\"");
  return out;
}

std::string curve_of(const Curve& curve, const std::vector<ScalingRow>& rows, const Axis& x,
                     const Axis& y) {
  std::string points;
  for (const ScalingRow& row : rows)
    points += fmt::format("{:.1f},{:.1f} ", x.at(row.patches), y.at(curve.value(row) / 1e9));
  points.pop_back();
  return fmt::format(
      "<polyline points=\"{}\" fill=\"none\" stroke=\"{}\" stroke-width=\"2\"{}><title>{}</title>"
      "</polyline>\n",
      points, curve.colour, curve.dashed ? " stroke-dasharray=\"6 4\"" : "", curve.name);
}

std::string legend() {
  std::string out;
  double y = kTop + 10;
  const double x = kWidth - kRight + 14;
  for (const Curve& curve : kCurves) {
    out += line(x, y - 4, x + 20, y - 4,
                fmt::format("stroke=\"{}\" stroke-width=\"2\"{}", curve.colour,
                            curve.dashed ? " stroke-dasharray=\"6 4\"" : ""));
    out += text(x + 26, y, "start", curve.name);
    y += 20;
  }
  return out;
}

}  // namespace

std::string scaling_svg(const std::vector<ScalingRow>& rows) {
  double least = kCurves[0].value(rows.front());
  double most = least;
  for (const ScalingRow& row : rows) {
    for (const Curve& curve : kCurves) {
      least = std::min(least, curve.value(row));
      most = std::max(most, curve.value(row));
    }
  }
  const Axis x{std::log10(rows.front().patches), std::log10(rows.back().patches), kLeft,
               kWidth - kRight};
  const Axis y{std::floor(std::log10(least / 1e9)), std::ceil(std::log10(most / 1e9)),
               kHeight - kBottom, kTop};

  std::string out = fmt::format(
      "<svg xmlns=\"http://www.w3.org/2000/svg\" viewBox=\"0 0 {0} {1}\" width=\"{0}\" "
      "height=\"{1}\" font-family=\"sans-serif\" font-size=\"12\" fill=\"#222\" role=\"img\" "
      "aria-label=\"Forward FLOPs by number of patches\">\n"
      "<rect width=\"100%\" height=\"100%\" fill=\"#fff\"/>\n",
      kWidth, kHeight);
  out += "<g font-size=\"15\">" +
         text(kLeft, 24, "start", "Forward GFLOP per sample by number of patches") + "</g>\n";
  out += grid_lines(rows, x, y);
  if (rows.front().patches <= kUsualPatches && kUsualPatches <= rows.back().patches) {
    const double at = x.at(kUsualPatches);
    out += line(at, y.start, at, y.stop, "stroke=\"#555\" stroke-dasharray=\"4 4\"");
    out += text(at + 5, y.stop + 12, "start", fmt::format("{} patches", kUsualPatches));
  }
  for (const Curve& curve : kCurves)
    out += curve_of(curve, rows, x, y);
  out += legend();
  out += text((x.start + x.stop) / 2, kHeight - 12, "middle", "patches");
  out += fmt::format(
      "<text transform=\"translate(18 {:.1f}) rotate(-90)\" text-anchor=\"middle\">GFLOP</text>\n",
      (y.start + y.stop) / 2);
  return out + "</svg>\n";
}

}  // namespace sluice::train
