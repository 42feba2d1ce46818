#include "binding/node/open_sockets.h"

#include <sys/stat.h>
#include <unistd.h>

namespace seganet::binding {

OpenSockets::~OpenSockets() {
  for (const auto& [fd, name] : names_) {
    if (NameOf(fd) == name) close(fd);
  }
}

void OpenSockets::Add(int fd) {
  // The socket that had this number before is closed.
  names_.erase(fd);
  if (const Name name = NameOf(fd); name != Name{}) names_.emplace(fd, name);
}

OpenSockets::Name OpenSockets::NameOf(int fd) {
  struct stat about {};
  if (fstat(fd, &about) != 0 || about.st_ino == 0) return {};
  return {about.st_dev, about.st_ino};
}

}  // namespace seganet::binding
