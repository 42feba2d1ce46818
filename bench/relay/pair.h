#ifndef SEGANET_BENCH_RELAY_PAIR_H_
#define SEGANET_BENCH_RELAY_PAIR_H_

#include <cstdint>
#include <string>

#include "records.h"

namespace bench {

// The traffic of one direction: bytes and TLS records of the stream, and its TCP segments.
struct Traffic {
  uint64_t bytes = 0;
  uint64_t records = 0;
  uint64_t data = 0;
  uint64_t segments = 0;  // acknowledgements without data included
  uint64_t ip_bytes = 0;  // bytes and the IP and TCP headers of these segments
  bool broken = false;

  void Add(const Traffic& other);
  std::string Json() const;
};

// A client's connection and the matching one to the broker. It reads from one side only while the
// other accepts data, so back-pressure of a slow broker reaches the client.
//
// Thread safety: none.
class Pair {
 public:
  // Takes ownership of `client`, a connected socket, and `broker`, a connecting one. Both are
  // non-blocking.
  Pair(int epoll, int client, int broker);
  ~Pair();
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  // Handles epoll events of the side to which the event's pointer points. Returns false if both are
  // closed.
  bool OnEvents(bool of_client, uint32_t events);

  bool open() const { return client_.fd >= 0; }
  // Reads the kernel's segment counts; a closed pair keeps its last ones.
  void ReadSegments();
  Traffic Up() const { return Of(client_.said, segments_in_); }     // from the client
  Traffic Down() const { return Of(broker_.said, segments_out_); }  // to the client

  struct Side {
    Side(int socket, bool client, Pair* owner) : fd(socket), of_client(client), pair(owner) {}
    int fd;
    const bool of_client;
    Pair* const pair;
    bool ended = false;  // end of its stream
    uint32_t wanted = 0;
    std::string waiting;  // bytes to write to this side
    RecordCounter said;
  };

 private:
  bool Read(Side& from, Side& to);
  bool Write(Side& to);
  void Want(Side& side, const Side& other);
  void Close();
  Traffic Of(const RecordCounter& counter, uint64_t segments) const;

  const int epoll_;
  Side client_;
  Side broker_;
  // The kernel's counts for the client's connection.
  uint64_t segments_in_ = 0;
  uint64_t segments_out_ = 0;
  uint64_t header_bytes_ = 40;
};

}  // namespace bench

#endif  // SEGANET_BENCH_RELAY_PAIR_H_
