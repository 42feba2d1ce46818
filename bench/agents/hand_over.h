#ifndef SEGANET_BENCH_AGENTS_HAND_OVER_H_
#define SEGANET_BENCH_AGENTS_HAND_OVER_H_

#include <sys/socket.h>
#include <unistd.h>

#include <cstring>
#include <string>
#include <string_view>

// The acceptor hands a device's connection to its agent, a thread or a process, in one message over
// a SOCK_SEQPACKET pair: the descriptor and the bytes read from it.
namespace bench {

inline constexpr size_t kHandedBytes = 65536;  // maximum

// Hands over a connection. `fd` stays open here. Returns false if the agent has ended.
inline bool HandOver(int agent, int fd, std::string_view bytes) {
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof fd)] = {};
  iovec data{const_cast<char*>(bytes.data()), bytes.size()};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof room;
  cmsghdr* header = CMSG_FIRSTHDR(&message);
  header->cmsg_level = SOL_SOCKET;
  header->cmsg_type = SCM_RIGHTS;
  header->cmsg_len = CMSG_LEN(sizeof fd);
  std::memcpy(CMSG_DATA(header), &fd, sizeof fd);
  return sendmsg(agent, &message, MSG_NOSIGNAL) == static_cast<ssize_t>(bytes.size());
}

// Receives a connection. Returns -1 if the acceptor has ended.
inline int TakeOver(int acceptor, std::string* bytes) {
  alignas(cmsghdr) char room[CMSG_SPACE(sizeof(int))] = {};
  bytes->resize(kHandedBytes);
  iovec data{bytes->data(), bytes->size()};
  msghdr message{};
  message.msg_iov = &data;
  message.msg_iovlen = 1;
  message.msg_control = room;
  message.msg_controllen = sizeof room;
  ssize_t got = recvmsg(acceptor, &message, MSG_CMSG_CLOEXEC);
  bytes->resize(got > 0 ? static_cast<size_t>(got) : 0);
  const cmsghdr* header = got > 0 ? CMSG_FIRSTHDR(&message) : nullptr;
  int fd = -1;
  if (header != nullptr) std::memcpy(&fd, CMSG_DATA(header), sizeof fd);
  return fd;
}

}  // namespace bench

#endif  // SEGANET_BENCH_AGENTS_HAND_OVER_H_
