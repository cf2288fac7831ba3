// The C interface gives what the C++ interface gives: the same bytes, values and texts.
#include <atomic>
#include <set>
#include <thread>

#include "unit/c_api/samples.h"

namespace tensorpress {
namespace {

using c_samples::absolute_options;
using c_samples::default_decompress_options;
using c_samples::kChunkShape;
using c_samples::kCount;
using c_samples::kShape;
using c_samples::mutable_view_of;
using c_samples::packed;
using c_samples::waves;

std::vector<std::byte> packed_in_cpp(const std::vector<float>& values, const Codec& codec,
                                     const CompressOptions& options) {
  auto stream = compress(*tensorpress::view_of(values, Shape{6, 20, 30}), codec, options);
  EXPECT_TRUE(stream.ok()) << stream.error().message;
  return stream.ok() ? *stream : std::vector<std::byte>();
}

TEST(CApi, EveryBoundGivesTheBytesOfTheCppInterface) {
  const auto values = waves();
  const auto codec = Codec::make("dense").value();
  const std::pair<tensorpress_bound_kind, Bound> bounds[] = {
      {TENSORPRESS_BOUND_ABSOLUTE, Bound::absolute(1e-3)},
      {TENSORPRESS_BOUND_RELATIVE, Bound::relative(1e-4)},
      {TENSORPRESS_BOUND_POINTWISE_RELATIVE, Bound::pointwise_relative(1e-2)},
      {TENSORPRESS_BOUND_PSNR, Bound::psnr(60)},
      {TENSORPRESS_BOUND_RATIO, Bound::ratio(4)}};
  for (const auto& [kind, bound] : bounds) {
    auto options = absolute_options();
    options.bound_kind = kind;
    options.bound = bound.value();
    EXPECT_EQ(packed(c_samples::view_of(values), options),
              packed_in_cpp(values, codec, {.bound = bound, .chunk_shape = Shape{1, 20, 30}}))
        << bound.to_string();
  }
}

TEST(CApi, EveryOptionReachesTheStream) {
  const auto values = waves();
  const double fills[] = {-1, 7};
  const double range[] = {-2, 3};
  const tensorpress_pair effort = {"effort", "fast", 0};
  const tensorpress_pair attributes[] = {{"units", "K", 0}, {"zero", "a\0b", 3}};
  auto options = absolute_options();
  options.codec = "dense";
  options.parameters = &effort;
  options.parameter_count = 1;
  options.bound_kind = TENSORPRESS_BOUND_RELATIVE;
  options.fill_values = fills;
  options.fill_value_count = 2;
  options.value_range = range;
  options.attributes = attributes;
  options.attribute_count = 2;
  options.threads = 3;
  const Parameter fast[] = {{"effort", "fast"}};
  EXPECT_EQ(packed(c_samples::view_of(values), options),
            packed_in_cpp(values, Codec::make("dense", fast).value(),
                          {.bound = Bound::relative(1e-3),
                           .fill_values = {-1, 7},
                           .value_range = ValueRange{-2, 3},
                           .chunk_shape = Shape{1, 20, 30},
                           .attributes = {{"units", "K"}, {"zero", std::string("a\0b", 3)}}}));
}

TEST(CApi, AFixedRateCodecTakesItsParameters) {
  const auto values = waves();
  const tensorpress_pair cf = {"cf", "5", 0};
  tensorpress_compress_options options;
  tensorpress_compress_options_init(&options, sizeof options);
  options.codec = "dct-chop";
  options.parameters = &cf;
  options.parameter_count = 1;
  EXPECT_EQ(packed(c_samples::view_of(values), options),
            packed_in_cpp(values, Codec::dct_chop({.chop_factor = 5}).value(), {}));
}

TEST(CApi, InfoSaysWhatTheCppInterfaceSays) {
  const auto values = waves();
  const tensorpress_pair attributes[] = {{"units", "K", 0}, {"zero", "a\0b", 3}, {"empty", "", 0}};
  auto options = absolute_options();
  options.attributes = attributes;
  options.attribute_count = 3;
  const auto stream = packed(c_samples::view_of(values), options);
  const StreamInfo expected = read_info(stream).value();

  const tensorpress_info* info = nullptr;
  tensorpress_error error;
  ASSERT_EQ(tensorpress_info_read(stream.data(), stream.size(), nullptr, &info, &error),
            TENSORPRESS_OK)
      << error.message;
  EXPECT_EQ(info->format_version, expected.format_version);
  EXPECT_EQ(info->dtype, TENSORPRESS_F32);
  ASSERT_EQ(info->rank, 3u);
  EXPECT_TRUE(std::equal(kShape, kShape + 3, info->shape));
  EXPECT_TRUE(std::equal(kChunkShape, kChunkShape + 3, info->chunk_shape));
  EXPECT_EQ(info->chunk_count, 6u);
  EXPECT_EQ(info->bytes_in, kCount * sizeof(float));
  EXPECT_EQ(info->bytes_out, stream.size());
  EXPECT_EQ(info->payload_bytes, expected.payload_bytes);
  EXPECT_STREQ(info->codec, "dense");
  ASSERT_EQ(info->parameter_count, expected.codec.parameters().size());
  for (std::size_t i = 0; i < info->parameter_count; ++i) {
    EXPECT_EQ(info->parameters[i].name, expected.codec.parameters()[i].name);
    EXPECT_EQ(info->parameters[i].value, expected.codec.parameters()[i].value);
  }
  ASSERT_EQ(info->attribute_count, 3u);
  for (std::size_t i = 0; i < 3; ++i) {
    EXPECT_EQ(info->attributes[i].name, expected.attributes[i].name);
    EXPECT_EQ(std::string(info->attributes[i].value, info->attributes[i].value_bytes),
              expected.attributes[i].value);
  }
  ASSERT_EQ(info->statistic_count, expected.statistics.size());
  for (std::size_t i = 0; i < info->statistic_count; ++i) {
    EXPECT_EQ(info->statistics[i].name, expected.statistics[i].name);
    EXPECT_EQ(info->statistics[i].value, expected.statistics[i].value);
  }
  tensorpress_info_free(nullptr, info);
}

TEST(CApi, ContextsAndOneCallAgree) {
  const auto values = waves();
  const auto view = c_samples::view_of(values);
  const auto options = absolute_options();
  const auto expected = packed(view, options);
  tensorpress_error error;
  tensorpress_compressor* compressor = nullptr;
  ASSERT_EQ(tensorpress_compressor_create(&options, &compressor, &error), TENSORPRESS_OK);
  std::uint64_t bound = 0, bound_in_one_call = 0;
  ASSERT_EQ(tensorpress_compressor_bound_on_output_size(compressor, &view, &bound, &error),
            TENSORPRESS_OK);
  ASSERT_EQ(tensorpress_bound_on_output_size(&view, &options, &bound_in_one_call, &error),
            TENSORPRESS_OK);
  EXPECT_EQ(bound, bound_in_one_call);
  for (int repeat = 0; repeat < 2; ++repeat) {
    std::vector<std::byte> output(bound);
    std::size_t bytes = 0;
    ASSERT_EQ(tensorpress_compressor_compress(compressor, &view, output.data(), output.size(),
                                              &bytes, &error),
              TENSORPRESS_OK);
    output.resize(bytes);
    EXPECT_EQ(output, expected);
  }
  void* stream = nullptr;
  std::size_t bytes = 0;
  ASSERT_EQ(tensorpress_compressor_compress_alloc(compressor, &view, &stream, &bytes, &error),
            TENSORPRESS_OK);
  EXPECT_TRUE(std::ranges::equal(std::span(static_cast<std::byte*>(stream), bytes), expected));
  tensorpress_compressor_free(compressor);

  const Tensor tensor = decompress(expected).value();
  tensorpress_decompressor* decompressor = nullptr;
  ASSERT_EQ(tensorpress_decompressor_create(nullptr, &decompressor, &error), TENSORPRESS_OK);
  std::vector<float> copy(kCount);
  const auto output = mutable_view_of(copy);
  ASSERT_EQ(tensorpress_decompressor_decompress(decompressor, stream, bytes, &output, &error),
            TENSORPRESS_OK);
  EXPECT_EQ(std::memcmp(copy.data(), tensor.bytes.data(), tensor.bytes.size()), 0);
  void* whole = nullptr;
  std::size_t whole_bytes = 0;
  ASSERT_EQ(tensorpress_decompressor_decompress_alloc(decompressor, stream, bytes, &whole,
                                                      &whole_bytes, &error),
            TENSORPRESS_OK);
  ASSERT_EQ(whole_bytes, tensor.bytes.size());
  EXPECT_EQ(std::memcmp(whole, tensor.bytes.data(), whole_bytes), 0);
  tensorpress_decompressor_free(decompressor);
  tensorpress_free(nullptr, whole);
  tensorpress_free(nullptr, stream);
}

TEST(CApi, ARegionIsThePartOfTheWhole) {
  const auto values = waves();
  const auto stream = packed(c_samples::view_of(values), absolute_options());
  std::vector<float> whole(kCount), part(2 * 5 * 7);
  const auto output = mutable_view_of(whole);
  tensorpress_error error;
  ASSERT_EQ(tensorpress_decompress(stream.data(), stream.size(), &output, nullptr, &error), 0);
  const std::uint64_t origin[] = {3, 10, 20}, extent[] = {2, 5, 7};
  const tensorpress_mutable_view region = {part.data(), TENSORPRESS_F32, 3, extent, nullptr};
  ASSERT_EQ(
      tensorpress_decompress_region(stream.data(), stream.size(), origin, &region, nullptr, &error),
      TENSORPRESS_OK)
      << error.message;
  for (std::size_t i = 0; i < part.size(); ++i) {
    const std::size_t z = 3 + i / 35, y = 10 + i / 7 % 5, x = 20 + i % 7;
    ASSERT_EQ(part[i], whole[(z * 20 + y) * 30 + x]) << i;
  }
}

TEST(CApi, StridesOfAnySignAreFollowed) {
  const auto values = waves();
  std::vector<float> reversed(values.rbegin(), values.rend());
  const std::int64_t back[] = {-20 * 30 * 4, -30 * 4, -4};
  const auto options = absolute_options();
  const tensorpress_view view = {&reversed.back(), TENSORPRESS_F32, 3, kShape, back};
  const auto stream = packed(view, options);
  EXPECT_EQ(stream, packed(c_samples::view_of(values), options));

  std::vector<float> forward(kCount), backward(kCount);
  const auto output = mutable_view_of(forward);
  const tensorpress_mutable_view output_back = {&backward.back(), TENSORPRESS_F32, 3, kShape, back};
  ASSERT_EQ(tensorpress_decompress(stream.data(), stream.size(), &output, nullptr, nullptr), 0);
  ASSERT_EQ(tensorpress_decompress(stream.data(), stream.size(), &output_back, nullptr, nullptr),
            0);
  EXPECT_TRUE(std::equal(forward.begin(), forward.end(), backward.rbegin()));
}

TEST(CApi, DataNeedsNoAlignment) {
  const auto values = waves();
  std::vector<std::byte> shifted(kCount * 4 + 1), copy(kCount * 4 + 1);
  std::memcpy(&shifted[1], values.data(), kCount * 4);
  const tensorpress_view view = {&shifted[1], TENSORPRESS_F32, 3, kShape, nullptr};
  const auto stream = packed(view, absolute_options());
  EXPECT_EQ(stream, packed(c_samples::view_of(values), absolute_options()));
  const tensorpress_mutable_view output = {&copy[1], TENSORPRESS_F32, 3, kShape, nullptr};
  ASSERT_EQ(tensorpress_decompress(stream.data(), stream.size(), &output, nullptr, nullptr), 0);
  EXPECT_EQ(std::memcmp(&copy[1], decompress(stream).value().bytes.data(), kCount * 4), 0);
}

TEST(CApi, EmptyAndZeroDimensionalTensorsAreOrdinary) {
  auto options = absolute_options();
  options.chunk_shape = nullptr;
  const std::uint64_t empty_shape[] = {3, 0};
  const tensorpress_view empty = {nullptr, TENSORPRESS_F64, 2, empty_shape, nullptr};
  const auto empty_stream = packed(empty, options);
  void* output = &options;
  std::size_t bytes = 1;
  ASSERT_EQ(tensorpress_decompress_alloc(empty_stream.data(), empty_stream.size(), nullptr, &output,
                                         &bytes, nullptr),
            TENSORPRESS_OK);
  EXPECT_EQ(output, nullptr);
  EXPECT_EQ(bytes, 0u);
  const std::int64_t numpys_strides[] = {0, 0};
  const tensorpress_mutable_view nothing = {nullptr, TENSORPRESS_F64, 2, empty_shape,
                                            numpys_strides};
  EXPECT_EQ(
      tensorpress_decompress(empty_stream.data(), empty_stream.size(), &nothing, nullptr, nullptr),
      TENSORPRESS_OK);

  const float scalar = 4.5F;
  const tensorpress_view one = {&scalar, TENSORPRESS_F32, 0, nullptr, nullptr};
  const auto stream = packed(one, options);
  float back = 0;
  const tensorpress_mutable_view into = {&back, TENSORPRESS_F32, 0, nullptr, nullptr};
  ASSERT_EQ(tensorpress_decompress(stream.data(), stream.size(), &into, nullptr, nullptr), 0);
  EXPECT_NEAR(back, scalar, 1e-3);
  back = 0;
  ASSERT_EQ(
      tensorpress_decompress_region(stream.data(), stream.size(), nullptr, &into, nullptr, nullptr),
      TENSORPRESS_OK);
  EXPECT_NEAR(back, scalar, 1e-3);
}

// A thread per task, and a count of them.
struct Crew {
  std::atomic<std::size_t> tasks{0};
};
extern "C" {
static int run_with_crew(void* crew, std::size_t count, tensorpress_task task, void* opaque) {
  std::vector<std::jthread> threads;
  for (std::size_t i = 0; i < count; ++i) {
    threads.emplace_back([=] { task(opaque, i); });
    ++static_cast<Crew*>(crew)->tasks;
  }
  return 0;
}
}

TEST(CApi, TheRunnerDoesTheWorkAndTheBytesStayTheSame) {
  const auto values = waves();
  Crew crew;
  auto options = absolute_options();
  const auto expected = packed(c_samples::view_of(values), options);
  options.threads = 4;
  options.runner = run_with_crew;
  options.runner_opaque = &crew;
  EXPECT_EQ(packed(c_samples::view_of(values), options), expected);
  EXPECT_EQ(crew.tasks, 6u);  // one for each chunk

  auto decompress_options = default_decompress_options();
  decompress_options.runner = run_with_crew;
  decompress_options.runner_opaque = &crew;
  std::vector<float> copy(kCount);
  const auto output = mutable_view_of(copy);
  ASSERT_EQ(tensorpress_decompress(expected.data(), expected.size(), &output, &decompress_options,
                                   nullptr),
            TENSORPRESS_OK);
  EXPECT_EQ(crew.tasks, 6u + 6u);
  EXPECT_EQ(std::memcmp(copy.data(), decompress(expected).value().bytes.data(), kCount * 4), 0);
}

TEST(CApi, NamesAndVersionsAreThoseOfTheCppInterface) {
  EXPECT_EQ(tensorpress_version_number(), static_cast<std::uint32_t>(TENSORPRESS_VERSION_NUMBER));
  EXPECT_STREQ(tensorpress_version_string(), TENSORPRESS_VERSION_STRING);
  std::set<std::string> names;
  for (tensorpress_status status = 0; status <= TENSORPRESS_RUNNER_FAILED; ++status) {
    names.insert(tensorpress_error_name(status));
  }
  EXPECT_EQ(names.size(), 10u);
  EXPECT_FALSE(names.contains("unknown"));
  EXPECT_STREQ(tensorpress_error_name(TENSORPRESS_CORRUPT), "corrupt");
  EXPECT_STREQ(tensorpress_error_name(-1), "unknown");
  EXPECT_STREQ(tensorpress_error_name(11), "unknown");
  for (tensorpress_dtype dtype = TENSORPRESS_F32; dtype <= TENSORPRESS_I16; ++dtype) {
    tensorpress_dtype parsed = 0;
    EXPECT_EQ(tensorpress_dtype_parse(tensorpress_dtype_name(dtype), &parsed, nullptr), 0);
    EXPECT_EQ(parsed, dtype);
    EXPECT_EQ(tensorpress_dtype_bytes(dtype), size_of(static_cast<DType>(dtype)));
  }
  EXPECT_EQ(tensorpress_dtype_name(0), nullptr);
  EXPECT_EQ(tensorpress_dtype_bytes(7), 0u);
}

TEST(CApi, EveryCodecAndParameterIsListed) {
  const auto expected = codecs();
  ASSERT_EQ(tensorpress_codec_count(), expected.size());
  for (std::size_t i = 0; i < expected.size(); ++i) {
    EXPECT_EQ(tensorpress_codec_name(i), expected[i].name);
    EXPECT_EQ(tensorpress_codec_summary(i), expected[i].summary);
    EXPECT_EQ(tensorpress_codec_is_error_bounded(i), expected[i].error_bounded ? 1 : 0);
    ASSERT_EQ(tensorpress_codec_parameter_count(i), expected[i].parameters.size());
    for (std::size_t j = 0; j < expected[i].parameters.size(); ++j) {
      tensorpress_parameter_info info;
      ASSERT_EQ(tensorpress_codec_parameter(i, j, &info, nullptr), TENSORPRESS_OK);
      EXPECT_EQ(info.name, expected[i].parameters[j].name);
      EXPECT_EQ(info.default_value, expected[i].parameters[j].default_value);
      EXPECT_EQ(info.choices, expected[i].parameters[j].choices);
      EXPECT_EQ(info.help, expected[i].parameters[j].help);
      EXPECT_EQ(info.from_data != 0, expected[i].parameters[j].from_data);
    }
  }
  EXPECT_EQ(tensorpress_codec_name(expected.size()), nullptr);
  EXPECT_EQ(tensorpress_codec_summary(expected.size()), nullptr);
  EXPECT_EQ(tensorpress_codec_parameter_count(expected.size()), 0u);
}

TEST(CApi, RefusesALikelyFillValueUntilTheWholeRangeIsMeant) {
  std::vector<float> values(600);
  for (std::size_t i = 0; i < values.size(); ++i) values[i] = static_cast<float>(i % 30);
  for (std::size_t i = 0; i < 100; ++i) values[i * 6] = -1e34f;
  const std::uint64_t shape[] = {600};
  const tensorpress_view view = {values.data(), TENSORPRESS_F32, 1, shape, nullptr};
  tensorpress_compress_options options;
  tensorpress_compress_options_init(&options, sizeof options);
  options.bound_kind = TENSORPRESS_BOUND_RELATIVE;
  options.bound = 1e-4;
  tensorpress_error error;
  void* stream = nullptr;
  std::size_t bytes = 0;
  EXPECT_EQ(tensorpress_compress_alloc(&view, &options, &stream, &bytes, &error),
            TENSORPRESS_LIKELY_FILL);
  EXPECT_NE(std::string(error.message).find("-1e+34 is likely a fill value"), std::string::npos);
  EXPECT_STREQ(tensorpress_error_name(TENSORPRESS_LIKELY_FILL), "likely_fill");
  options.whole_range = 1;
  ASSERT_EQ(tensorpress_compress_alloc(&view, &options, &stream, &bytes, &error), TENSORPRESS_OK);
  tensorpress_free(nullptr, stream);
}

TEST(CApi, KeepsABoundAgainstTheFirstValuesWithAnEarlierError) {
  const std::vector<float> values(600, 1.0f);
  const std::uint64_t shape[] = {600};
  const tensorpress_view view = {values.data(), TENSORPRESS_F32, 1, shape, nullptr};
  tensorpress_compress_options options;
  tensorpress_compress_options_init(&options, sizeof options);
  options.bound_kind = TENSORPRESS_BOUND_ABSOLUTE;
  options.bound = 0.07;
  options.earlier_error_kind = TENSORPRESS_BOUND_ABSOLUTE;
  options.earlier_error = 0.05;
  tensorpress_error error;
  void* stream = nullptr;
  std::size_t bytes = 0;
  ASSERT_EQ(tensorpress_compress_alloc(&view, &options, &stream, &bytes, &error), TENSORPRESS_OK);
  const auto info = read_info({static_cast<const std::byte*>(stream), bytes}).value();
  EXPECT_NEAR(std::stod(std::string(info.codec.parameter("limit"))), 0.02, 1e-12);
  tensorpress_free(nullptr, stream);
  options.bound = 0.03;
  EXPECT_EQ(tensorpress_compress_alloc(&view, &options, &stream, &bytes, &error),
            TENSORPRESS_BAD_ARGUMENT);
}

}  // namespace
}  // namespace tensorpress
