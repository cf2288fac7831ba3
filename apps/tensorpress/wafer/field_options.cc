#include "field_options.h"

#include "base/errors.h"
#include "command_line/reports/messages.h"

namespace tensorpress::cli {

using wafer::programs::MeshIo;
using wafer::programs::OffsetOrder;
using wafer::programs::OffsetsBy;

Result<std::optional<OffsetOrder>> parse_order(const std::string& name) {
  if (name == "auto") return std::optional<OffsetOrder>();
  if (name == "column") return std::optional(OffsetOrder::column);
  if (name == "row") return std::optional(OffsetOrder::row);
  return bad_argument("--order ", name, "; it is column, row, or auto for the paper's rule");
}

Result<OffsetsBy> parse_offsets(const std::string& name) {
  if (name == "mesh") return OffsetsBy::mesh;
  if (name == "look-back") return OffsetsBy::look_back;
  if (name == "host") return OffsetsBy::host;
  return bad_argument("offsets by ", name, "; they are computed by mesh, look-back or host");
}

void WaferFieldOptions::declare(Arguments& arguments) {
  arguments_ = arguments;
  arguments.option("FIELD", file_, "an f32 field (.npy, or raw with --shape)").required();
  arguments.option("--codec", codec_, "ceresz2, ceresz, or ceresz-3 (three PEs a block) (ceresz2)");
  arguments.option("--mesh", mesh_, "width x height in PEs; smaller fields take less (512x512)");
  arguments.flag("--whole-mesh", whole_mesh_, "use all of it, idle PEs included");
  arguments.option("--offsets", offsets_,
                   "computed on the mesh, by look-back, or left to the host (mesh)");
  arguments.option("--order", order_, "of the offsets: column, row, or auto (auto)");
  arguments.flag("--share-work", share_work_, "idle PEs code blocks of their neighbours");
  arguments.flag("--transpose", transpose_, "with the bit transposition that the paper omits");
  arguments.flag("--uniform-cost", uniform_, "every block takes the same cycles (one constant)");
  arguments.flag("--one-by-one", one_by_one_,
                 "move every wavelet by itself: slower, the same result");
  bound_.declare(arguments);
  raw_.declare(arguments);
  threads_.declare(arguments, 1);
  calibration_.declare(arguments);
  force_.declare(arguments);
}

void WaferFieldOptions::declare_io(Arguments& arguments) {
  arguments.option("--io", io_, "words in and out at the west edge, or blocks in sram (edge)");
}

Result<wafer::FieldOptions> WaferFieldOptions::options() const {
  wafer::FieldOptions options;
  if (codec_ != "ceresz2") {
    RETURN_IF_ERROR(arguments_->refuse_ignored({"--offsets", "--transpose", "--uniform-cost"},
                                               "it is of --codec ceresz2"));
  }
  TRY(options.compress, bound_.options());
  if (!options.compress.bound) {
    return bad_argument("how close the copy must be is missing: --abs E or --rel E");
  }
  if (options.compress.bound->value() == 0) {
    return bad_argument("a bound of 0 keeps every bit, which the programs of the wafer do not: ",
                        "they round to multiples of it; give --abs or --rel more than 0");
  }
  TRY(options.mesh.mapping, wafer::mapping_named(codec_));
  TRY(const MeshSize mesh, parse_mesh(mesh_));
  options.mesh.width = mesh.width;
  options.mesh.height = mesh.height;
  options.mesh.shrink = !whole_mesh_;
  if (io_ != "edge" && io_ != "sram") return bad_argument("--io ", io_, "; it is edge or sram");
  options.mesh.io = io_ == "edge" ? MeshIo::edge : MeshIo::sram;
  TRY(options.mesh.offsets, parse_offsets(offsets_));
  TRY(options.mesh.order, parse_order(order_));
  options.mesh.share_work = share_work_;
  options.mesh.transpose = transpose_;
  options.mesh.uniform_cost = uniform_;
  options.mesh.run.threads = threads_.threads();
  options.mesh.run.trains = !one_by_one_;
  return options;
}

Result<void> WaferFieldOptions::check_output(const std::string& output) const {
  return force_.check({file_, calibration_.file()}, output);
}

Result<wafer::FieldOnWafer> WaferFieldOptions::run(const wafer::Calibration& calibration,
                                                   const wafer::FieldOptions& options) const {
  wafer::FieldOptions complete = options;
  complete.mesh.run.machine = calibration.machine();
  TRY(const auto raw, raw_.format_of(file_));
  TRY(const auto source, about(file_, files::open_tensor(file_, raw, files::Access::random)));
  return about(file_, wafer::run_field(*source, calibration, complete));
}

}  // namespace tensorpress::cli
