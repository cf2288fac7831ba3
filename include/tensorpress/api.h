/* What a shared library shows to its callers; everything without this mark is hidden. C and C++. */
#ifndef TENSORPRESS_API_H
#define TENSORPRESS_API_H

#if defined(__GNUC__) || defined(__clang__)
#  define TENSORPRESS_API __attribute__((visibility("default")))
#else
#  define TENSORPRESS_API
#endif

#endif
