#include "chop_options.h"

#include "base/errors.h"

namespace tensorpress::cli {

void ChopOptions::declare(Arguments& arguments) {
  arguments.option("--codec", codec, "dct-chop").shown_as("NAME");
  arguments.option("--shape", shape, "of the uncompressed float32 tensor (100x3x256x256)")
      .shown_as("SHAPE");
  arguments.option("--cf", cf, "chop factor, 1 to 8 (4)").shown_as("N");
  arguments.option("--layout", layout, "square or triangle").shown_as("WORD");
  arguments.option("--serialize", serialize, "s: planes in s x s parts, one after the other (1)")
      .shown_as("S");
  arguments.flag("--decompress", decompress, "decompression instead of compression");
}

Result<devices::ChopTask> ChopOptions::task() const {
  if (codec != "dct-chop") {
    return bad_argument("--codec ", codec, " is not made of matrix products; dct-chop is");
  }
  devices::ChopTask task;
  TRY(task.shape, Shape::parse(shape));
  task.cf = cf;
  if (layout != "square" && layout != "triangle") {
    return bad_argument("--layout ", layout, " is neither square nor triangle");
  }
  task.triangle = layout == "triangle";
  task.serialize = serialize;
  task.decompress = decompress;
  RETURN_IF_ERROR(devices::check_task(task));
  return task;
}

}  // namespace tensorpress::cli
