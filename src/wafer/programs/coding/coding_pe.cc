#include "wafer/programs/coding/coding_pe.h"

#include <algorithm>
#include <bit>

namespace tensorpress::wafer::programs {
namespace {

constexpr std::size_t kLargestBlockBytes = 4 + kernels::huffman::kMaxBlockBits<float> / 8;

}  // namespace

BlockValues CodingJob::block(std::uint64_t number) const {
  BlockValues block;
  const std::size_t at = static_cast<std::size_t>(number) * kBlockValues;
  const std::size_t count = std::min(kBlockValues, values.size() - at);
  std::copy_n(values.data() + at, count, block.data());
  std::fill(block.begin() + static_cast<std::ptrdiff_t>(count), block.end(), block[count - 1]);
  return block;
}

void CodingJob::deal(std::uint64_t first, std::vector<std::uint32_t>& words) const {
  if (io == MeshIo::sram) {
    words.push_back(1);
    return;
  }
  for (std::uint32_t i = 0; i < blocks_per_pe; ++i) {
    if (first + i >= blocks) {
      words.insert(words.end(), kBlockValues, 0);
      continue;
    }
    for (const float value : block(first + i)) {
      words.push_back(std::bit_cast<std::uint32_t>(value));
    }
  }
}

std::size_t CodingJob::fixed_bytes() const {
  const std::size_t book_bytes =
      mapping == Mapping::ceresz2 ? kCodebookEntryBytes * book->symbols() : 0;
  const std::size_t shared_bytes = share_work ? block_bytes() + 8 * kMessageHead : 0;
  return kCodeBytes + kQueueBytes + book_bytes + 4 * kMessageHead + shared_bytes;
}

std::size_t CodingJob::block_bytes() const {
  const std::size_t raw = sizeof(float) * kBlockValues;
  return raw + (mapping == Mapping::ceresz2 ? kLargestBlockBytes : raw + 1);
}

StageCycles CodingJob::code(std::uint64_t number, const BlockValues& block_values,
                            CodedBlocks& coded) const {
  if (mapping == Mapping::ceresz2) {
    const auto block = ceresz2::encode_block<float>(block_values, quantizer, *book);
    for (std::uint32_t i = 0; i < block.words; ++i) {
      coded.words.push_back(load_le<std::uint32_t>(block.bytes.data() + std::size_t{4} * i));
    }
    for (const std::uint32_t i : block.outliers) {
      const std::uint64_t position = number * kBlockValues + i;
      if (position >= values.size()) continue;  // a copy that fills the last block
      coded.further.push_back(static_cast<std::uint32_t>(position));
      coded.further.push_back(std::bit_cast<std::uint32_t>(block_values[i]));
    }
    return costs.ceresz2(32 * block.words);
  }
  const auto block = ceresz::encode_block<float>(block_values, quantizer);
  for (std::size_t i = 0; i < block.bytes; i += 4) {
    coded.words.push_back(load_le<std::uint32_t>(block.payload.data() + i));
  }
  coded.further.push_back(block.width);
  return costs.ceresz(block.width == ceresz::kRawBlock ? 0 : block.width);
}

std::vector<MemoryItem> CodingPe::memory() const {
  const std::size_t raw = sizeof(float) * kBlockValues * job_.blocks_per_pe;
  std::vector<MemoryItem> items = {
      {"code", kCodeBytes},
      {"queues and descriptors", kQueueBytes},
      {"blocks", raw},
      {"coded blocks", job_.block_bytes() * job_.blocks_per_pe - raw + 4 * kMessageHead}};
  if (job_.mapping == Mapping::ceresz2) {
    items.push_back({"codebook", kCodebookEntryBytes * job_.book->symbols()});
  }
  return items;
}

CodingPe::CodingPe(const CodingJob& job, PeAt at, std::uint64_t first_block,
                   std::uint32_t block_count)
    : job_(job), first_block_(first_block), block_count_(block_count) {
  if (job.offsets_by == OffsetsBy::look_back) listens_ = LookBack::listens(job.lines, at);
}

void CodingPe::start(Pe& pe) {
  input_.resize(job_.dealt_words());
  pe.receive(job_.in, input_, kLoaded);
}

void CodingPe::on_task(Pe& pe, Task task) {
  if (task == kLoaded) {
    began_ = pe.now();
    loaded(pe);
  } else if (task == kUnload) {
    pe.send(job_.out, message_, true);
  } else if (stages_.on_task(pe, job_.lines, task)) {
    known(pe, stages_.offset());
  }
}

void CodingPe::on_wavelet(Pe& pe, Color, std::uint32_t word) {
  if (look_back_.on_wavelet(pe, job_.lines, word)) known(pe, look_back_.offset());
}

void CodingPe::loaded(Pe& pe) {
  CodedBlocks blocks;
  StageCycles cycles;
  for (std::uint32_t i = 0; i < block_count_; ++i) {
    cycles += job_.code(first_block_ + i, block(first_block_ + i), blocks);
  }
  spend(pe, cycles);
  coded(pe, std::move(blocks));
}

void CodingPe::spend(Pe& pe, const StageCycles& cycles) {
  pe.spend(cycles.quantize, kQuantizeStage);
  pe.spend(cycles.predict, kPredictStage);
  pe.spend(cycles.encode, kEncodeStage);
  coding_cycles_ += static_cast<std::uint32_t>(cycles.total());
}

void CodingPe::coded(Pe& pe, CodedBlocks blocks) {
  // Values in, quanta out and in again, differences likewise, two table entries a value, codes out.
  const std::uint64_t values = std::uint64_t{32} * kBlockValues * block_count_;
  pe.touch_memory(values * (job_.mapping == Mapping::ceresz2 ? 5 : 3),
                  2 * values + 32 * blocks.words.size());
  if (job_.io == MeshIo::edge) input_ = {};
  const auto words = static_cast<std::uint32_t>(blocks.words.size());
  message_.assign(kMessageHead, 0);
  message_.insert(message_.end(), blocks.words.begin(), blocks.words.end());
  further_ = std::move(blocks.further);
  switch (job_.offsets_by) {
    case OffsetsBy::mesh:
      stages_.begin(pe, job_.lines, words);
      break;
    case OffsetsBy::look_back:
      if (look_back_.begin(pe, job_.lines, words)) known(pe, 0);
      break;
    case OffsetsBy::host:
      known(pe, 0);
      break;
  }
}

// The offset is known, or none is needed.
void CodingPe::known(Pe& pe, std::uint32_t offset) {
  message_[0] = offset;
  message_[1] = static_cast<std::uint32_t>(message_.size() - kMessageHead);
  message_[2] = static_cast<std::uint32_t>(further_.size());
  placed_ = pe.now();
  pe.finish();
  if (job_.io == MeshIo::sram) return;
  message_.insert(message_.end(), further_.begin(), further_.end());
  pe.activate(kUnload);
}

BlockValues CodingPe::block(std::uint64_t number) const {
  if (job_.io == MeshIo::sram) return job_.block(number);
  BlockValues block;
  const std::size_t at = static_cast<std::size_t>(number - first_block_) * kBlockValues;
  for (std::size_t i = 0; i < kBlockValues; ++i) block[i] = std::bit_cast<float>(input_[at + i]);
  return block;
}

PeOutput CodingPe::output() const {
  const std::size_t words = message_.empty() ? 0 : message_[1];
  return {message_.empty() ? 0 : message_[0],
          std::span(message_).subspan(message_.empty() ? 0 : kMessageHead, words), further_};
}

}  // namespace tensorpress::wafer::programs
