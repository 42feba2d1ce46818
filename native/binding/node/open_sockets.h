// The sockets of openSocket() that a thread may leave behind: it can be terminated between any two
// lines of its JavaScript.
#ifndef SEGANET_BINDING_NODE_OPEN_SOCKETS_H_
#define SEGANET_BINDING_NODE_OPEN_SOCKETS_H_

#include <sys/types.h>

#include <unordered_map>
#include <utility>

namespace seganet::binding {

// Closes at its end those that nobody has closed. JavaScript does not tell when it gives one to a
// net.Socket: Node has closed that by then, and its number may be somebody else's. So each is known
// by what the system calls it, too.
//
// Thread safety: the thread of its environment.
class OpenSockets {
 public:
  OpenSockets() = default;
  ~OpenSockets();
  OpenSockets(const OpenSockets&) = delete;
  OpenSockets& operator=(const OpenSockets&) = delete;

  void Add(int fd);

  // Its owner in the addon closes it, or has.
  void Forget(int fd) { names_.erase(fd); }

 private:
  using Name = std::pair<dev_t, ino_t>;

  // {0, 0}: there is no such descriptor, or this system does not name its sockets.
  static Name NameOf(int fd);

  std::unordered_map<int, Name> names_;  // by descriptor
};

}  // namespace seganet::binding

#endif  // SEGANET_BINDING_NODE_OPEN_SOCKETS_H_
