#include "wafer/programs/coding_pe.h"

#include <algorithm>
#include <bit>

namespace tensorpress::wafer::programs {
namespace {

enum : Task { kLoaded, kUnload, kFirstOffsetTask };

constexpr std::size_t kLargestBlockBytes = 4 + kernels::huffman::kMaxBlockBits<float> / 8;

}  // namespace

BlockValues CodingPlan::block(std::uint64_t number) const {
  BlockValues block;
  const std::size_t at = static_cast<std::size_t>(number) * kBlockValues;
  const std::size_t count = std::min(kBlockValues, values.size() - at);
  std::copy_n(values.data() + at, count, block.data());
  std::fill(block.begin() + static_cast<std::ptrdiff_t>(count), block.end(), block[count - 1]);
  return block;
}

std::size_t CodingPlan::fixed_bytes() const {
  const std::size_t book_bytes =
      mapping == Mapping::ceresz2 ? kCodebookEntryBytes * book->symbols() : 0;
  return kCodeBytes + kQueueBytes + book_bytes + 4 * kMessageHead;
}

std::size_t CodingPlan::block_bytes() const {
  const std::size_t raw = sizeof(float) * kBlockValues;
  return raw + (mapping == Mapping::ceresz2 ? kLargestBlockBytes : raw + 1);
}

std::vector<MemoryItem> CodingPe::memory() const {
  const std::size_t raw = sizeof(float) * kBlockValues * plan_.blocks_per_pe;
  std::vector<MemoryItem> items = {
      {"code", kCodeBytes},
      {"queues and descriptors", kQueueBytes},
      {"blocks", raw},
      {"coded blocks", plan_.block_bytes() * plan_.blocks_per_pe - raw + 4 * kMessageHead}};
  if (plan_.mapping == Mapping::ceresz2) {
    items.push_back({"codebook", kCodebookEntryBytes * plan_.book->symbols()});
  }
  return items;
}

void CodingPe::start(Pe& pe) {
  input_.resize(plan_.io == MeshIo::edge ? plan_.blocks_per_pe * kBlockValues : 1);
  pe.receive(plan_.in, input_, kLoaded);
}

void CodingPe::on_task(Pe& pe, Task task) {
  if (task == kLoaded) {
    code(pe);
    const auto words = static_cast<std::uint32_t>(message_.size() - kMessageHead);
    if (plan_.mesh_offsets) {
      stages_.begin(pe, plan_.offsets, words);
    } else {
      known(pe);
    }
  } else if (task == kUnload) {
    pe.send(plan_.out, message_, true);
  } else if (stages_.on_task(pe, plan_.offsets, task)) {
    known(pe);
  }
}

// The offset is known, or none is needed.
void CodingPe::known(Pe& pe) {
  message_[0] = stages_.offset();
  message_[1] = static_cast<std::uint32_t>(message_.size() - kMessageHead);
  message_[2] = static_cast<std::uint32_t>(further_.size());
  placed_ = pe.now();
  pe.finish();
  if (plan_.io == MeshIo::sram) return;
  message_.insert(message_.end(), further_.begin(), further_.end());
  pe.activate(kUnload);
}

void CodingPe::code(Pe& pe) {
  began_ = pe.now();
  message_.assign(kMessageHead, 0);
  StageCycles cycles;
  for (std::uint32_t i = 0; i < block_count_; ++i) {
    cycles += plan_.mapping == Mapping::ceresz2 ? code_ceresz2(first_block_ + i)
                                                : code_ceresz(first_block_ + i);
  }
  pe.spend(cycles.quantize, kQuantizeStage);
  pe.spend(cycles.predict, kPredictStage);
  pe.spend(cycles.encode, kEncodeStage);
  coding_cycles_ = static_cast<std::uint32_t>(cycles.total());
  // Values in, quanta out and in again, differences likewise, two table entries a value, codes out.
  const std::uint64_t values = std::uint64_t{32} * kBlockValues * block_count_;
  pe.touch_memory(values * (plan_.mapping == Mapping::ceresz2 ? 5 : 3),
                  2 * values + 32 * (message_.size() - kMessageHead));
  if (plan_.io == MeshIo::edge) input_ = {};
}

BlockValues CodingPe::block(std::uint64_t number) const {
  if (plan_.io == MeshIo::sram) return plan_.block(number);
  BlockValues block;
  const std::size_t at = static_cast<std::size_t>(number - first_block_) * kBlockValues;
  for (std::size_t i = 0; i < kBlockValues; ++i) block[i] = std::bit_cast<float>(input_[at + i]);
  return block;
}

StageCycles CodingPe::code_ceresz2(std::uint64_t number) {
  const BlockValues values = block(number);
  const auto coded = ceresz2::encode_block<float>(values, plan_.quantizer, *plan_.book);
  for (std::uint32_t i = 0; i < coded.words; ++i) {
    message_.push_back(load_le<std::uint32_t>(coded.bytes.data() + 4 * i));
  }
  for (const std::uint32_t i : coded.outliers) {
    const std::uint64_t position = number * kBlockValues + i;
    if (position >= plan_.values.size()) continue;  // a copy that fills the last block
    further_.push_back(static_cast<std::uint32_t>(position));
    further_.push_back(std::bit_cast<std::uint32_t>(values[i]));
  }
  return plan_.costs.ceresz2(load_le<std::uint32_t>(coded.bytes.data()));
}

StageCycles CodingPe::code_ceresz(std::uint64_t number) {
  const BlockValues values = block(number);
  const auto coded = ceresz::encode_block<float>(values, plan_.quantizer);
  for (std::size_t i = 0; i < coded.bytes; i += 4) {
    message_.push_back(load_le<std::uint32_t>(coded.payload.data() + i));
  }
  further_.push_back(coded.width);
  return plan_.costs.ceresz(coded.width == ceresz::kRawBlock ? 0 : coded.width);
}

PeOutput CodingPe::output() const {
  const std::size_t words = message_.empty() ? 0 : message_[1];
  return {message_.empty() ? 0 : message_[0],
          std::span(message_).subspan(message_.empty() ? 0 : kMessageHead, words), further_};
}

}  // namespace tensorpress::wafer::programs
