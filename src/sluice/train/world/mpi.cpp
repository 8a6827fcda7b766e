// sluice/train/world/mpi.cpp - sums and messages over the table of libsluice_mpi.so.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/train/world/mpi.h"

#include "sluice/core/module.h"
#include "sluice/core/process/survivors.h"
#include "sluice/core/text.h"
#include "sluice/train/phase.h"
#include "sluice/train/world/mpi_table.h"

#include <fmt/format.h>

#include <algorithm>
#include <chrono>
#include <csignal>
#include <cstdlib>
#include <fcntl.h>
#include <future>
#include <thread>
#include <unistd.h>
#include <utility>

namespace sluice::train {
namespace {

constexpr int kTellTag = 1, kAnswerTag = 2, kArrivedTag = 3, kProcessTag = 4, kFailedTag = 5;
/// A rank that was just told something is soon told more; one that waits longer leaves its core.
constexpr std::int64_t kAwakeNs = 20'000'000;
constexpr auto kNap = std::chrono::microseconds(200);
constexpr std::int64_t kLookNs = 20'000'000;       // from one look at the others to the next
constexpr std::int64_t kLingerNs = 2'000'000'000;  // for rank 0 to say what happened
constexpr std::int64_t kWriteNs = 10'000'000'000;  // for rank 0 to write its results
constexpr double kStart_s = 20;                    // MPI takes long on a busy machine
constexpr std::int64_t kPartNs = 300'000'000;      // for last words to go
constexpr char kArrived = 1, kStillHere = 2;
constexpr int kSpokenFor = -1;  // instead of an error's code: be silent
constexpr double kBeats = 8;    // so often a waiting rank says within the limit that it is there

/// The first that ranks say of themselves. Plain numbers.
struct Greeting {
  RankProcess process, writer;
};

Result<const SluiceMpiTable*> load_table() {
  SLUICE_TRY(void* const symbol, load_module("mpi", kSluiceMpiSymbol));
  const SluiceMpiTable* table = reinterpret_cast<SluiceMpiTableFunction*>(symbol)();
  if (table->abi != kSluiceMpiAbi)
    return Error{
        Errc::unsupported,
        fmt::format("libsluice_mpi.so speaks version {}, this program {}; build both again",
                    table->abi, kSluiceMpiAbi)};
  return table;
}

/// Who adds up: ranks of one machine in memory that they share, unless the variable says MPI.
constexpr const char* kSumsVariable = "SLUICE_SUMS_BY";
bool sums_by_mpi() {
  const char* const by = std::getenv(kSumsVariable);
  return by != nullptr && std::string_view(by) == "mpi";
}
Status check_sums() {
  const char* const by = std::getenv(kSumsVariable);
  if (by == nullptr || sums_by_mpi() || std::string_view(by) == "memory") return ok;
  return Error{Errc::usage,
               fmt::format("{} '{}': accepted: memory (the default on one machine), mpi",
                           kSumsVariable, printable(by))};
}

/// Ranks that start on this machine are none of Slurm's: Open MPI would ask it who it is, and start
/// them by srun, which waits for the cores that this step has.
void forget_slurm() {
  std::vector<std::string> names;
  for (char** one = environ; *one != nullptr; ++one) {
    const std::string_view variable(*one);
    if (variable.starts_with("SLURM")) names.emplace_back(variable.substr(0, variable.find('=')));
  }
  for (const std::string& name : names)
    ::unsetenv(name.c_str());
}

/// What is known of one that does not come: the end of a sentence, or nothing.
std::string why_late(const RankProcess& process) {
  return state_of(process) == ProcessState::stopped ? ": it was stopped by a signal" : "";
}

}  // namespace

/// What is started while it lives has no stderr.
class QuietStderr {
 public:
  QuietStderr() : before_(::fcntl(STDERR_FILENO, F_DUPFD_CLOEXEC, 3)) {
    const int nowhere = ::open("/dev/null", O_WRONLY | O_CLOEXEC);
    if (before_ >= 0 && nowhere >= 0) ::dup2(nowhere, STDERR_FILENO);
    if (nowhere >= 0) ::close(nowhere);
  }
  ~QuietStderr() {
    if (before_ < 0) return;
    ::dup2(before_, STDERR_FILENO);
    ::close(before_);
  }
  QuietStderr(const QuietStderr&) = delete;
  QuietStderr& operator=(const QuietStderr&) = delete;

 private:
  int before_;
};

/// One that looks around now and then, and has a limit.
class MpiWorld::Wait {
 public:
  explicit Wait(double limit_s)
      : start_ns_(now_ns()), limit_ns_(static_cast<std::int64_t>(limit_s * 1e9)) {}

  /// Whether it is time to look around; leaves the core to others otherwise.
  bool look() {
    at_ns_ = now_ns();
    if (at_ns_ - looked_ns_ < kLookNs) {
      std::this_thread::yield();
      return false;
    }
    looked_ns_ = at_ns_;
    return true;
  }
  [[nodiscard]] bool is_over(double longer_s = 0) const {
    return at_ns_ - start_ns_ > limit_ns_ + static_cast<std::int64_t>(longer_s * 1e9);
  }
  /// `times` within the limit.
  bool beat(double times) {
    if (static_cast<double>(at_ns_ - beat_ns_) * times < static_cast<double>(limit_ns_))
      return false;
    beat_ns_ = at_ns_;
    return true;
  }

 private:
  std::int64_t start_ns_, limit_ns_;
  std::int64_t at_ns_ = start_ns_, looked_ns_ = start_ns_, beat_ns_ = start_ns_;
};

MpiWorld::MpiWorld(const SluiceMpiTable& table, const Options& options)
    : table_(table), options_(options) {}

Result<std::unique_ptr<MpiWorld>> MpiWorld::start(int size, const std::vector<std::string>& command,
                                                  const Options& options) {
  SLUICE_CHECK(check_sums());
  SLUICE_TRY(const SluiceMpiTable* const table, load_table());
  // More ranks than cores are wanted at times, and as root in containers; Open MPI asks first.
  ::setenv("OMPI_MCA_rmaps_base_oversubscribe", "1", 0);
  ::setenv("OMPI_ALLOW_RUN_AS_ROOT", "1", 0);
  ::setenv("OMPI_ALLOW_RUN_AS_ROOT_CONFIRM", "1", 0);
  forget_slurm();
  // Its daemon would end the ranks that are left when one has died, and nobody knew which it was.
  ::setenv("OMPI_MCA_orte_enable_recovery", "1", 0);
  // It may think of a rank that has just ended that it does not want to, and sleeps twice so many
  // seconds.
  ::setenv("OMPI_MCA_odls_base_sigkill_timeout", "0", 0);
  std::unique_ptr<MpiWorld> world(new MpiWorld(*table, options));
  {
    const QuietStderr quiet;  // the daemon keeps it: pages about a rank that we name in one line
    SLUICE_CHECK(world->open(size - 1, command));
  }
  spare_children();  // MPI's daemon, whose children the other ranks are
  if (world->size_ != size)
    return Error{Errc::internal,
                 fmt::format("{} ranks were to be started, MPI gives {}", size, world->size_)};
  return world;
}

Result<std::unique_ptr<MpiWorld>> MpiWorld::join(const LaunchedRank& launched,
                                                 const Options& options) {
  SLUICE_CHECK(check_sums());
  SLUICE_TRY(const SluiceMpiTable* const table, load_table());
  std::unique_ptr<MpiWorld> world(new MpiWorld(*table, options));
  world->launched_ = launched.launcher != Launcher::none;
  world->local_rank_ = launched.local_rank;
  SLUICE_CHECK(world->open(0, {""}));
  const bool differs = world->rank_ != launched.rank || world->size_ != launched.size;
  if (launched.launcher != Launcher::none && differs)
    return Error{Errc::usage,
                 fmt::format("{} started this process as rank {} of {}, MPI finds rank {} of {}",
                             to_string(launched.launcher), launched.rank, launched.size,
                             world->rank_, world->size_)};
  return world;
}

MpiWorld::~MpiWorld() {
  const bool starter = rank_ == 0 && !launched_;
  if (!failed_ && starter) (void)look_around();  // who they are: all have said so
  if (failed_) return;                           // the others do not come
  table_.close();
  if (!starter) return;
  // MPI's daemon ends with this process, and kills what still runs then.
  const auto runs = [](const Other& one) { return state_of(one.process) == ProcessState::running; };
  for (const std::int64_t start_ns = now_ns();
       now_ns() - start_ns < kLingerNs && std::ranges::any_of(others_, runs);)
    std::this_thread::sleep_for(kNap);
}

std::string MpiWorld::library() const {
  return table_.library();
}

Status MpiWorld::check(const char* wrong, const char* doing) {
  if (wrong == nullptr) return ok;
  for (int rank = 0; rank < static_cast<int>(others_.size()); ++rank)
    if (state_of(others_[static_cast<std::size_t>(rank)].process) == ProcessState::gone)
      return died(rank);
  failed_ = true;
  return Error{Errc::measurement,
               fmt::format("rank {} of {}, {}: {}", rank_, size_, doing, printable(wrong))};
}

Status MpiWorld::open(int spawned, const std::vector<std::string>& command) {
  failed_ = true;  // until it is open
  SLUICE_CHECK(come_together(spawned, command));
  failed_ = false;
  others_.resize(rank_ == 0 ? static_cast<std::size_t>(size_) : 1);
  const Greeting self{
      .process = this_process(),
      .writer = options_.writer_pid == 0 ? this_process() : process_of(options_.writer_pid)};
  for (int rank = 1; rank_ == 0 && rank < size_; ++rank)
    SLUICE_CHECK(check(table_.send(rank, kProcessTag, &self, sizeof self), "greeting"));
  if (rank_ != 0) SLUICE_CHECK(check(table_.send(0, kProcessTag, &self, sizeof self), "greeting"));
  return ok;
}

/// MPI waits for the others for ever. The calls of this world come later than those of the thread:
/// never two at a time.
Status MpiWorld::come_together(int spawned, const std::vector<std::string>& command) {
  struct Opening {
    std::promise<const char*> done;
    std::int32_t rank = 0, size = 1;
  };
  const auto opening = std::make_shared<Opening>();
  std::future<const char*> done = opening->done.get_future();
  std::thread([opening, spawned, words = command, open = table_.open] {
    std::vector<const char*> argv;
    for (const std::string& one : words)
      argv.push_back(one.c_str());
    argv.push_back(nullptr);
    opening->done.set_value(
        open(spawned, argv.data(), sums_by_mpi() ? 0 : 1, &opening->rank, &opening->size));
  }).detach();
  // Rank 0 is the first to lose patience, and says so.
  const double patience_s = std::max(options_.timeout_s, kStart_s);
  const double limit_s = patience_s + (spawned > 0 ? 0 : 1);
  if (done.wait_for(std::chrono::duration<double>(limit_s)) != std::future_status::ready)
    return Error{Errc::measurement,
                 fmt::format("a rank did not come within {:g} s: MPI waits for it", patience_s)};
  SLUICE_CHECK(check(done.get(), "joining the others"));
  rank_ = opening->rank;
  size_ = opening->size;
  return ok;
}

Status MpiWorld::start_sum(std::span<float> values) {
  return check(table_.start_sum(values.data(), static_cast<std::int64_t>(values.size())),
               "adding up");
}

Status MpiWorld::advance() {
  std::int32_t done = 0;
  return check(table_.advance(&done), "adding up");
}

/// The next of `count` bytes, if it has come; from -1: from whoever.
Result<bool> MpiWorld::take(int from, int tag, void* bytes, std::size_t count, int& sender) {
  std::int32_t found = from;
  std::int64_t there = 0;
  SLUICE_CHECK(check(table_.look(&found, tag, &there), "listening"));
  if (found < 0) return false;
  if (there != static_cast<std::int64_t>(count))
    return Error{Errc::internal, fmt::format("rank {} speaks another language", found)};
  SLUICE_CHECK(check(table_.receive(found, tag, bytes, there), "listening"));
  sender = found;
  return true;
}

Status MpiWorld::arrive() {
  ++arrived_;
  return say_here(kArrived);
}

/// To rank 0: waits for the others, and is alive.
Status MpiWorld::say_here(char how) {
  if (rank_ == 0) return ok;
  return check(table_.send(0, kArrivedTag, &how, sizeof how), "arriving");
}

/// What has come from all; rank 0 only.
Status MpiWorld::note_arrivals() {
  for (;;) {
    int from = -1;
    char here = 0;
    SLUICE_TRY(const bool came, take(-1, kArrivedTag, &here, sizeof here, from));
    if (!came) return ok;
    Other& other = others_[static_cast<std::size_t>(from)];
    other.heard_ns = now_ns();
    if (here == kArrived) ++other.arrivals;
  }
}

/// The error that another rank has told of, if one has.
Status MpiWorld::hear_failure() {
  std::int32_t from = rank_ == 0 ? -1 : 0;
  std::int64_t bytes = 0;
  SLUICE_CHECK(check(table_.look(&from, kFailedTag, &bytes), "listening"));
  if (from < 0) return ok;
  SLUICE_TRY(const std::string line, receive(from, kFailedTag, bytes));
  const Error told = error_of(line);
  failed_ = true;
  if (rank_ == 0 && static_cast<int>(told.code) != kSpokenFor)
    return fail(told.code, fmt::format("{}: {}", name_of(from), told.message));
  spoken_for_ = true;
  return Error{rank_ == 0 ? Errc::measurement : told.code, told.message};
}

Status MpiWorld::look_around() {
  for (;;) {
    int from = -1;
    Greeting greeting;
    SLUICE_TRY(const bool came, take(-1, kProcessTag, &greeting, sizeof greeting, from));
    if (!came) break;
    others_[static_cast<std::size_t>(from)].process = greeting.process;
    others_[static_cast<std::size_t>(from)].writer = greeting.writer;
  }
  if (rank_ == 0) SLUICE_CHECK(note_arrivals());
  SLUICE_CHECK(hear_failure());
  for (int rank = 0; rank < static_cast<int>(others_.size()); ++rank) {
    if (state_of(others_[static_cast<std::size_t>(rank)].process) != ProcessState::gone) continue;
    SLUICE_CHECK(hear_failure());  // its last words
    return died(rank);
  }
  return ok;
}

std::string MpiWorld::name_of(int rank) const {
  return fmt::format("rank {} of {}", rank, size_);
}

/// Of rank 0: tells the others.
Error MpiWorld::fail(Errc code, std::string message) {
  Error error{code, std::move(message)};
  give_up(error);
  return error;
}

Error MpiWorld::died(int rank) {
  Other& other = others_[static_cast<std::size_t>(rank)];
  other.answers = false;
  std::string message =
      fmt::format("{} died: its process {} is gone", name_of(rank), other.process.pid);
  if (rank_ == 0) return fail(Errc::measurement, std::move(message));
  failed_ = true;
  spoken_for_ = rank_ != 1;
  return {Errc::measurement, std::move(message)};
}

/// One that does not come. A launcher ends it; where there is none nobody else does.
void MpiWorld::leave(int rank) {
  Other& other = others_[static_cast<std::size_t>(rank)];
  other.answers = false;
  const bool here = state_of(other.process) != ProcessState::unknown;
  if (!launched_ && here) ::kill(static_cast<pid_t>(other.process.pid), SIGKILL);
}

/// Of those that wait for rank 0: it has not said that another is late, so it is.
Error MpiWorld::rank_0_late() {
  failed_ = true;
  spoken_for_ = rank_ != 1;
  const Error late{Errc::measurement,
                   fmt::format("{} did not come to the end of its step within {:g} s{}", name_of(0),
                               options_.timeout_s, why_late(others_.front().process))};
  // A launcher wakes it, to end it.
  send_line(0, line_of({static_cast<Errc>(kSpokenFor), late.message}));
  leave(0);
  return late;
}

Error MpiWorld::too_late() {
  if (rank_ != 0) {
    failed_ = spoken_for_ = true;
    return {Errc::measurement,
            fmt::format("{} waited {:g} s for the others", name_of(rank_), options_.timeout_s)};
  }
  if (const Status around = look_around(); !around) return around.error();
  std::vector<int> late;
  for (int rank = 1; rank < size_; ++rank) {
    if (others_[static_cast<std::size_t>(rank)].arrivals >= arrived_) continue;
    late.push_back(rank);
    leave(rank);
  }
  return fail(Errc::measurement, late_text(late, size_, options_.timeout_s));
}

Error MpiWorld::late_for_sum() {
  if (rank_ != 0) return rank_0_late();
  // A rank that waits as we do says so again and again, whichever sum it waits for.
  const std::int64_t silent_ns = now_ns() - static_cast<std::int64_t>(options_.timeout_s * 5e8);
  std::vector<int> late;
  std::string why;
  for (int rank = 1; rank < size_; ++rank) {
    Other& other = others_[static_cast<std::size_t>(rank)];
    const std::string reason = why_late(other.process);
    if (other.heard_ns > silent_ns && reason.empty()) continue;
    late.push_back(rank);
    if (!reason.empty()) why = reason;
    leave(rank);
  }
  return fail(Errc::measurement, late_text(late, size_, options_.timeout_s) + why);
}

/// Of what went wrong; whether it arrives is not to be known.
void MpiWorld::send_line(int to, const std::string& line) {
  table_.send(to, kFailedTag, line.data(), static_cast<std::int64_t>(line.size()));
}

void MpiWorld::give_up(const Error& why) {
  failed_ = true;
  if (std::exchange(told_, true)) return;
  if (rank_ == 0) {
    for (int rank = 1; rank < size_; ++rank)
      if (others_[static_cast<std::size_t>(rank)].answers) send_line(rank, line_of(why));
    std::int32_t all = 0;
    for (const std::int64_t start_ns = now_ns(); all == 0 && now_ns() - start_ns < kPartNs;)
      if (table_.sent(&all) != nullptr) break;
    return;
  }
  if (!spoken_for_ && others_.front().answers) {
    spoken_for_ = true;
    send_line(0, line_of(why));
  }
  // A launcher ends all when this process ends: not before rank 0 has spoken and written.
  const RankProcess& first = launched_ ? others_.front().writer : others_.front().process;
  const bool writes = launched_ && state_of(others_.front().process) != ProcessState::stopped;
  const std::int64_t limit_ns = writes ? kWriteNs : kLingerNs;
  for (const std::int64_t start_ns = now_ns(); now_ns() - start_ns < limit_ns;) {
    if (state_of(first) == ProcessState::gone) return;
    std::int32_t all = 0;
    table_.sent(&all);
    std::this_thread::sleep_for(kNap);
  }
}

Status MpiWorld::finish() {
  SLUICE_CHECK(arrive());
  Wait wait(options_.timeout_s);
  for (std::int32_t done = 0; done == 0;) {
    SLUICE_CHECK(check(table_.advance(&done), "adding up"));
    if (done != 0 || !wait.look()) continue;
    SLUICE_CHECK(look_around());
    if (wait.beat(kBeats)) SLUICE_CHECK(say_here(kStillHere));
    if (wait.is_over(rank_ == 0 ? 0 : 1)) return late_for_sum();
  }
  return rank_ == 0 ? note_arrivals() : ok;
}

Result<std::string> MpiWorld::receive(int from, int tag, std::int64_t bytes) {
  std::string text(static_cast<std::size_t>(bytes), '\0');
  SLUICE_CHECK(check(table_.receive(from, tag, text.data(), bytes), "listening"));
  return text;
}

Status MpiWorld::tell(std::string_view text) {
  for (int rank = 1; rank < size_; ++rank)
    SLUICE_CHECK(
        check(table_.send(rank, kTellTag, text.data(), static_cast<std::int64_t>(text.size())),
              "telling"));
  return ok;
}

Result<std::string> MpiWorld::hear() {
  const std::int64_t start_ns = now_ns();
  for (Wait wait(0);;) {
    std::int32_t from = 0;
    std::int64_t bytes = 0;
    SLUICE_CHECK(check(table_.look(&from, kTellTag, &bytes), "listening"));
    if (from == 0) return receive(0, kTellTag, bytes);
    if (wait.look()) SLUICE_CHECK(look_around());
    if (now_ns() - start_ns > kAwakeNs) std::this_thread::sleep_for(kNap);
  }
}

Status MpiWorld::answer(std::string_view text) {
  return check(table_.send(0, kAnswerTag, text.data(), static_cast<std::int64_t>(text.size())),
               "answering");
}

Result<std::vector<std::string>> MpiWorld::answers() {
  std::vector<std::string> all;
  Wait wait(options_.timeout_s);
  for (int rank = 1; rank < size_;) {
    std::int32_t from = rank;
    std::int64_t bytes = 0;
    SLUICE_CHECK(check(table_.look(&from, kAnswerTag, &bytes), "listening"));
    if (from == rank) {
      SLUICE_TRY(std::string text, receive(rank, kAnswerTag, bytes));
      all.push_back(std::move(text));
      ++rank;
      continue;
    }
    if (!wait.look()) continue;
    SLUICE_CHECK(look_around());
    if (wait.is_over()) {
      const std::string why = why_late(others_[static_cast<std::size_t>(rank)].process);
      leave(rank);
      return fail(Errc::measurement, fmt::format("{} did not answer within {:g} s{}", name_of(rank),
                                                 options_.timeout_s, why));
    }
  }
  return all;
}

}  // namespace sluice::train
