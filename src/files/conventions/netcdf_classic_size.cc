// The header, all numbers big-endian, N being 4 bytes or in CDF-5 8, and O (offsets) 4 in CDF-1:
//
//   "CDF" version:u8   records:N
//   dimensions         tag:u32 count:N, each: name length:N (0: the one that grows)
//   attributes         tag:u32 count:N, each: name type:u32 count:N values, padded to 4
//   variables          tag:u32 count:N, each: name rank:N dimension numbers:N... attributes
//                      type:u32 size:N begin:O
//   name               length:N characters, padded to 4
#include "files/conventions/netcdf_classic_size.h"

#include <algorithm>
#include <array>
#include <string_view>
#include <vector>

#include "base/errors.h"

namespace tensorpress::files {
namespace {

constexpr std::uint64_t kMaxHeader = std::uint64_t{64} << 20;
constexpr std::uint64_t kMaxBytes = std::uint64_t{1} << 60;

Error damaged(std::string_view what) {
  return corrupt("the header of this NetCDF file is damaged: ", what);
}

class Header {
 public:
  static Result<Header> read(const stream::ByteSource& file) {
    Header header;
    header.bytes_.resize(static_cast<std::size_t>(std::min(file.size(), kMaxHeader)));
    RETURN_IF_ERROR(file.read_at(0, header.bytes_));
    return header;
  }

  Result<std::uint64_t> number(unsigned width) {
    if (bytes_.size() - at_ < width) return truncated("this NetCDF file ends within its header");
    std::uint64_t value = 0;
    for (unsigned i = 0; i < width; ++i) {
      value = value << 8 | static_cast<std::uint64_t>(bytes_[at_++]);
    }
    return value;
  }
  Result<void> skip(std::uint64_t count) {
    const std::uint64_t padded = count > kMaxHeader ? count : (count + 3) / 4 * 4;
    if (bytes_.size() - at_ < padded) return truncated("this NetCDF file ends within its header");
    at_ += static_cast<std::size_t>(padded);
    return {};
  }
  std::size_t left() const { return bytes_.size() - at_; }

 private:
  std::vector<std::byte> bytes_;
  std::size_t at_ = 0;
};

Result<std::uint64_t> size_of_type(std::uint64_t type) {
  constexpr std::array<std::uint64_t, 12> kSizes = {0, 1, 1, 2, 4, 4, 8, 1, 2, 4, 8, 8};
  if (type == 0 || type >= kSizes.size()) return damaged("an unknown type");
  return kSizes[type];
}

struct Variable {
  std::uint64_t elements = 1;  // of one record, where it has records
  std::uint64_t bytes = 0;
  std::uint64_t begin = 0;
  bool records = false;
};

class Parser {
 public:
  explicit Parser(Header header) : header_(std::move(header)) {}

  Result<std::uint64_t> end_of_data() {
    TRY(const std::uint64_t magic, header_.number(4));
    const std::uint64_t version = magic & 0xff;
    if (magic >> 8 != 0x434446 || (version != 1 && version != 2 && version != 5)) {
      return bad_argument("this is not a NetCDF file in a classic format");
    }
    wide_ = version == 5 ? 8 : 4;
    offset_ = version == 1 ? 4 : 8;
    TRY(const std::uint64_t records, header_.number(wide_));
    RETURN_IF_ERROR(read_dimensions());
    RETURN_IF_ERROR(skip_attributes());
    RETURN_IF_ERROR(read_variables());
    const bool streaming = records == (wide_ == 8 ? UINT64_MAX : UINT32_MAX);
    return end_of(streaming ? 0 : records);
  }

 private:
  Result<std::uint64_t> count() {
    TRY(const std::uint64_t tag, header_.number(4));
    TRY(const std::uint64_t number, header_.number(wide_));
    if (number > header_.left() || (tag == 0 && number != 0)) return damaged("a list is too long");
    return number;
  }
  Result<void> skip_name() {
    TRY(const std::uint64_t length, header_.number(wide_));
    return header_.skip(length);
  }

  Result<void> read_dimensions() {
    TRY(const std::uint64_t number, count());
    for (std::uint64_t i = 0; i < number; ++i) {
      RETURN_IF_ERROR(skip_name());
      TRY(const std::uint64_t length, header_.number(wide_));
      dimensions_.push_back(length);
    }
    return {};
  }

  Result<void> skip_attributes() {
    TRY(const std::uint64_t number, count());
    for (std::uint64_t i = 0; i < number; ++i) {
      RETURN_IF_ERROR(skip_name());
      TRY(const std::uint64_t type, header_.number(4));
      TRY(const std::uint64_t bytes, size_of_type(type));
      TRY(const std::uint64_t values, header_.number(wide_));
      if (values > kMaxHeader) return damaged("an attribute is too long");
      RETURN_IF_ERROR(header_.skip(values * bytes));
    }
    return {};
  }

  Result<void> read_variables() {
    TRY(const std::uint64_t number, count());
    for (std::uint64_t i = 0; i < number; ++i) {
      Variable variable;
      RETURN_IF_ERROR(skip_name());
      TRY(const std::uint64_t rank, header_.number(wide_));
      if (rank > header_.left()) return damaged("a variable has too many dimensions");
      for (std::uint64_t axis = 0; axis < rank; ++axis) {
        TRY(const std::uint64_t dimension, header_.number(wide_));
        if (dimension >= dimensions_.size()) return damaged("a dimension is not there");
        const std::uint64_t length = dimensions_[static_cast<std::size_t>(dimension)];
        if (length == 0 && axis == 0) {
          variable.records = true;
        } else if (length > 0 && variable.elements > kMaxBytes / length) {
          return damaged("it is too large");
        } else {
          variable.elements *= length;
        }
      }
      RETURN_IF_ERROR(skip_attributes());
      TRY(const std::uint64_t type, header_.number(4));
      TRY(const std::uint64_t bytes, size_of_type(type));
      TRY([[maybe_unused]] const std::uint64_t stored_size, header_.number(wide_));
      TRY(variable.begin, header_.number(offset_));
      variable.bytes = variable.elements * bytes;
      if (variable.begin > kMaxBytes || variable.bytes > kMaxBytes)
        return damaged("it is too large");
      variables_.push_back(variable);
    }
    return {};
  }

  Result<std::uint64_t> end_of(std::uint64_t records) const {
    const auto with_records = std::ranges::count_if(variables_, &Variable::records);
    std::uint64_t record = 0;
    for (const Variable& variable : variables_) {
      if (!variable.records) continue;
      // The records of a single variable follow each other without padding.
      record += with_records == 1 ? variable.bytes : (variable.bytes + 3) / 4 * 4;
      if (record > kMaxBytes) return damaged("it is too large");
    }
    std::uint64_t end = 0;
    for (const Variable& variable : variables_) {
      if (!variable.records) {
        end = std::max(end, variable.begin + variable.bytes);
      } else if (records > 0 && variable.bytes > 0) {
        if (records - 1 > kMaxBytes / std::max<std::uint64_t>(record, 1)) {
          return damaged("it is too large");
        }
        end = std::max(end, variable.begin + (records - 1) * record + variable.bytes);
      }
    }
    return end;
  }

  Header header_;
  unsigned wide_ = 4, offset_ = 4;
  std::vector<std::uint64_t> dimensions_;
  std::vector<Variable> variables_;
};

}  // namespace

Result<std::uint64_t> netcdf_classic_size(const stream::ByteSource& file) {
  TRY(auto header, Header::read(file));
  return Parser(std::move(header)).end_of_data();
}

}  // namespace tensorpress::files
