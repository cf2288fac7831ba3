// The HDF5 filter without HDF5: its words, its callback's contract, and hostile words and bytes.
#include <gtest/gtest.h>

#include <cstdlib>
#include <cstring>
#include <random>

#include "chunk_coding.h"
#include "files/conventions/hdf5_filter_settings.h"
#include "filter.h"
#include "pipeline.h"
#include "unit/stream/samples.h"

namespace tensorpress::hdf5 {
namespace {

using files::Hdf5Chunk;
using files::Hdf5FilterSettings;
using Words = std::vector<std::uint32_t>;

Codec codec_of(std::string_view name, std::vector<Parameter> parameters = {}) {
  return *Codec::make(name, parameters);
}

Hdf5FilterSettings settings_for(const Hdf5Chunk& chunk, const Bound& bound) {
  return {.codec = codec_of("dense"), .bound = bound, .chunk = chunk};
}

std::vector<std::byte> bytes_of(const std::vector<float>& values) {
  std::vector<std::byte> bytes(values.size() * sizeof(float));
  std::memcpy(bytes.data(), values.data(), bytes.size());
  return bytes;
}

std::vector<float> coded_and_back(const Hdf5FilterSettings& settings,
                                  const std::vector<float>& values) {
  const auto stream = encode_chunk(settings, bytes_of(values));
  EXPECT_TRUE(stream.ok()) << stream.error().message;
  const auto back = decode_chunk(settings, {stream->memory.get(), stream->used});
  EXPECT_TRUE(back.ok()) << back.error().message;
  std::vector<float> result(values.size());
  EXPECT_EQ(back->used, result.size() * sizeof(float));
  std::memcpy(result.data(), back->memory.get(), back->used);
  return result;
}

TEST(Hdf5Words, HoldTheDocumentedNumbers) {
  const Hdf5FilterSettings settings{
      .codec = codec_of("dense", {{"effort", "fast"}}),
      .bound = Bound::relative(1e-3),
      .fill_values = {-1e34},
      .chunk =
          Hdf5Chunk{.dtype = DType::f64, .big_endian = true, .fill_value = -1, .shape = {3, 5}}};
  // 1e-3 is 3F50624DD2F1A9FC, -1e34 is C6FED09BEAD87C03, -1 is BFF0000000000000.
  const Words expected = {1,          1,          2,       0xD2F1A9FC, 0x3F50624D, 1, 0, 1,
                          0xEAD87C03, 0xC6FED09B, 0x10102, 0,          0xBFF00000, 2, 3, 5};
  EXPECT_EQ(*settings.to_words(), expected);
}

TEST(Hdf5Words, SayTheSameAfterARoundTrip) {
  const Hdf5Chunk chunk{.dtype = DType::f16, .big_endian = true, .shape = {1, 7, 1}};
  const std::vector<Hdf5FilterSettings> all = {
      {.codec = codec_of("dense"), .bound = Bound::absolute(0.5)},
      {.codec = codec_of("ceresz"), .bound = Bound::pointwise_relative(1e-2), .threads = 3},
      {.codec = codec_of("ceresz2", {{"codebook", "dynamic"}}), .bound = Bound::psnr(60)},
      {.codec = codec_of(
           "dct-chop",
           {{"cf", "3"}, {"layout", "triangle"}, {"transform", "zfp"}, {"coefficients", "f16"}}),
       .chunk = chunk},
      {.codec = codec_of("dense"),
       .bound = Bound::relative(0),
       .fill_values = {0, -1},
       .chunk = chunk}};
  for (const auto& settings : all) {
    const auto words = settings.to_words();
    ASSERT_TRUE(words.ok()) << words.error().message;
    const auto again = Hdf5FilterSettings::from_words(*words);
    ASSERT_TRUE(again.ok()) << again.error().message;
    EXPECT_EQ(*again, settings);
  }
}

TEST(Hdf5Words, RefuseWhatAFilterCannotDo) {
  const Hdf5FilterSettings ratio{.codec = codec_of("dense"), .bound = Bound::ratio(10)};
  EXPECT_EQ(ratio.to_words().error().code, ErrorCode::unsupported);
  const Hdf5FilterSettings none{.codec = codec_of("dense")};
  EXPECT_EQ(none.to_words().error().code, ErrorCode::bad_argument);
}

TEST(Hdf5Words, HostileOnesAreErrorsOrMeanSomethingThatIsWrittenTheSameWay) {
  const Hdf5Chunk chunk{.dtype = DType::f32, .fill_value = -1e34, .shape = {4, 5}};
  const Words good = *Hdf5FilterSettings{.codec = codec_of("dense"),
                                         .bound = Bound::relative(1e-3),
                                         .fill_values = {-9999},
                                         .chunk = chunk}
                          .to_words();
  std::mt19937 random(5);
  int errors = 0;
  for (int i = 0; i < 20000; ++i) {
    Words words = good;
    for (auto n = random() % 3 + 1; n > 0; --n) {
      auto& word = words[random() % words.size()];
      word =
          random() % 2 != 0 ? static_cast<std::uint32_t>(random()) : word ^ (1u << random() % 32);
    }
    if (random() % 4 == 0) words.resize(random() % (files::kMaxHdf5Words + 4));
    const auto settings = Hdf5FilterSettings::from_words(words);
    if (!settings.ok()) {
      ++errors;
      EXPECT_FALSE(settings.error().message.empty());
      continue;
    }
    const auto again = settings->to_words();
    ASSERT_TRUE(again.ok()) << again.error().message;
    const auto same = Hdf5FilterSettings::from_words(*again);
    ASSERT_TRUE(same.ok()) << same.error().message;
    EXPECT_EQ(*same->to_words(), *again);
  }
  EXPECT_GT(errors, 10000);
}

TEST(Hdf5Words, LongRowsOfExtentsBecomeEightAxes) {
  const std::vector<std::uint64_t> ten = {2, 3, 1, 1, 5, 1, 1, 1, 1, 7};
  EXPECT_EQ(*files::hdf5_chunk_shape(ten), (Shape{6, 1, 5, 1, 1, 1, 1, 7}));
  const std::vector<std::uint64_t> zero = {4, 0};
  EXPECT_FALSE(files::hdf5_chunk_shape(zero).ok());
  const std::vector<std::uint64_t> huge(32, 0xFFFFFFFF);
  EXPECT_FALSE(files::hdf5_chunk_shape(huge).ok());
}

TEST(Hdf5Chunks, ZerosOfThePaddingDoNotLoosenARelativeBound) {
  std::vector<float> values(400);
  for (std::size_t i = 0; i < 200; ++i) values[i] = 300.0f + std::sin(static_cast<float>(i));
  const auto settings =
      settings_for({.dtype = DType::f32, .shape = {20, 20}}, Bound::relative(1e-2));
  const auto back = coded_and_back(settings, values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    EXPECT_LE(std::abs(static_cast<double>(back[i]) - static_cast<double>(values[i])), 0.02);
  }
}

TEST(Hdf5Chunks, AFillValueThatNobodyNamedComesBackBitForBitAndIsNotInTheRange) {
  std::vector<float> values(400);
  for (std::size_t i = 0; i < values.size(); ++i) {
    values[i] = i % 7 == 0 ? -1e34f : i % 11 == 0 ? 1e20f : 10.0f + std::sin(static_cast<float>(i));
  }
  const auto settings = settings_for({.dtype = DType::f32, .shape = {400}}, Bound::relative(1e-2));
  const auto back = coded_and_back(settings, values);
  for (std::size_t i = 0; i < values.size(); ++i) {
    if (i % 7 == 0 || i % 11 == 0) {
      EXPECT_EQ(back[i], values[i]);
    } else {
      EXPECT_LE(std::abs(static_cast<double>(back[i]) - static_cast<double>(values[i])), 0.02);
    }
  }
}

/// A buffer from malloc, as HDF5 hands it over.
class HostBuffer {
 public:
  explicit HostBuffer(std::span<const std::byte> bytes)
      : memory_(std::malloc(std::max<std::size_t>(bytes.size(), 1))), capacity_(bytes.size()) {
    std::memcpy(memory_, bytes.data(), bytes.size());
  }
  HostBuffer(const HostBuffer&) = delete;
  HostBuffer& operator=(const HostBuffer&) = delete;
  ~HostBuffer() { std::free(memory_); }

  std::size_t call(unsigned flags, const Words& words, std::size_t bytes) {
    return kFilterClass.filter(flags, words.size(), words.data(), bytes, &capacity_, &memory_);
  }
  const void* memory() const { return memory_; }
  std::size_t capacity() const { return capacity_; }
  std::span<const std::byte> first(std::size_t count) const {
    return {static_cast<const std::byte*>(memory_), count};
  }

 private:
  void* memory_;
  std::size_t capacity_;
};

TEST(Hdf5Callback, ReportsACapacityThatHoldsWhatItReturns) {
  const Tensor tensor = samples::ramp(DType::f32, {33, 17});
  const auto words =
      *settings_for({.dtype = DType::f32, .shape = {33, 17}}, Bound::absolute(0.1)).to_words();
  HostBuffer buffer(tensor.bytes);
  const std::size_t packed = buffer.call(0, words, tensor.bytes.size());
  ASSERT_GT(packed, 0u);
  EXPECT_LE(packed, buffer.capacity());
  const std::size_t unpacked = buffer.call(abi::kFlagReverse, words, packed);
  EXPECT_EQ(unpacked, tensor.bytes.size());
  EXPECT_LE(unpacked, buffer.capacity());
}

TEST(Hdf5Callback, LeavesTheBufferAsItWasWhenItFails) {
  const Tensor tensor = samples::ramp(DType::f32, {33, 17});
  const auto words =
      *settings_for({.dtype = DType::f32, .shape = {33, 17}}, Bound::absolute(0.1)).to_words();
  HostBuffer buffer(tensor.bytes);
  const void* const before = buffer.memory();
  EXPECT_EQ(buffer.call(abi::kFlagReverse, words, tensor.bytes.size()), 0u);  // no stream
  EXPECT_EQ(buffer.call(0, words, tensor.bytes.size() - 4), 0u);              // not a whole chunk
  EXPECT_EQ(buffer.call(0, {}, tensor.bytes.size()), 0u);                     // no words
  EXPECT_EQ(buffer.call(0, {1, 1, 1, 0, 0}, tensor.bytes.size()), 0u);        // not completed
  EXPECT_EQ(buffer.memory(), before);
  EXPECT_EQ(buffer.capacity(), tensor.bytes.size());
  EXPECT_TRUE(std::ranges::equal(buffer.first(tensor.bytes.size()), tensor.bytes));
}

TEST(Hdf5Callback, EveryFlippedByteOfAStreamIsNoticed) {
  const Tensor tensor = samples::ramp(DType::f32, {16, 16});
  const auto words =
      *settings_for({.dtype = DType::f32, .shape = {16, 16}}, Bound::absolute(0.1)).to_words();
  const auto stream = code_chunk(0, words, tensor.bytes);
  ASSERT_TRUE(stream.ok());
  std::vector<std::byte> bytes(stream->memory.get(), stream->memory.get() + stream->used);
  for (std::size_t i = 0; i < bytes.size(); ++i) {
    bytes[i] ^= std::byte{0x41};
    HostBuffer buffer(bytes);
    EXPECT_EQ(buffer.call(abi::kFlagReverse, words, bytes.size()), 0u) << "byte " << i;
    bytes[i] ^= std::byte{0x41};
  }
}

TEST(Hdf5Callback, TakesBuffersThatAreNotAligned) {
  const Tensor tensor = samples::ramp(DType::f64, {9, 5});
  const auto words =
      *settings_for({.dtype = DType::f64, .shape = {9, 5}}, Bound::relative(1e-3)).to_words();
  std::vector<std::byte> shifted(tensor.bytes.size() + 3);
  std::ranges::copy(tensor.bytes, shifted.begin() + 3);
  const auto odd = code_chunk(0, words, std::span(shifted).subspan(3));
  const auto even = code_chunk(0, words, tensor.bytes);
  ASSERT_TRUE(odd.ok() && even.ok());
  EXPECT_TRUE(std::ranges::equal(std::span(odd->memory.get(), odd->used),
                                 std::span(even->memory.get(), even->used)));
}

TEST(Hdf5Callback, AnswersWithoutAnHdf5LibraryInTheProcess) {
  EXPECT_LT(kFilterClass.can_apply(1, 2, 3), 1);
  EXPECT_LT(kFilterClass.set_local(1, 2, 3), 0);
}

}  // namespace
}  // namespace tensorpress::hdf5
