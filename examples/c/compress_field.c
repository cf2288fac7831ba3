/*
 * Tensorpress from C: compresses a field within one thousandth of its range, decompresses it,
 * checks every value, reads what the stream says about itself, and shows what an error looks like.
 *
 *   cc -std=c99 compress_field.c $(pkg-config --cflags --libs tensorpress) -o compress_field
 */
#include <math.h>
#include <stdio.h>
#include <stdlib.h>
#include <tensorpress/tensorpress.h>

enum { LEVELS = 8, ROWS = 60, COLUMNS = 90, COUNT = LEVELS * ROWS * COLUMNS };

static const uint64_t shape[] = {LEVELS, ROWS, COLUMNS};

static int fail(const char* what, const tensorpress_error* error) {
  fprintf(stderr, "%s: %s: %s\n", what, tensorpress_error_name(error->status), error->message);
  return EXIT_FAILURE;
}

/* Something like a temperature: warm at the equator, colder with height, in kelvin. */
static void make_field(float* values) {
  for (int level = 0; level < LEVELS; ++level) {
    for (int row = 0; row < ROWS; ++row) {
      for (int column = 0; column < COLUMNS; ++column) {
        const double latitude = (row - ROWS / 2) * 3.0 * 3.14159265 / 180.0;
        const double wave = 2.0 * sin(column * 0.14 + row * 0.05);
        *values++ = (float)(250.0 + 45.0 * cos(latitude) - 6.5 * level + wave);
      }
    }
  }
}

static double range_of(const float* values) {
  float low = values[0], high = values[0];
  for (int i = 1; i < COUNT; ++i) {
    if (values[i] < low) low = values[i];
    if (values[i] > high) high = values[i];
  }
  return (double)high - low;
}

static double largest_difference(const float* a, const float* b) {
  double largest = 0;
  for (int i = 0; i < COUNT; ++i) {
    const double difference = fabs((double)a[i] - b[i]);
    if (!(difference <= largest)) largest = difference;
  }
  return largest;
}

static int print_info(const void* stream, size_t stream_bytes) {
  tensorpress_error error;
  const tensorpress_info* info;
  if (tensorpress_info_read(stream, stream_bytes, NULL, &info, &error) != TENSORPRESS_OK) {
    return fail("info", &error);
  }
  printf("%s, %zu-D %s, %llu bytes in a stream of %llu\n", info->codec, info->rank,
         tensorpress_dtype_name(info->dtype), (unsigned long long)info->bytes_in,
         (unsigned long long)info->bytes_out);
  for (size_t i = 0; i < info->parameter_count; ++i) {
    printf("  %s = %s\n", info->parameters[i].name, info->parameters[i].value);
  }
  for (size_t i = 0; i < info->attribute_count; ++i) {
    printf("  attribute %s = %s\n", info->attributes[i].name, info->attributes[i].value);
  }
  tensorpress_info_free(NULL, info);
  return EXIT_SUCCESS;
}

/* A stream that was cut off: the call says so, and nothing else happens. */
static int show_an_error(const void* stream, size_t stream_bytes, float* copy) {
  const tensorpress_mutable_view output = {copy, TENSORPRESS_F32, 3, shape, NULL};
  tensorpress_error error;
  if (tensorpress_decompress(stream, stream_bytes / 2, &output, NULL, &error) == TENSORPRESS_OK) {
    fprintf(stderr, "half a stream was accepted\n");
    return EXIT_FAILURE;
  }
  printf("half of it: %s: %s\n", tensorpress_error_name(error.status), error.message);
  return EXIT_SUCCESS;
}

static int compress_and_check(const float* values, float* copy) {
  const tensorpress_view input = {values, TENSORPRESS_F32, 3, shape, NULL};
  const tensorpress_mutable_view output = {copy, TENSORPRESS_F32, 3, shape, NULL};
  const tensorpress_pair units = {"units", "K", 0};
  tensorpress_compress_options options;
  tensorpress_error error;
  void* stream;
  size_t stream_bytes;
  int status = EXIT_FAILURE;

  tensorpress_compress_options_init(&options, sizeof options);
  options.bound_kind = TENSORPRESS_BOUND_RELATIVE;
  options.bound = 1e-3;
  options.attributes = &units;
  options.attribute_count = 1;
  if (tensorpress_compress_alloc(&input, &options, &stream, &stream_bytes, &error)) {
    return fail("compress", &error);
  }
  if (tensorpress_decompress(stream, stream_bytes, &output, NULL, &error)) {
    status = fail("decompress", &error);
  } else {
    const double allowed = 1e-3 * range_of(values), found = largest_difference(values, copy);
    printf("largest error %g K, allowed %g K\n", found, allowed);
    if (found <= allowed) status = print_info(stream, stream_bytes);
    if (status == EXIT_SUCCESS) status = show_an_error(stream, stream_bytes, copy);
  }
  tensorpress_free(NULL, stream);
  return status;
}

int main(void) {
  float* const values = malloc(COUNT * sizeof *values);
  float* const copy = malloc(COUNT * sizeof *copy);
  int status = EXIT_FAILURE;
  if (values != NULL && copy != NULL) {
    printf("tensorpress %s\n", tensorpress_version_string());
    make_field(values);
    status = compress_and_check(values, copy);
  }
  free(values);
  free(copy);
  return status;
}
