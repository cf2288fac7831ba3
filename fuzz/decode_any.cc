// Arbitrary bytes as a .tpz stream: an error or a tensor of the size that it declares, the same in
// memory, from a file and from a pipe. Then again with right checksums, so that changed bytes reach
// the container's parser and the codecs.
#include "inputs/must.h"
#include "inputs/streams.h"

namespace tensorpress::fuzz {
namespace {

void check(const Result<Tensor>& tensor) {
  if (!tensor.ok()) return must_explain(tensor.error());
  must(tensor->bytes.size() == tensor->shape.element_count() * size_of(tensor->dtype),
       "a decoded tensor has the size of its shape");
}

void read_every_way(std::span<const std::byte> stream) {
  const auto info = read_info(stream);
  if (!info.ok()) must_explain(info.error());
  const auto in_memory = read_in_memory(stream);
  check(in_memory);
  const auto as_file = read_as_file(stream);
  check(as_file);
  const auto as_pipe = read_as_pipe(stream);
  check(as_pipe);
  if (in_memory.ok() && as_file.ok()) {
    must(in_memory->bytes == as_file->bytes, "memory and file give the same elements");
  }
  if (in_memory.ok() && as_pipe.ok()) {
    must(in_memory->bytes == as_pipe->bytes, "memory and pipe give the same elements");
  }
  DecompressOptions skipping;
  skipping.skip_corrupt = [](const SkippedChunk& chunk) { must_explain(chunk.error); };
  check(read_as_file(stream, skipping));
  check(read_without_footer(stream, skipping));
}

}  // namespace
}  // namespace tensorpress::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tensorpress::fuzz;
  const std::span bytes(reinterpret_cast<const std::byte*>(data), size);
  read_every_way(bytes);
  read_every_way(repaired(bytes));
  return 0;
}
