// The outcome of an operation that can fail: a code for programs, and a sentence for display.
#ifndef SEGANET_CORE_BASE_STATUS_H_
#define SEGANET_CORE_BASE_STATUS_H_

#include <string>
#include <utility>

namespace seganet {

class Status {
 public:
  enum class Code { kOk, kInvalidArgument, kSystem, kClosed };

  Status() = default;
  static Status InvalidArgument(std::string message) {
    return Status(Code::kInvalidArgument, std::move(message), 0);
  }
  // `error` is an errno value, which the caller reports as a code (EADDRINUSE).
  static Status System(std::string message, int error) {
    return Status(Code::kSystem, std::move(message), error);
  }
  static Status Closed(std::string message) { return Status(Code::kClosed, std::move(message), 0); }

  bool ok() const { return code_ == Code::kOk; }
  Code code() const { return code_; }
  int error() const { return error_; }
  const std::string& message() const { return message_; }

 private:
  Status(Code code, std::string message, int error)
      : code_(code), error_(error), message_(std::move(message)) {}

  Code code_ = Code::kOk;
  int error_ = 0;
  std::string message_;
};

}  // namespace seganet

#endif  // SEGANET_CORE_BASE_STATUS_H_
