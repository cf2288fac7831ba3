/*
 * The C interface of Tensorpress (C99, also for C++ and for other languages that speak C): tensors
 * to .tpz streams in memory and back, with a stated error.
 *
 *   tensorpress_compress_options options;
 *   tensorpress_compress_options_init(&options, sizeof options);
 *   options.bound_kind = TENSORPRESS_BOUND_RELATIVE;
 *   options.bound = 1e-4;
 *   const uint64_t shape[] = {20, 180, 360};
 *   const tensorpress_view field = {values, TENSORPRESS_F32, 3, shape, NULL};
 *   status = tensorpress_compress_alloc(&field, &options, &stream, &stream_bytes, &error);
 *
 * What holds for every call:
 * - It returns a tensorpress_status: TENSORPRESS_OK, or what went wrong. The last parameter,
 * `error`, receives the status and a message in English; NULL: no message is wanted. After
 * TENSORPRESS_OK the message is "". Other results are written only on success, unless the call says
 * otherwise.
 * - Nothing is thrown, printed or kept between calls, and the process is never ended. Any number of
 *   threads may call at once, also with the same compressor or decompressor.
 * - Pointers are borrowed for the duration of the call. Strings are UTF-8 and end with a NUL.
 * - Sizes are in bytes where the name says bytes, otherwise in elements. Shapes are in the order of
 *   C and NumPy: the slowest axis first.
 * - A NULL where a pointer is required is TENSORPRESS_BAD_ARGUMENT, never a crash.
 */
#ifndef TENSORPRESS_TENSORPRESS_H
#define TENSORPRESS_TENSORPRESS_H

#include <stddef.h>
#include <stdint.h>

#include "tensorpress/api.h"
#include "tensorpress/version.h"

#ifdef __cplusplus
extern "C" {
#endif

/* NOLINTBEGIN(modernize-use-using): this is C. */

/** A tensor has at most so many dimensions; 0-D and empty tensors are ordinary. */
#define TENSORPRESS_MAX_RANK 8

/* ---- Version ------------------------------------------------------------------------------------
 */

/** Of the library that runs, as TENSORPRESS_VERSION_NUMBER is of the header: 10203 is 1.2.3. */
TENSORPRESS_API uint32_t tensorpress_version_number(void);
/** "1.2.3". Static. */
TENSORPRESS_API const char* tensorpress_version_string(void);

/* ---- Errors -------------------------------------------------------------------------------------
 */

/** One of the values below. The numbers never change. */
typedef int32_t tensorpress_status;
enum {
  TENSORPRESS_OK = 0,
  TENSORPRESS_BAD_ARGUMENT = 1,  /**< the caller asked for something that makes no sense */
  TENSORPRESS_UNSUPPORTED = 2,   /**< it makes sense, but this version cannot do it */
  TENSORPRESS_TRUNCATED = 3,     /**< the stream ends too early */
  TENSORPRESS_CORRUPT = 4,       /**< the stream contradicts itself or a checksum */
  TENSORPRESS_TOO_LARGE = 5,     /**< a size beyond a limit or beyond 64 bits */
  TENSORPRESS_IO = 6,            /**< the operating system refused a read or a write */
  TENSORPRESS_INTERNAL = 7,      /**< a bug in Tensorpress */
  TENSORPRESS_OUT_OF_MEMORY = 8, /**< an allocator returned NULL or memory ran out */
  TENSORPRESS_RUNNER_FAILED = 9, /**< the runner of the options did not do its work */
  /** One repeated extreme makes up most of the value range: a fill value that was not named? Name
   *  it in fill_values, give a value_range, or set whole_range. */
  TENSORPRESS_LIKELY_FILL = 10
};

/** "ok", "bad_argument", ...; "unknown" for any other number. Static, never NULL. */
TENSORPRESS_API const char* tensorpress_error_name(tensorpress_status status);

#define TENSORPRESS_MESSAGE_BYTES 1020
/** What went wrong in one call. Needs no initialization. */
typedef struct tensorpress_error {
  tensorpress_status status;
  /** Names the thing, the value and the way out; always ends with a NUL, longer texts are cut. */
  char message[TENSORPRESS_MESSAGE_BYTES];
} tensorpress_error;

/* ---- Element types ------------------------------------------------------------------------------
 */

/** One of the values below, which are those in a stream. */
typedef int32_t tensorpress_dtype;
enum {
  TENSORPRESS_F32 = 1,
  TENSORPRESS_F64 = 2,
  TENSORPRESS_F16 = 3,
  TENSORPRESS_BF16 = 4,
  TENSORPRESS_U8 = 5,
  TENSORPRESS_I16 = 6
};

/** Bytes of one element; 0 for a number that is no type. */
TENSORPRESS_API size_t tensorpress_dtype_bytes(tensorpress_dtype dtype);
/** "f32", "bf16", ...; NULL for a number that is no type. Static. */
TENSORPRESS_API const char* tensorpress_dtype_name(tensorpress_dtype dtype);
/** The reverse; also takes NumPy's names (float32, uint8, ...). All but `error` are required. */
TENSORPRESS_API tensorpress_status tensorpress_dtype_parse(const char* name,
                                                           tensorpress_dtype* dtype,
                                                           tensorpress_error* error);

/* ---- Tensors by reference
 * ------------------------------------------------------------------------ */

/** A tensor to be read. Owns nothing; elements need no alignment. */
typedef struct tensorpress_view {
  const void* data; /**< the element with all indices 0; NULL only if there are no elements */
  tensorpress_dtype dtype;
  size_t rank;            /**< 0 to TENSORPRESS_MAX_RANK */
  const uint64_t* shape;  /**< `rank` extents; NULL only for rank 0 */
  const int64_t* strides; /**< `rank` strides in bytes, of any sign; NULL: contiguous in C order */
} tensorpress_view;

/** A tensor to be written. No two elements may share bytes. */
typedef struct tensorpress_mutable_view {
  void* data; /**< as above */
  tensorpress_dtype dtype;
  size_t rank;
  const uint64_t* shape;
  const int64_t* strides;
} tensorpress_mutable_view;

/* ---- Codecs of this build
 * ------------------------------------------------------------------------ */

/** What a codec accepts for one parameter. All strings are static and never NULL. */
typedef struct tensorpress_parameter_info {
  const char* name;
  const char* default_value;
  const char* choices; /**< "1..8", "square|triangle" */
  const char* help;
  int from_data; /**< 1: filled in when a tensor is compressed, not by callers */
} tensorpress_parameter_info;

TENSORPRESS_API size_t tensorpress_codec_count(void);
/** Of codec `index`; NULL when there are not so many. Static. */
TENSORPRESS_API const char* tensorpress_codec_name(size_t index);
TENSORPRESS_API const char* tensorpress_codec_summary(size_t index);
/** 1: takes a bound and keeps it. 0: has a fixed rate and takes none, or there is no such codec. */
TENSORPRESS_API int tensorpress_codec_is_error_bounded(size_t index);
TENSORPRESS_API size_t tensorpress_codec_parameter_count(size_t index);
/** Fills `info` (required). BAD_ARGUMENT when there is no such codec or parameter. */
TENSORPRESS_API tensorpress_status tensorpress_codec_parameter(size_t index, size_t parameter,
                                                               tensorpress_parameter_info* info,
                                                               tensorpress_error* error);

/* ---- The caller's memory and threads
 * ------------------------------------------------------------- */

/**
 * Where memory comes from that outlives a call: contexts, infos and the results of the calls ending
 * in _alloc. Codecs take their working memory from the C++ runtime. Both functions are set or both
 * NULL: malloc and free.
 */
typedef struct tensorpress_allocator {
  /** At least `bytes` (never 0) bytes, aligned as by malloc; NULL: there is no more memory. */
  void* (*allocate)(void* opaque, size_t bytes);
  /** Takes back what allocate gave; `memory` is never NULL. */
  void (*release)(void* opaque, void* memory);
  void* opaque; /**< passed on; may be NULL */
} tensorpress_allocator;

/** Gives back the result of a call ending in _alloc. `allocator`: the one in that call's options;
 *  NULL: free(). `memory` NULL: does nothing. */
TENSORPRESS_API void tensorpress_free(const tensorpress_allocator* allocator, void* memory);

/** Does piece `index` of the work. May be called from any thread; does not return early or fail. */
typedef void (*tensorpress_task)(void* task_opaque, size_t index);
/**
 * Calls task(task_opaque, i) once for each i < count, in any order and on any threads but started
 * in ascending order, and returns when all are done. 0: done. Anything else: it could not, and the
 * call it works for ends with TENSORPRESS_RUNNER_FAILED. The bytes that come out never depend on
 * it.
 */
typedef int (*tensorpress_runner)(void* runner_opaque, size_t count, tensorpress_task task,
                                  void* task_opaque);

/* ---- Options
 * ------------------------------------------------------------------------------------- */

/** A name and its value. */
typedef struct tensorpress_pair {
  const char* name;   /**< required */
  const char* value;  /**< required */
  size_t value_bytes; /**< without the NUL. 0 from a caller: up to the first NUL */
} tensorpress_pair;

/** Of what the bound of the options is. */
typedef int32_t tensorpress_bound_kind;
enum {
  TENSORPRESS_BOUND_NONE = 0,
  TENSORPRESS_BOUND_ABSOLUTE = 1, /**< every |x' - x| <= bound, in the unit of the data */
  TENSORPRESS_BOUND_RELATIVE = 2, /**< ... <= bound times max - min of the ordinary values */
  TENSORPRESS_BOUND_POINTWISE_RELATIVE = 3, /**< ... <= bound times |x| */
  TENSORPRESS_BOUND_PSNR = 4, /**< peak signal-to-noise ratio of at least `bound` decibels */
  TENSORPRESS_BOUND_RATIO = 5 /**< the absolute bound that makes samples `bound` times smaller */
};

/** How to compress. Zeros are the defaults; call tensorpress_compress_options_init first. */
typedef struct tensorpress_compress_options {
  size_t struct_size;                 /**< sizeof(tensorpress_compress_options), for later growth */
  const char* codec;                  /**< NULL: "dense" */
  const tensorpress_pair* parameters; /**< of the codec; those not named have their defaults */
  size_t parameter_count;             /**< `parameters` may be NULL when 0 */
  tensorpress_bound_kind bound_kind;  /**< error-bounded codecs need one, others take none */
  double bound;
  const double*
      fill_values;         /**< stand for no data: come back bit-exact, never count in the range */
  size_t fill_value_count; /**< `fill_values` may be NULL when 0 */
  const double* value_range; /**< {lowest, highest} if known, saves a pass over the data; or NULL */
  const uint64_t* chunk_shape;        /**< extents of one chunk; NULL: chosen by the codec */
  size_t chunk_rank;                  /**< extents in `chunk_shape`; must be the tensor's rank */
  const tensorpress_pair* attributes; /**< kept in the stream; the codec does not look at them */
  size_t attribute_count;             /**< `attributes` may be NULL when 0 */
  size_t threads;            /**< 0 is 1. With a runner: how many pieces are worked on at once */
  tensorpress_runner runner; /**< NULL: threads that live for one call */
  void* runner_opaque;       /**< passed on; may be NULL */
  tensorpress_allocator allocator;
  /** 1: a relative bound or PSNR is of the whole range, even where one repeated extreme makes up
   *  most of it, which is TENSORPRESS_LIKELY_FILL otherwise. */
  int32_t whole_range;
  /** What the values have lost already, against the data that they were made from; the bound, which
   *  is then against those data, is met with what is left. ABSOLUTE, POINTWISE_RELATIVE or NONE. */
  tensorpress_bound_kind earlier_error_kind;
  double earlier_error;
} tensorpress_compress_options;

/** How to decompress. Zeros are the defaults; call tensorpress_decompress_options_init first. */
typedef struct tensorpress_decompress_options {
  size_t struct_size; /**< sizeof(tensorpress_decompress_options) */
  size_t threads;     /**< as above */
  tensorpress_runner runner;
  void* runner_opaque;
  uint64_t max_bytes; /**< refuse streams that claim more decompressed bytes, and for regions also
                         those with larger chunks. 0: 2^40 */
  tensorpress_allocator allocator;
} tensorpress_decompress_options;

/** Sets every field to its default. `struct_size` is sizeof *options where the caller was compiled;
 *  nothing beyond it is written. `options` NULL: does nothing. */
TENSORPRESS_API void tensorpress_compress_options_init(tensorpress_compress_options* options,
                                                       size_t struct_size);
TENSORPRESS_API void tensorpress_decompress_options_init(tensorpress_decompress_options* options,
                                                         size_t struct_size);

/* ---- One call
 * ------------------------------------------------------------------------------------ */

/** Enough room for any data of the shape and type of `input`, whose data may be NULL here.
 *  `options` NULL: the defaults. */
TENSORPRESS_API tensorpress_status tensorpress_bound_on_output_size(
    const tensorpress_view* input, const tensorpress_compress_options* options,
    uint64_t* output_bytes, tensorpress_error* error);

/** Writes a stream into the caller's memory. Too little room is TENSORPRESS_BAD_ARGUMENT; what is
 * then in `output` is of no use. `options` NULL: the defaults, which lack the bound that "dense"
 * needs. */
TENSORPRESS_API tensorpress_status tensorpress_compress(const tensorpress_view* input,
                                                        const tensorpress_compress_options* options,
                                                        void* output, size_t output_capacity_bytes,
                                                        size_t* output_bytes,
                                                        tensorpress_error* error);

/** The same into new memory, which the caller gives back with tensorpress_free. */
TENSORPRESS_API tensorpress_status tensorpress_compress_alloc(
    const tensorpress_view* input, const tensorpress_compress_options* options, void** output,
    size_t* output_bytes, tensorpress_error* error);

/** `output` has the shape and type of the stream (tensorpress_info_read); any strides. When the
 * stream is corrupt, some elements may have been written. `options` NULL: the defaults. */
TENSORPRESS_API tensorpress_status tensorpress_decompress(
    const void* stream, size_t stream_bytes, const tensorpress_mutable_view* output,
    const tensorpress_decompress_options* options, tensorpress_error* error);

/** Only the box that begins at `origin` (one index an axis; NULL only for rank 0) and has the shape
 * of `output`, from the chunks that hold it. */
TENSORPRESS_API tensorpress_status tensorpress_decompress_region(
    const void* stream, size_t stream_bytes, const uint64_t* origin,
    const tensorpress_mutable_view* output, const tensorpress_decompress_options* options,
    tensorpress_error* error);

/** The whole tensor, contiguous in C order, in new memory that the caller gives back with
 *  tensorpress_free; NULL with 0 bytes when there are no elements. */
TENSORPRESS_API tensorpress_status tensorpress_decompress_alloc(
    const void* stream, size_t stream_bytes, const tensorpress_decompress_options* options,
    void** output, size_t* output_bytes, tensorpress_error* error);

/* ---- Contexts: options checked once and kept
 * ------------------------------------------------------ */

/** Holds a copy of everything in its options. Immutable. */
typedef struct tensorpress_compressor tensorpress_compressor;
typedef struct tensorpress_decompressor tensorpress_decompressor;

/** The caller ends the life of `*compressor` with tensorpress_compressor_free. On an error it is
 * set to NULL. `options` NULL: the defaults. */
TENSORPRESS_API tensorpress_status
tensorpress_compressor_create(const tensorpress_compress_options* options,
                              tensorpress_compressor** compressor, tensorpress_error* error);
/** NULL: does nothing. */
TENSORPRESS_API void tensorpress_compressor_free(tensorpress_compressor* compressor);
/** As the calls without a context. */
TENSORPRESS_API tensorpress_status tensorpress_compressor_bound_on_output_size(
    const tensorpress_compressor* compressor, const tensorpress_view* input, uint64_t* output_bytes,
    tensorpress_error* error);
TENSORPRESS_API tensorpress_status tensorpress_compressor_compress(
    const tensorpress_compressor* compressor, const tensorpress_view* input, void* output,
    size_t output_capacity_bytes, size_t* output_bytes, tensorpress_error* error);
TENSORPRESS_API tensorpress_status tensorpress_compressor_compress_alloc(
    const tensorpress_compressor* compressor, const tensorpress_view* input, void** output,
    size_t* output_bytes, tensorpress_error* error);

TENSORPRESS_API tensorpress_status
tensorpress_decompressor_create(const tensorpress_decompress_options* options,
                                tensorpress_decompressor** decompressor, tensorpress_error* error);
/** NULL: does nothing. */
TENSORPRESS_API void tensorpress_decompressor_free(tensorpress_decompressor* decompressor);
TENSORPRESS_API tensorpress_status tensorpress_decompressor_decompress(
    const tensorpress_decompressor* decompressor, const void* stream, size_t stream_bytes,
    const tensorpress_mutable_view* output, tensorpress_error* error);
TENSORPRESS_API tensorpress_status tensorpress_decompressor_decompress_region(
    const tensorpress_decompressor* decompressor, const void* stream, size_t stream_bytes,
    const uint64_t* origin, const tensorpress_mutable_view* output, tensorpress_error* error);
TENSORPRESS_API tensorpress_status tensorpress_decompressor_decompress_alloc(
    const tensorpress_decompressor* decompressor, const void* stream, size_t stream_bytes,
    void** output, size_t* output_bytes, tensorpress_error* error);

/* ---- What a stream says about itself
 * --------------------------------------------------------------- */

typedef struct tensorpress_statistic {
  const char* name; /**< "l2_error", "raw_chunks", ... */
  double value;
} tensorpress_statistic;

/** Made by the library only; later versions append fields. Everything it points to lives as long.
 */
typedef struct tensorpress_info {
  uint32_t format_version;
  tensorpress_dtype dtype;
  size_t rank;
  uint64_t shape[TENSORPRESS_MAX_RANK];
  uint64_t chunk_shape[TENSORPRESS_MAX_RANK];
  uint64_t chunk_count;
  uint64_t bytes_in;      /**< of the decompressed tensor */
  uint64_t bytes_out;     /**< of the whole stream */
  uint64_t payload_bytes; /**< what the codec wrote, without the container */
  const char* codec;
  size_t parameter_count;
  const tensorpress_pair* parameters; /**< complete, with the bound and what it came to */
  size_t attribute_count;
  const tensorpress_pair* attributes;
  size_t statistic_count;
  const tensorpress_statistic* statistics;
} tensorpress_info;

/** Checks everything but the chunks. The caller ends the life of `*info` with tensorpress_info_free
 * and the same allocator; NULL: malloc. On an error `*info` is set to NULL. */
TENSORPRESS_API tensorpress_status tensorpress_info_read(const void* stream, size_t stream_bytes,
                                                         const tensorpress_allocator* allocator,
                                                         const tensorpress_info** info,
                                                         tensorpress_error* error);
/** `info` NULL: does nothing. */
TENSORPRESS_API void tensorpress_info_free(const tensorpress_allocator* allocator,
                                           const tensorpress_info* info);

/* ---- Packed values: fewer bits in the caller's memory, without a stream
 * --------------------------- */

/** What becomes of each value. */
typedef int32_t tensorpress_packing;
enum {
  TENSORPRESS_QUANTIZE = 0, /**< `bits` bits a value, in groups with a minimum and a scale */
  TENSORPRESS_CAST = 1,     /**< a smaller floating-point type, `cast_to` */
  TENSORPRESS_MASK = 2,     /**< 1 bit, exactly: each value is 0 or one other */
  TENSORPRESS_SIGNS = 3     /**< 1 bit: whether the value is above 0 */
};

/** What TENSORPRESS_CAST makes of a value. */
typedef int32_t tensorpress_cast_type;
enum {
  TENSORPRESS_CAST_F16 = 0,
  TENSORPRESS_CAST_BF16 = 1,
  TENSORPRESS_CAST_E4M3 = 2, /**< fp8, to 448 */
  TENSORPRESS_CAST_E5M2 = 3  /**< fp8, to 57344 */
};

/** How to pack, and with the same values how to unpack; tensorpress/pack.h has the promises. Call
 *  tensorpress_pack_options_init first. */
typedef struct tensorpress_pack_options {
  size_t struct_size; /**< sizeof(tensorpress_pack_options) */
  tensorpress_packing packing;
  int32_t bits;       /**< of QUANTIZE: 1, 2, 3, 4, 5, 6 or 8. 0: 4 */
  size_t group;       /**< of QUANTIZE: a multiple of 256 / bits (6: of 128; 3, 5: of 256), at most
                           65536. 0: 256 */
  int32_t stochastic; /**< of QUANTIZE: 1 rounds up with the probability of the remainder */
  tensorpress_cast_type cast_to;
  uint64_t seed;          /**< of stochastic rounding */
  uint64_t first_element; /**< the number of the first value, where calls share a tensor */
} tensorpress_pack_options;

/** Sets every field to its default: 4 bits, groups of 256, rounding to nearest. */
TENSORPRESS_API void tensorpress_pack_options_init(tensorpress_pack_options* options,
                                                   size_t struct_size);

/** Bytes that `count` values take. `options` NULL: the defaults. */
TENSORPRESS_API tensorpress_status tensorpress_packed_size(size_t count,
                                                           const tensorpress_pack_options* options,
                                                           size_t* packed_bytes,
                                                           tensorpress_error* error);

/** Packs `count` contiguous values, aligned as their type needs it, into tensorpress_packed_size
 *  bytes. `*representable` becomes 0 where the packed bytes are of no use and the values are to be
 *  kept as they are (NaN, infinity, a third value in a mask), else 1. */
TENSORPRESS_API tensorpress_status tensorpress_pack(const void* values, tensorpress_dtype dtype,
                                                    size_t count,
                                                    const tensorpress_pack_options* options,
                                                    void* packed, size_t packed_bytes,
                                                    int* representable, tensorpress_error* error);

/** The reverse. Hostile bytes give some values, never harm. */
TENSORPRESS_API tensorpress_status tensorpress_unpack(const void* packed, size_t packed_bytes,
                                                      const tensorpress_pack_options* options,
                                                      void* values, tensorpress_dtype dtype,
                                                      size_t count, tensorpress_error* error);

/* NOLINTEND(modernize-use-using) */

#ifdef __cplusplus
}
#endif

#endif
