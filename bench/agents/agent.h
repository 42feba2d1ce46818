#ifndef SEGANET_BENCH_AGENTS_AGENT_H_
#define SEGANET_BENCH_AGENTS_AGENT_H_

#include <atomic>
#include <cstdint>
#include <deque>
#include <string>

#include "../common/mqtt.h"
#include "../common/tls.h"

namespace bench {

struct AgentOptions {
  std::string device;  // client id of the device; the agent's is agent-<device>
  std::string host;    // of the broker, an IPv4 address
  uint16_t port = 8883;
  size_t window = 1024;  // most messages that the broker has not acknowledged
  int keepalive_s = 60;
};

// The agent of one device, as in the paper's baseline. It takes the device's connection, publishes
// each message separately over its own session to the broker at QoS 1, and acknowledges the device
// in the order of its messages once the broker has acknowledged. It keeps its session while the
// device is disconnected. After a lost session it reconnects and publishes unacknowledged messages
// again.
//
// Thread safety: Run() in one thread. Connections arrive through a socket (hand_over.h).
class Agent {
 public:
  Agent(const AgentOptions& options, SSL_CTX* context, int hand_over)
      : options_(options), context_(context), hand_over_(hand_over) {}

  // Runs until the other end of the hand-over socket is closed.
  void Run();

 private:
  struct Waiting {
    uint16_t broker_id;
    uint16_t device_id;   // 0 = QoS 0: no PUBACK
    uint32_t connection;  // of the device that sent it
    bool acked;
    std::string packet;  // to publish it again
  };

  bool TakeDevice();
  void DropDevice();
  void OpenSession();
  void LoseSession();
  bool ReadSession();
  bool ReadDevice();
  bool Serve(const mqtt::Packet& packet);
  bool Publish(const mqtt::Publish& publish);
  void Acknowledged(uint16_t broker_id);
  bool AnswerDevice();
  void KeepAlive(int64_t now_us);
  int TimeoutMs(int64_t now_us) const;

  const AgentOptions options_;
  SSL_CTX* const context_;
  const int hand_over_;
  tls::Session session_;
  int device_ = -1;
  uint32_t connection_ = 0;  // counts the device's connections
  std::string from_device_;
  std::string from_broker_;
  std::string to_device_;
  std::deque<Waiting> waiting_;
  uint16_t next_id_ = 1;
  int64_t retry_us_ = 0;  // time of the next attempt to connect
  int64_t backoff_us_ = 0;
  int64_t written_us_ = 0;
};

}  // namespace bench

#endif  // SEGANET_BENCH_AGENTS_AGENT_H_
