// sluice/visit/tour/tour.h - the parts of `sluice quick` that follow its own rows: transforms
// beside other libraries, training, and whether the loader would feed an accelerator.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/visit/session.h"

#include <string>
#include <vector>

namespace sluice::visit {

inline constexpr const char* kTourModel = "vit5-tiny";

/// Pillow and OpenCV's wheel, as far as they can be started here.
struct TourPeers {
  std::vector<Peer> decoders;  // of the row decode/jpeg on one thread
  std::string reason;          // why there are none
  [[nodiscard]] std::vector<std::string> libraries() const;
};
TourPeers find_tour_peers();

/// "CASE in LIBRARY" of every row that the parts below add.
std::vector<std::string> tour_rows(const TourPeers& peers);

// Each part leaves rows that an earlier visit finished as they are. What cannot be measured is a
// row or a line that says why; an Error ends the tour (Errc::interrupted, a full disk).

/// "image-rgb/micro/...", ours and the peers' in turn, one sample per run.
Status tour_transforms(const LaterPart& part, const measure::Policy& session,
                       const TourPeers& peers);
/// "training/vit5-tiny", a batch that stays, and "end-to-end/vit5-tiny", batches from the loader.
Status tour_training(const LaterPart& part, const measure::Policy& session);
/// Loader, an emulated accelerator and both together: `attribution` of the summary.
Status tour_accelerator(const LaterPart& part, const measure::Policy& session);

}  // namespace sluice::visit
