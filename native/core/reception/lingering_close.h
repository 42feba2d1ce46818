// Connections that are over on our side, whose last words the device shall hear.
#ifndef SEGANET_CORE_RECEPTION_LINGERING_CLOSE_H_
#define SEGANET_CORE_RECEPTION_LINGERING_CLOSE_H_

#include <uv.h>

#include <cstddef>
#include <cstdint>
#include <list>

namespace seganet {

// A socket that is closed while the other end still sends is reset, and the reset may destroy what
// was sent last: the reason for the end. So our direction is shut, and what still comes is read and
// thrown away until the device closes too, for a second and 64 KiB at most.
//
// Thread safety: owned by one worker.
class Farewells {
 public:
  static constexpr int64_t kPatienceUs = 1'000'000;
  static constexpr size_t kMaxBytes = 65'536;
  static constexpr size_t kMaxWaiting = 256;

  // REQUIRES: no other handle of the loop watches `fd`, which it takes over.
  void Take(uv_loop_t* loop, int fd, int64_t now_us);
  // Ends those that took too long.
  void Sweep(int64_t now_us);
  void CloseAll();
  size_t waiting() const { return waiting_.size(); }

 private:
  struct Waiting {
    Farewells* owner;
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
