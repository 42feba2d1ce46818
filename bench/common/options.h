#ifndef SEGANET_BENCH_COMMON_OPTIONS_H_
#define SEGANET_BENCH_COMMON_OPTIONS_H_

#include <algorithm>
#include <cstdio>
#include <cstdlib>
#include <initializer_list>
#include <map>
#include <string>
#include <string_view>

namespace bench {

// Parses `--name value` pairs. Every name must be in the defaults; an unknown one ends the process
// with exit code 2.
class Options {
 public:
  Options(std::map<std::string, std::string> defaults, int argc, char** argv)
      : values_(std::move(defaults)) {
    for (int i = 1; i < argc; i += 2) {
      std::string name = argv[i];
      auto it = name.starts_with("--") ? values_.find(name.substr(2)) : values_.end();
      if (it == values_.end() || i + 1 >= argc) {
        std::fprintf(stderr, "%s: unknown option, or no value: %s. Options:", argv[0], argv[i]);
        for (const auto& [key, value] : values_)
          std::fprintf(stderr, " --%s %s", key.c_str(), value.c_str());
        std::fprintf(stderr, "\n");
        std::exit(2);
      }
      it->second = argv[i + 1];
    }
  }

  const std::string& Text(const std::string& name) const { return values_.at(name); }

  double Number(const std::string& name, double min, double max) const {
    const std::string& text = values_.at(name);
    char* end = nullptr;
    double value = std::strtod(text.c_str(), &end);
    if (text.empty() || *end != '\0' || !(value >= min && value <= max)) {
      std::fprintf(stderr, "--%s must be a number from %g to %g, not '%s'\n", name.c_str(), min,
                   max, text.c_str());
      std::exit(2);
    }
    return value;
  }

  // Returns the index of the option's value among `words`.
  size_t Choice(const std::string& name, std::initializer_list<std::string_view> words) const {
    const std::string& text = values_.at(name);
    const auto found = std::find(words.begin(), words.end(), text);
    if (found != words.end()) return static_cast<size_t>(found - words.begin());
    std::fprintf(stderr, "--%s: '%s' is not known. Choices:", name.c_str(), text.c_str());
    for (const std::string_view word : words) {
      std::fprintf(stderr, " %.*s", static_cast<int>(word.size()), word.data());
    }
    std::fprintf(stderr, "\n");
    std::exit(2);
  }

  int64_t Integer(const std::string& name, double min, double max) const {
    return static_cast<int64_t>(Number(name, min, max));
  }

 private:
  std::map<std::string, std::string> values_;
};

}  // namespace bench

#endif  // SEGANET_BENCH_COMMON_OPTIONS_H_
