// Reads a broker's stream in pieces of any size. Checks that the result equals that of a simple
// reference reader, that no byte is lost or held without need, and that no PUBACK is reported after
// PassAll(). Input: the number of sink calls before PassAll() (0 = never), how the stream is cut,
// the stream.
#include <algorithm>
#include <cstdint>
#include <cstdlib>
#include <span>

#include "core/uplink/broker_reader.h"
#include "test/support/slow_broker_reader.h"

namespace {

using seganet::BrokerReader;
using seganet::test::BrokerReading;

void Check(bool good) {
  if (!good) std::abort();
}

class Sink : public BrokerReader::Sink {
 public:
  Sink(BrokerReader* reader, int pass_after) : reader_(reader), left_(pass_after) {}

  void OnPuback(uint16_t id, uint8_t reason_code) override {
    Check(!passed_);
    reading.acks.emplace_back(id, reason_code);
    Called();
  }
  void OnOther(std::span<const uint8_t> bytes) override {
    Check(!bytes.empty());
    reading.others.append(bytes.begin(), bytes.end());
    Called();
  }

  BrokerReading reading;

 private:
  void Called() {
    if (left_ == 0 || --left_ > 0) return;
    passed_ = true;
    reader_->PassAll();
  }

  BrokerReader* const reader_;
  int left_;
  bool passed_ = false;
};

BrokerReading ReadInPieces(std::span<const uint8_t> stream, int pass_after, uint8_t cut) {
  BrokerReader reader;
  Sink sink(&reader, pass_after);
  for (size_t at = 0, turn = 0; at < stream.size(); ++turn) {
    // Small and large pieces in turn, or the whole stream.
    const size_t most = cut == 0 ? stream.size() : turn % 2 == 0 ? 1 + cut % 16 : 1 + cut * 20u;
    const auto piece = stream.subspan(at, std::min(most, stream.size() - at));
    reader.Read(piece, &sink);
    at += piece.size();
  }
  const size_t before = sink.reading.others.size();
  reader.PassAll();
  reader.Read({}, &sink);
  sink.reading.held = sink.reading.others.substr(before);
  sink.reading.others.resize(before);
  Check(sink.reading.held.size() < BrokerReader::kMaxPubackBytes);
  return sink.reading;
}

}  // namespace

extern "C" int LLVMFuzzerTestOneInput(const uint8_t* data, size_t size) {
  if (size < 2) return 0;
  const std::span<const uint8_t> stream(data + 2, size - 2);
  const BrokerReading wanted = seganet::test::ReadSlowly(stream);
  Check(ReadInPieces(stream, 0, data[1]) == wanted);
  Check(ReadInPieces(stream, 0, 0) == wanted);
  if (data[0] == 0) return 0;
  // After PassAll(), the reported PUBACKs are a prefix of all PUBACKs, and the passed bytes contain
  // the rest, so that the next reader misses nothing.
  const BrokerReading part = ReadInPieces(stream, data[0], data[1]);
  Check(part.acks.size() <= wanted.acks.size());
  Check(std::equal(part.acks.begin(), part.acks.end(), wanted.acks.begin()));
  const std::string left = part.others + part.held;
  const BrokerReading rest =
      seganet::test::ReadSlowly({reinterpret_cast<const uint8_t*>(left.data()), left.size()});
  Check(part.acks.size() + rest.acks.size() == wanted.acks.size());
  Check(std::equal(rest.acks.rbegin(), rest.acks.rend(), wanted.acks.rbegin()));
  Check(rest.others == wanted.others && rest.held == wanted.held);
  return 0;
}
