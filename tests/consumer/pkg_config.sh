#!/usr/bin/env bash
# Builds and runs a program of one file with nothing but a compiler and pkg-config.
# usage: pkg_config.sh INSTALL_TREE LIBDIR FOLDER SOURCE COMPILER [FLAGS...]
set -euo pipefail
install_tree=$1 libdir=$2 folder=$3 source=$4
shift 4
program=$folder/$(basename "${source%.*}")

export PKG_CONFIG_PATH=$install_tree/$libdir/pkgconfig
read -ra compile_flags <<<"$(pkg-config --cflags tensorpress)"
read -ra link_flags <<<"$(pkg-config --libs tensorpress)"

mkdir -p "$folder"
"$@" "${compile_flags[@]}" "$source" -o "$program" "${link_flags[@]}" "-Wl,-rpath,$install_tree/$libdir"
"$program"
