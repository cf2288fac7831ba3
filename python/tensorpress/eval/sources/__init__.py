"""Where the data of the benchmarks comes from: a file for each dataset, and one of generators."""
