// Whatever a C caller does wrong is a status and a message, never a crash.
#include <limits>

#include "unit/c_api/samples.h"

namespace tensorpress {
namespace {

using c_samples::absolute_options;
using c_samples::default_decompress_options;
using c_samples::kCount;
using c_samples::kShape;
using c_samples::mutable_view_of;
using c_samples::packed;
using c_samples::view_of;
using c_samples::waves;

class CApiBadArguments : public testing::Test {
 protected:
  tensorpress_status compress_with(const tensorpress_compress_options& options) {
    return compress_view(view_of(values), options);
  }
  tensorpress_status compress_view(const tensorpress_view& view,
                                   const tensorpress_compress_options& options) {
    void* stream = nullptr;
    std::size_t bytes = 0;
    const auto status = tensorpress_compress_alloc(&view, &options, &stream, &bytes, &error);
    EXPECT_EQ(status, error.status);
    EXPECT_EQ(status == TENSORPRESS_OK, error.message[0] == '\0');
    EXPECT_EQ(status == TENSORPRESS_OK, stream != nullptr);
    tensorpress_free(nullptr, stream);
    return status;
  }
  bool message_has(std::string_view words) const {
    return std::string_view(error.message).find(words) != std::string_view::npos;
  }

  const std::vector<float> values = waves();
  tensorpress_error error = {};
};

TEST_F(CApiBadArguments, NullForWhatIsRequired) {
  const auto view = view_of(values);
  const auto options = absolute_options();
  const auto stream = packed(view, options);
  std::vector<float> copy(kCount);
  const auto output = mutable_view_of(copy);
  std::uint64_t bound = 0;
  std::size_t bytes = 0;
  void* memory = nullptr;
  std::byte room[16];
  const void* const data = stream.data();
  const std::size_t size = stream.size();
  tensorpress_parameter_info parameter;
  tensorpress_dtype dtype = 0;
  const tensorpress_status statuses[] = {
      tensorpress_bound_on_output_size(nullptr, &options, &bound, &error),
      tensorpress_bound_on_output_size(&view, &options, nullptr, &error),
      tensorpress_compress(nullptr, &options, room, 16, &bytes, &error),
      tensorpress_compress(&view, &options, nullptr, 16, &bytes, &error),
      tensorpress_compress(&view, &options, room, 16, nullptr, &error),
      tensorpress_compress_alloc(nullptr, &options, &memory, &bytes, &error),
      tensorpress_compress_alloc(&view, &options, nullptr, &bytes, &error),
      tensorpress_compress_alloc(&view, &options, &memory, nullptr, &error),
      tensorpress_compressor_create(&options, nullptr, &error),
      tensorpress_compressor_bound_on_output_size(nullptr, &view, &bound, &error),
      tensorpress_compressor_compress(nullptr, &view, room, 16, &bytes, &error),
      tensorpress_compressor_compress_alloc(nullptr, &view, &memory, &bytes, &error),
      tensorpress_decompress(nullptr, size, &output, nullptr, &error),
      tensorpress_decompress(data, size, nullptr, nullptr, &error),
      tensorpress_decompress_region(data, size, nullptr, &output, nullptr, &error),
      tensorpress_decompress_region(data, size, kShape, nullptr, nullptr, &error),
      tensorpress_decompress_alloc(nullptr, size, nullptr, &memory, &bytes, &error),
      tensorpress_decompress_alloc(data, size, nullptr, nullptr, &bytes, &error),
      tensorpress_decompress_alloc(data, size, nullptr, &memory, nullptr, &error),
      tensorpress_decompressor_create(nullptr, nullptr, &error),
      tensorpress_decompressor_decompress(nullptr, data, size, &output, &error),
      tensorpress_decompressor_decompress_region(nullptr, data, size, kShape, &output, &error),
      tensorpress_decompressor_decompress_alloc(nullptr, data, size, &memory, &bytes, &error),
      tensorpress_info_read(data, size, nullptr, nullptr, &error),
      tensorpress_dtype_parse(nullptr, &dtype, &error),
      tensorpress_dtype_parse("f32", nullptr, &error),
      tensorpress_codec_parameter(0, 0, nullptr, &error),
      tensorpress_codec_parameter(99, 0, &parameter, &error),
      tensorpress_codec_parameter(0, 99, &parameter, &error),
  };
  for (const auto status : statuses) EXPECT_EQ(status, TENSORPRESS_BAD_ARGUMENT);
  EXPECT_EQ(memory, nullptr);
  // These take a NULL in their stride.
  tensorpress_compressor_free(nullptr);
  tensorpress_decompressor_free(nullptr);
  tensorpress_info_free(nullptr, nullptr);
  tensorpress_free(nullptr, nullptr);
  tensorpress_compress_options_init(nullptr, 8);
  EXPECT_EQ(tensorpress_compress(nullptr, nullptr, nullptr, 0, nullptr, nullptr),
            TENSORPRESS_BAD_ARGUMENT);
}

TEST_F(CApiBadArguments, NullListsWithACount) {
  auto options = absolute_options();
  options.parameter_count = 1;
  EXPECT_EQ(compress_with(options), TENSORPRESS_BAD_ARGUMENT);
  options = absolute_options();
  options.attribute_count = 1;
  EXPECT_EQ(compress_with(options), TENSORPRESS_BAD_ARGUMENT);
  options = absolute_options();
  options.fill_value_count = 1;
  EXPECT_EQ(compress_with(options), TENSORPRESS_BAD_ARGUMENT);
  const tensorpress_pair nameless = {nullptr, "x", 0}, valueless = {"cf", nullptr, 0};
  for (const auto* pair : {&nameless, &valueless}) {
    options = absolute_options();
    options.attributes = pair;
    options.attribute_count = 1;
    EXPECT_EQ(compress_with(options), TENSORPRESS_BAD_ARGUMENT);
  }
}

TEST_F(CApiBadArguments, CodecsBoundsAndRangesThatDoNotExist) {
  auto options = absolute_options();
  options.codec = "zip";
  EXPECT_EQ(compress_with(options), TENSORPRESS_BAD_ARGUMENT);
  EXPECT_TRUE(message_has("'zip'")) << error.message;
  EXPECT_TRUE(message_has("dense")) << error.message;
  for (const tensorpress_bound_kind kind : {-1, 6, 1 << 30}) {
    options = absolute_options();
    options.bound_kind = kind;
    EXPECT_EQ(compress_with(options), TENSORPRESS_BAD_ARGUMENT);
  }
  for (const double bound :
       {-1.0, std::numeric_limits<double>::quiet_NaN(), std::numeric_limits<double>::infinity()}) {
    options = absolute_options();
    options.bound = bound;
    EXPECT_EQ(compress_with(options), TENSORPRESS_BAD_ARGUMENT);
  }
  options = absolute_options();
  options.bound_kind = TENSORPRESS_BOUND_NONE;
  EXPECT_EQ(compress_with(options), TENSORPRESS_BAD_ARGUMENT);
  const double range[] = {3, -3};
  options = absolute_options();
  options.value_range = range;
  EXPECT_EQ(compress_with(options), TENSORPRESS_BAD_ARGUMENT);
  options = absolute_options();
  options.chunk_rank = 2;
  EXPECT_EQ(compress_with(options), TENSORPRESS_BAD_ARGUMENT);
}

TEST_F(CApiBadArguments, ViewsThatMakeNoSense) {
  auto options = absolute_options();
  options.chunk_shape = nullptr;
  const std::uint64_t huge[] = {UINT64_MAX, UINT64_MAX, 3};
  const std::int64_t far_apart[] = {INT64_MAX / 2, INT64_MIN, 4};
  const float* const data = values.data();
  EXPECT_EQ(compress_view({data, 0, 3, kShape, nullptr}, options), TENSORPRESS_BAD_ARGUMENT);
  EXPECT_EQ(compress_view({data, 300, 3, kShape, nullptr}, options), TENSORPRESS_BAD_ARGUMENT);
  EXPECT_EQ(compress_view({data, -1, 3, kShape, nullptr}, options), TENSORPRESS_BAD_ARGUMENT);
  EXPECT_EQ(compress_view({data, 1, 9, kShape, nullptr}, options), TENSORPRESS_BAD_ARGUMENT);
  EXPECT_EQ(compress_view({data, 1, SIZE_MAX, kShape, nullptr}, options), TENSORPRESS_BAD_ARGUMENT);
  EXPECT_EQ(compress_view({data, 1, 3, nullptr, nullptr}, options), TENSORPRESS_BAD_ARGUMENT);
  EXPECT_EQ(compress_view({nullptr, 1, 3, kShape, nullptr}, options), TENSORPRESS_BAD_ARGUMENT);
  EXPECT_EQ(compress_view({data, 1, 3, huge, nullptr}, options), TENSORPRESS_TOO_LARGE);
  EXPECT_EQ(compress_view({data, 1, 3, kShape, far_apart}, options), TENSORPRESS_TOO_LARGE);

  const auto stream = packed(view_of(values), options);
  std::vector<float> copy(kCount);
  const std::int64_t on_top[] = {2400, 0, 4};
  const std::uint64_t other_shape[] = {6, 30, 20};
  const std::uint64_t beyond[] = {1, 0, 0};
  const tensorpress_mutable_view overlapping = {copy.data(), 1, 3, kShape, on_top};
  const tensorpress_mutable_view transposed = {copy.data(), 1, 3, other_shape, nullptr};
  const tensorpress_mutable_view as_f64 = {copy.data(), 2, 3, kShape, nullptr};
  const auto whole = mutable_view_of(copy);
  for (const auto* output : {&overlapping, &transposed, &as_f64}) {
    EXPECT_EQ(tensorpress_decompress(stream.data(), stream.size(), output, nullptr, &error),
              TENSORPRESS_BAD_ARGUMENT);
  }
  EXPECT_EQ(
      tensorpress_decompress_region(stream.data(), stream.size(), beyond, &whole, nullptr, &error),
      TENSORPRESS_BAD_ARGUMENT);
}

TEST_F(CApiBadArguments, EverySizeOfOutputThatIsTooSmall) {
  const auto view = view_of(values);
  for (const char* codec : {"dense", "dct-chop"}) {
    auto options = absolute_options();
    options.codec = codec;
    if (codec != std::string_view("dense")) options.bound_kind = TENSORPRESS_BOUND_NONE;
    const std::size_t needed = packed(view, options).size();
    for (std::size_t room = 0; room < needed; room += room < 200 ? 1 : 61) {
      std::vector<std::byte> output(room + 1, std::byte{0xA5});
      std::size_t bytes = 77;
      ASSERT_EQ(tensorpress_compress(&view, &options, output.data(), room, &bytes, &error),
                TENSORPRESS_BAD_ARGUMENT)
          << codec << room;
      EXPECT_EQ(bytes, 77u);
      EXPECT_EQ(output[room], std::byte{0xA5});
    }
  }
}

TEST_F(CApiBadArguments, StructSizesOfOtherVersions) {
  struct Newer {
    tensorpress_compress_options known;
    double added;
  } newer = {};
  tensorpress_compress_options_init(&newer.known, sizeof newer);
  EXPECT_EQ(newer.known.struct_size, sizeof newer);
  newer.known.bound_kind = TENSORPRESS_BOUND_ABSOLUTE;
  newer.known.bound = 1e-3;
  EXPECT_EQ(compress_with(newer.known), TENSORPRESS_OK);
  newer.added = 1;
  EXPECT_EQ(compress_with(newer.known), TENSORPRESS_UNSUPPORTED);
  // The first version ended with the allocator, and its callers are still served.
  constexpr std::size_t kFirst =
      offsetof(tensorpress_compress_options, allocator) + sizeof(tensorpress_allocator);
  newer.known.struct_size = kFirst;
  EXPECT_EQ(compress_with(newer.known), TENSORPRESS_OK);
  for (const std::size_t size :
       {std::size_t{0}, std::size_t{8}, kFirst - 8, std::size_t{5000}, SIZE_MAX}) {
    newer.known.struct_size = size;
    EXPECT_EQ(compress_with(newer.known), TENSORPRESS_BAD_ARGUMENT) << size;
  }
  // Nothing is written beyond what an older caller has.
  tensorpress_decompress_options older;
  std::memset(static_cast<void*>(&older), 0x5A, sizeof older);
  tensorpress_decompress_options_init(&older, offsetof(tensorpress_decompress_options, max_bytes));
  EXPECT_EQ(older.threads, 0u);
  EXPECT_EQ(older.max_bytes, 0x5A5A5A5A5A5A5A5Au);
}

TEST_F(CApiBadArguments, EveryTruncationAndEveryFlippedByteOfAStream) {
  auto options = absolute_options();
  const auto stream = packed(view_of(values), options);
  std::vector<float> copy(kCount);
  const auto output = mutable_view_of(copy);
  const auto refused = [&](const std::byte* data, std::size_t size) {
    void* memory = nullptr;
    std::size_t bytes = 0;
    const bool first = tensorpress_decompress(data, size, &output, nullptr, &error) != 0;
    const bool second =
        tensorpress_decompress_alloc(data, size, nullptr, &memory, &bytes, &error) != 0;
    tensorpress_free(nullptr, memory);
    const tensorpress_info* info = nullptr;
    const bool read = tensorpress_info_read(data, size, nullptr, &info, nullptr) == 0;
    EXPECT_EQ(read, info != nullptr);
    tensorpress_info_free(nullptr, info);
    return first && second;
  };
  for (std::size_t size = 0; size < stream.size(); ++size) {
    const std::vector<std::byte> cut(stream.begin(), stream.begin() + size);  // for sanitizers
    ASSERT_TRUE(refused(cut.data(), size)) << size;
  }
  auto bad = stream;
  for (std::size_t i = 0; i < bad.size(); ++i) {
    bad[i] ^= std::byte{0xFF};
    ASSERT_TRUE(refused(bad.data(), bad.size())) << i;
    bad[i] ^= std::byte{0xFF};
  }
}

TEST_F(CApiBadArguments, StreamsBeyondMaxBytesAreRefused) {
  const auto stream = packed(view_of(values), absolute_options());
  auto options = default_decompress_options();
  options.max_bytes = kCount * 4 - 1;
  std::vector<float> copy(kCount);
  const auto output = mutable_view_of(copy);
  void* memory = nullptr;
  std::size_t bytes = 0;
  EXPECT_EQ(tensorpress_decompress(stream.data(), stream.size(), &output, &options, &error),
            TENSORPRESS_TOO_LARGE);
  EXPECT_EQ(
      tensorpress_decompress_alloc(stream.data(), stream.size(), &options, &memory, &bytes, &error),
      TENSORPRESS_TOO_LARGE);
  options.max_bytes = kCount * 4;
  EXPECT_EQ(tensorpress_decompress(stream.data(), stream.size(), &output, &options, &error), 0);
}

TEST_F(CApiBadArguments, LongMessagesEndWithAWholeCharacter) {
  std::string name;
  while (name.size() < 3000) name += "\xC3\xBC";
  for (const char* prefix : {"", "x"}) {
    const std::string odd = prefix + name;
    auto options = absolute_options();
    options.codec = odd.c_str();
    EXPECT_EQ(compress_with(options), TENSORPRESS_BAD_ARGUMENT);
    const std::size_t length = std::strlen(error.message);
    EXPECT_GE(length, std::size_t{TENSORPRESS_MESSAGE_BYTES - 2});
    EXPECT_EQ(error.message[length - 1], '\xBC');
  }
}

extern "C" {
static int run_none(void*, std::size_t, tensorpress_task, void*) {
  return 0;
}
static int run_half(void*, std::size_t count, tensorpress_task task, void* opaque) {
  for (std::size_t i = 0; i < count / 2; ++i) task(opaque, i);
  return 3;
}
static int run_too_often(void*, std::size_t count, tensorpress_task task, void* opaque) {
  for (std::size_t i = 0; i < 3 * count; ++i) task(opaque, i / 2);
  return 0;
}
}

TEST_F(CApiBadArguments, RunnersThatDoNotDoTheirWork) {
  const auto stream = packed(view_of(values), absolute_options());
  std::vector<float> copy(kCount);
  const auto output = mutable_view_of(copy);
  for (const tensorpress_runner runner : {run_none, run_half}) {
    auto options = absolute_options();
    options.runner = runner;
    options.threads = 2;
    EXPECT_EQ(compress_with(options), TENSORPRESS_RUNNER_FAILED);
    options.codec = "dct-chop";
    options.bound_kind = TENSORPRESS_BOUND_NONE;
    EXPECT_EQ(compress_with(options), TENSORPRESS_RUNNER_FAILED);
    auto decompress_options = default_decompress_options();
    decompress_options.runner = runner;
    EXPECT_EQ(
        tensorpress_decompress(stream.data(), stream.size(), &output, &decompress_options, &error),
        TENSORPRESS_RUNNER_FAILED);
  }
  EXPECT_TRUE(message_has("returned 3 after 3 of 6")) << error.message;
  auto decompress_options = default_decompress_options();
  decompress_options.runner = run_too_often;
  EXPECT_EQ(
      tensorpress_decompress(stream.data(), stream.size(), &output, &decompress_options, &error),
      TENSORPRESS_OK);
}

}  // namespace
}  // namespace tensorpress
