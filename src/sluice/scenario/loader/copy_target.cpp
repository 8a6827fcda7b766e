// sluice/scenario/loader/copy_target.cpp - one batch at a time to a GPU.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/scenario/loader/copy_target.h"

#include "sluice/core/text.h"
#include "sluice/scenario/loader/outbox.h"
#include "sluice/train/cuda/library.h"

#include <fmt/format.h>

#include <algorithm>
#include <vector>

namespace sluice::scenario {

Result<std::unique_ptr<CopyTarget>> CopyTarget::open(const std::string& device,
                                                     std::size_t batch_bytes) {
  if (device != "cuda")
    return Error{
        Errc::unsupported,
        fmt::format("no device '{}' to copy batches to; cuda is accepted", printable(device))};
  auto session = train::cuda::Session::open(0, batch_bytes);
  if (!session)
    return Error{Errc::unsupported,
                 fmt::format("no CUDA device to copy batches to: {}", session.error().message)};
  return std::unique_ptr<CopyTarget>(new CopyTarget(std::move(*session), pinned_for(0)));
}

Status CopyTarget::take(std::span<const std::byte> batch) {
  SLUICE_CHECK(session_.upload(session_.memory(), batch));
  return session_.synchronize();
}

Status CopyTarget::check(std::span<const std::byte> batch) {
  SLUICE_CHECK(take(batch));
  std::vector<std::byte> back(batch.size());
  SLUICE_CHECK(session_.download(back, session_.memory()));
  if (std::ranges::equal(back, batch)) return ok;
  return Error{Errc::measurement, "the device holds another batch than was sent"};
}

}  // namespace sluice::scenario
