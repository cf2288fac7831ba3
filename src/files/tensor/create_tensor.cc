// Writes .npy and raw tensors, region by region. Files take regions anywhere; standard output,
// pipes and devices take them in order, and what comes out of order waits in a spool.
#include <algorithm>
#include <bit>

#include "base/bytes.h"
#include "base/errors.h"
#include "files/bytes/byte_files.h"
#include "files/bytes/temporary_file.h"
#include "files/conventions/file_kind.h"
#include "files/tensor/npy.h"
#include "files/tensor/region_runs.h"
#include "files/tensor/tensor_files.h"

namespace tensorpress::files {
namespace {

constexpr bool kLittleEndian = std::endian::native == std::endian::little;  // as files are
constexpr std::uint64_t kCopyBytes = std::uint64_t{1} << 20;

class TensorFileWriter : public TensorFile {
 public:
  TensorFileWriter(std::unique_ptr<AtomicFile> file, std::string name, DType dtype,
                   const Shape& shape, std::uint64_t header_bytes)
      : file_(std::move(file)),
        name_(std::move(name)),
        dtype_(dtype),
        shape_(shape),
        header_bytes_(header_bytes) {}

  Result<void> write(const Region& region, const TensorView& elements) override {
    RETURN_IF_ERROR(check_region(shape_, region));
    if (elements.shape != region.extent || elements.dtype != dtype_) {
      return bad_argument("elements of ", elements.shape.to_string(), " ", name_of(elements.dtype),
                          " do not fit a region of ", region.extent.to_string(), " ",
                          name_of(dtype_), " in ", name_);
    }
    const auto bytes = packed(elements);
    const RegionRuns runs(shape_, region);
    const auto run_bytes = static_cast<std::size_t>(runs.run() * size_of(dtype_));
    std::size_t done = 0;
    RETURN_IF_ERROR(runs.for_each([&](std::uint64_t first) {
      const auto part = bytes.subspan(done, run_bytes);
      done += part.size();
      return write_run(first * size_of(dtype_), part);
    }));
    written_ += region.extent.element_count();
    return {};
  }

  Result<void> finish() override {
    if (written_ != shape_.element_count()) {
      return internal_error("only ", written_, " of ", shape_.element_count(), " elements of ",
                            name_, " were written");
    }
    if (spool_.is_open()) RETURN_IF_ERROR(append_spool());
    return file_->finish();
  }

 private:
  std::span<const std::byte> packed(const TensorView& elements) {
    const auto bytes = static_cast<std::size_t>(elements.byte_count());
    if (elements.is_contiguous() && kLittleEndian) return {elements.data, bytes};
    const auto buffer = packing_.reserve(bytes);
    copy_elements(elements, MutableTensorView::contiguous(buffer.data(), dtype_, elements.shape));
    if (!kLittleEndian) {
      const std::size_t size = size_of(dtype_);
      for (std::size_t i = 0; i < bytes; i += size) std::ranges::reverse(buffer.subspan(i, size));
    }
    return buffer;
  }

  Result<void> write_run(std::uint64_t at, std::span<const std::byte> bytes) {
    if (file_->can_write_at()) return file_->write_at(header_bytes_ + at, bytes);
    if (!spool_.is_open() && at == appended_) {
      appended_ += bytes.size();
      return file_->append(bytes);
    }
    if (!spool_.is_open()) {
      TRY(spool_, create_spool(element_bytes() - appended_));
    }
    return write_spool(spool_, at - appended_, bytes);
  }

  Result<void> append_spool() {
    AlignedBuffer buffer;
    for (std::uint64_t at = 0; at < element_bytes() - appended_; at += kCopyBytes) {
      const auto part = buffer.reserve(std::min(kCopyBytes, element_bytes() - appended_ - at));
      const auto count = read_fully_at(spool_, at, part);
      if (!count.ok()) return while_doing(text("cannot read ", spool_name()), count.error());
      ENSURE(*count == part.size());
      RETURN_IF_ERROR(file_->append(part));
    }
    return {};
  }

  std::uint64_t element_bytes() const { return shape_.element_count() * size_of(dtype_); }

  std::unique_ptr<AtomicFile> file_;
  std::string name_;
  DType dtype_;
  Shape shape_;
  std::uint64_t header_bytes_;
  std::uint64_t written_ = 0;   // elements
  std::uint64_t appended_ = 0;  // element bytes that went out in order
  FileDescriptor spool_;        // holds the element bytes from appended_ on
  AlignedBuffer packing_;
};

}  // namespace

Result<bool> has_npy_header(const std::string& path) {
  const std::string extension = extension_of(path);
  if (extension == ".npz" || extension == ".tpz") {
    return bad_argument("decompressed data cannot go to '", path, "' as a ", extension,
                        " file; use a .npy name, or `raw` to write raw data under this one");
  }
  return path == "-" || extension == ".npy";
}

Result<std::unique_ptr<TensorFile>> create_tensor(const std::string& path, DType dtype,
                                                  const Shape& shape,
                                                  const NewTensorFile& options) {
  bool npy = false;
  if (!options.raw) {
    TRY(npy, has_npy_header(path));
  }
  TRY(auto file, AtomicFile::create(path, options.made_from));
  std::string header;
  if (npy) {
    header = npy_header(dtype, shape);
    RETURN_IF_ERROR(file->append(std::as_bytes(std::span(header))));
  }
  return std::unique_ptr<TensorFile>(std::make_unique<TensorFileWriter>(
      std::move(file), output_name(path), dtype, shape, header.size()));
}

}  // namespace tensorpress::files
