#include "core/devices/coap_socket.h"

#include <arpa/inet.h>
#include <gtest/gtest.h>
#include <netinet/in.h>
#include <sys/socket.h>
#include <unistd.h>

#include <cerrno>
#include <memory>
#include <set>
#include <string>
#include <vector>

#include "test/support/device_client.h"

namespace seganet {
namespace {

using test::Until;

// A client's plain socket, connected to 127.0.0.x or ::1.
class Client {
 public:
  Client(const char* host, uint16_t port) : fd_(-1) {
    sockaddr_in v4{};
    sockaddr_in6 v6{};
    v4.sin_family = AF_INET;
    v4.sin_port = htons(port);
    v6.sin6_family = AF_INET6;
    v6.sin6_port = htons(port);
    const bool is4 = inet_pton(AF_INET, host, &v4.sin_addr) == 1;
    if (!is4) inet_pton(AF_INET6, host, &v6.sin6_addr);
    fd_ = socket(is4 ? AF_INET : AF_INET6, SOCK_DGRAM, 0);
    const int on = 1;
    setsockopt(fd_, SOL_SOCKET, SO_BROADCAST, &on, sizeof on);
    const auto* address = is4 ? reinterpret_cast<sockaddr*>(&v4) : reinterpret_cast<sockaddr*>(&v6);
    connected_ = connect(fd_, address, is4 ? sizeof v4 : sizeof v6) == 0;
  }
  ~Client() { close(fd_); }
  Client(const Client&) = delete;
  Client& operator=(const Client&) = delete;

  bool connected() const { return connected_; }
  bool Send(const std::string& bytes) {
    return send(fd_, bytes.data(), bytes.size(), 0) == static_cast<ssize_t>(bytes.size());
  }
  // A connected socket takes datagrams only from the address that it is connected to.
  std::string Receive() {
    timeval patience{10, 0};
    setsockopt(fd_, SOL_SOCKET, SO_RCVTIMEO, &patience, sizeof patience);
    char buffer[4096];
    const ssize_t n = recv(fd_, buffer, sizeof buffer, 0);
    return n < 0 ? "" : std::string(buffer, static_cast<size_t>(n));
  }

 private:
  int fd_;
  bool connected_ = false;
};

struct Sockets {
  explicit Sockets(const std::string& host, size_t count = 1, uint16_t wanted = 0) {
    std::vector<int> fds;
    status = OpenDatagramSockets(host, wanted, count, &fds, &port);
    for (int fd : fds) all.push_back(std::make_unique<CoapSocket>(fd));
  }
  // Returns the next datagram at any of them, as text; sets *peer to its peer.
  std::string Next(coap::Peer* peer = nullptr, size_t* where = nullptr, bool* multicast = nullptr) {
    std::string text;
    Until([&] {
      for (size_t i = 0; i < all.size(); ++i) {
        for (const ReceivedDatagram& each : all[i]->Receive()) {
          text.assign(reinterpret_cast<const char*>(each.bytes.data()), each.bytes.size());
          if (peer != nullptr) *peer = each.peer;
          if (where != nullptr) *where = i;
          if (multicast != nullptr) *multicast = each.multicast;
          return true;
        }
      }
      return false;
    });
    return text;
  }

  Status status;
  uint16_t port = 0;
  std::vector<std::unique_ptr<CoapSocket>> all;
};

bool HasIpv6() {
  Client probe("::1", 9);
  return probe.connected();
}

TEST(CoapSocket, AnAnswerLeavesFromTheAddressThatWasAsked) {
  Sockets sockets("0.0.0.0");
  ASSERT_TRUE(sockets.status.ok()) << sockets.status.message();
  for (const char* host : {"127.0.0.1", "127.0.0.7"}) {
    Client client(host, sockets.port);
    ASSERT_TRUE(client.Send(host));
    coap::Peer peer;
    bool multicast = true;
    ASSERT_EQ(sockets.Next(&peer, nullptr, &multicast), host);
    EXPECT_FALSE(multicast);
    EXPECT_EQ(FarEnd(peer).rfind("127.0.0.1:", 0), 0u) << FarEnd(peer);
    sockets.all[0]->Send(peer, "answer");
    EXPECT_EQ(sockets.all[0]->Flush(), 0u);
    EXPECT_EQ(client.Receive(), "answer");
  }
}

TEST(CoapSocket, OneSocketServesBothFamilies) {
  if (!HasIpv6()) GTEST_SKIP() << "no IPv6 on this machine";
  Sockets sockets("::");
  ASSERT_TRUE(sockets.status.ok()) << sockets.status.message();
  for (const char* host : {"127.0.0.5", "::1"}) {
    Client client(host, sockets.port);
    ASSERT_TRUE(client.Send(host));
    coap::Peer peer;
    ASSERT_EQ(sockets.Next(&peer), host);
    EXPECT_EQ(FarEnd(peer).rfind(host[0] == ':' ? "[::1]:" : "127.0.0.1:", 0), 0u) << FarEnd(peer);
    sockets.all[0]->Send(peer, "answer");
    EXPECT_EQ(sockets.all[0]->Flush(), 0u);
    EXPECT_EQ(client.Receive(), "answer");
  }
}

TEST(CoapSocket, PeersDifferByPortAndByTheAddressThatTheySentTo) {
  Sockets sockets("0.0.0.0");
  Client one("127.0.0.1", sockets.port), two("127.0.0.1", sockets.port),
      other("127.0.0.2", sockets.port);
  std::vector<coap::Peer> peers(4);
  for (auto [client, peer] : {std::pair{&one, &peers[0]}, std::pair{&two, &peers[1]},
                              std::pair{&other, &peers[2]}, std::pair{&one, &peers[3]}}) {
    ASSERT_TRUE(client->Send("x"));
    ASSERT_EQ(sockets.Next(peer), "x");
  }
  EXPECT_EQ(peers[0], peers[3]);
  EXPECT_FALSE(peers[0] == peers[1]);
  EXPECT_FALSE(peers[0] == peers[2]);
}

TEST(CoapSocket, ManyShareAPortAndEachFarEndStaysWithOne) {
  Sockets sockets("127.0.0.1", 4);
  ASSERT_TRUE(sockets.status.ok()) << sockets.status.message();
  ASSERT_EQ(sockets.all.size(), 4u);
  std::set<size_t> used;
  for (int i = 0; i < 64; ++i) {
    Client client("127.0.0.1", sockets.port);
    std::set<size_t> its;
    for (int round = 0; round < 3; ++round) {
      size_t where = 99;
      ASSERT_TRUE(client.Send("x"));
      ASSERT_EQ(sockets.Next(nullptr, &where), "x");
      its.insert(where);
    }
    EXPECT_EQ(its.size(), 1u);
    used.insert(its.begin(), its.end());
  }
  EXPECT_EQ(used.size(), 4u) << "64 far ends leave one of 4 out once in 25 million runs";
}

// SO_REUSEPORT alone would let a second gateway take half of the devices.
TEST(CoapSocket, APortThatIsSharedByAnotherGatewayIsInUse) {
  Sockets first("127.0.0.1", 2);
  ASSERT_TRUE(first.status.ok()) << first.status.message();
  for (size_t count : {1, 2}) {
    const Sockets second("127.0.0.1", count, first.port);
    EXPECT_EQ(second.status.error(), EADDRINUSE);
    EXPECT_TRUE(second.all.empty());
  }
}

TEST(CoapSocket, WhatIsWrongWithAnAddressIsTold) {
  EXPECT_EQ(Sockets("192.0.2.1").status.error(), EADDRNOTAVAIL);
  EXPECT_EQ(Sockets("not a host").status.error(), EADDRNOTAVAIL);
}

TEST(CoapSocket, ABroadcastIsTold) {
  Sockets sockets("0.0.0.0");
  Client client("127.255.255.255", sockets.port);
  if (!client.connected() || !client.Send("x")) GTEST_SKIP() << "no broadcast on loopback here";
  bool multicast = false;
  ASSERT_EQ(sockets.Next(nullptr, nullptr, &multicast), "x");
  EXPECT_TRUE(multicast);
}

TEST(CoapSocket, MoreThanOneBatchLeavesInOrder) {
  Sockets sockets("127.0.0.1");
  Client client("127.0.0.1", sockets.port);
  ASSERT_TRUE(client.Send("hello"));
  coap::Peer peer;
  ASSERT_EQ(sockets.Next(&peer), "hello");
  const size_t many = CoapSocket::kBatch * 2 + 1;
  for (size_t i = 0; i < many; ++i) sockets.all[0]->Send(peer, "answer " + std::to_string(i));
  EXPECT_EQ(sockets.all[0]->Flush(), 0u);
  for (size_t i = 0; i < many; ++i) ASSERT_EQ(client.Receive(), "answer " + std::to_string(i));
}

// A datagram that cannot be sent does not block others.
TEST(CoapSocket, WhatTheSystemDoesNotTakeIsCountedAndSkipped) {
  Sockets sockets("127.0.0.1");
  Client client("127.0.0.1", sockets.port);
  ASSERT_TRUE(client.Send("hello"));
  coap::Peer peer;
  ASSERT_EQ(sockets.Next(&peer), "hello");
  sockets.all[0]->Send(peer, "first");
  sockets.all[0]->Send(peer, std::string(70'000, 'x'));
  sockets.all[0]->Send(peer, "last");
  EXPECT_EQ(sockets.all[0]->Flush(), 1u);
  EXPECT_EQ(client.Receive(), "first");
  EXPECT_EQ(client.Receive(), "last");
}

TEST(CoapSocket, LongDatagramsAreCutOffAndEmptyOnesArrive) {
  Sockets sockets("127.0.0.1");
  Client client("127.0.0.1", sockets.port);
  ASSERT_TRUE(client.Send(std::string(5000, 'x')));
  EXPECT_EQ(sockets.Next().size(), CoapSocket::kMaxDatagramBytes);
  ASSERT_TRUE(client.Send(""));
  size_t where = 99;
  EXPECT_EQ(sockets.Next(nullptr, &where), "");
  EXPECT_EQ(where, 0u);
}

}  // namespace
}  // namespace seganet
