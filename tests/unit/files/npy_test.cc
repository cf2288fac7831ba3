// .npy headers, written by hand here; the expected ones are numpy.save's own (NumPy 2.4).
#include "files/tensor/npy.h"

#include <gtest/gtest.h>

#include <algorithm>
#include <bit>
#include <cstring>

namespace tensorpress::files {
namespace {

class TextInput : public ByteInput {
 public:
  explicit TextInput(std::string text) : text_(std::move(text)) {}
  Result<std::size_t> read(std::span<std::byte> into) override {
    const std::size_t count = std::min(into.size(), text_.size() - at_);
    if (count > 0) std::memcpy(into.data(), text_.data() + at_, count);
    at_ += count;
    return count;
  }
  std::size_t position() const { return at_; }

 private:
  std::string text_;
  std::size_t at_ = 0;
};

Result<NpyHeader> read(const std::string& bytes) {
  TextInput input(bytes);
  return read_npy_header(input);
}

std::string with_prefix(char major, const std::string& dict) {
  std::string header = "\x93NUMPY";
  header += {major, '\0'};
  for (int i = 0; i < (major == 1 ? 2 : 4); ++i) {
    header += static_cast<char>((dict.size() >> (8 * i)) & 0xFF);
  }
  return header + dict;
}

constexpr const char* kDict = "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }";

TEST(NpyHeader, AllThreeVersionsAreReadUpToTheFirstElement) {
  for (const char major : {'\1', '\2', '\3'}) {
    const std::string bytes = with_prefix(major, std::string(kDict) + "    \n");
    TextInput input(bytes + "elements");
    const auto header = read_npy_header(input);
    ASSERT_TRUE(header.ok()) << header.error().message;
    EXPECT_EQ(header->dtype, DType::f32);
    EXPECT_EQ(header->shape, (Shape{3, 4}));
    EXPECT_FALSE(header->fortran_order);
    EXPECT_FALSE(header->big_endian);
    EXPECT_EQ(header->bytes, bytes.size());
    EXPECT_EQ(input.position(), bytes.size());
  }
}

TEST(NpyHeader, AnyPythonSpellingOfTheDictIsRead) {
  for (const char* const dict :
       {"{'shape':(3,4),'fortran_order':True,'descr':'>f8'}",
        "{\"descr\": \">f8\", \"fortran_order\": True, \"shape\": (3, 4)}",
        " {\t'fortran_order' :\nTrue , 'descr' : \">f8\" , 'shape' : ( 3 , 4 , ) , } \r\n",
        "{'descr': '>f8', 'fortran_order': True, 'shape': (3L, 4L), }"}) {
    const auto header = parse_npy_dict(dict);
    ASSERT_TRUE(header.ok()) << dict << ": " << header.error().message;
    EXPECT_EQ(header->dtype, DType::f64);
    EXPECT_TRUE(header->big_endian);
    EXPECT_TRUE(header->fortran_order);
    EXPECT_EQ(header->shape, (Shape{3, 4}));
  }
}

TEST(NpyHeader, ShapesFromScalarToEightDimensions) {
  const std::pair<const char*, Shape> cases[] = {
      {"()", {}},
      {"( )", {}},
      {"(5,)", {5}},
      {"(0,)", {0}},
      {"(2, 0, 3)", {2, 0, 3}},
      {"(1, 2, 3, 4, 5, 6, 7, 8)", {1, 2, 3, 4, 5, 6, 7, 8}},
      {"(1099511627776, 2)", {1099511627776, 2}}};
  for (const auto& [shape, expected] : cases) {
    const std::string dict =
        std::string("{'descr': '<f4', 'fortran_order': False, 'shape': ") + shape + "}";
    const auto header = parse_npy_dict(dict);
    ASSERT_TRUE(header.ok()) << shape << ": " << header.error().message;
    EXPECT_EQ(header->shape, expected) << shape;
  }
}

TEST(NpyHeader, ElementTypesInBothByteOrders) {
  struct Case {
    const char* descr;
    DType dtype;
    bool big_endian;
  };
  constexpr bool kNative = std::endian::native == std::endian::big;
  for (const auto& [descr, dtype, big_endian] :
       {Case{"<f4", DType::f32, false}, Case{">f4", DType::f32, true},
        Case{"=f4", DType::f32, kNative}, Case{"f4", DType::f32, kNative},
        Case{"<f8", DType::f64, false}, Case{">f8", DType::f64, true},
        Case{"<f2", DType::f16, false}, Case{">f2", DType::f16, true},
        Case{"<i2", DType::i16, false}, Case{">i2", DType::i16, true},
        Case{"|u1", DType::u8, kNative}, Case{"u1", DType::u8, kNative},
        Case{"<V2", DType::bf16, false}, Case{"|V2", DType::bf16, kNative},
        Case{"bfloat16", DType::bf16, false}}) {
    const auto header = parse_npy_dict(std::string("{'descr': '") + descr +
                                       "', 'fortran_order': False, 'shape': ()}");
    ASSERT_TRUE(header.ok()) << descr << ": " << header.error().message;
    EXPECT_EQ(header->dtype, dtype) << descr;
    EXPECT_EQ(header->big_endian, big_endian) << descr;
  }
}

TEST(NpyHeader, UnsupportedTypesAreNamed) {
  for (const char* const descr : {"'<i8'", "'<i4'", "'<u2'", "'|i1'", "'|b1'", "'<f16'", "'|O'",
                                  "'<U10'", "'|S3'", "'<M8[ns]'", "'>V2'", "'|V4'", "''", "'<'"}) {
    const auto header = parse_npy_dict(std::string("{'descr': ") + descr +
                                       ", 'fortran_order': False, 'shape': (1,)}");
    ASSERT_FALSE(header.ok()) << descr;
    EXPECT_EQ(header.error().code, ErrorCode::unsupported) << descr;
    EXPECT_NE(header.error().message.find(descr), std::string::npos) << header.error().message;
    EXPECT_NE(header.error().message.find("float32"), std::string::npos);
  }
}

TEST(NpyHeader, StructuresAreRefusedWithTheWayToTheirFields) {
  for (const char* const descr : {"[('x', '<f4'), ('y', '<f4')]", "('<f4', (2,))"}) {
    const auto header = parse_npy_dict(std::string("{'descr': ") + descr +
                                       ", 'fortran_order': False, 'shape': (1,)}");
    ASSERT_FALSE(header.ok()) << descr;
    EXPECT_EQ(header.error().code, ErrorCode::unsupported) << descr;
    EXPECT_NE(header.error().message.find("array['field']"), std::string::npos);
  }
}

// float32 would drop their imaginary part.
TEST(NpyHeader, ComplexNumbersAreToBeSavedAsTwoArrays) {
  const auto header = parse_npy_dict("{'descr': '<c8', 'fortran_order': False, 'shape': (1,)}");
  ASSERT_FALSE(header.ok());
  EXPECT_EQ(header.error().code, ErrorCode::unsupported);
  EXPECT_NE(header.error().message.find("<c8"), std::string::npos);
  EXPECT_NE(header.error().message.find("array.imag"), std::string::npos);
}

TEST(NpyHeader, DamagedDictsAreErrors) {
  for (const char* const dict : {
           "",
           "{",
           "}",
           "{}",
           "{,}",
           "[]",
           "None",
           "{'descr'}",
           "{'descr':}",
           "{'descr': '<f4'",
           "{'descr': '<f4'}",
           "{'descr': '<f4', 'fortran_order': False}",
           "{'fortran_order': False, 'shape': ()}",
           "{'descr': '<f4', 'shape': ()}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': ()",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': 3}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (3)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': [3]}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (3,,4)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (-3,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (+3,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (3.0,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (0x3,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (3 4)}",
           "{'descr': '<f4', 'fortran_order': false, 'shape': ()}",
           "{'descr': '<f4', 'fortran_order': 0, 'shape': ()}",
           "{'descr': '<f4', 'fortran_order': Falsehood, 'shape': ()}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (), 'more': 1}",
           "{'descr': '<f4', 'descr': '<f4', 'fortran_order': False, 'shape': ()}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': (), 'shape': (3,)}",
           "{'descr': '<f4', 'fortran_order': False, 'shape': ()} x",
           "{'descr': '<f4', 'fortran_order': False,, 'shape': ()}",
           "{'descr': '<f4' 'fortran_order': False, 'shape': ()}",
           "{'descr': <f4, 'fortran_order': False, 'shape': ()}",
           "{'descr: '<f4', 'fortran_order': False, 'shape': ()}",
           "{'descr': '\\x3cf4', 'fortran_order': False, 'shape': ()}",
           "{'descr': \"<f4', 'fortran_order': False, 'shape': ()}",
           "{'\xff\xfe': '<f4', 'fortran_order': False, 'shape': ()}",
       }) {
    const auto header = parse_npy_dict(dict);
    ASSERT_FALSE(header.ok()) << dict;
    EXPECT_EQ(header.error().code, ErrorCode::corrupt) << dict << ": " << header.error().message;
  }
}

TEST(NpyHeader, AbsurdShapesAreErrors) {
  const auto parse = [](const char* shape) {
    return parse_npy_dict(std::string("{'descr': '<f8', 'fortran_order': False, 'shape': ") +
                          shape + "}");
  };
  EXPECT_EQ(parse("(18446744073709551616,)").error().code, ErrorCode::too_large);
  EXPECT_EQ(parse("(9223372036854775808,)").error().code, ErrorCode::too_large);
  EXPECT_EQ(parse("(4294967296, 4294967296)").error().code, ErrorCode::too_large);
  EXPECT_EQ(parse("(0, 18446744073709551615)").error().code, ErrorCode::too_large);
  const auto nine = parse("(1, 1, 1, 1, 1, 1, 1, 1, 1)");
  ASSERT_FALSE(nine.ok());
  EXPECT_NE(nine.error().message.find("9 dimensions"), std::string::npos);
}

// Every prefix of a good header, in every version.
TEST(NpyHeader, CutOffHeadersAreTruncated) {
  for (const char major : {'\1', '\2', '\3'}) {
    const std::string whole = with_prefix(major, kDict);
    ASSERT_TRUE(read(whole).ok());
    for (std::size_t length = 0; length < whole.size(); ++length) {
      const auto header = read(whole.substr(0, length));
      ASSERT_FALSE(header.ok()) << length;
      EXPECT_EQ(header.error().code, ErrorCode::truncated) << length;
    }
  }
}

// Any byte changed to any value gives a header or an error, and never reads past the end (which
// the sanitizers would notice).
TEST(NpyHeader, ChangedBytesNeverCrash) {
  const std::string whole = with_prefix('\1', kDict);
  std::size_t errors = 0;
  for (std::size_t at = 0; at < whole.size(); ++at) {
    for (int value = 0; value < 256; ++value) {
      std::string changed = whole;
      changed[at] = static_cast<char>(value);
      if (!read(changed).ok()) ++errors;
    }
  }
  EXPECT_GT(errors, whole.size() * 200);
}

TEST(NpyHeader, LyingLengthsAreErrors) {
  std::string longer = with_prefix('\1', kDict);
  longer[8] = static_cast<char>(longer[8] + 1);
  EXPECT_EQ(read(longer).error().code, ErrorCode::truncated);
  std::string shorter = with_prefix('\1', kDict);
  shorter[8] = static_cast<char>(shorter[8] - 1);
  EXPECT_EQ(read(shorter).error().code, ErrorCode::corrupt);
  EXPECT_EQ(read(std::string("\x93NUMPY\2\0\xff\xff\xff\xff", 12)).error().code,
            ErrorCode::too_large);
}

TEST(NpyHeader, OtherFilesAreToldApart) {
  EXPECT_EQ(read(with_prefix('\4', kDict)).error().code, ErrorCode::unsupported);
  EXPECT_NE(read(with_prefix('\4', kDict)).error().message.find("4.0"), std::string::npos);
  EXPECT_NE(read("PK\3\4 an archive").error().message.find(".npz"), std::string::npos);
  EXPECT_NE(read("just some text").error().message.find("`shape`"), std::string::npos);
  EXPECT_EQ(read("").error().message, "it is empty");
}

// python3 -c "import io, numpy as n; b = io.BytesIO(); n.save(b, n.zeros((3, 4), 'f4'));
//             print(b.getvalue()[:128])"
TEST(NpyHeader, IsWrittenByteForByteAsNumpySaveDoes) {
  const std::pair<std::string, std::string> cases[] = {
      {npy_header(DType::f32, {3, 4}),
       "{'descr': '<f4', 'fortran_order': False, 'shape': (3, 4), }"},
      {npy_header(DType::f64, {}), "{'descr': '<f8', 'fortran_order': False, 'shape': (), }"},
      {npy_header(DType::u8, {5}), "{'descr': '|u1', 'fortran_order': False, 'shape': (5,), }"},
      {npy_header(DType::i16, {2, 0, 3}),
       "{'descr': '<i2', 'fortran_order': False, 'shape': (2, 0, 3), }"},
      {npy_header(DType::f16, {1, 2, 3, 4, 5, 6, 7, 8}),
       "{'descr': '<f2', 'fortran_order': False, 'shape': (1, 2, 3, 4, 5, 6, 7, 8), }"},
      {npy_header(DType::bf16, {3, 4}),
       "{'descr': '<V2', 'fortran_order': False, 'shape': (3, 4), }"}};
  for (const auto& [header, dict] : cases) {
    std::string expected = std::string("\x93NUMPY\1\0\x76\0", 10) + dict;
    expected.resize(127, ' ');
    expected += '\n';
    EXPECT_EQ(header, expected);
  }
}

TEST(NpyHeader, IsPaddedToAMultipleOf64AndReadsBack) {
  for (std::uint64_t extent = 1; extent < (std::uint64_t{1} << 59); extent *= 7) {
    const std::string header = npy_header(DType::f32, {extent, 1, 1, 1});
    EXPECT_EQ(header.size() % 64, 0u) << extent;
    const auto parsed = read(header);
    ASSERT_TRUE(parsed.ok()) << parsed.error().message;
    EXPECT_EQ(parsed->shape, (Shape{extent, 1, 1, 1}));
    EXPECT_EQ(parsed->bytes, header.size());
  }
}

}  // namespace
}  // namespace tensorpress::files
