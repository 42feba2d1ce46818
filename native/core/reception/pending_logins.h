// Logins that wait for the JavaScript thread.
#ifndef SEGANET_CORE_RECEPTION_PENDING_LOGINS_H_
#define SEGANET_CORE_RECEPTION_PENDING_LOGINS_H_

#include <cstddef>
#include <cstdint>
#include <map>
#include <mutex>
#include <optional>
#include <string>
#include <utility>
#include <vector>

#include "core/base/doorbell.h"

namespace seganet {

struct LoginRequest {
  uint64_t id = 0;  // argument of Acceptor::AnswerLogin
  uint32_t stage = 0;
  std::string client_id;
  std::optional<std::string> user;
  std::optional<std::string> password;
  std::string address;
};

// The acceptor withdraws a login when its connection ends, so at most as many logins wait as there
// are half-open connections, whose number is limited.
//
// Thread safety: any thread.
class PendingLogins {
 public:
  explicit PendingLogins(Doorbell* bell) : bell_(bell) {}

  // Adds a login and rings the bell.
  void Ask(LoginRequest request) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const uint64_t id = request.id;
      waiting_.insert_or_assign(id, std::move(request));
    }
    bell_->Ring();
  }

  // Removes a login. No effect if it was taken.
  void Withdraw(uint64_t id) {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.erase(id);
  }

  // Takes out at most `most` logins, the oldest first. Logins that remain do not ring the bell
  // again, so the caller must call again until none is left.
  std::vector<LoginRequest> Take(size_t most) {
    std::vector<LoginRequest> taken;
    const std::lock_guard<std::mutex> lock(mutex_);
    while (!waiting_.empty() && taken.size() < most) {
      taken.push_back(std::move(waiting_.begin()->second));
      waiting_.erase(waiting_.begin());
    }
    return taken;
  }

 private:
  Doorbell* const bell_;
  std::mutex mutex_;
  std::map<uint64_t, LoginRequest> waiting_;  // by id; ids increase
};

}  // namespace seganet

#endif  // SEGANET_CORE_RECEPTION_PENDING_LOGINS_H_
