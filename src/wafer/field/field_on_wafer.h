// A field from anywhere through the simulated wafer: the host looks at it (bound, special values),
// the mesh codes its values as one chunk, and the host's own codec does the same, so that the two
// can be compared and the container is the ordinary one.
#pragma once

#include <memory>
#include <optional>
#include <vector>

#include "codecs/bounded/field_coder.h"
#include "stream/writer.h"
#include "wafer/programs/coding/mesh_codec.h"

namespace tensorpress::wafer {

struct FieldOptions {
  programs::MeshOptions mesh = {};
  stream::BoundOptions bound = {};
  bool decompress = false;  // and back again on the mesh
};

struct FieldOnWafer {
  StreamInfo info;
  std::vector<std::byte> stream;  // a .tpz with the field as one chunk
  /// Absent when nothing was left to code (a constant field).
  std::optional<programs::MeshRun> run = {};
  std::size_t payload_bytes = 0;
  bool same_as_host = false;
  std::optional<programs::MeshRun> back = {};
  bool back_same_as_host = false;
};

/// "ceresz2" or "ceresz"; bounds abs and rel; f32 only, as the wafer's wavelets.
Result<FieldOnWafer> run_field(stream::TensorSource& source, const Calibration& calibration,
                               const FieldOptions& options);

/// "ceresz2", "ceresz" (one PE a block) or "ceresz-3" (three); the error lists them.
Result<programs::Mapping> mapping_named(std::string_view name);
/// The host's codec for it.
const char* codec_of(programs::Mapping mapping);

}  // namespace tensorpress::wafer
