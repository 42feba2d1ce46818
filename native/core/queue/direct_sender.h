// Sends a session's batches on the thread that made them, without a wake-up of the session's
// thread.
#ifndef SEGANET_CORE_QUEUE_DIRECT_SENDER_H_
#define SEGANET_CORE_QUEUE_DIRECT_SENDER_H_

namespace seganet {

// Thread safety: any member from any thread.
class DirectSender {
 public:
  virtual ~DirectSender() = default;

  // False if Send would probably return false, for example because the load is high. Cheap.
  virtual bool MayTry() const = 0;

  // Sends all batches that are ready. Returns false if the session's thread must be woken: it uses
  // the connection at the moment, or something remains to be done. Never waits.
  // REQUIRES: the caller holds no lock of the lanes.
  virtual bool Send() = 0;
};

}  // namespace seganet

#endif  // SEGANET_CORE_QUEUE_DIRECT_SENDER_H_
