#!/bin/sh
# by_clang.sh GCC CLANG COMMAND...: runs a command of gcc's with clang. CMake has one compiler a
# build, and gives this as the launcher of what is compiled by the other (cmake/targets.cmake).

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
# clang would read the old precompiled header while it makes the new one.
if [ "$made" ]; then rm -f "$output"; fi
exec "$@"
