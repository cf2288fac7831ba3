// Compares a stream with its original, a chunk at a time: what `verify` and `compress --verify` do.
#pragma once

#include <cstddef>
#include <cstdint>
#include <optional>
#include <string>

#include "command_line/reports/report_fields.h"
#include "files/tensor/tensor_files.h"

namespace tensorpress::cli {

struct Verification {
  ReportFields fields;  // max_abs_error, ..., l2_error, stored_l2_error, ok
  bool ok = false;
  std::string reason;  // a sentence, when it is not ok
  std::uint64_t bytes_in = 0;
  std::uint64_t bytes_out = 0;
};

/// `original` or `stream_path` may be "-", not both. Different shapes or dtypes are an error. Shows
/// a progress bar.
Result<Verification> verify_stream(const std::string& original,
                                   const std::optional<files::RawFormat>& raw,
                                   const std::string& stream_path, std::size_t threads,
                                   const std::string& variable = "");

}  // namespace tensorpress::cli
