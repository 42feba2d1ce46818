// Settings and limits of the CoAP servers.
#ifndef SEGANET_CORE_PROTOCOL_COAP_SETTINGS_H_
#define SEGANET_CORE_PROTOCOL_COAP_SETTINGS_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace seganet::coap {

// The resources and sizes that a listener serves.
struct Settings {
  // Records are posted to /{path}/{device}/{topic…}, commands are observed at
  // /{command_path}/{device}. One or more non-empty segments, separated by '/'.
  std::string path = "r";
  std::string command_path = "cmd";
  // Name of the query parameter for the class of a record, as in ?c=1 or ?c=critical; '' = none.
  std::string class_query = "c";
  // Largest message, bytes: over UDP (RFC 7252 4.6), and over TCP (RFC 8323 5.3.1, announced in our
  // CSM).
  size_t max_message_bytes = 1152;
  size_t max_stream_message_bytes = 262144;
  // Largest record in blocks (RFC 7959), bytes.
  size_t max_body_bytes = 262144;
  // True accepts topics and devices for which IsOddTopic() is true.
  bool odd_topics = false;
  // Device ids have parts (record/part.h): a request names its device without the part.
  bool parted = false;
  // parted: the part of the devices; empty = that of each connection (ParseRequest).
  std::string part;
  // Each peer is a DTLS session, whose handshake has proven its address.
  bool proven_addresses = false;

  bool operator==(const Settings&) const = default;
};

// Bounds on memory and work. For a DatagramServer they apply to all its devices together, for a
// StreamSession to its one device.
struct Limits {
  // Accepted records that are not safe yet. Above the limit, records get 5.03 (UDP), or the owner
  // stops reading the stream.
  size_t max_unacknowledged = 16384;
  size_t max_stream_unacknowledged = 1024;
  // Requests remembered to recognize duplicates, about 100 bytes each. Above the limit the oldest
  // is forgotten.
  size_t max_exchanges = 65536;
  // Peers remembered. Above the limit the peer that was silent longest is forgotten.
  size_t max_peers = 8192;
  // Confirmable responses and notifications queued for one peer.
  size_t max_queued_per_peer = 64;
  // Observers. Above the limit, a request is answered as if it had no Observe option
  // (RFC 7641 4.1).
  size_t max_observers = 10000;
  size_t max_observers_per_device = 4;
  // Bodies being reassembled, and their bytes. Above a limit the body that was silent longest
  // is dropped; its next block is answered 4.08.
  size_t max_uploads = 256;
  size_t max_uploads_per_device = 2;
  size_t max_upload_bytes = 4 * 1024 * 1024;
  // Bytes of the latest commands of all devices together.
  size_t max_command_bytes = 4 * 1024 * 1024;
  // Commands in flight on one stream.
  size_t max_commands_in_flight = 16;
  // Resets and 4.xx responses per second and peer; the rest is not sent. 0 = no limit.
  uint32_t max_errors_per_s = 32;
  // Bytes of output that the device has not read. From this limit on, the owner stops reading the
  // stream, and commands get kBusy.
  size_t max_output_bytes = 65536;
  // A stream that is silent for this many seconds gets a Ping; after the same time without an
  // answer it is closed. 0 = never.
  uint32_t idle_ping_s = 120;

  bool operator==(const Limits&) const = default;
};

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_SETTINGS_H_
