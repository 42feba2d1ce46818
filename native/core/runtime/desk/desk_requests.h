// Which way a request of the request desk's connections goes, on one worker: to JavaScript, to a
// device, or into a record.
#ifndef SEGANET_CORE_RUNTIME_DESK_DESK_REQUESTS_H_
#define SEGANET_CORE_RUNTIME_DESK_DESK_REQUESTS_H_

#include <cstddef>

#include "core/devices/desk/desk_session.h"
#include "core/devices/desk/desk_topics.h"
#include "core/devices/desk/request_desk.h"
#include "core/protocol/coap/exchange.h"
#include "core/runtime/desk/desk_forwarding.h"
#include "core/runtime/desk/desk_posts.h"

namespace seganet {

// A request must not overtake an earlier one of its connection that JavaScript still has to pass
// on. It is held until these are answered or settled.
//
// Bounds: kMostHeldBytes. A connection gets at most as much as is free, so that one connection
// alone gets half, and others find room beside it.
//
// Thread safety: owned by one worker.
class DeskRequests {
 public:
  static constexpr size_t kMostHeldBytes = 8u << 20;

  // All objects outlive this one.
  DeskRequests(RequestDesk* desk, DeskPosts* posts, DeskForwarding* forwarding)
      : desk_(desk), posts_(posts), forwarding_(forwarding) {}
  DeskRequests(const DeskRequests&) = delete;
  DeskRequests& operator=(const DeskRequests&) = delete;

  // DeskHost::OnAsked and OnPost
  coap::Taker OnAsked(DeskSession* session, const coap::Asked& asked);
  DeskTopic* OnPost(const DeskSession& session, const coap::Asked& asked);

  // Passes on the held requests that no longer wait. To be called when JavaScript has answered or
  // settled a request of the session.
  void Release(DeskSession* session);
  // The session has ended, with its held requests.
  void Closed(const DeskSession& session) { held_bytes_ -= session.held_bytes(); }

 private:
  coap::Taker Hold(DeskSession* session, const coap::Asked& asked);

  RequestDesk* const desk_;
  DeskPosts* const posts_;
  DeskForwarding* const forwarding_;
  size_t held_bytes_ = 0;  // DeskSession::held() of all connections
};

}  // namespace seganet

#endif  // SEGANET_CORE_RUNTIME_DESK_DESK_REQUESTS_H_
