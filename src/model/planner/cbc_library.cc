#include "model/planner/cbc_library.h"

#include "base/errors.h"
#include "base/shared_library.h"

namespace tensorpress::model::planner {

Result<CbcFunctions> CbcFunctions::load() {
  auto library =
      SharedLibrary::open({"libCbcSolver.so.3", "libCbcSolver.so"}, SharedLibrary::Symbols::hidden);
  if (!library.ok()) {
    return unsupported("Planning needs CBC's library (", library.error().message,
                       "): apt-get install coinor-libcbc3");
  }
  CbcFunctions table;
#define TENSORPRESS_FIND(name) RETURN_IF_ERROR(library->find(#name, table.name));
  TENSORPRESS_CBC_FUNCTIONS(TENSORPRESS_FIND)
#undef TENSORPRESS_FIND
  return table;
}

}  // namespace tensorpress::model::planner
