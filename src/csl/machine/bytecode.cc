#include "csl/machine/bytecode.h"

#include "csl/machine/program.h"

namespace tensorpress::csl {

std::uint32_t cycles_of(const Instruction& instruction) {
  switch (instruction.code) {
    case Code::move:
    case Code::constant:
      return 0;  // operands of other instructions
    case Code::compute:
      if (instruction.op == Operator::divide || instruction.op == Operator::remainder) return 16;
      return is_real(instruction.scalar) || bits_of(instruction.scalar) <= 16 ? 1 : 2;
    case Code::load:
    case Code::store:
      return bits_of(instruction.scalar) <= 32 ? 1 : 2;
    case Code::call:
      return 4;
    case Code::leave:
      return 2;
    case Code::jump:
    case Code::jump_unless:
      return 2;
    case Code::native:
      return 8;
    case Code::check:
      return 0;  // not there on hardware
    default:
      return 1;
  }
}

std::uint32_t Program::code_bytes() const {
  // Two words of 16 bits an instruction that takes time: an estimate, as the instruction set is not
  // public.
  std::uint32_t bytes = 0;
  for (const FunctionCode& function : functions) {
    for (const Instruction& instruction : function.code)
      bytes += cycles_of(instruction) > 0 ? 4 : 0;
  }
  return bytes;
}

}  // namespace tensorpress::csl
