# libweir.a: the layers that a program links, in one archive, and the package around it.
#
#   find_package(weir)  target_link_libraries(app weir::weir)       CMake
#   c++ app.cc $(pkg-config --cflags --libs weir)                   anything else
#
# It depends on the C++ library and threads, and on nothing else.

include(CMakePackageConfigHelpers)
include(GNUInstallDirs)

set(WEIR_LIBRARY_LAYERS
  weir_base
  weir_observe       # what the engine counts
  weir_algo
  weir_engine
  weir_store_memory
  weir_clock)        # src/net: the system's clock and random source

add_library(libweir STATIC)
set_target_properties(libweir PROPERTIES OUTPUT_NAME weir EXPORT_NAME weir LINKER_LANGUAGE CXX)
foreach(layer IN LISTS WEIR_LIBRARY_LAYERS)
  if(TARGET ${layer})
    get_target_property(layer_type ${layer} TYPE)
    if(layer_type STREQUAL "STATIC_LIBRARY")
      target_sources(libweir PRIVATE $<TARGET_OBJECTS:${layer}>)
      if(WEIR_LTO)  # machine code with the LTO form, for linkers other than ours, and as fast
        # GCC 12 takes two words at a time through memory, where it makes one vector of them.
        target_compile_options(${layer} PRIVATE -ffat-lto-objects -fno-semantic-interposition
                                                -fno-tree-slp-vectorize)
      endif()
    endif()
  endif()
endforeach()
target_compile_features(libweir PUBLIC cxx_std_20)
target_include_directories(libweir PUBLIC
  $<BUILD_INTERFACE:${PROJECT_SOURCE_DIR}/include>
  $<BUILD_INTERFACE:${PROJECT_BINARY_DIR}/include>
  $<INSTALL_INTERFACE:${CMAKE_INSTALL_INCLUDEDIR}>)
target_link_libraries(libweir PUBLIC Threads::Threads)
add_library(weir::weir ALIAS libweir)  # the same name with add_subdirectory()

set(package_folder ${CMAKE_INSTALL_LIBDIR}/cmake/weir)
configure_package_config_file(
  ${PROJECT_SOURCE_DIR}/cmake/weirConfig.cmake.in ${PROJECT_BINARY_DIR}/weirConfig.cmake
  INSTALL_DESTINATION ${package_folder})
# Before 1.0 a minor version may break its users; SameMinorVersion says so to CMake.
write_basic_package_version_file(
  ${PROJECT_BINARY_DIR}/weirConfigVersion.cmake COMPATIBILITY SameMinorVersion)
# Relative, so that `cmake --install --prefix` may choose the place.
file(RELATIVE_PATH WEIR_PREFIX_FROM_PC /${CMAKE_INSTALL_LIBDIR}/pkgconfig /)
configure_file(${PROJECT_SOURCE_DIR}/cmake/weir.pc.in ${PROJECT_BINARY_DIR}/weir.pc @ONLY)

# The components are the packages of deploy/debian; ./dev build makes what they hold.
add_custom_target(installed)
add_dependencies(installed libweir)
set(development COMPONENT libweir-dev)
install(TARGETS libweir EXPORT weirTargets
        ARCHIVE DESTINATION ${CMAKE_INSTALL_LIBDIR} ${development})
install(EXPORT weirTargets NAMESPACE weir:: DESTINATION ${package_folder} ${development})
install(FILES ${PROJECT_BINARY_DIR}/weirConfig.cmake ${PROJECT_BINARY_DIR}/weirConfigVersion.cmake
        DESTINATION ${package_folder} ${development})
install(FILES ${PROJECT_BINARY_DIR}/weir.pc
        DESTINATION ${CMAKE_INSTALL_LIBDIR}/pkgconfig ${development})
install(DIRECTORY ${PROJECT_SOURCE_DIR}/include/weir ${PROJECT_BINARY_DIR}/include/weir
        DESTINATION ${CMAKE_INSTALL_INCLUDEDIR} ${development} FILES_MATCHING PATTERN "*.h")
if(TARGET weir)
  add_dependencies(installed weir)
  install(TARGETS weir RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT weir)
endif()
foreach(program IN ITEMS weir-bench weir-lab)
  if(TARGET ${program})
    add_dependencies(installed ${program})
    install(TARGETS ${program} RUNTIME DESTINATION ${CMAKE_INSTALL_BINDIR} COMPONENT ${program})
  endif()
endforeach()
if(TARGET ngx_http_weir_module)
  add_dependencies(installed ngx_http_weir_module)
endif()
