#include "binding/socket/socket_notify.h"

#include <fcntl.h>
#include <sys/socket.h>
#include <sys/un.h>
#include <unistd.h>

#include <cerrno>
#include <cstddef>
#include <cstring>
#include <string>

#include "binding/node/args.h"
#include "core/base/status.h"

namespace seganet::binding {
namespace {

// Far more than a service manager reads of one message.
constexpr size_t kMaxMessageBytes = 4096;

// Fills `*to`. `address` is a path, or @ and a name in Linux's abstract namespace.
Status MakeAddress(const std::string& address, sockaddr_un* to, socklen_t* length) {
  const bool is_abstract = !address.empty() && address[0] == '@';
  if (!is_abstract && (address.empty() || address[0] != '/')) {
    return Status::InvalidArgument("address must be an absolute path or begin with @");
  }
  // A path needs a terminating NUL.
  if (address.size() >= sizeof(to->sun_path) || address.find('\0') != std::string::npos) {
    return Status::InvalidArgument("address must have at most " +
                                   std::to_string(sizeof(to->sun_path) - 1) + " bytes and no NUL");
  }
  *to = {};
  to->sun_family = AF_UNIX;
  std::memcpy(to->sun_path, address.data(), address.size());
  if (is_abstract) to->sun_path[0] = '\0';
  // The length of an abstract name ends the name; a path ends with its NUL.
  *length = static_cast<socklen_t>(offsetof(sockaddr_un, sun_path) + address.size() +
                                   (is_abstract ? 0 : 1));
  return {};
}

Status Send(const sockaddr_un& to, socklen_t length, const std::string& message) {
  const int fd = socket(AF_UNIX, SOCK_DGRAM, 0);
  if (fd < 0) return Status::System("cannot create a Unix socket", errno);
  fcntl(fd, F_SETFD, FD_CLOEXEC);
  const ssize_t sent = sendto(fd, message.data(), message.size(), MSG_DONTWAIT,
                              reinterpret_cast<const sockaddr*>(&to), length);
  const int error = sent < 0 ? errno : 0;
  close(fd);
  return sent < 0 ? Status::System("the service manager cannot be notified", error) : Status();
}

}  // namespace

void Notify(const Napi::CallbackInfo& info) {
  const Napi::Env env = info.Env();
  std::string address;
  std::string message;
  if (!ReadString(env, info[0], "address", &address) ||
      !ReadString(env, info[1], "message", &message)) {
    return;
  }
  if (message.empty() || message.size() > kMaxMessageBytes) {
    return Throw(env, Status::InvalidArgument("message must have 1 to " +
                                              std::to_string(kMaxMessageBytes) + " bytes"));
  }
  sockaddr_un to;
  socklen_t length = 0;
  Status status = MakeAddress(address, &to, &length);
  if (status.ok()) status = Send(to, length, message);
  if (!status.ok()) Throw(env, status);
}

}  // namespace seganet::binding
