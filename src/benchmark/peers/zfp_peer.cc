// ZFP's C library in fixed-accuracy mode, serial. It is opened at run time with its symbols hidden:
// hdf5plugin's filter brings a ZFP of its own with the same names.
#include <zfp.h>

#include <algorithm>
#include <array>

#include "base/errors.h"
#include "base/shared_library.h"
#include "benchmark/peers/peers.h"
#include "benchmark/stopwatch.h"
#include "tensorpress/aligned_buffer.h"

namespace tensorpress::benchmark {
namespace {

struct ZfpLibrary {
  decltype(&::stream_open) bits_open;
  decltype(&::stream_close) bits_close;
  decltype(&::zfp_stream_open) open;
  decltype(&::zfp_stream_close) close;
  decltype(&::zfp_stream_set_accuracy) set_accuracy;
  decltype(&::zfp_stream_set_bit_stream) set_bit_stream;
  decltype(&::zfp_stream_rewind) rewind;
  decltype(&::zfp_stream_maximum_size) maximum_size;
  decltype(&::zfp_field_4d) field_4d;
  decltype(&::zfp_field_free) field_free;
  decltype(&::zfp_compress) compress;
  decltype(&::zfp_decompress) decompress;

  static Result<ZfpLibrary> load() {
    TRY(const auto library,
        SharedLibrary::open({"libzfp.so.1", "libzfp.so"}, SharedLibrary::Symbols::hidden));
    ZfpLibrary table{};
    RETURN_IF_ERROR(library.find("stream_open", table.bits_open));
    RETURN_IF_ERROR(library.find("stream_close", table.bits_close));
    RETURN_IF_ERROR(library.find("zfp_stream_open", table.open));
    RETURN_IF_ERROR(library.find("zfp_stream_close", table.close));
    RETURN_IF_ERROR(library.find("zfp_stream_set_accuracy", table.set_accuracy));
    RETURN_IF_ERROR(library.find("zfp_stream_set_bit_stream", table.set_bit_stream));
    RETURN_IF_ERROR(library.find("zfp_stream_rewind", table.rewind));
    RETURN_IF_ERROR(library.find("zfp_stream_maximum_size", table.maximum_size));
    RETURN_IF_ERROR(library.find("zfp_field_4d", table.field_4d));
    RETURN_IF_ERROR(library.find("zfp_field_free", table.field_free));
    RETURN_IF_ERROR(library.find("zfp_compress", table.compress));
    RETURN_IF_ERROR(library.find("zfp_decompress", table.decompress));
    return table;
  }
};

/// Fastest axis first, as ZFP wants them; 0 for axes that there are not. Leading axes beyond the
/// fourth are joined.
std::array<std::size_t, 4> zfp_extents(const Shape& shape) {
  std::array<std::size_t, 4> extents{};
  extents[0] = 1;
  for (std::size_t i = 0; i < shape.rank(); ++i) {
    const auto extent = static_cast<std::size_t>(shape[shape.rank() - 1 - i]);
    if (i < 4) {
      extents[i] = extent;
    } else {
      extents[3] *= extent;
    }
  }
  return extents;
}

class ZfpContender : public Contender {
 public:
  explicit ZfpContender(const ZfpLibrary& library)
      : library_(library), stream_(library.open(nullptr)) {}
  ZfpContender(const ZfpContender&) = delete;
  ZfpContender& operator=(const ZfpContender&) = delete;
  ~ZfpContender() override {
    if (bits_ != nullptr) library_.bits_close(bits_);
    library_.close(stream_);
  }

  std::string name() const override { return "zfp"; }

  Result<void> prepare(const Field& field, const FieldBound& bound) override {
    if (field.view.dtype != DType::f32 && field.view.dtype != DType::f64) {
      return unsupported("takes f32 and f64 only");
    }
    if (field.view.element_count() == 0) return unsupported("the field is empty");
    if (field.has_nonfinite) return unsupported("NaN or infinity in the field");
    if (!(bound.absolute > 0)) return unsupported("the bound is 0");
    field_ = field.view;
    library_.set_accuracy(stream_, bound.absolute);
    const std::size_t room = with_field(
        nullptr, [&](zfp_field* described) { return library_.maximum_size(stream_, described); });
    const auto memory = compressed_.reserve(room);
    std::ranges::fill(memory, std::byte{1});
    if (bits_ != nullptr) library_.bits_close(bits_);
    bits_ = library_.bits_open(memory.data(), memory.size());
    library_.set_bit_stream(stream_, bits_);
    return {};
  }

  Result<double> compress() override {
    const double seconds = seconds_of([&] {
      length_ = with_field(field_.data, [&](zfp_field* described) {
        library_.rewind(stream_);
        return library_.compress(stream_, described);
      });
    });
    if (length_ == 0) return unsupported("zfp_compress failed");
    return seconds;
  }

  Result<double> decompress(std::span<std::byte> output) override {
    std::size_t length = 0;
    const double seconds = seconds_of([&] {
      length = with_field(output.data(), [&](zfp_field* described) {
        library_.rewind(stream_);
        return library_.decompress(stream_, described);
      });
    });
    if (length == 0) return unsupported("zfp_decompress failed");
    return seconds;
  }

  Result<std::uint64_t> compressed_bytes() const override { return std::uint64_t{length_}; }

 private:
  template <class Work>
  std::size_t with_field(const std::byte* data, Work work) {
    const auto [x, y, z, w] = zfp_extents(field_.shape);
    const zfp_type type = field_.dtype == DType::f32 ? zfp_type_float : zfp_type_double;
    // ZFP's field has one pointer for reading and for writing.
    zfp_field* const described =
        library_.field_4d(const_cast<std::byte*>(data), type, x, y, z, w);  // NOLINT
    const std::size_t result = work(described);
    library_.field_free(described);
    return result;
  }

  ZfpLibrary library_;
  zfp_stream* stream_;
  bitstream* bits_ = nullptr;
  TensorView field_;
  AlignedBuffer compressed_;
  std::size_t length_ = 0;
};

}  // namespace

Peers find_zfp_peer() {
  Peers peers;
  const auto library = ZfpLibrary::load();
  if (library.ok()) {
    peers.contenders.push_back(std::make_unique<ZfpContender>(*library));
  } else {
    peers.missing.push_back(text("ZFP's library cannot be opened (", library.error().message,
                                 "): apt-get install libzfp1"));
  }
  return peers;
}

}  // namespace tensorpress::benchmark
