// Sums of squared differences of rows of floats. Needs doubles.
#if defined(cl_khr_fp64) || !defined(__OPENCL_VERSION__)

#if defined(__OPENCL_VERSION__)
#pragma OPENCL EXTENSION cl_khr_fp64 : enable
#endif

#if defined(TENSORPRESS_ON_CPU)
typedef double8 DoubleColumns;
#  define COLUMNS_AS_DOUBLES(f) convert_double8(f)
#else
typedef double DoubleColumns;
#  define COLUMNS_AS_DOUBLES(f) ((double)(f))
#endif

// Of a thread's columns: elements lane, lane + 8, lane + 16 and so on.
#define SUM_SQUARED_DIFFERENCES(one, other, lane, count, total)                     \
  {                                                                                 \
    DoubleColumns sum = 0;                                                          \
    u32 i = (lane);                                                                 \
    for (; i + COLUMNS <= (count); i += 8u) {                                       \
      const DoubleColumns difference = COLUMNS_AS_DOUBLES(LOAD_COLUMNS((one) + i)) - \
                                       COLUMNS_AS_DOUBLES(LOAD_COLUMNS((other) + i)); \
      const DoubleColumns square = difference * difference;                         \
      sum += square;                                                                \
    }                                                                               \
    STORE_COLUMNS(sum, (total));                                                    \
    for (u32 k = 0; i + k < (count) && k < COLUMNS; ++k) {                          \
      const double difference = (double)(one)[i + k] - (double)(other)[i + k];      \
      const double square = difference * difference;                                \
      (total)[k] += square;                                                         \
    }                                                                               \
  }

#endif
