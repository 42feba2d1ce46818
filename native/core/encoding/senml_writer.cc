#include "core/encoding/senml_writer.h"

#include <algorithm>

#include "core/encoding/cbor_items.h"
#include "core/record/json.h"

namespace seganet::senml {

void JsonWriter::BeginPack(std::string* out) {
  out_ = out;
  out_->push_back('[');
}

void JsonWriter::EndPack() { out_->push_back(']'); }

void JsonWriter::Begin() { out_->append(out_->back() == '}' ? ",{" : "{"); }

void JsonWriter::Name(Label label) {
  out_->append(out_->back() == '{' ? "\"" : ",\"").append(label.name).append("\":");
}

bool JsonWriter::Text(Label label, std::string_view raw) {
  Name(label);
  out_->append("\"").append(raw).push_back('"');
  return true;
}

bool JsonWriter::Number(Label label, std::string_view text) {
  Name(label);
  out_->append(text);
  return true;
}

void JsonWriter::Bool(Label label, bool value) {
  Name(label);
  out_->append(value ? "true" : "false");
}

// [RFC 8428 5] base64 with the URL-safe alphabet, without padding.
void JsonWriter::Data(Label label, std::string_view bytes) {
  scratch_.clear();
  AppendBase64(bytes, &scratch_);
  while (scratch_.ends_with('=')) scratch_.pop_back();
  std::replace(scratch_.begin(), scratch_.end(), '+', '-');
  std::replace(scratch_.begin(), scratch_.end(), '/', '_');
  Text(label, scratch_);
}

void CborWriter::BeginPack(std::string* out) {
  out_ = out;
  records_.clear();
  count_ = 0;
}

void CborWriter::EndPack() {
  cbor::AppendHead(cbor::Major::kArray, count_, out_);
  out_->append(records_);
}

void CborWriter::Begin() {
  ++count_;
  members_ = 0;
  head_at_ = records_.size();
  records_.push_back('\0');
}

void CborWriter::End() {
  // At most as many members as there are labels: the head is one byte.
  std::string head;
  cbor::AppendHead(cbor::Major::kMap, members_, &head);
  records_[head_at_] = head.front();
}

void CborWriter::Name(Label label) {
  ++members_;
  if (label.number == kNoNumber) {
    cbor::AppendText(label.name, &records_);
  } else {
    cbor::AppendInt(label.number, &records_);
  }
}

bool CborWriter::Text(Label label, std::string_view raw) {
  Name(label);
  return cbor::AppendJsonText(raw, &records_);
}

bool CborWriter::Number(Label label, std::string_view text) {
  Name(label);
  return cbor::AppendJsonNumber(text, &records_);
}

void CborWriter::Bool(Label label, bool value) {
  Name(label);
  records_.push_back(value ? cbor::kTrue : cbor::kFalse);
}

void CborWriter::Data(Label label, std::string_view bytes) {
  Name(label);
  cbor::AppendBytes(bytes, &records_);
}

}  // namespace seganet::senml
