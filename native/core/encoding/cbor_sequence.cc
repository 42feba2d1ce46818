#include "core/encoding/cbor_sequence.h"

#include "core/encoding/cbor_items.h"

namespace seganet {
namespace {

constexpr int64_t kMaxStep = int64_t{1} << 53;

void AppendKey(CborKey key, std::string* out) { out->push_back(static_cast<char>(key)); }

// The members of a map. Its head, one byte, is written last.
class Map {
 public:
  explicit Map(std::string* out) : out_(*out), head_at_(out->size()) { out->push_back('\0'); }

  std::string* Member(CborKey key) {
    ++count_;
    AppendKey(key, &out_);
    return &out_;
  }
  void End() {
    std::string head;
    cbor::AppendHead(cbor::Major::kMap, count_, &head);
    out_[head_at_] = head.front();
  }

 private:
  std::string& out_;
  const size_t head_at_;
  uint64_t count_ = 0;  // at most as many as there are keys: the head is one byte
};

bool IsNear(int64_t from, int64_t to) {
  return from > -kMaxStep && from < kMaxStep && to > -kMaxStep && to < kMaxStep;
}

}  // namespace

bool CborSequenceCoder::Encode(std::string_view lines, std::string* out) {
  const size_t before = out->size();
  const bool is_done = ForEachEnvelopeLine(lines, [&](const EnvelopeLine& line, size_t index) {
    const bool is_written = AppendRecord(line, index == 0, out);
    last_ = line;
    return is_written;
  });
  last_ = {};  // its views are valid only during the call
  if (!is_done) out->resize(before);
  return is_done;
}

bool CborSequenceCoder::AppendRecord(const EnvelopeLine& line, bool is_first, std::string* out) {
  Map map(out);
  using cbor::AppendInt, cbor::AppendJsonText, cbor::AppendText;
  if (!line.key.empty() && !AppendJsonText(line.key, map.Member(CborKey::kBatch))) return false;
  if ((is_first || line.device != last_.device) &&
      !AppendJsonText(line.device, map.Member(CborKey::kDevice))) {
    return false;
  }
  if ((is_first || line.topic != last_.topic) &&
      !AppendJsonText(line.topic, map.Member(CborKey::kTopic))) {
    return false;
  }
  if (is_first || !IsNear(last_.ts_ms, line.ts_ms)) {
    AppendInt(line.ts_ms, map.Member(CborKey::kTime));
  } else {
    AppendInt(line.ts_ms - last_.ts_ms, map.Member(CborKey::kLater));
  }
  AppendInt(line.seq, map.Member(CborKey::kSequence));
  if (is_first || line.record_class != last_.record_class) {
    AppendInt(line.record_class, map.Member(CborKey::kClass));
  }
  if (!line.traceparent.empty()) AppendText(line.traceparent, map.Member(CborKey::kTraceparent));
  if (!line.tracestate.empty()) AppendText(line.tracestate, map.Member(CborKey::kTracestate));
  if (!line.is_json) {
    scratch_.clear();
    AppendBase64Decoded(line.payload, &scratch_);
    cbor::AppendBytes(scratch_, map.Member(CborKey::kBytes));
  } else {
    std::string* const to = map.Member(CborKey::kPayload);
    const size_t key_at = to->size() - 1;
    const CborFromJson::Result result = translate_.Append(line.payload, to);
    if (result == CborFromJson::Result::kNotJson) return false;
    if (result == CborFromJson::Result::kInexact) {
      (*to)[key_at] = static_cast<char>(CborKey::kText);
      AppendText(line.payload, to);
    }
  }
  map.End();
  return true;
}

}  // namespace seganet
