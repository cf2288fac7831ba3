#include "base/errors.h"
#include "files/rewrite_plan.h"
namespace tensorpress::files {
Result<void> rewrite_hdf5(const std::string&, const std::string&, const RewritePlan&,
                          RewriteProgress&) {
  return unsupported("later");
}
}  // namespace tensorpress::files
