// sluice/measure/record.cpp - names of states.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/record.h"

namespace sluice::measure {

const char* to_string(RowStatus status) {
  switch (status) {
    case RowStatus::ok:
      return "ok";
    case RowStatus::early_stopped:
      return "early_stopped";
    case RowStatus::unsupported:
      return "unsupported";
    case RowStatus::failed:
      return "failed";
    case RowStatus::skipped:
      return "skipped";
  }
  return "failed";
}

const char* to_string(Better better) {
  return better == Better::higher ? "higher" : "lower";
}

}  // namespace sluice::measure
