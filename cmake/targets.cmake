# The functions that the folders' CMakeLists.txt are made of:
#
#   weir_layer(algo                     the static library weir_algo, of one folder
#     SOURCES token_bucket.cc quota.cc  none: a layer of headers only
#     TOGETHER                          many files, compiled twelve at a time
#     COMMANDS                          programs, and what they are made of; compiled as tests are
#     DEPS weir_base)                   what its headers and sources need
#
#   weir_test(algo_test                 a gtest program and its one ctest entry
#     SOURCES quota_test.cc bucket_test.cc  main() comes from gtest_main
#     DEPS weir_algo rapidcheck_gtest
#     LABELS tsan                       run by ./dev tsan: it starts threads
#     TIMEOUT 20)                       seconds; 60 if it is left out
#
#   weir_script_test(http_e2e           a Python program that tests the real one
#     SCRIPT http_e2e.py                finds the binary in $WEIR_BINARY
#     ARGS --fast LABELS e2e TIMEOUT 120)
#
#   weir_node_test(wasm_module_test     the same for JavaScript, run by node
#     SCRIPT module_test.mjs ARGS ${WEIR_WASM})
#
#   weir_fuzz(http1                     the libFuzzer target fuzz_http1 (preset fuzz);
#     SOURCES http1.cc                  elsewhere a test that feeds it its seeds,
#     DEPS weir_proto)                  fuzz/corpus/http1/*
#
#   weir_bench(table_bench SOURCES table_bench.cc DEPS weir_store_memory)
#   weir_program(weir SOURCES main.cc DEPS weir_net)    lands at the top of the build
#
# Targets are named after their folder: src/store/memory is weir_store_memory,
# src/server/http is weir_server_http.

# The headers that most files include, read once for all layers, and once more with gtest for all
# tests: the standard ones; above the rules those, too; for tests of the HTTP door all that its peer
# takes. A file still includes what it uses: clang's presets build without.
set(WEIR_STANDARD_HEADERS
  <algorithm> <array> <atomic> <bit> <charconv> <chrono> <cmath> <cstdint> <cstdlib> <cstring>
  <deque> <functional> <limits> <map> <memory> <mutex> <new> <optional> <set> <span> <string>
  <string_view> <system_error> <type_traits> <unordered_map> <utility> <variant> <vector>)
set(WEIR_TEST_HEADERS
  <filesystem> <fstream> <iostream> <sstream> <thread> <gmock/gmock.h> <gtest/gtest.h>)
set(WEIR_RULES_HEADERS ${PROJECT_SOURCE_DIR}/src/rules/rule_set.h)
function(weir_precompile target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "HEADERS;DEPS")
  add_library(${target} OBJECT ${PROJECT_SOURCE_DIR}/cmake/precompiled.cc)
  target_link_libraries(${target} PRIVATE weir_options ${arg_DEPS})
  target_precompile_headers(${target} PRIVATE ${WEIR_STANDARD_HEADERS} ${arg_HEADERS})
endfunction()
# Beside gcc, clang compiles tests and commands: with precompiled headers it takes less than half of
# gcc's time, which instantiates for each file what these headers use. So our headers pass both.
# Optimizing, and lines for a debugger, would double that time; gtest names lines that fail. Layers
# stay optimized, but for inline functions that they call out of line.
set(WEIR_TEST_OPTIONS $<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:Debug>>:-O0;-g0>
  CACHE STRING "How tests and commands are compiled, after the flags of the preset")
if(WEIR_BUILD_TESTS AND CMAKE_CXX_COMPILER_ID STREQUAL "GNU" AND NOT WEIR_LTO)
  find_program(WEIR_TEST_COMPILER clang++-16 REQUIRED)
  set(WEIR_TEST_LAUNCHER ${PROJECT_SOURCE_DIR}/cmake/by_clang.sh
    ${CMAKE_CXX_COMPILER} ${WEIR_TEST_COMPILER} ${CMAKE_CXX_COMPILER_LAUNCHER})
  # Without times of headers, as ccache wants it: ninja knows when they change.
  list(APPEND WEIR_TEST_OPTIONS -fpch-instantiate-templates "SHELL:-Xclang -fno-pch-timestamp")
else()
  set(WEIR_TEST_LAUNCHER ${CMAKE_CXX_COMPILER_LAUNCHER})
endif()
function(weir_precompile_for_tests target)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "HEADERS;DEPS")
  weir_precompile(${target} HEADERS ${arg_HEADERS} DEPS ${arg_DEPS})
  # As an executable is compiled, which the tests are.
  set_target_properties(${target} PROPERTIES
    POSITION_INDEPENDENT_CODE OFF CXX_COMPILER_LAUNCHER "${WEIR_TEST_LAUNCHER}")
  target_compile_options(${target} PRIVATE -fPIE ${WEIR_TEST_OPTIONS})
endfunction()
weir_precompile(weir_precompiled)
if(WEIR_BUILD_SERVER)
  weir_precompile(weir_precompiled_rules HEADERS ${WEIR_RULES_HEADERS})
  weir_precompile_for_tests(weir_precompiled_commands
    HEADERS ${WEIR_RULES_HEADERS} <boost/json.hpp> <CLI/CLI.hpp> DEPS Boost::json CLI11::CLI11)
endif()
if(WEIR_BUILD_TESTS)
  weir_precompile_for_tests(weir_test_precompiled HEADERS ${WEIR_TEST_HEADERS} DEPS GTest::gmock)
  if(WEIR_BUILD_SERVER)
    weir_precompile_for_tests(weir_test_precompiled_rules
      HEADERS ${WEIR_TEST_HEADERS} ${WEIR_RULES_HEADERS} DEPS GTest::gmock)
    weir_precompile_for_tests(weir_test_precompiled_http
      HEADERS ${WEIR_TEST_HEADERS} ${PROJECT_SOURCE_DIR}/src/server/http/http_test_door.h
      DEPS GTest::gmock)
  endif()
endif()

# Sets `result` to "_http", "_rules" or nothing: which headers a target with these DEPS has read.
set_property(GLOBAL PROPERTY WEIR_ABOVE_RULES weir_rules)
function(weir_headers_read result)
  get_property(above GLOBAL PROPERTY WEIR_ABOVE_RULES)
  set(${result} "" PARENT_SCOPE)
  foreach(layer IN LISTS ARGN)
    if(layer STREQUAL weir_server_http_testing)
      set(${result} _http PARENT_SCOPE)
      return()
    elseif(layer IN_LIST above)
      set(${result} _rules PARENT_SCOPE)
    endif()
  endforeach()
endfunction()

# Debian's own Python, which sees Debian's modules; PATH may hold another one first.
set(WEIR_PYTHON /usr/bin/python3)

# The compiler reads other files of a large layer or of a test together, twelve at a time, and their
# headers once. These have names that another file has, too.
set(WEIR_COMPILED_ALONE
  admin/http_tenants_test.cc asks/asks_surge_test.cc asks/asks_test.cc asks/asks_world_test.cc
  asks/limit_notices_test.cc asks/plan_test.cc beat_fields_test.cc blocks_agree_test.cc
  fleet_secret_test.cc fleet_state_test.cc grpc_reflection_test.cc grpc_slots_test.cc
  grpc_wait_test.cc holds/slots_test.cc key_choices_test.cc key_sketch_test.cc
  keys/busiest_keys_test.cc keys/recent_asks_test.cc large_fleet_test.cc lease_effects_test.cc
  limit_terms_test.cc link_test.cc load/grpc_codec.cc login_guard_test.cc logs/sorted_log_test.cc
  properties_test.cc proxy_header_test.cc recent_traffic_test.cc redis_sender_test.cc
  redis_troubles_test.cc redis_url_test.cc resp_access_test.cc resp_multi_test.cc
  resp_transcript_test.cc rule_counts_test.cc rules_by_hand_test.cc split_store_test.cc
  stay_asked_test.cc time/time_zone.cc traffic_test.cc unusual/traffic_events_test.cc)

function(weir_compile_together target files)
  if(NOT CMAKE_DISABLE_PRECOMPILE_HEADERS)
    set_target_properties(${target} PROPERTIES UNITY_BUILD ON UNITY_BUILD_BATCH_SIZE ${files})
  endif()
  foreach(source IN LISTS ARGN)
    if(source IN_LIST WEIR_COMPILED_ALONE)
      set_source_files_properties(${source} PROPERTIES SKIP_UNITY_BUILD_INCLUSION ON)
    endif()
  endforeach()
endfunction()

function(weir_compile_with target precompiled)
  set_target_properties(${target} PROPERTIES CXX_COMPILER_LAUNCHER "${WEIR_TEST_LAUNCHER}")
  target_precompile_headers(${target} REUSE_FROM ${precompiled})
  target_compile_options(${target} PRIVATE ${WEIR_TEST_OPTIONS})
endfunction()

function(weir_compile_as_test target)
  target_link_libraries(${target} PRIVATE GTest::gmock)
  weir_headers_read(read ${ARGN})
  weir_compile_with(${target} weir_test_precompiled${read})
endfunction()

function(weir_layer name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "TOGETHER;COMMANDS" "" "SOURCES;DEPS")
  if(arg_SOURCES)
    add_library(weir_${name} STATIC ${arg_SOURCES})
    target_link_libraries(weir_${name} PUBLIC weir_options ${arg_DEPS})
    weir_headers_read(read weir_${name} ${arg_DEPS})
    if(read)
      set(read _rules)
      set_property(GLOBAL APPEND PROPERTY WEIR_ABOVE_RULES weir_${name})
    endif()
    if(arg_COMMANDS)
      set_target_properties(weir_${name} PROPERTIES POSITION_INDEPENDENT_CODE OFF)
      target_compile_options(weir_${name} PRIVATE -fPIE)
      weir_compile_with(weir_${name} weir_precompiled_commands)
    else()
      target_precompile_headers(weir_${name} REUSE_FROM weir_precompiled${read})
    endif()
    if(arg_TOGETHER)
      weir_compile_together(weir_${name} 12 ${arg_SOURCES})
    endif()
  else()
    add_library(weir_${name} INTERFACE)
    target_link_libraries(weir_${name} INTERFACE weir_options ${arg_DEPS})
  endif()
endfunction()

function(weir_program name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPS")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE weir_options ${arg_DEPS})
  weir_compile_with(${name} weir_precompiled_commands)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR})
endfunction()

function(weir_register_test name labels timeout)
  get_property(names GLOBAL PROPERTY WEIR_TEST_NAMES)
  if(name IN_LIST names)  # CMake allows it in two folders, and ctest -R runs both
    message(FATAL_ERROR "two tests are named ${name}")
  endif()
  set_property(GLOBAL APPEND PROPERTY WEIR_TEST_NAMES ${name})
  if(NOT timeout)
    set(timeout 60)
  endif()
  # ctest starts tests of a high cost first. Those that may take long usually do, and the last
  # one to start should be short. Tests of whole servers mostly wait for them, so two of these run
  # in the place of one that computes, as a browser does.
  set(slots 2)
  if("e2e" IN_LIST labels AND NOT "browser" IN_LIST labels)
    set(slots 1)
  endif()
  set_tests_properties(${name} PROPERTIES
    LABELS "${labels}" TIMEOUT ${timeout} COST ${timeout} PROCESSORS ${slots})
endfunction()

add_custom_target(tsan_tests)  # what ./dev tsan builds

# One ctest entry a program, not one a case: starting a process for each of
# thousands of cases would take longer than the cases.
function(weir_test name)
  if(NOT WEIR_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "TIMEOUT" "SOURCES;DEPS;LABELS")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE weir_options ${arg_DEPS} GTest::gtest_main)
  weir_compile_as_test(${name} ${arg_DEPS})
  weir_compile_together(${name} 12 ${arg_SOURCES})
  add_test(NAME ${name} COMMAND ${name} --gtest_brief=1
           WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})  # testdata/ is found from there
  weir_register_test(${name} "${arg_LABELS}" "${arg_TIMEOUT}")
  # Another clone may run the same test at the same time.
  file(MAKE_DIRECTORY ${PROJECT_BINARY_DIR}/tmp)
  set_property(TEST ${name} APPEND PROPERTY ENVIRONMENT TEST_TMPDIR=${PROJECT_BINARY_DIR}/tmp)
  if("tsan" IN_LIST arg_LABELS)
    add_dependencies(tsan_tests ${name})
  endif()
endfunction()

function(weir_script_test name)
  if(NOT WEIR_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SCRIPT;TIMEOUT" "ARGS;LABELS")
  add_test(NAME ${name} COMMAND ${WEIR_PYTHON} ${CMAKE_CURRENT_SOURCE_DIR}/${arg_SCRIPT} ${arg_ARGS}
           WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  weir_register_test(${name} "${arg_LABELS}" "${arg_TIMEOUT}")
  set_tests_properties(${name} PROPERTIES ENVIRONMENT
    "WEIR_BINARY=${PROJECT_BINARY_DIR}/weir;WEIR_BUILD_DIR=${PROJECT_BINARY_DIR};\
WEIR_NGINX_PRELOAD=${WEIR_SANITIZER_RUNTIME};PYTHONDONTWRITEBYTECODE=1")
endfunction()

function(weir_node_test name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "SCRIPT;TIMEOUT" "ARGS;LABELS")
  add_test(NAME ${name} COMMAND ${WEIR_NODE} ${CMAKE_CURRENT_SOURCE_DIR}/${arg_SCRIPT} ${arg_ARGS}
           WORKING_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
  weir_register_test(${name} "${arg_LABELS}" "${arg_TIMEOUT}")
  set_tests_properties(${name} PROPERTIES ENVIRONMENT
    "WEIR_BINARY=${PROJECT_BINARY_DIR}/weir;WEIR_BUILD_DIR=${PROJECT_BINARY_DIR};\
WEIR_NPM_CACHE=${PROJECT_SOURCE_DIR}/build/npm-cache")
endfunction()

# Every crash that fuzzing finds becomes a seed, and so a test that needs no libFuzzer.
add_custom_target(fuzz_targets)
function(weir_fuzz name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPS")
  set(target fuzz_${name})
  if(WEIR_BUILD_FUZZ)
    add_executable(${target} ${arg_SOURCES})
    target_link_options(${target} PRIVATE -fsanitize=fuzzer)
    set_target_properties(${target} PROPERTIES
      RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/targets)
    add_dependencies(fuzz_targets ${target})
  elseif(WEIR_BUILD_TESTS)
    if(NOT TARGET weir_replay_seeds)
      add_library(weir_replay_seeds OBJECT ${PROJECT_SOURCE_DIR}/cmake/replay_seeds.cc)
      target_link_libraries(weir_replay_seeds PRIVATE weir_options)
      target_precompile_headers(weir_replay_seeds REUSE_FROM weir_precompiled)
    endif()
    add_executable(${target} ${arg_SOURCES} $<TARGET_OBJECTS:weir_replay_seeds>)
    weir_compile_as_test(${target} ${arg_DEPS})
    add_test(NAME ${target}_seeds COMMAND ${target} ${PROJECT_SOURCE_DIR}/fuzz/corpus/${name})
    weir_register_test(${target}_seeds "fuzz" "")
  else()
    return()
  endif()
  target_link_libraries(${target} PRIVATE weir_options ${arg_DEPS})
endfunction()

function(weir_bench name)
  cmake_parse_arguments(PARSE_ARGV 1 arg "" "" "SOURCES;DEPS")
  add_executable(${name} ${arg_SOURCES})
  target_link_libraries(${name} PRIVATE weir_options ${arg_DEPS} benchmark::benchmark_main)
  set_target_properties(${name} PROPERTIES RUNTIME_OUTPUT_DIRECTORY ${PROJECT_BINARY_DIR}/bench)
endfunction()
