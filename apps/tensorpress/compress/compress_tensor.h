// A tensor that is a file or a pipe by itself: .npy, raw, or a stream that is compressed again.
#pragma once

#include <optional>

#include "command_line/reports/batch.h"
#include "compress_arguments.h"
#include "files/bytes/byte_files.h"

namespace tensorpress::cli {

/// `pipe` where standard input has been looked at already.
Result<FileReport> compress_tensor(const CompressArguments& options,
                                   std::optional<files::FileInput> pipe = {});

}  // namespace tensorpress::cli
