// Arbitrary bytes as a codebook of ceresz2: as the JSON file that `codebook build` writes, and as
// the text that a stream's header holds. A codebook that is accepted says the same after both
// trips, and codes what it is given.
#include <algorithm>
#include <string>
#include <string_view>

#include "codecs/ceresz2/codebook.h"
#include "files/tensor/codebook_file.h"
#include "inputs/memory_file.h"
#include "inputs/must.h"
#include "tensorpress/stream.h"

namespace tensorpress::fuzz {
namespace {

using ceresz2::Codebook;

void check_use(const Codebook& book) {
  const auto again = Codebook::from_text(book.to_text());
  must(again.ok(), "a codebook's own text is read");
  must(std::ranges::equal(again->lengths(), book.lengths()), "a codebook's own text says the same");
  const Parameter parameters[] = {{"codebook", book.to_text()}};
  const auto codec = Codec::make("ceresz2", parameters);
  must(codec.ok(), "ceresz2 takes every codebook");
  std::vector<float> values(96);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i * i % 61);
  const auto view = TensorView::contiguous(std::as_bytes(std::span(values)).data(), DType::f32,
                                           Shape{values.size()});
  const auto stream = compress(view, *codec, Bound::absolute(0.1));
  must(stream.ok(), "values are coded with every codebook");
  must(decompress(*stream).ok(), "what a codebook coded is decoded");
}

}  // namespace
}  // namespace tensorpress::fuzz

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tensorpress;
  const auto book = ceresz2::Codebook::from_text({reinterpret_cast<const char*>(data), size});
  if (!book.ok()) fuzz::must_explain(book.error());
  if (book.ok()) fuzz::check_use(*book);
  const fuzz::MemoryFile file({reinterpret_cast<const std::byte*>(data), size});
  const auto read = files::read_codebook(file.path());
  if (!read.ok()) fuzz::must_explain(read.error());
  if (read.ok()) fuzz::check_use(read->book);
  return 0;
}
