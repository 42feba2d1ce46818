#ifndef SEGANET_CORE_PROTOCOL_COAP_STREAM_STREAM_IMPL_H_
#define SEGANET_CORE_PROTOCOL_COAP_STREAM_STREAM_IMPL_H_

#include <cstddef>
#include <cstdint>
#include <deque>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/protocol/coap/commands.h"
#include "core/protocol/coap/handle_table.h"
#include "core/protocol/coap/message.h"
#include "core/protocol/coap/observers.h"
#include "core/protocol/coap/reply.h"
#include "core/protocol/coap/request.h"
#include "core/protocol/coap/stream/stream_session.h"
#include "core/protocol/coap/token.h"
#include "core/protocol/coap/uploads.h"

namespace seganet::coap {

// stream_session.cc: bytes and messages; stream_signals.cc: signals and time; stream_requests.cc:
// records; stream_commands.cc: discovery, commands and observers.
class StreamImpl {
 public:
  StreamImpl(Handler* handler, const Settings& settings, const Limits& limits, std::string device,
             int64_t now_us);

  CloseReason Feed(std::span<const uint8_t> bytes);
  bool Acknowledge(uint64_t slot);
  CommandStart Start(uint64_t id, std::string_view topic, std::string_view payload);
  bool OnTime(int64_t now_us);
  void Release();

  std::string_view output() const { return std::string_view(output_).substr(output_sent_); }
  void ConsumeOutput(size_t n);
  bool WantsPause() const {
    return pending_.size() >= limits_.max_stream_unacknowledged ||
           output().size() >= limits_.max_output_bytes;
  }
  CloseReason close_reason() const { return close_reason_; }
  const std::string& device() const { return device_; }
  bool listening() const { return observers_.size() > 0; }
  size_t unacknowledged() const { return pending_.size(); }
  size_t buffered_bytes() const { return partial_.capacity(); }
  size_t partial_bytes() const { return partial_.size(); }
  size_t memory_bytes() const;

  size_t answered_bytes = 0;  // of those to come

 private:
  struct Asker {
    Token token;
    uint8_t no_response = 0;
  };
  // A record that is not safe yet.
  struct Pending {
    Asker asker;
    std::optional<Block> block1;
    uint32_t missing = 0;  // acknowledgements
  };
  // A command on its way.
  struct InFlight {
    uint64_t id = 0;
    uint64_t ping = 0;      // 0: it goes block by block and is taken with its last one
    int64_t since_us = -1;  // of the first OnTime() after it was sent
  };

  bool IsOpen() const { return close_reason_ == CloseReason::kNone && !draining_; }
  bool FinishPartial(std::span<const uint8_t>* bytes);
  // False, and closed, for a header that cannot be.
  bool CheckFrame(const StreamFrame& frame);
  void OnFrame(const StreamFrame& frame, std::span<const uint8_t> body);
  void Close(CloseReason reason, std::string_view why, uint16_t bad_option = 0);

  void OnSignal(const Message& message);
  bool TakeSignalOption(uint8_t code, uint16_t number, std::string_view value, bool* custody);
  void OnPong(std::string_view token);
  // Returns its number.
  uint64_t SendPing(bool custody);

  void OnRequest(const Message& message);
  void OnRecords(const Asker& asker, const Message& message);
  bool TakeBlock(const Asker& asker, const Message& message, std::string_view* payload);
  void HandOver(const Asker& asker, std::string_view payload);
  void Finish(const Asker& asker, const std::optional<Block>& block1);
  void Respond(const Asker& asker, const Reply& reply);

  void OnDiscovery(const Asker& asker);
  void OnCommands(const Asker& asker);
  void Represent(const Asker& asker);
  bool RespondBody(const Asker& asker, Reply reply, std::string_view body);
  bool Notify(const Observer& observer, const std::string& topic, std::string_view payload,
              uint32_t etag, std::string* out, bool* in_blocks);
  void End(uint64_t id, uint8_t result);

  Handler* const handler_;
  const Settings settings_;
  const Limits limits_;
  const std::string device_;

  CloseReason close_reason_ = CloseReason::kNone;
  bool draining_ = false;   // Release came; records of it are not safe yet
  bool releasing_ = false;  // we sent Release
  bool mute_ = false;       // the message in hand was answered already
  bool has_csm_ = false;
  size_t peer_max_bytes_ = kBaseMessageBytes;
  bool peer_takes_blocks_ = false;
  std::string output_;
  size_t output_sent_ = 0;
  std::vector<uint8_t> partial_;  // the beginning of a message

  HandleTable<Pending> pending_;
  uint64_t in_hand_ = 0;  // the slot of the record that is being handed over
  uint32_t early_ = 0;    // its acknowledgements that came at once
  Uploads uploads_;
  Observers observers_;
  std::optional<Command> latest_;
  std::deque<InFlight> in_flight_;
  uint64_t pings_ = 0;
  uint32_t observe_ = 0;

  int64_t now_us_;  // of the last OnTime(), or the beginning
  int64_t heard_us_ = -1;
  bool heard_ = true;  // something came since OnTime()
  bool pinged_ = false;
  uint64_t idle_ping_ = 0;  // its number while no Pong came

  Request request_;  // the one that is handled; kept for its memory
  std::string whole_;
};

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_STREAM_STREAM_IMPL_H_
