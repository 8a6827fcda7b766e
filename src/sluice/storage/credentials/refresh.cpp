// sluice/storage/credentials/refresh.cpp - one copy, two locks: one for the copy, one for who
// fetches.
// SPDX-License-Identifier: Apache-2.0
#include "sluice/storage/credentials/refresh.h"

#include <mutex>
#include <optional>
#include <utility>

namespace sluice::storage {
namespace {

using namespace std::chrono_literals;
using Clock = std::chrono::system_clock;

constexpr auto kRefreshBefore = 5min;
constexpr auto kPause = 30s;
constexpr auto kUnderWay = 60s;  // a request that was made before is answered by then

bool is_same(const Credentials& a, const Credentials& b) {
  return a.access_key == b.access_key && a.session_token == b.session_token;
}

class Refreshing final : public CredentialSource {
 public:
  Refreshing(std::function<Result<Credentials>()> fetch, std::function<Clock::time_point()> now)
      : fetch_(std::move(fetch)), now_(std::move(now)) {}

  Result<Credentials> get() override {
    if (auto kept = usable(kRefreshBefore)) return std::move(*kept);
    std::unique_lock fetching(fetch_mutex_, std::try_to_lock);
    if (!fetching) {
      if (auto kept = usable(0s)) return std::move(*kept);
      fetching.lock();  // bounded: every request of the one who fetches has a time limit
    }
    // Another may have fetched since the first look, even where the lock was free.
    if (auto kept = usable(kRefreshBefore)) return std::move(*kept);
    return refresh();
  }

  bool refused(const Credentials& credentials) override {
    {
      const std::scoped_lock lock(mutex_);
      if (kept_ && is_same(*kept_, credentials)) {
        kept_.reset();
        not_before_ = {};
      }
    }
    const auto fresh = get();
    if (!fresh) return false;
    const std::scoped_lock lock(mutex_);
    return !is_same(*fresh, credentials) || now_() < changed_ + kUnderWay;
  }

 private:
  /// What is kept, when it is good for longer than `margin` or a better one was just not to be had.
  std::optional<Credentials> usable(Clock::duration margin) {
    const std::scoped_lock lock(mutex_);
    const auto now = now_();
    if (!kept_ || (kept_->expiry && *kept_->expiry <= now)) return std::nullopt;
    if (kept_->expiry && *kept_->expiry <= now + margin && now >= not_before_) return std::nullopt;
    return kept_;
  }

  /// Under fetch_mutex_.
  Result<Credentials> refresh() {
    {
      const std::scoped_lock lock(mutex_);
      if (failure_ && now_() < not_before_) return *failure_;
    }
    Result<Credentials> fetched = fetch_();
    const std::scoped_lock lock(mutex_);
    if (fetched) {
      if (last_ && !is_same(*last_, *fetched)) changed_ = now_();
      last_ = kept_ = *fetched;
      failure_.reset();
      not_before_ = {};
      return fetched;
    }
    not_before_ = now_() + kPause;
    failure_ = fetched.error();
    if (kept_ && kept_->expiry && *kept_->expiry > now_()) return *kept_;
    return fetched;
  }

  const std::function<Result<Credentials>()> fetch_;
  const std::function<Clock::time_point()> now_;
  std::mutex fetch_mutex_;
  std::mutex mutex_;  // all below
  std::optional<Credentials> kept_;
  std::optional<Credentials> last_;  // fetched, refused or not
  Clock::time_point changed_{};      // when they were others than before
  std::optional<Error> failure_;
  Clock::time_point not_before_{};  // of the next fetch after a failed one
};

}  // namespace

std::shared_ptr<CredentialSource> refreshing_credentials(std::function<Result<Credentials>()> fetch,
                                                         std::function<Clock::time_point()> now) {
  return std::make_shared<Refreshing>(std::move(fetch), std::move(now));
}

}  // namespace sluice::storage
