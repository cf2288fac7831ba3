// Arbitrary text as the attribute "netcdf" of a stream (docs/format.md): an error, or notes that
// say the same after they have been written and read again.
#include "files/conventions/netcdf_notes.h"
#include "inputs/must.h"

extern "C" int LLVMFuzzerTestOneInput(const std::uint8_t* data, std::size_t size) {
  using namespace tensorpress;
  const std::string text(reinterpret_cast<const char*>(data), size);
  const Attribute attributes[] = {{"netcdf", text}};
  const auto notes = files::netcdf_notes(attributes);
  if (!notes.ok()) {
    fuzz::must_explain(notes.error());
    return 0;
  }
  const auto written = files::to_attributes(**notes);
  const auto again = files::netcdf_notes(written);
  fuzz::must(again.ok(), "our own notes are read");
  fuzz::must(files::to_attributes(**again) == written, "our own notes say the same");
  return 0;
}
