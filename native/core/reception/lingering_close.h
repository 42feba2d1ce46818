// Lingering close: closes a connection without losing the last bytes that were sent to the device.
#ifndef SEGANET_CORE_RECEPTION_LINGERING_CLOSE_H_
#define SEGANET_CORE_RECEPTION_LINGERING_CLOSE_H_

#include <uv.h>

#include <cstddef>
#include <cstdint>
#include <list>

namespace seganet {

// Closing a socket while the peer still sends resets the connection, and the reset may destroy the
// last bytes sent, which contain the reason for the close. Therefore the sending direction is shut
// down first. Further input is discarded until the device closes too, for at most kPatienceUs and
// kMaxBytes. Above kMaxWaiting sockets, further ones are closed at once.
//
// Thread safety: owned by one worker.
class LingeringClose {
 public:
  static constexpr int64_t kPatienceUs = 1'000'000;
  static constexpr size_t kMaxBytes = 65'536;
  static constexpr size_t kMaxWaiting = 256;

  // Closes `fd`, which this object owns from now on. REQUIRES: no handle of the loop watches `fd`.
  void Take(uv_loop_t* loop, int fd, int64_t now_us);
  // Closes the sockets whose time is over.
  void Sweep(int64_t now_us);
  void CloseAll();
  size_t waiting() const { return waiting_.size(); }

 private:
  struct Waiting {
    LingeringClose* owner;
    int fd;
    int64_t deadline_us;
    size_t bytes;
    std::list<Waiting*>::iterator place;
    uv_poll_t poll;
  };
  void Read(Waiting* waiting);
  void Close(Waiting* waiting);

  std::list<Waiting*> waiting_;  // oldest first
};

}  // namespace seganet

#endif  // SEGANET_CORE_RECEPTION_LINGERING_CLOSE_H_
