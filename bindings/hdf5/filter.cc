// The callbacks. HDF5 is C and may run in any process: nothing is thrown, printed or kept between
// calls, a failure leaves the buffer as it was, and what went wrong is put onto HDF5's error stack.
#include "filter.h"

#include <cstdlib>
#include <utility>

#include "base/errors.h"
#include "dataset_layout.h"
#include "host.h"
#include "pipeline.h"

namespace tensorpress::hdf5 {
namespace {

using files::Hdf5FilterSettings;

Result<void> complete_values(const Host& host, abi::hid_t creation, abi::hid_t type) {
  TRY(auto values, stored_values(host, creation));
  TRY(auto settings, Hdf5FilterSettings::from_words(values.words));
  TRY(settings.chunk, dataset_chunk(host, creation, type));
  TRY(values.words, settings.to_words());
  return replace_values(host, creation, values);
}

extern "C" {

/// 0 is "not for this dataset": an error where the filter is mandatory, and left out where it is
/// optional, so that a whole file can be repacked with one setting.
static abi::htri_t can_apply(abi::hid_t /*creation*/, abi::hid_t type, abi::hid_t /*space*/) {
  const Host host(__builtin_return_address(0));
  const auto found = without_exceptions([&] { return element_type(host, type); });
  if (found.ok()) return 1;
  host.push_error("can_apply", found.error().message);
  return found.error().code == ErrorCode::unsupported ? 0 : -1;
}

static abi::herr_t set_local(abi::hid_t creation, abi::hid_t type, abi::hid_t /*space*/) {
  const Host host(__builtin_return_address(0));
  const auto done = without_exceptions([&] { return complete_values(host, creation, type); });
  if (done.ok()) return 0;
  host.push_error("set_local", done.error().message);
  return -1;
}

static std::size_t filter(unsigned flags, std::size_t value_count, const unsigned values[],
                          std::size_t bytes, std::size_t* capacity, void** buffer) {
  static_assert(sizeof(unsigned) == sizeof(std::uint32_t));
  auto result =
      code_chunk(flags, {values, value_count}, {static_cast<const std::byte*>(*buffer), bytes});
  if (!result.ok()) {
    const Host host(__builtin_return_address(0));
    host.push_error("filter", result.error().message);
    return 0;
  }
  std::free(std::exchange(*buffer, result->memory.release()));
  *capacity = result->capacity;
  return result->used;
}

}  // extern "C"

}  // namespace

const abi::FilterClass kFilterClass = {.version = abi::kFilterClassVersion,
                                       .id = files::kHdf5FilterId,
                                       .encoder_present = 1,
                                       .decoder_present = 1,
                                       .name = "tensorpress",
                                       .can_apply = can_apply,
                                       .set_local = set_local,
                                       .filter = filter};

}  // namespace tensorpress::hdf5
