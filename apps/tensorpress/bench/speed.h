// `tensorpress bench` without --peers and --study: a codec beside memcpy in the same run, on
// batches of images or on the tensors of files.
#pragma once

#include <cstdint>
#include <optional>
#include <string>
#include <vector>

#include "command_line/reports/report.h"
#include "files/tensor/tensor_files.h"
#include "tensorpress/aligned_buffer.h"
#include "tensorpress/bound.h"
#include "tensorpress/codec.h"

namespace tensorpress::cli {

/// How every case is measured.
struct SpeedBenchOptions {
  std::vector<std::size_t> threads;  // a row for each
  int repetitions = 11;
};

struct ImageCase {
  Codec codec;
  std::optional<int> chop_factor;  // of codecs that have one
  std::optional<Codec> matmul;     // the same in the paper's form, where it is measured too
};

struct ImageBatches {
  std::vector<ImageCase> cases;
  std::vector<std::uint64_t> planes;  // side lengths of the images
  std::uint64_t least_bytes = 0;      // of a batch
};

Result<Report> run_image_bench(const ImageBatches& batches, const SpeedBenchOptions& options,
                               Reporter& reporter);

struct FileFields {
  Codec codec;
  std::vector<std::string> files;
  std::optional<files::RawFormat> raw;  // of all files; else from their names
  std::vector<Bound> bounds;            // a row for each; none for codecs of a fixed rate
  std::vector<double> fill_values;
};

/// A copy of the file's tensor, contiguous and in `memory`.
Result<TensorView> read_field(const std::string& file, const std::optional<files::RawFormat>& given,
                              AlignedBuffer& memory);

Result<Report> run_file_bench(const FileFields& fields, const SpeedBenchOptions& options,
                              Reporter& reporter);

}  // namespace tensorpress::cli
