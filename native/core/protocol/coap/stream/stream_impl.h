// The implementation of StreamSession; only its source files include this header.
#ifndef SEGANET_CORE_PROTOCOL_COAP_STREAM_STREAM_IMPL_H_
#define SEGANET_CORE_PROTOCOL_COAP_STREAM_STREAM_IMPL_H_

#include <cstddef>
#include <cstdint>
#include <functional>
#include <map>
#include <memory>
#include <optional>
#include <span>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/protocol/coap/commands.h"
#include "core/protocol/coap/exchange.h"
#include "core/protocol/coap/handle_table.h"
#include "core/protocol/coap/handler.h"
#include "core/protocol/coap/message.h"
#include "core/protocol/coap/observers.h"
#include "core/protocol/coap/reply.h"
#include "core/protocol/coap/request.h"
#include "core/protocol/coap/stream/stream_session.h"
#include "core/protocol/coap/stream/stream_setup.h"
#include "core/protocol/coap/token.h"
#include "core/protocol/coap/uploads.h"

namespace seganet::coap {

// Split over six files. stream_session.cc: bytes and messages; stream_signals.cc: signals and time;
// stream_records.cc: records; stream_commands.cc: discovery, commands and observers;
// stream_requests.cc: requests for the desk; stream_asks.cc: requests to the device. The public
// functions are documented at StreamSession.
class StreamImpl {
 public:
  StreamImpl(Handler* handler, std::shared_ptr<const StreamSetup> setup, std::string device,
             int64_t now_us);

  CloseReason Feed(std::span<const uint8_t> bytes);
  bool Acknowledge(uint64_t handle);
  CommandStart Start(uint64_t id, std::string_view topic, std::string_view payload);
  bool OnTime(int64_t now_us);
  // The Pong of an open Ping may still come.
  void OnResumed() { heard_ = true; }
  void Release();
  void Identify(std::string device);
  void Forget();
  bool Answer(std::string_view token, uint8_t code, OptionValues options, std::string_view payload);
  size_t asked() const { return open_asked_ - own_asked_; }
  void Settle(std::string_view token);
  size_t unsettled() const { return unsettled_; }
  bool AnswerOwn(std::string_view token, uint64_t id, uint8_t code, OptionValues options,
                 std::string_view payload);
  bool PassToDesk(std::string_view token, uint64_t id);
  bool RecordOwn(std::string_view token, uint64_t id, const Incoming& record);
  void EndOwn();
  AskStart Ask(uint64_t id, const RequestSpec& request);
  void Cancel(uint64_t id);

  std::string_view output() const { return std::string_view(output_).substr(output_sent_); }
  void ConsumeOutput(size_t n);
  bool WantsPause() const {
    return pending_.size() >= limits_.max_stream_unacknowledged ||
           output().size() >= limits_.max_output_bytes;
  }
  CloseReason close_reason() const { return close_reason_; }
  const std::string& device() const { return device_; }
  bool listening() const { return commands_ != nullptr && commands_->observers.size() > 0; }
  size_t unacknowledged() const { return pending_.size(); }
  size_t buffered_bytes() const { return partial_.capacity(); }
  size_t partial_bytes() const { return partial_.size(); }
  size_t memory_bytes() const;

  size_t answered_bytes = 0;  // of the next bytes: PeekStream() already answered them

 private:
  // The recipient of a response.
  struct Asker {
    Token token;
    uint8_t no_response = 0;
  };
  // A record that is not safe yet.
  struct Pending {
    Asker asker;
    std::optional<Block> block1;
    uint32_t missing = 0;  // acknowledgements still to come
  };
  // A command in flight.
  struct InFlight {
    uint64_t id = 0;
    uint64_t ping = 0;      // 0: sent in blocks, and taken with the request of the last block
    int64_t since_us = -1;  // the first OnTime() after it was sent
  };

  // The commands of a device that observes them.
  struct CommandState {
    explicit CommandState(const Limits& limits) : observers(limits) {}

    Observers observers;
    std::optional<Command> latest;
  };

  // A request at the desk or at the owner, by its token.
  struct AtDesk {
    uint64_t id = 0;
    Taker taker = Taker::kNone;  // kNone: Handler::OnAsked() has not returned
    uint8_t no_response = 0;
    bool is_open = true;      // without an answer; false = an observation
    bool is_settled = false;  // Settle()
    bool observes = false;    // the request registers an observation
    std::optional<Block> block1;
    std::optional<Block> block2;
    std::string key;  // of its answer's body
  };
  // The body of an answer whose further blocks the peer may request.
  struct SentBody {
    std::string key;
    uint8_t code = 0;
    OptionValues options;
    std::string body;
    int64_t sent_us = 0;
  };
  // A request of a peer for the desk, as it is read.
  struct DeskRequest {
    Asked asked;
    std::optional<Block> block1;
    std::optional<Block> block2;
    std::optional<uint32_t> observe;
    uint8_t no_response = 0;
  };
  // A request to the device.
  struct Asking {
    uint64_t id = 0;
    uint8_t code = 0;
    OptionValues options;  // of each of its messages
    bool observes = false;
    bool answered = false;  // an observation whose first answer came
    uint64_t token = 0;     // of the request
    uint64_t fetch = 0;     // of the request for the next block, 0 = none
    std::string upload;     // the body, while it is sent in blocks
    size_t uploaded = 0;    // bytes of it that were sent
    uint8_t exponent = 0;   // SZX of its blocks
    AskAnswer whole;        // the beginning of an answer in blocks
  };

  bool is_anonymous() const { return options_.identifies && device_.empty(); }
  bool IsOpen() const { return close_reason_ == CloseReason::kNone && !draining_; }
  // Frees the memory of empty buffers.
  void ReleaseBuffers();
  Uploads& uploads() {
    if (uploads_ == nullptr)
      uploads_ = std::make_unique<Uploads>(limits_, settings_.max_body_bytes);
    return *uploads_;
  }
  // Frees the body that its blocks completed.
  void ReleaseWhole() { std::string().swap(whole_); }
  bool FinishPartial(std::span<const uint8_t>* bytes);
  // Closes the session and returns false for an invalid header.
  bool CheckFrame(const StreamFrame& frame);
  void OnFrame(const StreamFrame& frame, std::span<const uint8_t> body);
  // Sends Abort with the diagnostic text `why`.
  void Close(CloseReason reason, std::string_view why, uint16_t bad_option = 0);

  void OnSignal(const Message& message);
  // False for an unknown critical option.
  bool TakeSignalOption(uint8_t code, uint16_t number, std::string_view value, bool* custody);
  void OnPong(std::string_view token);
  // Returns the Ping's number.
  uint64_t SendPing(bool custody);

  void OnRequest(const Message& message);
  void OnRecords(const Asker& asker, const Message& message);
  bool TakeBlock(const Asker& asker, const Message& message, std::string_view* payload);
  void HandOver(const Asker& asker, const std::optional<Block>& block1, Incoming record);
  void Finish(const Asker& asker, const std::optional<Block>& block1);
  void Respond(const Asker& asker, const Reply& reply);

  bool IsForDesk(const Message& message) const;
  void OnAsked(const Message& message);
  Refusal ReadAsked(const Message& message, DeskRequest* request) const;
  // False when the request was answered.
  bool TakeUpload(const Asker& asker, const std::string& key, DeskRequest* request);
  void PassOn(const DeskRequest& request, std::string key);
  void SendAnswer(std::string_view token, const AtDesk& row, uint8_t code, OptionValues options,
                  std::string_view body);
  void KeepBody(const std::string& key, uint8_t code, const OptionValues& options,
                std::string_view body);
  void DropOldBodies();
  using AtDeskRows = std::map<std::string, AtDesk, std::less<>>;
  // Gives an open request to `taker`; kNone: it is open no more.
  void SetTaker(AtDesk* row, Taker taker);
  bool AnswerRow(AtDeskRows::iterator found, uint8_t code, OptionValues options,
                 std::string_view payload);
  size_t desk_bytes() const;
  // The largest message that the peer takes.
  size_t peer_limit() const;
  bool takes_bert() const { return peer_takes_blocks_ && peer_max_bytes_ > kBaseMessageBytes; }

  void OnResponse(const Message& message);
  // Sends the request of `asking`, or its next block.
  bool SendAsk(Asking* asking);
  void TakeAnswerBlock(Asking* asking, AskAnswer answer, const Block& block);
  void FetchBlock(Asking* asking, const Block& block);
  // REQUIRES: `answer` is not a part of `asking`.
  void GiveAnswer(Asking* asking, const AskAnswer& answer);
  void EraseAsking(uint64_t id);

  void OnDiscovery(const Asker& asker);
  void OnCommands(const Asker& asker);
  void Represent(const Asker& asker);
  bool RespondBody(const Asker& asker, Reply reply, std::string_view body);
  bool Notify(const Observer& observer, const std::string& topic, std::string_view payload,
              uint32_t etag, std::string* out, bool* in_blocks);
  void End(uint64_t id, uint8_t result);

  Handler* const handler_;
  const std::shared_ptr<const StreamSetup> setup_;
  const Settings& settings_;  // this and the next two: of setup_
  const Limits& limits_;
  const StreamOptions& options_;
  std::string device_;
  size_t bytes_before_ = 0;  // received without a device

  CloseReason close_reason_ = CloseReason::kNone;
  bool draining_ = false;   // Release came while records were not safe yet
  bool releasing_ = false;  // we sent Release
  bool mute_ = false;       // PeekStream() already answered the current message
  bool has_csm_ = false;
  size_t peer_max_bytes_ = kBaseMessageBytes;
  bool peer_takes_blocks_ = false;
  std::string output_;
  size_t output_sent_ = 0;
  std::vector<uint8_t> partial_;  // the beginning of a message

  HandleTable<Pending> pending_;
  uint64_t in_hand_ = 0;  // handle of the record in Handler::OnRecord(), 0 = none
  uint32_t early_ = 0;    // its acknowledgements inside of that call
  // Null while there is nothing in them, because an idle session should be small.
  std::unique_ptr<Uploads> uploads_;
  std::unique_ptr<CommandState> commands_;
  std::vector<InFlight> in_flight_;  // oldest first, at most Limits::max_commands_in_flight
  uint64_t pings_ = 0;
  uint32_t observe_ = 0;

  AtDeskRows at_desk_;  // by token
  uint64_t last_asked_ = 0;
  size_t open_asked_ = 0;  // with those of the owner
  size_t own_asked_ = 0;   // of the owner
  size_t unsettled_ = 0;
  std::vector<SentBody> bodies_;         // oldest first
  std::map<uint64_t, Asking> asking_;    // by id
  std::map<uint64_t, uint64_t> tokens_;  // ids by token
  uint64_t last_token_ = 0;

  int64_t now_us_;  // of the last OnTime(), or of the constructor
  int64_t heard_us_ = -1;
  bool heard_ = true;  // bytes came since OnTime(), or reading resumed
  bool pinged_ = false;
  uint64_t idle_ping_ = 0;  // number of an unanswered idle Ping, 0 = none

  // The request in progress; kept for its memory, until the session is idle.
  std::unique_ptr<Request> request_;
  std::string whole_;  // the body that its blocks completed
};

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_STREAM_STREAM_IMPL_H_
