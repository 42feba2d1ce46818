// A session of an uplink whose connection workers use as well, without a wake-up of its thread.
#ifndef SEGANET_CORE_QUEUE_DIRECT_SESSION_H_
#define SEGANET_CORE_QUEUE_DIRECT_SESSION_H_

#include <cstdint>

namespace seganet {

// One worker at a time may attend a session: it reads what the broker sends. Each attendance has a
// number; calls with the number of an earlier one have no effect.
//
// Thread safety: any member from any thread. REQUIRES: the caller holds no lock of the lanes.
class DirectSession {
 public:
  virtual ~DirectSession() = default;

  // False if Send would probably return false, for example because the load is high. Cheap.
  virtual bool MayTry() const = 0;

  // Sends all batches that are ready. Returns false if the session's thread must be woken: it uses
  // the connection at the moment, or something remains to be done. Never waits.
  virtual bool Send() = 0;

  // After kLate: returns when Receive must be called, CLOCK_MONOTONIC; kAtOnce = whenever there is
  // something to read. The attending worker asks at the end of each of its turns, because what it
  // sends changes this.
  virtual int64_t read_at_us() const = 0;
  static constexpr int64_t kAtOnce = 0;

  enum class Received : uint8_t {
    kAll,   // call again when there is more
    kLate,  // call again at read_at_us(), or when the connection ends
    kBusy,  // nothing was read: the session's thread uses the connection. Call again soon
    kOver,  // the attendance has ended, and the session's thread reads again
  };
  // Reads what the broker has sent, handles acknowledgments, and sends batches that have room now.
  // Never waits.
  virtual Received Receive(uint64_t attendance) = 0;

  // Ends the attendance, and there is no other one. Waits for the session's thread if that uses the
  // connection.
  virtual void Abandon(uint64_t attendance) = 0;
};

}  // namespace seganet

#endif  // SEGANET_CORE_QUEUE_DIRECT_SESSION_H_
