#ifndef SEGANET_BENCH_RELAY_PAIR_H_
#define SEGANET_BENCH_RELAY_PAIR_H_

#include <cstdint>
#include <string>

#include "records.h"

namespace bench {

// What went one way: bytes and TLS records of the stream, and the TCP segments that carried it.
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

// A client's connection and the one to the broker that belongs to it. What one side sends is read
// only while the other takes it, so that the client feels a slow broker as if nothing were between.
//
// Thread safety: none.
class Pair {
 public:
  // Takes `client`, a connected socket, and `broker`, one that connects. Both do not block.
  Pair(int epoll, int client, int broker);
  ~Pair();
  Pair(const Pair&) = delete;
  Pair& operator=(const Pair&) = delete;

  // Epoll said so of one of the two, which is what the event's pointer points to. False: both are
  // closed.
  bool OnEvents(bool of_client, uint32_t events);

  bool open() const { return client_.fd >= 0; }
  // Asks the kernel for the segments so far; of a closed one they are known.
  void ReadSegments();
  Traffic Up() const { return Of(client_.said, segments_in_); }     // from the client
  Traffic Down() const { return Of(broker_.said, segments_out_); }  // to it

  struct Side {
    Side(int socket, bool client, Pair* owner) : fd(socket), of_client(client), pair(owner) {}
    int fd;
    const bool of_client;
    Pair* const pair;
    bool ended = false;  // it has no more to say
    uint32_t wanted = 0;
    std::string waiting;  // for this side to take
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
  // Of the client's connection, as the kernel counts them.
  uint64_t segments_in_ = 0;
  uint64_t segments_out_ = 0;
  uint64_t header_bytes_ = 40;
};

}  // namespace bench

#endif  // SEGANET_BENCH_RELAY_PAIR_H_
