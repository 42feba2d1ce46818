// Logins on their way to whoever answers them.
#ifndef SEGANET_CORE_RUNTIME_LOGIN_DESK_H_
#define SEGANET_CORE_RUNTIME_LOGIN_DESK_H_

#include <cstdint>
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

// As many wait as there are half-open connections, which have a limit.
//
// Thread safety: any thread.
class LoginDesk {
 public:
  explicit LoginDesk(Doorbell* bell) : bell_(bell) {}

  void Ask(LoginRequest request) {
    {
      const std::lock_guard<std::mutex> lock(mutex_);
      waiting_.push_back(std::move(request));
    }
    bell_->Ring();
  }

  // Each once.
  std::vector<LoginRequest> Take() {
    std::vector<LoginRequest> taken;
    const std::lock_guard<std::mutex> lock(mutex_);
    taken.swap(waiting_);
    return taken;
  }

 private:
  Doorbell* const bell_;
  std::mutex mutex_;
  std::vector<LoginRequest> waiting_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_RUNTIME_LOGIN_DESK_H_
