#include "wafer/programs/coding/sharing_pe.h"

#include <algorithm>
#include <bit>

namespace tensorpress::wafer::programs {

Result<void> route_pairs(Layout& layout, CodingJob& job) {
  TRY(job.to_east, layout.new_color("to the eastern of a pair"));
  TRY(job.to_west, layout.new_color("to the western of a pair"));
  const Route east_out = Route::fixed({Port::ramp}, {Port::east});
  const Route east_in = Route::fixed({Port::west}, {Port::ramp});
  const Route west_out = Route::fixed({Port::ramp}, {Port::west});
  const Route west_in = Route::fixed({Port::east}, {Port::ramp});
  for (std::uint32_t y = 0; y < layout.height(); ++y) {
    for (std::uint32_t x = 0; x + 1 < layout.width(); x += 2) {
      RETURN_IF_ERROR(layout.route({x, y}, job.to_east, east_out));
      RETURN_IF_ERROR(layout.route({x + 1, y}, job.to_east, east_in));
      RETURN_IF_ERROR(layout.route({x + 1, y}, job.to_west, west_out));
      RETURN_IF_ERROR(layout.route({x, y}, job.to_west, west_in));
    }
  }
  return {};
}

SharingPe::SharingPe(const CodingJob& job, PeAt at, std::uint64_t first_block,
                     std::uint32_t block_count, bool paired)
    : CodingPe(job, at, first_block, block_count),
      paired_(paired),
      in_(at.x % 2 == 0 ? job.to_west : job.to_east),
      out_(at.x % 2 == 0 ? job.to_east : job.to_west),
      results_(block_count),
      back_(block_count),
      missing_(block_count) {}

std::vector<MemoryItem> SharingPe::memory() const {
  auto items = CodingPe::memory();
  items.push_back({"a neighbour's block, in and out", job().block_bytes() + 8 * kMessageHead});
  return items;
}

void SharingPe::start(Pe& pe) {
  CodingPe::start(pe);
  if (paired_) await(pe, heard_, kHeadTask);
}

void SharingPe::on_task(Pe& pe, Task task) {
  switch (task) {
    case kNextTask:
      return next(pe);
    case kHeadTask:
      return heard(pe);
    case kBodyTask:
      return heard_[0] == kWork ? take_work(pe) : take_result(pe);
    case kByeTask:
      bye_left_ = true;
      break;
    case kUnload:
      unloads_ = true;
      break;
    default:
      return CodingPe::on_task(pe, task);
  }
  unload(pe);
}

// Words go out when the pair has nothing more to say: their links belong to them from then on.
void SharingPe::unload(Pe& pe) {
  if (!unloads_ || (paired_ && !(bye_left_ && heard_bye_))) return;
  unloads_ = false;
  CodingPe::on_task(pe, kUnload);
}

void SharingPe::loaded(Pe& pe) {
  loaded_ = true;
  if (other_done_) offer(pe);
  if (block_count() == 0) complete(pe);
  next(pe);
}

// Between two blocks: what the neighbour said meanwhile has been heard, for its task came first.
void SharingPe::next(Pe& pe) {
  if (front_ < back_) {
    const std::uint32_t i = front_++;
    spend(pe, job().code(first_block() + i, block(first_block() + i), results_[i]));
    if (--missing_ == 0) complete(pe);
    pe.activate(kNextTask);
  } else if (paired_ && !said_idle_ && !other_done_ && !heard_bye_) {
    said_idle_ = true;
    idle_[0] = kIdle;
    pe.send(out_, idle_);
  }
}

void SharingPe::heard(Pe& pe) {
  switch (heard_[0]) {
    case kIdle:
      other_done_ = true;
      await(pe, heard_, kHeadTask);
      if (loaded_) offer(pe);
      break;
    case kWork:
    case kResult: {
      const std::size_t words = heard_[0] == kWork ? kBlockValues : heard_[1] + heard_[2];
      body_.resize(words);
      await(pe, body_, kBodyTask);
      break;
    }
    default:
      heard_bye_ = true;
      say_bye(pe);
      unload(pe);
  }
}

// The neighbour's block heard_[1] is here.
void SharingPe::take_work(Pe& pe) {
  BlockValues values;
  std::ranges::transform(body_, values.begin(), std::bit_cast<float, std::uint32_t>);
  CodedBlocks blocks;
  spend(pe, job().code(heard_[1], values, blocks));
  message_ = {kResult, static_cast<std::uint32_t>(blocks.words.size()),
              static_cast<std::uint32_t>(blocks.further.size())};
  message_.insert(message_.end(), blocks.words.begin(), blocks.words.end());
  message_.insert(message_.end(), blocks.further.begin(), blocks.further.end());
  pe.send(out_, message_);
  await(pe, heard_, kHeadTask);
}

void SharingPe::take_result(Pe& pe) {
  CodedBlocks& result = results_[back_];  // the last one given
  const auto split = body_.begin() + heard_[1];
  result.words.assign(body_.begin(), split);
  result.further.assign(split, body_.end());
  await(pe, heard_, kHeadTask);
  if (--missing_ == 0) complete(pe);
  offer(pe);
}

// The neighbour has nothing to do: a block if there is one to spare, otherwise the last word.
void SharingPe::offer(Pe& pe) {
  if (back_ - front_ < 2) {
    say_bye(pe);
    return;
  }
  --back_;
  ++given_;
  const std::uint64_t number = first_block() + back_;
  message_ = {kWork, static_cast<std::uint32_t>(number), 0};
  for (const float value : block(number)) message_.push_back(std::bit_cast<std::uint32_t>(value));
  pe.send(out_, message_);
}

void SharingPe::say_bye(Pe& pe) {
  if (said_bye_) return;
  said_bye_ = true;
  bye_[0] = kBye;
  pe.send(out_, bye_, false, kByeTask);
}

void SharingPe::await(Pe& pe, std::span<std::uint32_t> words, Task then) {
  pe.receive(in_, words, then);
}

void SharingPe::complete(Pe& pe) {
  CodedBlocks all;
  for (const CodedBlocks& each : results_) {
    all.words.insert(all.words.end(), each.words.begin(), each.words.end());
    all.further.insert(all.further.end(), each.further.begin(), each.further.end());
  }
  coded(pe, std::move(all));
}

}  // namespace tensorpress::wafer::programs
