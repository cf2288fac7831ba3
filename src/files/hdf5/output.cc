#include "files/hdf5/output.h"

#include <fcntl.h>
#include <unistd.h>

#include <algorithm>
#include <cerrno>
#include <cstring>
#include <exception>
#include <functional>
#include <map>
#include <vector>

#include "base/errors.h"
#include "files/bytes/file_descriptor.h"
#include "files/conventions/hdf5_filter_settings.h"

namespace tensorpress::files {
namespace {

constexpr unsigned kTruncate = 2;  // H5F_ACC_TRUNC, whose macro calls into a library
// Metadata comes in smaller pieces, and raw data is not read again.
constexpr std::size_t kMostKept = std::size_t{1} << 16;

/// HDF5 hands a pointer to its first member around.
struct OutputFile {
  H5FD_t base = {};
  int descriptor = -1;
  haddr_t end_of_addresses = 0;
  haddr_t end_of_file = 0;
  int* error_number = nullptr;
  std::map<haddr_t, std::vector<std::byte>> kept = {};  // what could not be written

  void fail() {
    if (*error_number == 0) *error_number = errno;
  }
};

OutputFile& output_of(H5FD_t* file) {
  return *reinterpret_cast<OutputFile*>(file);
}
const OutputFile& output_of(const H5FD_t* file) {
  return *reinterpret_cast<const OutputFile*>(file);
}

// Where the next file that is opened tells its failures: HDF5 is called from one thread at a time.
int* error_number_of_next = nullptr;

bool write_all(int descriptor, haddr_t at, const std::byte* bytes, std::size_t size) {
  while (size > 0) {
    const ssize_t count = ::pwrite(descriptor, bytes, size, static_cast<off_t>(at));
    if (count < 0 && errno == EINTR) continue;
    if (count <= 0) return false;
    bytes += count;
    at += static_cast<haddr_t>(count);
    size -= static_cast<std::size_t>(count);
  }
  return true;
}

extern "C" {

static H5FD_t* open_output(const char* name, unsigned /*flags*/, hid_t /*access*/,
                           haddr_t /*most*/) {
  const int descriptor = ::open(name, O_RDWR | O_TRUNC | O_CLOEXEC);
  if (descriptor < 0) return nullptr;
  auto* const file = new OutputFile();
  file->descriptor = descriptor;
  file->error_number = error_number_of_next;
  return &file->base;
}

static herr_t close_output(H5FD_t* file) {
  OutputFile* const output = &output_of(file);
  if (::close(output->descriptor) != 0) output->fail();
  delete output;
  return 0;
}

static int compare_outputs(const H5FD_t* a, const H5FD_t* b) {
  return a == b ? 0 : (std::less<>()(a, b) ? -1 : 1);
}

static herr_t query_output(const H5FD_t* /*file*/, unsigned long* flags) {
  // As HDF5's own driver, so that files are the same.
  *flags = H5FD_FEAT_AGGREGATE_METADATA | H5FD_FEAT_ACCUMULATE_METADATA | H5FD_FEAT_DATA_SIEVE |
           H5FD_FEAT_AGGREGATE_SMALLDATA | H5FD_FEAT_DEFAULT_VFD_COMPATIBLE;
  return 0;
}

static haddr_t get_end_of_addresses(const H5FD_t* file, H5FD_mem_t /*type*/) {
  return output_of(file).end_of_addresses;
}
static herr_t set_end_of_addresses(H5FD_t* file, H5FD_mem_t /*type*/, haddr_t address) {
  output_of(file).end_of_addresses = address;
  return 0;
}
static haddr_t get_end_of_file(const H5FD_t* file, H5FD_mem_t /*type*/) {
  return output_of(file).end_of_file;
}

static herr_t read_output(H5FD_t* file, H5FD_mem_t /*type*/, hid_t /*transfer*/, haddr_t address,
                          std::size_t size, void* buffer) {
  const OutputFile& output = output_of(file);
  auto* const bytes = static_cast<std::byte*>(buffer);
  std::memset(bytes, 0, size);  // what lies behind the end
  for (std::size_t done = 0; done < size;) {
    const ssize_t count =
        ::pread(output.descriptor, bytes + done, size - done, static_cast<off_t>(address + done));
    if (count < 0 && errno == EINTR) continue;
    if (count < 0) return -1;
    if (count == 0) break;
    done += static_cast<std::size_t>(count);
  }
  for (const auto& [start, piece] : output.kept) {
    const haddr_t begin = std::max<haddr_t>(start, address);
    const haddr_t end = std::min<haddr_t>(start + piece.size(), address + size);
    if (begin < end) std::memcpy(bytes + (begin - address), &piece[begin - start], end - begin);
  }
  return 0;
}

static herr_t write_output(H5FD_t* file, H5FD_mem_t /*type*/, hid_t /*transfer*/, haddr_t address,
                           std::size_t size, const void* buffer) {
  OutputFile& output = output_of(file);
  const auto* const bytes = static_cast<const std::byte*>(buffer);
  output.end_of_file = std::max<haddr_t>(output.end_of_file, address + size);
  if (*output.error_number == 0) {
    if (write_all(output.descriptor, address, bytes, size)) return 0;
    output.fail();
  }
  if (size > kMostKept) return 0;
  try {
    // A later piece may cover a part of an earlier one, which then must not show.
    std::erase_if(output.kept, [&](const auto& piece) {
      return piece.first >= address && piece.first + piece.second.size() <= address + size;
    });
    output.kept[address].assign(bytes, bytes + size);
  } catch (const std::exception&) {
    return 0;  // HDF5 may then read something else, and says so
  }
  return 0;
}

static herr_t truncate_output(H5FD_t* file, hid_t /*transfer*/, hbool_t /*closing*/) {
  OutputFile& output = output_of(file);
  if (output.end_of_file == output.end_of_addresses) return 0;
  if (*output.error_number == 0 &&
      ::ftruncate(output.descriptor, static_cast<off_t>(output.end_of_addresses)) != 0) {
    output.fail();
  }
  output.end_of_file = output.end_of_addresses;
  return 0;
}

}  // extern "C"

/// Only what a file needs; HDF5 does the rest itself.
H5FD_class_t output_class() {
  H5FD_class_t all{};
#if H5_VERSION_GE(1, 13, 0)
  all.version = H5FD_CLASS_VERSION;
  all.value = static_cast<H5FD_class_value_t>(kHdf5FilterId);
#endif
  all.name = "tensorpress_output";
  all.maxaddr = haddr_t{1} << 62;
  all.fc_degree = H5F_CLOSE_WEAK;
  all.open = open_output;
  all.close = close_output;
  all.cmp = compare_outputs;
  all.query = query_output;
  all.get_eoa = get_end_of_addresses;
  all.set_eoa = set_end_of_addresses;
  all.get_eof = get_end_of_file;
  all.read = read_output;
  all.write = write_output;
  all.truncate = truncate_output;
  constexpr H5FD_mem_t kKinds[H5FD_MEM_NTYPES] = H5FD_FLMAP_DICHOTOMY;
  std::ranges::copy(kKinds, all.fl_map);
  return all;
}

}  // namespace

Result<std::unique_ptr<Hdf5Output>> Hdf5Output::create(const Hdf5Functions& hdf5,
                                                       const std::string& path, hid_t creation) {
  static const H5FD_class_t driver_class = output_class();
  static const hid_t driver = hdf5.H5FDregister(&driver_class);
  const Hdf5Id access(hdf5.H5Pcreate(hdf5.file_access), hdf5.H5Pclose);
  if (driver < 0 || hdf5.H5Pset_driver(access.get(), driver, nullptr) < 0) {
    return hdf5.failure("HDF5 does not take our way to write files");
  }
  std::unique_ptr<Hdf5Output> output(new Hdf5Output(hdf5));
  error_number_of_next = &output->error_number_;
  output->file_ =
      Hdf5Id(hdf5.H5Fcreate(path.c_str(), kTruncate, creation, access.get()), hdf5.H5Fclose);
  if (!output->file_.valid()) return hdf5.failure("an HDF5 file cannot be made");
  RETURN_IF_ERROR(output->check());
  return output;
}

Hdf5Output::~Hdf5Output() {
  file_.close();  // while the number of its error is there
}

Result<void> Hdf5Output::check() const {
  return error_number_ == 0 ? Result<void>() : io_error(reason(error_number_));
}

Result<void> Hdf5Output::close() {
  const bool closed = file_.close();
  RETURN_IF_ERROR(check());
  if (!closed) return hdf5_.failure("the HDF5 file cannot be completed");
  return {};
}

}  // namespace tensorpress::files
