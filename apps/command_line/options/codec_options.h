// --codec and the flags of every codec's parameters, made from what tensorpress::codecs() says: a
// new codec's flags appear by themselves.
#pragma once

#include <map>
#include <string>

#include "command_line/options/arguments.h"
#include "tensorpress/codec.h"

namespace tensorpress::cli {

class CodecOptions {
 public:
  /// Adds the flags; the object must outlive the parsing.
  void declare(Arguments& arguments);
  /// The codec that was asked for; the error says what is allowed.
  Result<Codec> codec() const;

 private:
  /// Of the codecs that have all the given parameters, the first.
  Result<std::string> inferred_name() const;
  /// A parameter without effect is an error: another one must have the value that it needs.
  Result<void> check_needs(const ParameterInfo& parameter) const;

  std::string name_;
  std::map<std::string, std::string> values_;  // by parameter name; only those that were given
};

}  // namespace tensorpress::cli
