// What compress, decompress and info report about a stream, under the names that are used
// everywhere: `ratio` counts the whole file, `payload_ratio` only what the codec wrote.
#pragma once

#include "command_line/reports/report_fields.h"
#include "tensorpress/stream.h"

namespace tensorpress::cli {

/// The codec's own figures (matrix_bytes, flops_compress, ...) are among the fields.
ReportFields describe(const StreamInfo& info);

/// cf 4, layout square, ...
ReportFields describe_parameters(const Codec& codec);

/// What all steps of a stream's history have lost together; absent where there is no step before
/// its own, or where they do not add up.
std::optional<Bound> total_error(const StreamInfo& info);

/// "max_abs_error 0.001" for codecs with a bound, "l2_error 3.1" for others.
std::string error_in_words(const StreamInfo& info);

/// The elements as they stood in the file that the stream was made from: whole numbers, where it
/// packed them, are fewer bytes than the values that they stand for.
std::uint64_t bytes_in_file(const StreamInfo& info);

/// Against the bytes that stood in the file.
double ratio_of(const StreamInfo& info);

/// "x.npy: 2 MiB -> x.tpz: 100 KiB, ratio 20, ...", with a line break. `stored_bytes` is what the
/// elements took in a file that compresses them itself: "(1 MiB stored)".
std::string compression_in_one_line(const std::string& input, const std::string& output,
                                    const StreamInfo& info, double seconds,
                                    std::uint64_t stored_bytes = 0);

/// 1e9 uncompressed bytes a second.
double gb_per_s(std::uint64_t bytes, double seconds);

/// "" unless chunks are stored as they are: then a sentence that says what it means.
std::string remark_on_raw_chunks(const StreamInfo& info);

}  // namespace tensorpress::cli
