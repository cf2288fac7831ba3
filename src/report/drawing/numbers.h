// Numbers as a reader of a table wants them. `rounded` of base/text.h is for everything else.
#pragma once

#include <cstdint>
#include <string>

namespace tensorpress::report {

/// 12.3456 with two decimals is "12.35"; "inf", "-inf" or "nan" when it is no number.
std::string fixed(double value, int decimals);
/// 1234567 is "1,234,567".
std::string grouped(std::uint64_t value);
/// 0.456 is "46 %"; "<1 %" and ">99 %" where rounding would claim none or all.
std::string percent(double share);

}  // namespace tensorpress::report
