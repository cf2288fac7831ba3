#include "base/text.h"
#include "report/pages/wafer_pictures.h"

namespace tensorpress::report {
namespace {

using wafer::TraceEvent;
using wafer::TraceKind;

/// Names come from programs: quotes and control characters must not break the file.
std::string quoted(std::string_view words) {
  std::string out = "\"";
  for (const char c : words) {
    if (c == '"' || c == '\\') out += '\\';
    out += static_cast<unsigned char>(c) < 0x20 ? ' ' : c;
  }
  return out + '"';
}

std::string name_of(const TraceEvent& event, const wafer::Layout& layout) {
  switch (event.kind) {
    case TraceKind::task:
      return event.what == wafer::kNoTask ? std::string("data task")
                                          : text("task ", unsigned{event.what});
    case TraceKind::stage: {
      const std::string& name = layout.stage_name(event.what);
      return name.empty() ? text("stage ", unsigned{event.what}) : name;
    }
    case TraceKind::wavelet:
      return text(layout.color_name(event.what), " to the ", wafer::name_of(event.port));
  }
  return "";
}

}  // namespace

std::string trace_json(const wafer::Layout& layout, const wafer::Report& report) {
  std::string out =
      "{\"displayTimeUnit\": \"ns\", \"otherData\": {\"unit\": \"1 us is a "
      "cycle\"},\n\"traceEvents\": [\n";
  const std::uint32_t height = layout.height();
  for (std::uint32_t y = 0; y < height; ++y) {
    out += text("{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": ", y,
                ", \"args\": {\"name\": \"PEs of row ", y, "\"}},\n",
                "{\"ph\": \"M\", \"name\": \"process_name\", \"pid\": ", height + y,
                ", \"args\": {\"name\": \"links of row ", y, "\"}},\n");
    for (std::uint32_t x = 0; x < layout.width(); ++x) {
      out += text("{\"ph\": \"M\", \"name\": \"thread_name\", \"pid\": ", y, ", \"tid\": ", x,
                  ", \"args\": {\"name\": \"PE (", x, ", ", y, ")\"}},\n");
    }
  }
  bool first = true;
  for (const TraceEvent& event : report.trace) {
    const bool link = event.kind == TraceKind::wavelet;
    const std::uint32_t process = event.pe.y + (link ? height : 0);
    const std::uint32_t thread =
        link ? event.pe.x * 4 + static_cast<std::uint32_t>(event.port) : event.pe.x;
    out += text(first ? "" : ",\n", "{\"ph\": \"X\", \"name\": ", quoted(name_of(event, layout)),
                ", \"pid\": ", process, ", \"tid\": ", thread, ", \"ts\": ", event.begin,
                ", \"dur\": ", event.end - event.begin);
    if (link) out += text(", \"args\": {\"word\": ", event.word, "}");
    out += '}';
    first = false;
  }
  // The metadata before ends with a comma; a trace without events still is JSON.
  if (first) out += "{\"ph\": \"M\", \"name\": \"empty\", \"pid\": 0, \"args\": {}}";
  return out + "\n]}\n";
}

}  // namespace tensorpress::report
