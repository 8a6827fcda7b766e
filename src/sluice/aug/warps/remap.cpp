// sluice/aug/warps/remap.cpp - a warp whose map is given.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/aug/warps/remap.h"

#include "sluice/aug/warps/warp.h"

#include <fmt/format.h>

#include <algorithm>

namespace sluice::aug {
namespace {

template <class T>
Status check(const Frames<T>& frames, const RemapTable& table) {
  if (frames.dst.size() != frames.src.size() || frames.src.empty())
    return Error{Errc::invalid_input,
                 fmt::format("remap: {} inputs and {} outputs: as many, and at least one",
                             frames.src.size(), frames.dst.size())};
  const Shape in = shape_of(frames.src[0]), out = shape_of(frames.dst[0]);
  for (std::size_t f = 0; f < frames.size(); ++f)
    if (shape_of(frames.src[f]) != in || shape_of(frames.dst[f]) != out ||
        in.channels != out.channels)
      return Error{Errc::invalid_input,
                   "remap: frames of one shape and one number of channels are "
                   "accepted"};
  const std::size_t pixels =
      static_cast<std::size_t>(out.width) * static_cast<std::size_t>(out.height);
  if (table.x.size() != pixels || table.y.size() != pixels)
    return Error{Errc::invalid_input, fmt::format("remap: tables of {} and {}: {} are accepted",
                                                  table.x.size(), table.y.size(), pixels)};
  return ok;
}

template <class T>
Status fast(const Frames<T>& frames, const RemapTable& table, Scratch& scratch, double fill) {
  SLUICE_CHECK(check(frames, table));
  scratch.restart();
  const auto width = static_cast<std::size_t>(frames.dst[0].width());
  warp_rows(frames, scratch, false, fill, [&](const kernels::RemapRow& row, int y) {
    const std::size_t at = static_cast<std::size_t>(y) * width;
    std::copy_n(table.x.data() + at, width, row.x);
    std::copy_n(table.y.data() + at, width, row.y);
  });
  return ok;
}

template <class T>
Status plain(const Frames<T>& frames, const RemapTable& table, double fill) {
  SLUICE_CHECK(check(frames, table));
  const double width = frames.dst[0].width();
  for (std::size_t f = 0; f < frames.size(); ++f)
    warp_reference(frames.dst[f], frames.src[f], false, fill, [&](double x, double y) {
      const auto at = static_cast<std::size_t>(y * width + x);
      return Point{table.x[at], table.y[at]};
    });
  return ok;
}

}  // namespace

Status remap_bilinear(const Frames<std::uint8_t>& frames, const RemapTable& table, Scratch& scratch,
                      double fill) {
  return fast(frames, table, scratch, fill);
}
Status remap_bilinear(const Frames<float>& frames, const RemapTable& table, Scratch& scratch,
                      double fill) {
  return fast(frames, table, scratch, fill);
}
Status remap_bilinear_reference(const Frames<std::uint8_t>& frames, const RemapTable& table,
                                double fill) {
  return plain(frames, table, fill);
}
Status remap_bilinear_reference(const Frames<float>& frames, const RemapTable& table, double fill) {
  return plain(frames, table, fill);
}

}  // namespace sluice::aug
