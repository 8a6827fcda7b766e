// tests/measure/answers_fuzz.cpp - no answer of a worker crashes the supervisor; what is accepted
// is in range. The first byte chooses the message.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/measure/worker/claims.h"
#include "sluice/measure/worker/messages.h"

#include <cstddef>
#include <cstdint>
#include <cstdlib>
#include <string_view>

namespace {

using namespace sluice::measure;  // NOLINT(google-build-using-namespace): one file

template <class Message>
void read(const sluice::Json& json) {
  const auto answer = Message::Answer::read(json);
  if (!answer && answer.error().message.find('\n') != std::string::npos) std::abort();
}

void measured(const sluice::Json& json) {
  const auto answer = Measure::Answer::read(json);
  if (!answer) return;
  for (const std::int64_t ns : answer->samples_ns)
    if (ns < 1) std::abort();
  const Witness witness{1'000'000'000, 2'000'000'000, 500'000'000};
  Run run;
  if (!check_times(*answer, witness)) return;
  (void)check_work(Measure{"case"}, *answer, witness, 1e8);
  (void)add_sample(run, *answer, answer->items_per_sample);
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  if (size == 0) return 0;
  const std::string_view text(reinterpret_cast<const char*>(data) + 1, size - 1);
  const auto json = sluice::parse_json(text, "fuzz");
  if (!json || !json->is_object()) return 0;  // the channel hands on objects alone
  (void)ErrorAnswer::read(*json);
  switch (data[0] % 9) {
    case 0:
      read<Hello>(*json);
      break;
    case 1:
      read<Configure>(*json);
      break;
    case 2:
      read<Prepare>(*json);
      break;
    case 3:
      read<Check>(*json);
      break;
    case 4:
      read<Preflight>(*json);
      break;
    case 5:
      read<Support>(*json);
      break;
    case 6:
      read<Logprobs>(*json);
      break;
    case 7:
      read<Generate>(*json);
      break;
    default:
      measured(*json);
  }
  return 0;
}
