// Tracks the sockets of openSocket(), because a thread can be terminated between any two lines of
// its JavaScript.
#ifndef SEGANET_BINDING_NODE_OPEN_SOCKETS_H_
#define SEGANET_BINDING_NODE_OPEN_SOCKETS_H_

#include <sys/types.h>

#include <unordered_map>
#include <utility>

namespace seganet::binding {

// The destructor closes the sockets that are still open. JavaScript does not report when it passes
// one to a net.Socket: Node has closed that one by then, and another file may have its number.
// Therefore each socket is identified by its device and inode number as well.
//
// Thread safety: the thread of its environment.
class OpenSockets {
 public:
  OpenSockets() = default;
  ~OpenSockets();
  OpenSockets(const OpenSockets&) = delete;
  OpenSockets& operator=(const OpenSockets&) = delete;

  // Tracks a new socket.
  void Add(int fd);

  // Stops tracking: an owner in the addon closes the socket, or has closed it.
  void Forget(int fd) { names_.erase(fd); }

 private:
  using Name = std::pair<dev_t, ino_t>;

  // Returns {0, 0} if there is no such descriptor, or if this system has no inode numbers for
  // sockets.
  static Name NameOf(int fd);

  std::unordered_map<int, Name> names_;  // by descriptor
};

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_NODE_OPEN_SOCKETS_H_
