#include "stream/chunks/execution.h"

#include "base/errors.h"

namespace tensorpress::stream {

Result<Execution> Execution::on(const Runner& runner, std::size_t threads) {
  TRY(const Isa isa, active_isa());
  return on(runner, threads, isa);
}

}  // namespace tensorpress::stream
