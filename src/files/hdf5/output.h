// A file that HDF5 writes and that never fails: HDF5 1.10 crashes in several places when a write
// does (H5Ocopy closes types that it has not opened). What cannot be written is noted and left out,
// but for small pieces, which HDF5 may want to read again; then HDF5 comes to its end in peace, and
// the file is thrown away. Included only where HDF5's header is.
#pragma once

#include <memory>
#include <string>

#include "files/hdf5/library.h"

namespace tensorpress::files {

class Hdf5Output {
 public:
  /// Writes the file that is at `path`, from its beginning.
  static Result<std::unique_ptr<Hdf5Output>> create(const Hdf5Functions& hdf5,
                                                    const std::string& path, hid_t creation);
  ~Hdf5Output();
  Hdf5Output(const Hdf5Output&) = delete;
  Hdf5Output& operator=(const Hdf5Output&) = delete;

  hid_t id() const { return file_.get(); }
  /// The operating system's reason, once something could not be written.
  Result<void> check() const;
  /// Writes what is not written yet; only then is the file whole.
  Result<void> close();

 private:
  explicit Hdf5Output(const Hdf5Functions& hdf5) : hdf5_(hdf5) {}

  const Hdf5Functions& hdf5_;
  int error_number_ = 0;  // 0: everything was written; outlives the file
  Hdf5Id file_;
};

}  // namespace tensorpress::files
