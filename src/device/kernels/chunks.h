// Where the chunks of a tensor lie, for the host and the kernels.
#ifdef __cplusplus
#  ifndef __CUDACC__
#    ifndef __HIP__
namespace tensorpress::device {
#      define TENSORPRESS_DEVICE_NAMESPACE
#    endif
#  endif
#endif

// What a kernel does with a chunk. The host does what is left.
#define CHUNK_LEFT 0u
#define CHUNK_CODED 1u
#define CHUNK_CONSTANT 2u

typedef struct {
  u64 first;       // its first value in the tensor, counted in values
  u64 payload;     // where its bytes begin, of those that are decoded
  u32 count;       // values
  u32 first_tile;  // tiles are counted over all chunks
  u32 kind;
  u32 detail;         // of the codec: ceresz's slack, the bits of a constant
  u32 payload_bytes;  // of those that are decoded
  u32 reserved;
} ChunkPlace;

// What a scan finds in a chunk.
typedef struct {
  float low, high;  // of ordinary values; -0 counts as 0; low above high if there are none
  float sample;     // the largest magnitude of every 64th value
  u32 specials;     // NaN, infinities and fill values
  u32 zeros;        // whether an ordinary value is 0
} ChunkScan;

#ifdef TENSORPRESS_DEVICE_NAMESPACE
}  // namespace tensorpress::device
#endif
