#!/bin/sh
# by_clang.sh GCC CLANG COMMAND...: runs a command of gcc's with clang. CMake has one compiler a
# build, and gives this as the launcher of what is compiled by the other (cmake/targets.cmake).
# Parameters of gcc's memory go, which clang does not know.

gcc=$1 clang=$2 made='' last=''
shift 2
for word do
  shift
  case $word in
    "$gcc") word=$clang ;;
    --param=*) continue ;;
    c++-header) made=yes ;;
  esac
  if [ "$last" = -o ]; then output=$word; fi
  last=$word
  set -- "$@" "$word"
done
if [ "$made" ]; then
  rm -f "$output"  # or clang reads the old precompiled header while it makes the new one
  export CCACHE_DISABLE=1  # it names files by their whole paths, so another clone's is none
fi
exec "$@"
