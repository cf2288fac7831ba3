// What the shared library shows to the world: HDF5 asks for the first two when it finds the file in
// its plugin path; a program that would rather not set a path calls the third. The last three code
// chunks without HDF5, on any number of threads at once, for direct chunk writes and reads.
#include <algorithm>
#include <cstdlib>
#include <cstring>
#include <string_view>

#include "filter.h"
#include "host.h"
#include "pipeline.h"

namespace {

using tensorpress::hdf5::abi::kFlagReverse;

int code(unsigned flags, const unsigned* values, std::size_t value_count, const void* bytes,
         std::size_t byte_count, void** result, std::size_t* result_bytes, char* message,
         std::size_t message_room) {
  auto done = tensorpress::hdf5::code_chunk(flags, {values, value_count},
                                            {static_cast<const std::byte*>(bytes), byte_count});
  if (done.ok()) {
    *result = done->memory.release();
    *result_bytes = done->used;
    return 0;
  }
  if (message != nullptr && message_room > 0) {
    const std::string_view sentence = done.error().message;
    const std::size_t length = std::min(sentence.size(), message_room - 1);
    std::memcpy(message, sentence.data(), length);
    message[length] = '\0';
  }
  return -1;
}

}  // namespace

extern "C" {

int H5PLget_plugin_type(void) {
  return tensorpress::hdf5::abi::kPluginTypeFilter;
}

const void* H5PLget_plugin_info(void) {
  return &tensorpress::hdf5::kFilterClass;
}

/// Registers the filter with the HDF5 library that the program is linked with; negative on failure.
int tensorpress_hdf5_register(void) {
  const tensorpress::hdf5::Host host(nullptr);
  tensorpress::hdf5::abi::H5Zregister* enroll = nullptr;
  return host.find("H5Zregister", enroll).ok() ? enroll(&tensorpress::hdf5::kFilterClass) : -1;
}

/// A chunk as the dataset holds it to what H5Dwrite_chunk takes. `values` are the dataset's own, as
/// H5Pget_filter_by_id2 gives them. 0, or -1 with a sentence in `message` (which may be NULL). The
/// result is to be given to tensorpress_hdf5_free.
int tensorpress_hdf5_encode(const unsigned* values, std::size_t value_count, const void* chunk,
                            std::size_t chunk_bytes, void** stream, std::size_t* stream_bytes,
                            char* message, std::size_t message_room) {
  return code(0, values, value_count, chunk, chunk_bytes, stream, stream_bytes, message,
              message_room);
}

/// The way back, from what H5Dread_chunk gives.
int tensorpress_hdf5_decode(const unsigned* values, std::size_t value_count, const void* stream,
                            std::size_t stream_bytes, void** chunk, std::size_t* chunk_bytes,
                            char* message, std::size_t message_room) {
  return code(kFlagReverse, values, value_count, stream, stream_bytes, chunk, chunk_bytes, message,
              message_room);
}

void tensorpress_hdf5_free(void* result) {
  std::free(result);
}

}  // extern "C"
