#ifndef SEGANET_CORE_PROTOCOL_COAP_SETTINGS_H_
#define SEGANET_CORE_PROTOCOL_COAP_SETTINGS_H_

#include <cstddef>
#include <cstdint>
#include <string>

namespace seganet::coap {

// What a listener serves.
struct Settings {
  // Records are posted to /{path}/{device}/{topic…}, commands are observed at
  // /{command_path}/{device}. One or more segments with '/' between them, no empty one.
  std::string path = "r";
  std::string command_path = "cmd";
  // Query in which a device may name the class of a record, as in ?c=1 or ?c=critical; '' = none.
  std::string class_query = "c";
  // Largest message: over UDP (RFC 7252 4.6), and over TCP (RFC 8323 5.3.1, told in our CSM).
  size_t max_message_bytes = 1152;
  size_t max_stream_message_bytes = 262144;
  // Largest record that comes block by block (RFC 7959).
  size_t max_body_bytes = 262144;
  // Topics and devices that IsOddTopic() names are taken.
  bool odd_topics = false;
};

// Each is a bound on memory or work. A DatagramServer has them for all its devices, a StreamSession
// for the one that it serves.
struct Limits {
  // Records that were taken and are not safe yet: more get 5.03 (UDP), or the stream is not read.
  size_t max_unacknowledged = 16384;
  size_t max_stream_unacknowledged = 1024;
  // Requests by which duplicates are recognised; the oldest is forgotten for one more. About 100
  // bytes each.
  size_t max_exchanges = 65536;
  // Far ends that are remembered; the one that was silent longest is forgotten for one more.
  size_t max_peers = 8192;
  // Answers and notifications that wait for a far end to acknowledge the one before.
  size_t max_queued_per_peer = 64;
  // One more is answered as if it had not asked to observe (RFC 7641 4.1).
  size_t max_observers = 10000;
  size_t max_observers_per_device = 4;
  // Bodies that are being put together: the one that was silent longest gives way (its next block
  // is answered 4.08).
  size_t max_uploads = 256;
  size_t max_uploads_per_device = 2;
  size_t max_upload_bytes = 4 * 1024 * 1024;
  // The latest command of each device, all together.
  size_t max_command_bytes = 4 * 1024 * 1024;
  // Commands on their way over one stream.
  size_t max_commands_in_flight = 16;
  // Resets and answers of the kind 4.xx to what cannot be read or served, a second and far end;
  // above it there is silence.
  uint32_t max_errors_per_s = 32;
  // A stream whose device does not read this much of our output is not read from, and is sent no
  // command.
  size_t max_output_bytes = 65536;
  // A stream on which nothing came for so long is sent a Ping; silence for as long again ends it.
  uint32_t idle_ping_s = 120;
};

}  // namespace seganet::coap

#endif  // SEGANET_CORE_PROTOCOL_COAP_SETTINGS_H_
