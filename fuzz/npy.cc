// Arbitrary bytes as a .npy file: an error, or a header that says the same after we have written it
// ourselves, and then elements that come back.
#include <string>

#include "base/aligned_buffer.h"
#include "files/tensor/npy.h"
#include "files/tensor/tensor_files.h"
#include "inputs/memory_file.h"
#include "inputs/must.h"
#include "inputs/pipe_like.h"
#include "inputs/streams.h"

namespace tensorpress::fuzz {
namespace {

void check_written_header(const files::NpyHeader& header) {
  const std::string text = files::npy_header(header.dtype, header.shape);
  PipeLike input(std::as_bytes(std::span(text)));
  const auto again = files::read_npy_header(input);
  must(again.ok(), "our own header is read");
  must(again->shape == header.shape && again->dtype == header.dtype && !again->fortran_order &&
           !again->big_endian,
       "our own header says the same");
  must(again->bytes == text.size(), "elements begin after our own header");
}

void read_elements(std::span<const std::byte> bytes) {
  const MemoryFile file(bytes);
  const auto source = files::open_tensor(file.path(), std::nullopt);
  if (!source.ok()) {
    must_explain(source.error());
  } else if ((*source)->shape().element_count() * size_of((*source)->dtype()) <= kMostBytes) {
    AlignedBuffer scratch;
    const auto view = (*source)->read(Region{.origin = {}, .extent = (*source)->shape()}, scratch);
    if (!view.ok()) must_explain(view.error());
  }
}

}  // namespace
}  // namespace tensorpress::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tensorpress;
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  const auto dict = files::parse_npy_dict({reinterpret_cast<const char*>(data), size});
  if (!dict.ok()) fuzz::must_explain(dict.error());
  if (dict.ok()) fuzz::check_written_header(*dict);
  fuzz::PipeLike input(bytes);
  const auto header = files::read_npy_header(input);
  if (!header.ok()) {
    fuzz::must_explain(header.error());
    return 0;
  }
  fuzz::check_written_header(*header);
  fuzz::read_elements(bytes);
  return 0;
}
