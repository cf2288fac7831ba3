// Values of parameters, which are text, as what they mean. Errors say what is allowed.
#pragma once

#include <cstdint>
#include <string_view>

#include "tensorpress/codec.h"
#include "tensorpress/result.h"

namespace tensorpress {

/// Written in the one way that this number is: streams hold the text.
Result<int> whole_number(std::string_view name, std::string_view value, int low, int high);
Result<std::uint64_t> whole_number_u64(std::string_view name, std::string_view value);

/// Which of info.choices ("a|b") the value is, from 0.
Result<int> one_of(const ParameterInfo& info, std::string_view value);

}  // namespace tensorpress
