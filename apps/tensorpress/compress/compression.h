// One tensor on its way to a .tpz stream, from the opened input to the finished file, and what
// there is to report about it.
#pragma once

#include <memory>
#include <string>

#include "command_line/reports/batch.h"
#include "compress_arguments.h"
#include "verify/verification.h"

namespace tensorpress::cli {

/// From where, with what beside it, to where.
struct Compression {
  std::string name;  // of the input, for messages
  std::string variable = {};
  std::string output;
  std::unique_ptr<TensorSource> source = {};
  CompressOptions write = {};
};

struct Compressed {
  StreamInfo info;
  double seconds = 0;
  std::string bound_remark = {};
  Verification verification = {};  // where --verify asks for it
};

/// Writes the stream, and reads it back where --verify asks for it.
Result<Compressed> run_compression(const CompressArguments& options, const Codec& codec,
                                   Compression compression);

Json to_json(const CompressArguments& options, const Compressed& done);

/// What is said on stderr after the result, `about_what` first, and the status that follows.
void add_remarks(const CompressArguments& options, const std::string& about_what,
                 const std::string& output, const Compressed& done, FileReport& report);

}  // namespace tensorpress::cli
