// sluice/measure/worker/server.h - the worker's side of the protocol: answers until `bye`.
// SPDX-License-Identifier: Apache-2.0
#pragma once

#include "sluice/core/clock.h"
#include "sluice/core/result.h"
#include "sluice/measure/worker/protocol.h"
#include "sluice/measure/worker/subject.h"

namespace sluice::measure {

/// Serves one supervisor. Returns when it says `bye` or closes its end; an Error only when the
/// channel breaks. Everything a subject does wrong becomes an `error` message, and the worker goes
/// on.
Status serve(LineChannel& channel, const Catalogue& catalogue, Clock& clock);

/// The descriptors named in SLUICE_PEER_IN and SLUICE_PEER_OUT; an error that says how a worker is
/// meant to be started when they are not set.
Result<std::pair<int, int>> peer_descriptors();

/// peer_descriptors, then serve on the system clock: the whole main() of a native worker.
Status serve_on_environment(const Catalogue& catalogue);

}  // namespace sluice::measure
