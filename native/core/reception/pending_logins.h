// Logins on their way to whoever answers them.
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
  uint64_t id = 0;  // towards Acceptor::AnswerLogin
  uint32_t stage = 0;
  std::string client_id;
  std::optional<std::string> user;
  std::optional<std::string> password;
  std::string address;
};

// As many wait as there are half-open connections, which have a limit: whoever asks withdraws what
// nobody waits for any more.
//
// Thread safety: any thread.
class LoginDesk {
 public:
  explicit LoginDesk(Doorbell* bell) : bell_(bell) {}

  void Ask(LoginRequest request) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      const uint64_t id = request.id;
      waiting_.insert_or_assign(id, std::move(request));
    }
    bell_->Ring();
  }

  // No effect when it was taken.
  void Withdraw(uint64_t id) {
    const std::lock_guard<std::mutex> lock(mutex_);
    waiting_.erase(id);
  }

  // Each once, the oldest first, at most `most`. The caller comes again for the rest: they do not
  // ring again.
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
  std::map<uint64_t, LoginRequest> waiting_;  // by id, which grow
};

}  // namespace seganet

#endif  // SEGANET_CORE_RECEPTION_PENDING_LOGINS_H_
