// bindings/hdf5/hdf5_abi.h beside HDF5's own headers: every type has the same size and kind, every
// number the same value. Decided when this compiles.
#include <gtest/gtest.h>

#include <type_traits>

#include "hdf5_abi.h"

#if __has_include(<hdf5.h>)
#  include <H5PLextern.h>
#  include <hdf5.h>

#  include <cstddef>

namespace tensorpress::hdf5 {
namespace {

/// Passed in the same way: pointers, or whole numbers (and enumerations) of one size and sign.
template <class Ours, class Theirs>
constexpr bool same_kind() {
  if constexpr (std::is_pointer_v<Ours> || std::is_pointer_v<Theirs>) {
    return std::is_pointer_v<Ours> && std::is_pointer_v<Theirs>;
  } else {
    constexpr bool whole = (std::is_integral_v<Ours> || std::is_enum_v<Ours>)&&(
        std::is_integral_v<Theirs> || std::is_enum_v<Theirs>);
    return whole && sizeof(Ours) == sizeof(Theirs);
  }
}

template <class Ours, class Theirs>
struct SameCall : std::false_type {};
template <class R, class... A, class S, class... B>
  requires(sizeof...(A) == sizeof...(B))
struct SameCall<R(A...), S(B...)>
    : std::bool_constant<same_kind<R, S>() && (same_kind<A, B>() && ...)> {};
template <class R, class... A, class S, class... B>
  requires(sizeof...(A) == sizeof...(B))
struct SameCall<R(A..., ...), S(B..., ...)> : SameCall<R(A...), S(B...)> {};

#  define TENSORPRESS_SAME_CALL(name) static_assert(SameCall<abi::name, decltype(::name)>::value)
TENSORPRESS_SAME_CALL(H5Tget_class);
TENSORPRESS_SAME_CALL(H5Tget_size);
TENSORPRESS_SAME_CALL(H5Tget_order);
TENSORPRESS_SAME_CALL(H5Tget_ebias);
TENSORPRESS_SAME_CALL(H5Tget_fields);
TENSORPRESS_SAME_CALL(H5Pget_chunk);
TENSORPRESS_SAME_CALL(H5Pget_filter_by_id2);
TENSORPRESS_SAME_CALL(H5Pmodify_filter);
TENSORPRESS_SAME_CALL(H5Pfill_value_defined);
TENSORPRESS_SAME_CALL(H5Pget_fill_value);
TENSORPRESS_SAME_CALL(H5Zregister);
TENSORPRESS_SAME_CALL(H5Epush2);
#  undef TENSORPRESS_SAME_CALL

static_assert(sizeof(abi::hid_t) == sizeof(::hid_t) && sizeof(abi::hsize_t) == sizeof(::hsize_t));
static_assert(sizeof(abi::FilterClass) == sizeof(H5Z_class2_t));
static_assert(offsetof(abi::FilterClass, version) == offsetof(H5Z_class2_t, version));
static_assert(offsetof(abi::FilterClass, id) == offsetof(H5Z_class2_t, id));
static_assert(offsetof(abi::FilterClass, encoder_present) ==
              offsetof(H5Z_class2_t, encoder_present));
static_assert(offsetof(abi::FilterClass, decoder_present) ==
              offsetof(H5Z_class2_t, decoder_present));
static_assert(offsetof(abi::FilterClass, name) == offsetof(H5Z_class2_t, name));
static_assert(offsetof(abi::FilterClass, can_apply) == offsetof(H5Z_class2_t, can_apply));
static_assert(offsetof(abi::FilterClass, set_local) == offsetof(H5Z_class2_t, set_local));
static_assert(offsetof(abi::FilterClass, filter) == offsetof(H5Z_class2_t, filter));
static_assert(SameCall<abi::CanApply, std::remove_pointer_t<H5Z_can_apply_func_t>>::value);
static_assert(SameCall<abi::SetLocal, std::remove_pointer_t<H5Z_set_local_func_t>>::value);
static_assert(SameCall<abi::Filter, std::remove_pointer_t<H5Z_func_t>>::value);

static_assert(abi::kFilterClassVersion == H5Z_CLASS_T_VERS);
static_assert(abi::kPluginTypeFilter == H5PL_TYPE_FILTER);
static_assert(abi::kFlagReverse == H5Z_FLAG_REVERSE);
static_assert(abi::kClassFloat == H5T_FLOAT);
static_assert(abi::kOrderLittle == H5T_ORDER_LE && abi::kOrderBig == H5T_ORDER_BE);
static_assert(abi::kFillUserDefined == H5D_FILL_VALUE_USER_DEFINED);
static_assert(abi::kDefaultErrorStack == H5E_DEFAULT);

TEST(Hdf5Abi, AgreesWithTheHeadersOfHdf5) {
  EXPECT_GE(H5_VERS_MINOR + 100 * H5_VERS_MAJOR, 110);
}

}  // namespace
}  // namespace tensorpress::hdf5
#else
TEST(Hdf5Abi, AgreesWithTheHeadersOfHdf5) {
  GTEST_SKIP() << "hdf5.h is not installed";
}
#endif
