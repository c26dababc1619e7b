# What Weir is built on: Debian 12's packages, found once for all folders. A folder
# names the target it needs (the comment at the right) in DEPS.

find_package(Threads REQUIRED)  # Threads::Threads

if(WEIR_BUILD_SERVER)
  # Boost::headers (Asio, Beast, Intrusive), Boost::json
  find_package(Boost 1.81 CONFIG REQUIRED COMPONENTS headers json)
  find_package(CURL REQUIRED)                   # CURL::libcurl
  find_package(OpenSSL REQUIRED)                # OpenSSL::SSL, OpenSSL::Crypto
  find_package(yaml-cpp CONFIG REQUIRED)        # yaml-cpp
  find_package(spdlog CONFIG REQUIRED)          # spdlog::spdlog
  find_package(CLI11 CONFIG REQUIRED)           # CLI11::CLI11
  find_package(date CONFIG REQUIRED)            # date::date-tz
  find_package(simdjson CONFIG REQUIRED)        # simdjson::simdjson
  find_package(prometheus-cpp CONFIG REQUIRED)  # prometheus-cpp::core
  find_package(Protobuf REQUIRED)               # protobuf::libprotobuf, protobuf_generate()
  find_package(wslay CONFIG REQUIRED)           # wslay
  find_package(ZLIB REQUIRED)                   # ZLIB::ZLIB
  find_package(PkgConfig REQUIRED)
  pkg_check_modules(ZSTD REQUIRED IMPORTED_TARGET libzstd)            # PkgConfig::ZSTD
  pkg_check_modules(LUA REQUIRED IMPORTED_TARGET lua5.1-c++)      # PkgConfig::LUA
  pkg_check_modules(NGHTTP2 REQUIRED IMPORTED_TARGET libnghttp2)  # PkgConfig::NGHTTP2
  pkg_check_modules(MAXMINDDB REQUIRED IMPORTED_TARGET libmaxminddb)  # PkgConfig::MAXMINDDB
  pkg_check_modules(RE2 REQUIRED IMPORTED_TARGET re2)             # PkgConfig::RE2
endif()
if(WEIR_BUILD_TESTS)
  find_package(GTest CONFIG REQUIRED)       # weir_test() links it
  find_package(rapidcheck CONFIG REQUIRED)  # rapidcheck, rapidcheck_gtest
endif()
if(WEIR_BUILD_BENCH)
  find_package(benchmark CONFIG REQUIRED)  # benchmark::benchmark, benchmark::benchmark_main
endif()
