// sluice/train/world/buckets.cpp - which operation writes a gradient last, and what lies beside it.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/world/buckets.h"

#include "sluice/train/program/touched.h"

#include <algorithm>
#include <map>

namespace sluice::train {
namespace {

/// Index of the last operation of backward that writes each gradient, by place: a name may be
/// another's memory. reducer_test compares every bucket with what backward leaves in the end.
std::map<std::size_t, std::size_t> last_writers(const Program& program) {
  std::map<std::size_t, std::size_t> last;
  for (std::size_t i = 0; i < program.backward.size(); ++i)
    for (const TensorId id : touched_by(program.backward[i].work).written)
      if (program.plan.at(id).arena == Arena::gradients) last[program.plan.at(id).offset] = i;
  return last;
}

}  // namespace

std::vector<Bucket> gradient_buckets(const Program& program, std::size_t least_bytes) {
  struct Piece {
    std::size_t begin, end, ready;
    bool decayed;
  };
  const std::map<std::size_t, std::size_t> last = last_writers(program);
  const std::size_t end = program.backward.empty() ? 0 : program.backward.size() - 1;
  std::vector<Piece> pieces;
  for (const Parameter& parameter : program.parameters) {
    const Tensor& gradient = program.plan.at(parameter.gradient);
    const auto written = last.find(gradient.offset);
    pieces.push_back({gradient.offset, gradient.offset + gradient.bytes(),
                      written != last.end() ? written->second : end, parameter.decayed});
  }
  std::sort(pieces.begin(), pieces.end(),
            [](const Piece& a, const Piece& b) { return a.begin < b.begin; });
  std::vector<Bucket> buckets;
  const Piece* previous = nullptr;
  for (const Piece& piece : pieces) {
    const bool goes_on = previous != nullptr && previous->decayed == piece.decayed &&
                         buckets.back().elements * sizeof(float) < least_bytes;
    if (!goes_on) buckets.push_back({piece.begin, 0, 0});
    Bucket& bucket = buckets.back();
    bucket.elements = (piece.end - bucket.offset) / sizeof(float);
    bucket.ready = std::max(bucket.ready, piece.ready);
    previous = &piece;
  }
  std::stable_sort(buckets.begin(), buckets.end(),
                   [](const Bucket& a, const Bucket& b) { return a.ready < b.ready; });
  return buckets;
}

}  // namespace sluice::train
