// sluice/train/world/buckets.cpp - which operation writes a gradient last, and what lies beside it.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/world/buckets.h"

#include <algorithm>
#include <initializer_list>
#include <map>
#include <variant>

namespace sluice::train {
namespace {

/// Notes the gradients that an operation writes. One that is left out here would be added up before
/// it is whole; reducer_test compares every bucket with what backward leaves in the end.
class LastWriter {
 public:
  explicit LastWriter(const Program& program) : plan_(program.plan) {
    for (std::size_t i = 0; i < program.backward.size(); ++i) {
      index_ = i;
      std::visit(*this, program.backward[i].work);
    }
  }
  [[nodiscard]] std::size_t of(TensorId gradient) const {
    const auto found = last_.find(plan_.at(gradient).offset);
    return found != last_.end() ? found->second : index_;
  }

  void operator()(const LinearBackwardWeight& op) { note({op.dw}); }
  void operator()(const FoldLayerScale& op) { note({op.d_weight, op.d_gamma}); }
  void operator()(const AssembleTokensBackward& op) {
    note({op.d_position, op.d_class_token, op.d_registers});
  }
  void operator()(const EmbedBackward& op) { note({op.d_table}); }
  void operator()(const RmsNormBackward& op) { note({op.d_gamma}); }
  void operator()(const QkNormRopeBackward& op) { note({op.d_gamma_q, op.d_gamma_k}); }
  void operator()(const QkvAttentionBackward& op) { note({op.d_gamma_q, op.d_gamma_k}); }
  void operator()(const AddBranchBackward& op) { note({op.d_gamma}); }
  void operator()(const Clear& op) { note({op.what}); }
  template <class Other>
  void operator()(const Other&) {}

 private:
  void note(std::initializer_list<TensorId> written) {
    for (const TensorId id : written)
      if (id.exists() && plan_.at(id).arena == Arena::gradients)
        last_[plan_.at(id).offset] = index_;  // by place: a name may be another's memory
  }
  const MemoryPlan& plan_;
  std::size_t index_ = 0;
  std::map<std::size_t, std::size_t> last_;
};

}  // namespace

std::vector<Bucket> gradient_buckets(const Program& program, std::size_t least_bytes) {
  struct Piece {
    std::size_t begin, end, ready;
    bool decayed;
  };
  const LastWriter writer(program);
  std::vector<Piece> pieces;
  for (const Parameter& parameter : program.parameters) {
    const Tensor& gradient = program.plan.at(parameter.gradient);
    pieces.push_back({gradient.offset, gradient.offset + gradient.bytes(),
                      writer.of(parameter.gradient), parameter.decayed});
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
