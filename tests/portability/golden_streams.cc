// Golden streams on this CPU: golden_streams FOLDER decodes every NAME.tpz to the bytes of
// NAME.raw, compresses what it got with every codec in several ways, and prints a line for each
// stream that it wrote: its name, length and checksum. The lines are the same on every machine.
// Status 1 when a stream decodes to other bytes.
#include <algorithm>
#include <bit>
#include <cstdio>
#include <filesystem>
#include <fstream>
#include <iterator>
#include <optional>
#include <string>
#include <vector>

#include "base/bytes.h"
#include "kernels/checksum/checksum.h"
#include "tensorpress/stream.h"

namespace tensorpress {
namespace {

namespace fs = std::filesystem;
using Bytes = std::vector<std::byte>;

Bytes contents_of(const fs::path& path) {
  std::ifstream file(path, std::ios::binary);
  const std::string text{std::istreambuf_iterator<char>(file), {}};
  const auto bytes = std::as_bytes(std::span(text));
  return {bytes.begin(), bytes.end()};
}

/// Elements of this machine as they are in a file, little-endian.
Bytes little_endian_bytes(const Tensor& tensor) {
  Bytes bytes = tensor.bytes;
  const std::size_t size = size_of(tensor.dtype);
  if constexpr (std::endian::native == std::endian::big) {
    for (auto at = bytes.begin(); at != bytes.end(); at += static_cast<std::ptrdiff_t>(size)) {
      std::reverse(at, at + static_cast<std::ptrdiff_t>(size));
    }
  }
  return bytes;
}

struct Way {
  std::string name;
  Codec codec;
  std::optional<Bound> bound;
};

std::vector<Way> all_ways() {
  struct Named {
    const char* codec;
    std::vector<Parameter> parameters;
  };
  const std::vector<Named> codecs = {
      {"dct-chop", {{"cf", "3"}}},
      {"dct-chop", {{"cf", "5"}, {"layout", "triangle"}, {"coefficients", "bf16"}}},
      {"dct-chop", {{"cf", "7"}, {"coefficients", "f16"}}},
      {"dct-chop", {{"cf", "2"}, {"transform", "zfp"}}},
      {"dct-chop", {{"cf", "4"}, {"form", "matmul"}}},
      {"quantize", {{"bits", "1"}}},
      {"quantize", {{"bits", "4"}, {"rounding", "stochastic"}, {"seed", "9"}}},
      {"quantize", {{"bits", "8"}, {"group", "96"}}},
      {"cast", {{"to", "bf16"}}},
      {"cast", {{"to", "f16"}}},
      {"cast", {{"to", "e4m3"}}},
      {"cast", {{"to", "e5m2"}}},
      {"mask", {}},
      {"ceresz", {}},
      {"ceresz2", {}},
      {"ceresz2", {{"codebook", "dynamic"}}},
      {"dense", {}},
      {"dense", {{"effort", "fast"}}},
  };
  const std::vector<Bound> bounds = {Bound::relative(1e-3), Bound::relative(1e-9),
                                     Bound::absolute(0.01), Bound::pointwise_relative(1e-3),
                                     Bound::psnr(60),       Bound::ratio(8)};
  std::vector<Way> ways;
  for (const Named& named : codecs) {
    const Codec codec = Codec::make(named.codec, named.parameters).value();
    std::string name = named.codec;
    for (const Parameter& parameter : named.parameters)
      name += " " + parameter.name + "=" + parameter.value;
    const auto known = tensorpress::codecs();
    const auto info = std::ranges::find(known, std::string_view(named.codec), &CodecInfo::name);
    if (!info->error_bounded) ways.push_back({name, codec, std::nullopt});
    if (!info->error_bounded) continue;
    for (const Bound& bound : bounds)
      ways.push_back({name + " " + bound.to_string(), codec, bound});
  }
  return ways;
}

void print_streams(const std::string& name, const Tensor& tensor, const std::vector<Way>& ways) {
  for (const Way& way : ways) {
    CompressOptions options{.bound = way.bound, .threads = 2};
    if (way.bound) options.fill_values = {-1e34};
    const auto stream = compress(tensor.view(), way.codec, options);
    if (!stream.ok()) {
      std::printf("%s, %s: %s\n", name.c_str(), way.name.c_str(), stream.error().message.c_str());
      continue;
    }
    const auto copy = decompress(*stream);
    std::printf("%s, %s: %zu bytes %016llx, decoded %016llx\n", name.c_str(), way.name.c_str(),
                stream->size(), static_cast<unsigned long long>(checksum_of(*stream, 0)),
                static_cast<unsigned long long>(
                    copy.ok() ? checksum_of(little_endian_bytes(*copy), 0) : 0));
  }
}

int run(const fs::path& folder) {
  std::vector<fs::path> streams;
  for (const auto& entry : fs::directory_iterator(folder)) {
    if (entry.path().extension() == ".tpz") streams.push_back(entry.path());
  }
  std::ranges::sort(streams);
  const auto ways = all_ways();
  int status = streams.empty() ? 2 : 0;
  for (const fs::path& path : streams) {
    const auto tensor = decompress(contents_of(path));
    if (!tensor.ok()) {
      std::fprintf(stderr, "%s: %s\n", path.c_str(), tensor.error().message.c_str());
      status = 1;
      continue;
    }
    if (little_endian_bytes(*tensor) != contents_of(fs::path(path).replace_extension(".raw"))) {
      std::fprintf(stderr, "%s decodes to other bytes than its .raw\n", path.c_str());
      status = 1;
    }
    print_streams(path.stem().string(), *tensor, ways);
  }
  return status;
}

}  // namespace
}  // namespace tensorpress

int main(int count, char** arguments) {
  if (count != 2) {
    std::fprintf(stderr, "usage: %s tests/golden\n", arguments[0]);
    return 2;
  }
  return tensorpress::run(arguments[1]);
}
