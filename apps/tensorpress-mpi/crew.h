// The ranks of an MPI job, as a crew that works in step. Every member calls the same functions of a
// Crew in the same order; each rank's own work stands between them, in `together`, so that an error
// of one rank becomes an error of all and no rank waits for one that has given up.
#pragma once

#include <mpi.h>

#include <cstdint>
#include <new>
#include <span>
#include <string>
#include <string_view>
#include <type_traits>
#include <vector>

#include "base/errors.h"

namespace tensorpress::mpi {

/// Which of `count` items are this rank's: [begin, end), in the order of the ranks.
struct Share {
  std::uint64_t begin = 0, end = 0;
  std::uint64_t count() const { return end - begin; }
};
/// Part `number` of `parts` parts of `count` items, which differ by one item at most.
Share share_of(std::uint64_t count, std::uint64_t number, std::uint64_t parts);

class Crew {
 public:
  /// All ranks of the job. MPI must have been initialized.
  Crew();

  int rank() const { return rank_; }
  int size() const { return size_; }
  bool is_first() const { return rank_ == 0; }
  Share share_of(std::uint64_t count) const {
    return mpi::share_of(count, static_cast<std::uint64_t>(rank_),
                         static_cast<std::uint64_t>(size_));
  }

  /// OK when every rank's is; otherwise the error of the lowest rank that has one.
  Result<void> agree(const Result<void>& mine) const;

  /// Runs this rank's own work, which does not communicate and returns a Result, and agrees on it.
  template <class Work>
  auto together(const Work& work) const -> decltype(work()) {
    auto mine = attempt(work);
    const auto all = agree(mine.ok() ? Result<void>() : Result<void>(mine.error()));
    if (!all.ok()) return all.error();
    return mine;
  }
  /// Runs work of this rank that others learn of later.
  template <class Work>
  static auto attempt(const Work& work) -> decltype(work()) {
    try {
      return work();
    } catch (const std::bad_alloc&) {
      return too_large("out of memory; a smaller --chunk-shape or fewer ranks a node need less");
    }
  }
  /// The same for work that only the first rank does.
  template <class Work>
  Result<void> first_alone(const Work& work) const {
    return together([&]() -> Result<void> {
      if (!is_first()) return {};
      return work();
    });
  }

  /// What the first rank has.
  std::string from_first(const std::string& text) const;
  /// An error unless every rank has the same; `what` it is, for the message.
  Result<void> check_same(std::string_view what, const std::string& mine) const;
  /// The items of all ranks, in the order of the ranks.
  template <class T>
  std::vector<T> gather(std::span<const T> mine) const {
    return gathered(mine, true);
  }
  /// The same on the first rank; nothing on the others.
  template <class T>
  std::vector<T> gather_to_first(std::span<const T> mine) const {
    return gathered(mine, false);
  }
  /// One item of every rank, which arrive while this one works. Waited for once, before the crew
  /// does anything else together.
  template <class T>
  class Exchange {
   public:
    Exchange(const Crew& crew, const T& mine)
        : mine_(mine), all_(static_cast<std::size_t>(crew.size_)) {
      static_assert(std::is_trivially_copyable_v<T>);
      MPI_Iallgather(&mine_, sizeof(T), MPI_BYTE, all_.data(), sizeof(T), MPI_BYTE, crew.ranks_,
                     &request_);
    }
    Exchange(const Exchange&) = delete;
    Exchange& operator=(const Exchange&) = delete;

    /// In the order of the ranks.
    std::span<const T> wait() {
      MPI_Wait(&request_, MPI_STATUS_IGNORE);
      return all_;
    }

   private:
    T mine_;
    std::vector<T> all_;
    MPI_Request request_ = MPI_REQUEST_NULL;
  };
  void sum_in_place(std::span<std::uint64_t> values) const;

 private:
  template <class T>
  std::vector<T> gathered(std::span<const T> mine, bool to_all) const {
    static_assert(std::is_trivially_copyable_v<T>);
    std::vector<T> all;
    gather_items(
        std::as_bytes(mine), sizeof(T),
        [&](std::size_t count) {
          all.resize(count);
          return std::as_writable_bytes(std::span(all));
        },
        to_all);
    return all;
  }
  // `room(count)` gives memory for that many items, where they are wanted.
  template <class Room>
  void gather_items(std::span<const std::byte> mine, std::size_t item_bytes, const Room& room,
                    bool to_all) const {
    const std::vector<int> counts = counts_of(static_cast<int>(mine.size() / item_bytes));
    std::size_t total = 0;
    for (const int count : counts) total += static_cast<std::size_t>(count);
    exchange(mine, item_bytes, counts, to_all || is_first() ? room(total) : std::span<std::byte>(),
             to_all);
  }
  std::vector<int> counts_of(int mine) const;
  void exchange(std::span<const std::byte> mine, std::size_t item_bytes,
                const std::vector<int>& counts, std::span<std::byte> all, bool to_all) const;

  MPI_Comm ranks_ = MPI_COMM_WORLD;
  int rank_ = 0;
  int size_ = 1;
};

}  // namespace tensorpress::mpi
