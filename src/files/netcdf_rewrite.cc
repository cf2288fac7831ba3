#include "base/errors.h"
#include "files/rewrite.h"

namespace tensorpress::files {

Result<std::vector<RewrittenVariable>> rewrite_file(const std::string& input,
                                                    const std::string& output,
                                                    const RewriteOptions& options) {
  return unsupported(input, output, options.threads);
}

}  // namespace tensorpress::files
