// Fields of a report: one list, read by a person and by a program.
#include "command_line/reports/report_fields.h"

#include <gtest/gtest.h>

namespace tensorpress::cli {
namespace {

ReportFields with(std::string_view name, ReportValue value) {
  ReportFields fields;
  fields.set(name, std::move(value));
  return fields;
}

TEST(ReportFields, NameDoesNotDecideHowAValueIsRead) {
  const std::string long_text(200, 'x');
  for (const char* const name : {"codebook", "netcdf", "fill", "bytes_in", "anything"}) {
    const std::string begin = std::string(name) + "  ";
    EXPECT_EQ(with(name, 4096).to_text(), begin + "4096\n");
    EXPECT_EQ(with(name, ByteCount{4096}).to_text(), begin + "4096 (4 KiB)\n");
    EXPECT_EQ(with(name, long_text).to_text(), begin + long_text + "\n");
    EXPECT_EQ(with(name, LongText{long_text}).to_text(),
              begin + std::string(40, 'x') + "... (200 characters)\n");
    EXPECT_EQ(with(name, Shape{3, 32}).to_text(), begin + "3x32\n");
    EXPECT_EQ(with(name, std::vector{3.0, 32.5}).to_text(), begin + "3 32.5\n");
  }
}

TEST(ReportFields, FieldsOfAFieldAreReadByTheirKindToo) {
  ReportFields inner;
  inner.set("codec", "dense");
  inner.set("size", ByteCount{2048});
  inner.set("fill", std::vector{-1e34, 9.5});
  inner.set("notes", LongText{Json{{"key", std::string(200, 'y')}}});
  const ReportFields outer = with("about", inner);
  EXPECT_EQ(outer.to_text(),
            "about  codec dense, size 2048 (2 KiB), fill -1e+34 9.5, notes {\"key\":\"" +
                std::string(32, 'y') + "... (210 characters)\n");
  EXPECT_EQ(
      outer.to_json().dump(),
      "{\"about\":{\"codec\":\"dense\",\"size\":2048,\"fill\":[-1e+34,9.5],\"notes\":{\"key\":\"" +
          std::string(200, 'y') + "\"}}}");
}

TEST(ReportFields, JsonHasEveryValueInFullAndInOrder) {
  ReportFields fields;
  fields.set("shape", Shape{});
  fields.set("count", ByteCount{1023});
  fields.set("book", LongText{std::string(101, 'x')});
  fields.set("none", nullptr);
  fields.set("ok", true);
  fields.set("empty", ReportFields());
  EXPECT_EQ(fields.to_json().dump(), "{\"shape\":[],\"count\":1023,\"book\":\"" +
                                         std::string(101, 'x') +
                                         "\",\"none\":null,\"ok\":true,\"empty\":{}}");
  EXPECT_EQ(fields.to_text(), "shape  scalar\ncount  1023\nbook   " + std::string(40, 'x') +
                                  "... (101 characters)\nnone   none\nok     yes\nempty  \n");
}

TEST(ReportFields, SettingAFieldAgainKeepsItsPlace) {
  // Statistics of a hostile stream may have the name of any field.
  ReportFields fields;
  fields.set("codec", "dense");
  fields.set("chunks", 1);
  fields.set("codec", 2.5);
  EXPECT_EQ(fields.to_json().dump(), "{\"codec\":2.5,\"chunks\":1}");
}

TEST(ReportFields, ControlCharactersOfAttributesDoNotReachTheTerminal) {
  EXPECT_EQ(with("units", "a\x1b[31m\nb").to_text(), "units  a [31m b\n");
}

}  // namespace
}  // namespace tensorpress::cli
