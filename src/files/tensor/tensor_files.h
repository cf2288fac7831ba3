// Tensors in files and pipes: .npy (versions 1 to 3, C and Fortran order, both endians) and
// raw.
#pragma once

#include <memory>
#include <optional>
#include <string>
#include <vector>

#include "files/bytes/file_descriptor.h"
#include "tensorpress/streaming.h"

namespace tensorpress::files {

/// What a raw file cannot say about itself.
struct RawFormat {
  Shape shape;
  DType dtype = DType::f32;
  bool big_endian = false;
};

/// A pipe gives its elements once and in order; with `random` it is first copied to a temporary
/// file.
enum class Access { in_order, random };

/// Opens `path` ("-" is standard input). With `raw`, the bytes are elements in C order, and the
/// file must have exactly that many; without it the file must be .npy. Variables of NetCDF and HDF5
/// files are NetcdfFile's: they have fill values, and a bound of a range with these in it would
/// destroy the others.
Result<std::unique_ptr<TensorSource>> open_tensor(const std::string& path,
                                                  const std::optional<RawFormat>& raw,
                                                  Access access = Access::in_order);
/// The same from a pipe whose first bytes may have been looked at (FileInput::peek).
Result<std::unique_ptr<TensorSource>> open_tensor(FileInput input,
                                                  const std::optional<RawFormat>& raw,
                                                  Access access = Access::in_order);

/// A tensor file being written. Nothing is visible under its name until `finish`, which syncs and
/// renames; without finish an existing file stays as it was.
class TensorFile : public TensorSink {
 public:
  virtual Result<void> finish() = 0;
  /// What a person should know about the file that was written; mostly nothing.
  virtual std::vector<std::string> remarks() const { return {}; }
};

/// Whether a tensor at `path` begins with a .npy header: .npy in small or capital letters, and "-".
/// An error for names of other formats, .npz and .tpz, under which raw numbers would be misread.
Result<bool> has_npy_header(const std::string& path);

struct NewTensorFile {
  /// Raw whatever the name.
  bool raw = false;
  /// The file it is made from, whose permissions and times it gets (AtomicFile::create).
  std::string made_from = {};
};

/// Creates `path` as .npy or, if it ends in anything else, raw; "-" is standard output as .npy.
Result<std::unique_ptr<TensorFile>> create_tensor(const std::string& path, DType dtype,
                                                  const Shape& shape,
                                                  const NewTensorFile& options = {});

}  // namespace tensorpress::files
