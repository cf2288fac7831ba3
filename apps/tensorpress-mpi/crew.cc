#include "crew.h"

#include <algorithm>
#include <numeric>

namespace tensorpress::mpi {

Share share_of(std::uint64_t count, std::uint64_t number, std::uint64_t parts) {
  const auto begin = [&](std::uint64_t part) {
    return part * (count / parts) + std::min(part, count % parts);
  };
  return {begin(number), begin(number + 1)};
}

Crew::Crew() {
  MPI_Comm_rank(ranks_, &rank_);
  MPI_Comm_size(ranks_, &size_);
}

Result<void> Crew::agree(const Result<void>& mine) const {
  const int failed = mine.ok() ? size_ : rank_;
  int first_failed = size_;
  MPI_Allreduce(&failed, &first_failed, 1, MPI_INT, MPI_MIN, ranks_);
  if (first_failed == size_) return {};
  std::string message = mine.ok() ? std::string() : mine.error().message;
  std::uint64_t code_and_length[] = {mine.ok() ? 0 : static_cast<std::uint64_t>(mine.error().code),
                                     message.size()};
  MPI_Bcast(code_and_length, 2, MPI_UINT64_T, first_failed, ranks_);
  message.resize(static_cast<std::size_t>(code_and_length[1]));
  MPI_Bcast(message.data(), static_cast<int>(message.size()), MPI_CHAR, first_failed, ranks_);
  return Error{static_cast<ErrorCode>(code_and_length[0]), message};
}

std::string Crew::from_first(const std::string& text) const {
  std::string result = text;
  std::uint64_t length = text.size();
  MPI_Bcast(&length, 1, MPI_UINT64_T, 0, ranks_);
  result.resize(static_cast<std::size_t>(length));
  MPI_Bcast(result.data(), static_cast<int>(length), MPI_CHAR, 0, ranks_);
  return result;
}

Result<void> Crew::check_same(std::string_view what, const std::string& mine) const {
  const std::string first = from_first(mine);
  if (mine == first) return agree({});
  return agree(bad_argument("rank ", rank_, " finds another ", what, " than rank 0: ", mine,
                            " instead of ", first, "; all ranks must see the same file"));
}

void Crew::sum_in_place(std::span<std::uint64_t> values) const {
  MPI_Allreduce(MPI_IN_PLACE, values.data(), static_cast<int>(values.size()), MPI_UINT64_T, MPI_SUM,
                ranks_);
}

std::vector<int> Crew::counts_of(int mine) const {
  std::vector<int> counts(static_cast<std::size_t>(size_));
  MPI_Allgather(&mine, 1, MPI_INT, counts.data(), 1, MPI_INT, ranks_);
  return counts;
}

void Crew::exchange(std::span<const std::byte> mine, std::size_t item_bytes,
                    const std::vector<int>& counts, std::span<std::byte> all, bool to_all) const {
  // Counted in items, so that bytes beyond 2^31 are no matter.
  MPI_Datatype item = MPI_DATATYPE_NULL;
  MPI_Type_contiguous(static_cast<int>(item_bytes), MPI_BYTE, &item);
  MPI_Type_commit(&item);
  std::vector<int> places(counts.size());
  std::exclusive_scan(counts.begin(), counts.end(), places.begin(), 0);
  const int own = counts[static_cast<std::size_t>(rank_)];
  if (to_all) {
    MPI_Allgatherv(mine.data(), own, item, all.data(), counts.data(), places.data(), item, ranks_);
  } else {
    MPI_Gatherv(mine.data(), own, item, all.data(), counts.data(), places.data(), item, 0, ranks_);
  }
  MPI_Type_free(&item);
}

}  // namespace tensorpress::mpi
