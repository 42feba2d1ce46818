// A Connection on a separate loop, and the far end of its connection, which the test controls.
#ifndef SEGANET_TEST_SUPPORT_CONNECTION_SUPPORT_H_
#define SEGANET_TEST_SUPPORT_CONNECTION_SUPPORT_H_

#include <arpa/inet.h>
#include <fcntl.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <netinet/tcp.h>
#include <sys/socket.h>
#include <unistd.h>
#include <uv.h>

#include <array>
#include <cerrno>
#include <functional>
#include <memory>
#include <string>
#include <utility>
#include <vector>

#include "core/uplink/connection.h"
#include "test/support/patience.h"
#include "test/support/tls_server.h"

namespace seganet::test {

inline std::array<int, 2> LocalPair() {
  std::array<int, 2> pair{};
  EXPECT_EQ(socketpair(AF_UNIX, SOCK_STREAM, 0, pair.data()), 0);
  return pair;
}

// Two connected TCP sockets of this host: only TCP is reset.
inline std::array<int, 2> TcpPair() {
  const int listener = socket(AF_INET, SOCK_STREAM, 0);
  sockaddr_in address{};
  address.sin_family = AF_INET;
  address.sin_addr.s_addr = htonl(INADDR_LOOPBACK);
  socklen_t size = sizeof address;
  auto* const name = reinterpret_cast<sockaddr*>(&address);
  EXPECT_EQ(bind(listener, name, size), 0);
  EXPECT_EQ(listen(listener, 1), 0);
  EXPECT_EQ(getsockname(listener, name, &size), 0);
  const int ours = socket(AF_INET, SOCK_STREAM, 0);
  EXPECT_EQ(connect(ours, name, size), 0);
  const int theirs = accept(listener, nullptr, nullptr);
  close(listener);
  // A turn of the loop that does not wait for the kernel's timers.
  const int on = 1;
  for (const int fd : {ours, theirs}) setsockopt(fd, IPPROTO_TCP, TCP_NODELAY, &on, sizeof on);
  return {ours, theirs};
}

class WireTest : public testing::Test, protected Connection::Listener {
 protected:
  WireTest() { uv_loop_init(&loop_); }
  ~WireTest() override {
    CloseWire();
    Hang();
    uv_run(&loop_, UV_RUN_DEFAULT);
    EXPECT_EQ(uv_loop_close(&loop_), 0) << "a handle is left";
  }

  // The connection; `theirs` must not block.
  void Open(std::array<int, 2> pair, std::unique_ptr<TlsClient> tls = nullptr) {
    theirs_ = pair[1];
    fcntl(theirs_, F_SETFL, O_NONBLOCK);
    const Status status = Connection::Make(&loop_, pair[0], std::move(tls), this, &connection_);
    ASSERT_TRUE(status.ok()) << status.message();
    fd_ = pair[0];
  }
  void OpenPlain(bool is_tcp = false) {
    ASSERT_NO_FATAL_FAILURE(Open(is_tcp ? TcpPair() : LocalPair()));
    ASSERT_TRUE(RunUntil([this] { return opens_ == 1; }));
  }

  // A turn of the loop, after the far end's work.
  void Turn() {
    if (far_end_) far_end_();
    uv_run(&loop_, UV_RUN_NOWAIT);
  }
  // Takes turns: many at once, then with pauses, since a busy kernel may deliver late.
  bool RunUntil(const std::function<bool()>& is_done) {
    for (int i = 0; i < 20'000; ++i) {
      if (is_done()) return true;
      Turn();
    }
    return Until([&] { return Turn(), is_done(); });
  }
  void RunIdle(int turns = 20) {
    for (int i = 0; i < turns; ++i) Turn();
  }

  // --- The far end ---

  void Say(std::string_view bytes) {
    ASSERT_EQ(send(theirs_, bytes.data(), bytes.size(), MSG_NOSIGNAL),
              static_cast<ssize_t>(bytes.size()));
  }
  // Returns the input so far, `most` at most.
  std::string Receive(size_t most = SIZE_MAX) {
    std::string all;
    char bytes[16384];
    while (all.size() < most) {
      const ssize_t count = recv(theirs_, bytes, std::min(sizeof bytes, most - all.size()), 0);
      if (count == 0) has_heard_end_ = true;
      if (count <= 0) break;
      all.append(bytes, static_cast<size_t>(count));
    }
    return all;
  }
  void Hang() {
    if (theirs_ >= 0) close(std::exchange(theirs_, -1));
  }
  void Reset() {
    const linger now{.l_onoff = 1, .l_linger = 0};
    if (theirs_ >= 0) setsockopt(theirs_, SOL_SOCKET, SO_LINGER, &now, sizeof now);
    Hang();
  }

  void CloseWire() {
    if (connection_ == nullptr) return;
    std::exchange(connection_, nullptr)->Close([this] { ++closed_; });
  }
  // The system assigns the lowest free descriptor.
  bool IsClosed() const { return fcntl(fd_, F_GETFD) == -1 && errno == EBADF; }

  void OnOpen() override {
    ++opens_;
    if (on_open_) on_open_();
  }
  void OnData(std::span<const uint8_t> bytes) override {
    EXPECT_EQ(ends_, 0);
    received_.append(reinterpret_cast<const char*>(bytes.data()), bytes.size());
    if (on_data_) on_data_();
  }
  void OnDrained() override {
    ++drains_;
    if (on_drained_) on_drained_();
  }
  void OnEnd(const TlsFailure& why) override {
    ++ends_;
    why_ = why;
    if (on_end_) on_end_();
  }

  uv_loop_t loop_{};
  Connection* connection_ = nullptr;
  int fd_ = -1;
  int theirs_ = -1;
  bool has_heard_end_ = false;
  std::function<void()> far_end_;
  std::function<void()> on_open_, on_data_, on_drained_, on_end_;
  int opens_ = 0, drains_ = 0, ends_ = 0, closed_ = 0;
  std::string received_;
  TlsFailure why_;
};

// Returns `size` bytes in which every stretch differs.
inline std::string Pattern(size_t size) {
  std::string bytes(size, '\0');
  for (size_t i = 0; i < size; ++i) bytes[i] = static_cast<char>(i * 31 + i / 251);
  return bytes;
}

}  // namespace seganet::test

#endif  // SEGANET_TEST_SUPPORT_CONNECTION_SUPPORT_H_
