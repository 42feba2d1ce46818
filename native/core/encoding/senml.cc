#include "core/encoding/senml.h"

#include <algorithm>
#include <charconv>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

#include "core/encoding/envelope_line.h"
#include "core/encoding/senml_writer.h"
#include "core/record/json_scanner.h"

namespace seganet {
namespace {

using senml::CborWriter, senml::JsonWriter;

// [RFC 8428 4.5.3] Times below 2^28 s are relative to now. The upper bound keeps ms exact in a
// double of seconds.
constexpr int64_t kMinTimeMs = int64_t{1000} << 28, kMaxTimeMs = 1'000'000'000'000'000;
// RFC 9193: content format 50 is application/json.
constexpr std::string_view kJsonFormat = "50";
// A JSON object with more members is carried as data.
constexpr size_t kMaxMembers = 256;

bool IsAlphanumeric(char c) {
  return (c >= 'A' && c <= 'Z') || (c >= 'a' && c <= 'z') || (c >= '0' && c <= '9');
}

// [RFC 8428 4.5.1] A name consists of these characters, and begins with a letter or digit.
bool IsNameCharacter(char c) {
  return IsAlphanumeric(c) || c == '-' || c == ':' || c == '.' || c == '/' || c == '_';
}

bool IsName(std::string_view text) {
  return std::all_of(text.begin(), text.end(), IsNameCharacter);
}

// Finds what a payload consists of: one scalar, or an object of scalars.
class Shape {
 public:
  struct Member {
    std::string_view name, value;  // `value`: its JSON text
  };

  // Returns false if the payload is not JSON.
  bool Read(std::string_view json) {
    members_.clear();
    depth_ = 0;
    is_flat_ = true;
    is_object_ = false;
    json::Scanner scanner(json, this);
    if (!scanner.Value()) return false;
    if (is_object_ && (members_.empty() || HasTwins())) is_flat_ = false;
    return true;
  }

  bool is_flat() const { return is_flat_; }
  bool is_object() const { return is_object_; }
  // The scalar has no name.
  const std::vector<Member>& members() const { return members_; }

  void Enter(bool is_object, const char* /*start*/) {
    is_object_ = is_object;
    if (!is_object || ++depth_ > 1) is_flat_ = false;
  }
  void Leave(const char* /*end*/) {}
  void Key(std::string_view raw) {
    if (raw.empty() || !IsName(raw) || members_.size() == kMaxMembers) is_flat_ = false;
    name_ = raw;
  }
  void Element() {}
  void Scalar(std::string_view raw) {
    if (raw == "null") is_flat_ = false;
    if (is_flat_) members_.push_back({is_object_ ? name_ : std::string_view(), raw});
  }

 private:
  bool HasTwins() {
    sorted_.clear();
    for (const Member& member : members_) sorted_.push_back(member.name);
    std::sort(sorted_.begin(), sorted_.end());
    return std::adjacent_find(sorted_.begin(), sorted_.end()) != sorted_.end();
  }

  std::vector<Member> members_;
  std::vector<std::string_view> sorted_;
  std::string_view name_;
  int depth_ = 0;
  bool is_flat_ = true, is_object_ = false;
};

// Seconds as a decimal number: 1763712000.123.
std::string SecondsOf(int64_t ms) {
  std::string text = std::to_string(ms / 1000);
  if (const int64_t rest = ms % 1000; rest > 0) {
    text += '.' + std::to_string(1000 + rest).substr(1);
    while (text.ends_with('0')) text.pop_back();
  }
  return text;
}

template <typename Writer>
class SenmlCoder : public EnvelopeCoder {
 public:
  bool Encode(std::string_view lines, std::string* out) override {
    const size_t before = out->size();
    writer_.BeginPack(out);
    base_name_.clear();
    base_ms_ = 0;
    base_class_ = 0;
    const bool is_done = ForEachEnvelopeLine(
        lines, [this](const EnvelopeLine& line, size_t) { return AppendGroup(line); });
    if (is_done) {
      writer_.EndPack();
    } else {
      out->resize(before);
    }
    return is_done;
  }

  std::string_view content_type() const override { return Writer::kContentType; }

 private:
  // Appends the records of one line.
  bool AppendGroup(const EnvelopeLine& line) {
    if (!line.is_json) return AppendData(line);
    if (!shape_.Read(line.payload)) return false;
    if (!shape_.is_flat()) return AppendData(line);
    const auto mark = writer_.mark();
    const std::string last_name = base_name_;
    const int64_t last_ms = base_ms_;
    const uint8_t last_class = base_class_;
    bool is_first = true, is_exact = true;
    for (const Shape::Member& member : shape_.members()) {
      writer_.Begin();
      if (std::exchange(is_first, false) && !AppendHead(line, shape_.is_object())) return false;
      if (!member.name.empty()) writer_.Text(senml::kName, member.name);
      is_exact &= AppendValue(member.value);
      writer_.End();
    }
    if (is_exact) return true;
    writer_.Rewind(mark);
    base_name_ = last_name;
    base_ms_ = last_ms;
    base_class_ = last_class;
    return AppendData(line);
  }

  bool AppendValue(std::string_view json) {
    switch (json.front()) {
      case '"':
        return writer_.Text(senml::kString, json.substr(1, json.size() - 2));
      case 't':
      case 'f':
        writer_.Bool(senml::kBool, json.front() == 't');
        return true;
      default:
        return writer_.Number(senml::kValue, json);
    }
  }

  // Appends the line as one record with its whole payload as data.
  bool AppendData(const EnvelopeLine& line) {
    writer_.Begin();
    if (!AppendHead(line, /*is_object=*/false)) return false;
    if (line.is_json) {
      writer_.Text(senml::kContentFormat, kJsonFormat);
      writer_.Data(senml::kData, line.payload);
    } else {
      data_.clear();
      AppendBase64Decoded(line.payload, &data_);
      writer_.Data(senml::kData, data_);
    }
    writer_.End();
    return true;
  }

  // Appends what the first record of a group has before its value.
  bool AppendHead(const EnvelopeLine& line, bool is_object) {
    const bool is_named = MakeName(line, is_object);
    if (name_ != base_name_) {
      writer_.Text(senml::kBaseName, name_);
      base_name_ = name_;
    }
    AppendTime(line.ts_ms);
    if (!line.key.empty() && !writer_.Text(senml::kKey, line.key)) return false;
    if (!is_named &&
        !(writer_.Text(senml::kDevice, line.device) && writer_.Text(senml::kTopic, line.topic))) {
      return false;
    }
    writer_.Number(senml::kSequence, std::to_string(line.seq));
    if (line.record_class != base_class_) {
      writer_.Number(senml::kClass, std::to_string(line.record_class));
      base_class_ = line.record_class;
    }
    if (!line.traceparent.empty()) writer_.Text(senml::kTraceparent, line.traceparent);
    if (!line.tracestate.empty()) writer_.Text(senml::kTracestate, line.tracestate);
    return true;
  }

  // Sets name_. Returns false if device and topic cannot be read from it.
  bool MakeName(const EnvelopeLine& line, bool is_object) {
    name_.assign(line.device).append("/").append(line.topic);
    if (is_object) name_ += '/';
    if (IsName(name_) && IsAlphanumeric(name_.front()) &&
        line.device.find('/') == std::string_view::npos) {
      return true;
    }
    std::replace_if(
        name_.begin(), name_.end(), [](char c) { return !IsNameCharacter(c); }, '_');
    if (!IsAlphanumeric(name_.front())) name_.insert(name_.begin(), 'd');
    return false;
  }

  void AppendTime(int64_t ms) {
    if (ms < kMinTimeMs || ms > kMaxTimeMs) {
      // Another receiver takes the present time.
      writer_.Number(senml::kBaseTime, "0");
      writer_.Number(senml::kMilliseconds, std::to_string(ms));
      base_ms_ = 0;
      return;
    }
    if (ms == base_ms_) return;
    writer_.Number(senml::kBaseTime, SecondsOf(ms));
    base_ms_ = ms;
  }

  Writer writer_;
  Shape shape_;
  std::string name_, data_;
  // What the records so far have set for those that follow.
  std::string base_name_;
  int64_t base_ms_ = 0;     // 0 = none
  uint8_t base_class_ = 0;  // 0 = none
};

}  // namespace

std::unique_ptr<EnvelopeCoder> MakeSenmlJsonCoder() {
  return std::make_unique<SenmlCoder<JsonWriter>>();
}

std::unique_ptr<EnvelopeCoder> MakeSenmlCborCoder() {
  return std::make_unique<SenmlCoder<CborWriter>>();
}

}  // namespace seganet
