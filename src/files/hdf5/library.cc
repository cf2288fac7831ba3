#include "files/hdf5/library.h"

#include "base/errors.h"
#include "files/conventions/hdf5_register.h"
#include "files/hdf5/system_errors.h"

namespace tensorpress::files {
namespace {

herr_t keep_first(unsigned /*depth*/, const H5E_error2_t* error, void* sentence) {
  auto& kept = *static_cast<std::string*>(sentence);
  if (kept.empty() && error->desc != nullptr) kept = error->desc;
  return 0;
}

}  // namespace

Result<Hdf5Functions> Hdf5Functions::load(SharedLibrary::Symbols symbols) {
  TRY(const auto library, open_hdf5_library(symbols));
  Hdf5Functions table;
  // Later headers turn some of these names into others.
#define TENSORPRESS_NAME_OF(name) #name
#define TENSORPRESS_FIND(name) RETURN_IF_ERROR(library.find(TENSORPRESS_NAME_OF(name), table.name));
  TENSORPRESS_HDF5_FUNCTIONS(TENSORPRESS_FIND)
#undef TENSORPRESS_FIND
#undef TENSORPRESS_NAME_OF
  listen_to_hdf5(library);
  if (table.H5open() < 0) return unsupported("HDF5's library does not start");
  hid_t* number = nullptr;
  RETURN_IF_ERROR(library.find("H5T_STD_REF_OBJ_g", number));
  table.reference_type = *number;
  RETURN_IF_ERROR(library.find("H5T_NATIVE_FLOAT_g", number));
  table.native_float = *number;
  RETURN_IF_ERROR(library.find("H5T_NATIVE_DOUBLE_g", number));
  table.native_double = *number;
  RETURN_IF_ERROR(library.find("H5T_C_S1_g", number));
  table.text = *number;
  RETURN_IF_ERROR(library.find("H5P_CLS_FILE_ACCESS_ID_g", number));
  table.file_access = *number;
  RETURN_IF_ERROR(library.find("H5P_CLS_DATASET_CREATE_ID_g", number));
  table.dataset_creation = *number;
  RETURN_IF_ERROR(library.find("H5P_CLS_OBJECT_COPY_ID_g", number));
  table.object_copy = *number;
  return table;
}

std::string Hdf5Functions::last_error() const {
  std::string sentence;
  H5Ewalk2(H5E_DEFAULT, H5E_WALK_UPWARD, keep_first, &sentence);
  return sentence.empty() ? "HDF5 gives no reason" : sentence;
}

Error Hdf5Functions::failure(std::string_view doing) const {
  const std::string sentence = last_error();
  if (const auto system = take_system_error()) return io_error(doing, ": ", system->reason);
  return corrupt(doing, ": ", sentence);
}

}  // namespace tensorpress::files
