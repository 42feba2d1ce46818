#include "core/plan/window_options.h"

#include <algorithm>

#include "core/record/condition.h"
#include "core/record/record.h"

namespace seganet {

Status Validate(const WindowOptions& options) {
  if (options.values.empty() || options.values.size() > kMaxWindowValues) {
    return Status::InvalidArgument("a window needs 1 to 16 values");
  }
  for (auto value = options.values.begin(); value != options.values.end(); ++value) {
    Path path;
    if (const Status status = ParsePath(*value, &path); !status.ok()) {
      return Status::InvalidArgument("value '" + *value + "': " + status.message());
    }
    if (std::find(options.values.begin(), value, *value) != value) {
      return Status::InvalidArgument("value '" + *value + "' is named twice");
    }
  }
  if (options.aggregates == 0 || options.aggregates > aggregate::kAll) {
    return Status::InvalidArgument("a window needs 1 to 7 aggregates");
  }
  if (options.length_s < 1 || options.length_s > kMaxWindowS) {
    return Status::InvalidArgument("window length must be 1 to 86400 s");
  }
  if (options.records > kMaxWindowRecords) {
    return Status::InvalidArgument("window records must be 0 to 1000000");
  }
  if (options.record_class > kClasses) {
    return Status::InvalidArgument("window class must be 0 to " + std::to_string(kClasses));
  }
  return {};
}

}  // namespace seganet
