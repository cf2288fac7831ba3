#!/usr/bin/env bash
# Builds and runs the consumer with nothing but a compiler and pkg-config.
# usage: pkg_config.sh COMPILER INSTALL_TREE LIBDIR FOLDER
set -euo pipefail
compiler=$1 install_tree=$2 libdir=$3 folder=$4

export PKG_CONFIG_PATH=$install_tree/$libdir/pkgconfig
read -ra compile_flags <<<"$(pkg-config --cflags tensorpress)"
read -ra link_flags <<<"$(pkg-config --libs tensorpress)"

mkdir -p "$folder"
"$compiler" -std=c++20 "${compile_flags[@]}" "$(dirname "$0")/round_trip.cc" -o "$folder/round_trip" \
  "${link_flags[@]}" "-Wl,-rpath,$install_tree/$libdir"
"$folder/round_trip"
