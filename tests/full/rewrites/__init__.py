"""The parts of random_rewrites.py: files made at random, read back, and judged."""
