// Tables III and IV of "CereSZ-II" as printed, and what SDRBench's files are called. Shapes are in
// NumPy order; the paper lists Hurricane's the other way round.
#include <array>

#include "benchmark/studies/table4.h"

namespace tensorpress::benchmark {

std::span<const Table4DataSet> table4_data_sets() {
  // In the order of kTable4Bounds: {min, max, avg}.
  static const std::array<Table4DataSet, 7> kDataSets = {{
      {.name = "CESM-ATM",
       .folder = "cesm",
       .shape = {1800, 3600},
       .fields = 79,
       .published = {{
           {{{17.42, 29.16, 23.36}, {7.62, 25.27, 15.29}, {3.83, 18.0, 8.34}}},  // CereSZ-II
           {{{2.67, 21.6, 8.73}, {2.13, 16.1, 6.49}, {1.68, 13.42, 5.11}}},      // CereSZ
           {{{2.84, 43.75, 12.56}, {2.25, 25.86, 8.46}, {1.75, 19.59, 6.24}}},   // cuSZp
       }}},
      {.name = "HACC",
       .folder = "hacc",
       .shape = {280953867},
       .fields = 6,
       .published = {{
           {{{12.58, 23.02, 17.39}, {5.69, 14.98, 9.44}, {3.22, 6.59, 4.55}}},  // CereSZ-II
           {{{4.66, 9.18, 6.82}, {3.18, 4.91, 4.05}, {2.38, 3.2, 2.83}}},       // CereSZ
           {{{5.24, 10.08, 7.63}, {3.43, 5.2, 4.31}, {2.53, 3.39, 2.96}}},      // cuSZp
       }}},
      {.name = "Hurricane",
       .folder = "hurricane",
       .shape = {100, 500, 500},
       .fields = 13,
       .published = {{
           {{{21.73, 29.56, 25.9}, {9.89, 27.54, 18.8}, {4.62, 24.01, 13.34}}},  // CereSZ-II
           {{{5.21, 28.82, 17.1}, {3.41, 24.37, 12.57}, {2.53, 19.71, 9.64}}},   // CereSZ
           {{{5.94, 88.88, 38.7}, {3.71, 56.88, 22.31}, {2.7, 36.66, 14.36}}},   // cuSZp
       }}},
      {.name = "NYX",
       .folder = "nyx",
       .shape = {512, 512, 512},
       .fields = 6,
       .published = {{
           {{{23.99, 30.12, 27.49}, {11.72, 30.1, 21.27}, {5.12, 29.84, 14.26}}},  // CereSZ-II
           {{{7.83, 31.98, 20.22}, {4.54, 31.84, 14.05}, {3.1, 29.74, 9.61}}},     // CereSZ
           {{{9.6, 127.8, 66.73}, {5.09, 125.55, 38.44}, {3.35, 98.23, 22.14}}},   // cuSZp
       }}},
      {.name = "QMCPack",
       .folder = "qmc",
       .shape = {33120, 69, 69},
       .fields = 2,
       .published = {{
           {{{13.95, 25.73, 19.84}, {6.45, 14.51, 10.48}, {3.68, 6.74, 5.21}}},  // CereSZ-II
           {{{9.59, 19.67, 14.63}, {5.31, 9.02, 7.16}, {3.48, 4.97, 4.23}}},     // CereSZ
           {{{12.44, 22.21, 17.33}, {6.08, 10.08, 8.08}, {3.79, 5.56, 4.68}}},   // cuSZp
       }}},
      {.name = "RTM",
       .folder = "rtm",
       .shape = {1008, 1008, 352},
       .fields = 3,
       .published = {{
           {{{24.82, 29.53, 27.09}, {12.03, 27.84, 19.28}, {6.01, 25.47, 14.18}}},  // CereSZ-II
           {{{10.52, 31.99, 23.46}, {5.94, 31.98, 17.73}, {3.79, 31.96, 12.87}}},   // CereSZ
           {{{13.97, 127.95, 66.97}, {6.9, 127.8, 42.29}, {4.17, 127.52, 27.43}}},  // cuSZp
       }}},
      {.name = "SCALE",
       .folder = "scale",
       .shape = {98, 1200, 1200},
       .fields = 13,
       .published = {{
           {{{21.88, 29.87, 26.5}, {13.01, 28.79, 20.2}, {6.15, 25.87, 13.15}}},  // CereSZ-II
           {{{3.55, 30.41, 15.71}, {2.58, 26.87, 11.29}, {2.04, 21.18, 8.15}}},   // CereSZ
           {{{3.87, 105.89, 37.76}, {2.74, 72.6, 21.11}, {2.14, 42.06, 12.33}}},  // cuSZp
       }}},
  }};

  return kDataSets;
}

}  // namespace tensorpress::benchmark
