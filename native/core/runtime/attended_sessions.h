// The uplink sessions that a worker attends: it reads their connections in place of their threads.
#ifndef SEGANET_CORE_RUNTIME_ATTENDED_SESSIONS_H_
#define SEGANET_CORE_RUNTIME_ATTENDED_SESSIONS_H_

#include <uv.h>

#include <cstdint>
#include <memory>
#include <unordered_set>

#include "core/queue/direct_session.h"

namespace seganet {

// Thread safety: the thread of the loop.
class AttendedSessions {
 public:
  // A session that is to be attended. If nobody attends it, it is abandoned at the end of its life.
  class Offer {
   public:
    // Takes ownership of `fd`, which is ready when there is something to receive.
    Offer(std::shared_ptr<DirectSession> session, uint64_t attendance, int fd);
    ~Offer();
    Offer(const Offer&) = delete;
    Offer& operator=(const Offer&) = delete;

   private:
    friend class AttendedSessions;
    std::shared_ptr<DirectSession> session_;  // null = it is attended
    const uint64_t attendance_;
    const int fd_;
  };

  explicit AttendedSessions(uv_loop_t* loop) : loop_(loop) {}

  // Attends the session until that is over.
  void Add(Offer* offer);
  // Follows what this turn of the loop sent (DirectSession::read_at_us). Call it before the loop
  // waits for events.
  void EndTurn();
  // Abandons all sessions and closes the handles.
  void Close();

  size_t size() const { return all_.size(); }

 private:
  struct Attended;

  void Read(Attended* attended);
  void ReadAt(Attended* attended, int64_t at_us);
  void Abandon(Attended* attended);
  void Remove(Attended* attended);

  uv_loop_t* const loop_;
  std::unordered_set<Attended*> all_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_RUNTIME_ATTENDED_SESSIONS_H_
