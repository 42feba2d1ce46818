// Writes the records of a SenML pack (RFC 8428, sections 5 and 6). For senml.cc.
#ifndef SEGANET_CORE_ENCODING_SENML_WRITER_H_
#define SEGANET_CORE_ENCODING_SENML_WRITER_H_

#include <cstddef>
#include <string>
#include <string_view>

namespace seganet::senml {

// A label: its name in JSON, and its number in CBOR. Labels without a number are text in CBOR, too.
struct Label {
  std::string_view name;
  int number;
};
inline constexpr int kNoNumber = 99;

// [RFC 8428 12.2], [RFC 9193 7]
inline constexpr Label kBaseName{"bn", -2}, kBaseTime{"bt", -3}, kName{"n", 0}, kValue{"v", 2},
    kString{"vs", 3}, kBool{"vb", 4}, kData{"vd", 8}, kContentFormat{"ct", kNoNumber};
// Ours.
inline constexpr Label kKey{"key", kNoNumber}, kDevice{"dev", kNoNumber}, kTopic{"top", kNoNumber},
    kMilliseconds{"ms", kNoNumber}, kSequence{"sq", kNoNumber}, kClass{"cl", kNoNumber},
    kTraceparent{"traceparent", kNoNumber}, kTracestate{"tracestate", kNoNumber};

// Both writers append one pack to a string. Begin() and End() enclose a record; their members
// return false if the form cannot carry the value. `raw`: the contents of a JSON string.
//
// Thread safety: none.
class JsonWriter {
 public:
  static constexpr std::string_view kContentType = "application/senml+json";

  void BeginPack(std::string* out);
  void EndPack();
  void Begin();
  void End() { out_->push_back('}'); }
  bool Text(Label label, std::string_view raw);
  bool Number(Label label, std::string_view text);
  void Bool(Label label, bool value);
  void Data(Label label, std::string_view bytes);

  // A place to return to. REQUIRES (Rewind): between two records.
  struct Mark {
    size_t bytes;
  };
  Mark mark() const { return {out_->size()}; }
  void Rewind(Mark mark) { out_->resize(mark.bytes); }

 private:
  void Name(Label label);

  std::string* out_ = nullptr;
  std::string scratch_;
};

class CborWriter {
 public:
  static constexpr std::string_view kContentType = "application/senml+cbor";

  void BeginPack(std::string* out);
  void EndPack();
  void Begin();
  void End();
  bool Text(Label label, std::string_view raw);
  bool Number(Label label, std::string_view text);
  void Bool(Label label, bool value);
  void Data(Label label, std::string_view bytes);

  struct Mark {
    size_t bytes, records;
  };
  Mark mark() const { return {records_.size(), count_}; }
  void Rewind(Mark mark) {
    records_.resize(mark.bytes);
    count_ = mark.records;
  }

 private:
  void Name(Label label);

  std::string* out_ = nullptr;
  std::string records_;  // without the head of the array, which has their number
  size_t count_ = 0;
  size_t head_at_ = 0;  // of the open record's map
  size_t members_ = 0;
};

}  // namespace seganet::senml

#endif  // SEGANET_CORE_ENCODING_SENML_WRITER_H_
