# How our own code is compiled. Every target of ours links weir_options; nothing
# that we build on does, and an installed libweir does not pass it on.

# Fast rebuilds: a compiler cache and a fast linker, if they are installed.
if(PROJECT_IS_TOP_LEVEL)
  set(CMAKE_EXPORT_COMPILE_COMMANDS ON)  # for clang-tidy and editors
  find_program(WEIR_CCACHE ccache)
  if(WEIR_CCACHE AND NOT DEFINED CMAKE_CXX_COMPILER_LAUNCHER)
    # Paths below the checkout count as relative, so that every clone on a machine shares
    # the cache. A debugger may then show the folder of the clone that compiled first.
    set(CMAKE_CXX_COMPILER_LAUNCHER
        env CCACHE_BASEDIR=${PROJECT_SOURCE_DIR} CCACHE_NOHASHDIR=1
        # A precompiled header is taken for the text it was made of. Hash large files once, and
        # trust the list of headers that the compiler writes: a miss is not preprocessed twice.
        CCACHE_SLOPPINESS=pch_defines,time_macros CCACHE_INODECACHE=1 CCACHE_DEPEND=1
        ${WEIR_CCACHE})
  endif()
  find_program(WEIR_MOLD mold)
  # Not with LTO: there the time goes into compiling, and the stock linker is best tested.
  if(WEIR_MOLD AND NOT WEIR_LTO)
    add_link_options(-fuse-ld=mold)
  endif()
endif()

if(WEIR_LTO)
  include(CheckIPOSupported)
  check_ipo_supported(LANGUAGES CXX)
  set(CMAKE_INTERPROCEDURAL_OPTIMIZATION ON)
  # gcc 12 warns where it should not, of lengths of a std::string, when it inlines across files.
  add_link_options($<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overflow>
                   $<$<CXX_COMPILER_ID:GNU>:-Wno-stringop-overread>)
endif()

# The nginx module is made of the same archives as the program. The program that is shipped is as
# fast: optimizing across files, the linker knows that nothing replaces its functions.
set(CMAKE_POSITION_INDEPENDENT_CODE ON)

add_library(weir_options INTERFACE)
target_compile_features(weir_options INTERFACE cxx_std_20)
target_include_directories(weir_options INTERFACE
  ${PROJECT_SOURCE_DIR}/src      # "algo/token_bucket.h"
  ${PROJECT_SOURCE_DIR}/include  # "weir/quota.h"
  ${PROJECT_BINARY_DIR}/include) # "weir/version.h", generated

# xxHash is used as headers only, so that libweir asks nothing of a program that links it.
target_compile_definitions(weir_options INTERFACE XXH_INLINE_ALL)

# Both compilers check: ./dev test builds with gcc, but for tests and commands; ./dev asan and tsan
# build with clang. Headers of others are SYSTEM (CMake's default for imported targets), so nobody
# judges them.
target_compile_options(weir_options INTERFACE
  -Wall -Wextra -Wpedantic -Wconversion -Wshadow
  # A designated initializer may leave members to their defaults.
  -Wno-missing-field-initializers
  # clang counts it to -Wconversion, gcc does not; what one accepts, both shall. Said to
  # gcc, too: clang-tidy reads gcc's command lines.
  -Wno-sign-conversion
  $<$<BOOL:${WEIR_WARNINGS_AS_ERRORS}>:-Werror>)
# For all, since a precompiled header is good for the same flags only.
target_compile_options(weir_options INTERFACE -pthread)
# gcc would look for garbage in precompiled headers, for an eighth of its time. In KB.
target_compile_options(weir_options INTERFACE
  $<$<AND:$<CXX_COMPILER_ID:GNU>,$<CONFIG:Debug>>:--param=ggc-min-heapsize=2000000>)
if(CMAKE_SYSTEM_PROCESSOR MATCHES "x86_64|AMD64")
  # cmpxchg16b, for atomic128.h: every x86-64 processor since about 2006.
  target_compile_options(weir_options INTERFACE -mcx16)
endif()

if(WEIR_SANITIZE)
  # Everything, also gtest's main and such, has to be linked the same way.
  add_compile_options(-fsanitize=${WEIR_SANITIZE} -fno-sanitize-recover=all
                      -fno-omit-frame-pointer)
  add_link_options(-fsanitize=${WEIR_SANITIZE})
  # A program without the sanitizer loads this first, and then a module that has it.
  execute_process(COMMAND ${CMAKE_CXX_COMPILER}
    -print-file-name=libclang_rt.asan-${CMAKE_SYSTEM_PROCESSOR}.so
    OUTPUT_VARIABLE WEIR_SANITIZER_RUNTIME OUTPUT_STRIP_TRAILING_WHITESPACE)
endif()
if(WEIR_BUILD_FUZZ)
  add_compile_options(-fsanitize=fuzzer-no-link)  # coverage in our layers, too
endif()

# The version is written once, in project().
configure_file(${PROJECT_SOURCE_DIR}/include/weir/version.h.in
               ${PROJECT_BINARY_DIR}/include/weir/version.h @ONLY)
