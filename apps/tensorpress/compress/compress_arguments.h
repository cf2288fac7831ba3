// What `tensorpress compress` was asked for.
#pragma once

#include <string>
#include <vector>

#include "command_line/options/bound_options.h"
#include "command_line/options/codec_options.h"
#include "command_line/options/force_option.h"
#include "command_line/options/stream_options.h"
#include "command_line/options/tensor_options.h"
#include "files/rewriting/earlier_loss.h"

namespace tensorpress::cli {

struct CompressArguments {
  std::vector<std::string> inputs;
  std::string input;  // the one of them that is worked on, and its output
  std::string output;
  ForceOption force;
  CodecOptions codec;
  BoundOptions bound;
  RawFormatOptions raw;
  ThreadsOption threads;
  StreamOptions stream;
  std::vector<std::string> variables;
  bool from_here = false;
  bool verify = false;
  std::string device;  // whose memory is compressed in; empty: the host's

  void declare(Arguments& arguments);

  files::EarlierLoss earlier_loss() const;
  /// `asked` with all else that the arguments say.
  Result<CompressOptions> write_options(CompressOptions asked) const;
  /// The bound for all variables, with the same.
  Result<CompressOptions> write_options() const;
};

}  // namespace tensorpress::cli
