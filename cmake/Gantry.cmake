# What every target shares: language, warnings, hardening, sanitizers, and how a folder becomes a library.
set(CMAKE_CXX_STANDARD 23)
set(CMAKE_CXX_STANDARD_REQUIRED ON)
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_EXPORT_COMPILE_COMMANDS ON)
# Programs are linked at fixed addresses: no relocations at start, so less memory and less time.
set(CMAKE_POSITION_INDEPENDENT_CODE OFF)

# Every program, tests included, is found in one place: build/PRESET/bin.
set(CMAKE_RUNTIME_OUTPUT_DIRECTORY ${CMAKE_BINARY_DIR}/bin)

# What is fetched or made once for every clone.
if(DEFINED ENV{GANTRY_CACHE})
  set(GANTRY_CACHE "$ENV{GANTRY_CACHE}")
else()
  set(GANTRY_CACHE "$ENV{HOME}/.cache/gantry")
endif()

find_program(CCACHE ccache)
if(CCACHE)
  set(CMAKE_C_COMPILER_LAUNCHER ${CMAKE_COMMAND} -E env CCACHE_BASEDIR=${CMAKE_SOURCE_DIR}
      CCACHE_NOHASHDIR=1 CCACHE_SLOPPINESS=pch_defines,time_macros ${CCACHE})
  set(CMAKE_CXX_COMPILER_LAUNCHER ${CMAKE_C_COMPILER_LAUNCHER})
endif()

set(GANTRY_SANITIZE "" CACHE STRING "empty, address or thread")
option(GANTRY_COVERAGE "measure line coverage" OFF)
option(GANTRY_BATCHES "compile a dozen files at a time" OFF)
option(GANTRY_FUZZ "build tests/fuzz too; with clang" OFF)

add_library(gantry_flags INTERFACE)
target_include_directories(gantry_flags INTERFACE ${CMAKE_SOURCE_DIR}/src)
target_compile_definitions(gantry_flags INTERFACE GANTRY_VERSION="${GANTRY_VERSION}")
target_compile_options(gantry_flags INTERFACE
  -fno-pie -Wall -Wextra -Wpedantic -Wshadow -Wconversion -Wold-style-cast -Wnon-virtual-dtor
  -Woverloaded-virtual -Werror -ffunction-sections -fdata-sections)
target_link_options(gantry_flags INTERFACE -no-pie -Wl,--gc-sections)
if(CMAKE_BUILD_TYPE STREQUAL "Release" OR CMAKE_BUILD_TYPE STREQUAL "MinSizeRel")
  target_compile_options(gantry_flags INTERFACE
    -fstack-protector-strong $<$<NOT:$<STREQUAL:${GANTRY_SANITIZE},address>>:-D_FORTIFY_SOURCE=2>)
  target_link_options(gantry_flags INTERFACE -s)
  # With -Os, g++ 12 finds it in std::jthread.
  target_compile_options(gantry_flags INTERFACE $<$<CXX_COMPILER_ID:GNU>:-Wno-maybe-uninitialized>)
endif()
if(GANTRY_SANITIZE STREQUAL "address")
  # Without the checks that AddressSanitizer makes dispensable or that cost most: decision 16.
  target_compile_options(gantry_flags INTERFACE -fsanitize=address,undefined -fno-sanitize-recover=all
                         -fno-sanitize=null,alignment,vptr,object-size,function -fno-omit-frame-pointer)
  target_link_options(gantry_flags INTERFACE -fsanitize=address,undefined)
elseif(GANTRY_SANITIZE STREQUAL "thread")
  target_compile_options(gantry_flags INTERFACE -fsanitize=thread)
  target_link_options(gantry_flags INTERFACE -fsanitize=thread)
endif()
if(GANTRY_COVERAGE)
  target_link_options(gantry_flags INTERFACE --coverage)
endif()

find_package(GTest REQUIRED)
find_package(Threads REQUIRED)

# What nearly every file includes is parsed once, with clang; g++ 12 reads it back no faster than it
# parses it. What clang writes names the header's path, and is of no use once that file is gone: so the
# header lies in the cache, at one path for every clone, and what ccache keeps serves all of them.
set(GANTRY_HEADERS "${GANTRY_CACHE}/headers")
set(GANTRY_SYSTEM_HEADERS algorithm chrono filesystem fstream functional map memory mutex optional
    set string thread vector fmt/core.h nlohmann/json.hpp)
# The members of nlohmann::json are compiled once, in gantry_base, not in each file that calls them.
function(gantry_precompile name)
  list(TRANSFORM ARGN REPLACE "(.+)" "#include <\\1>" OUTPUT_VARIABLE includes)
  list(JOIN includes "\n" includes)
  string(APPEND includes "\nextern template class nlohmann::basic_json<>;\n")
  string(SHA256 content "${includes}")
  string(SUBSTRING ${content} 0 16 content)
  set(header ${GANTRY_HEADERS}/${name}-${content}.h)
  file(CONFIGURE OUTPUT ${header} CONTENT "${includes}")
  separate_arguments(flags UNIX_COMMAND "${CMAKE_CXX_FLAGS_DEBUG}")
  add_custom_command(OUTPUT ${name}.pch DEPENDS ${header} COMMAND_EXPAND_LISTS
    COMMAND ${CMAKE_CXX_COMPILER_LAUNCHER} ${CMAKE_CXX_COMPILER} ${flags} -std=c++2b
            $<TARGET_PROPERTY:gantry_flags,INTERFACE_COMPILE_OPTIONS> -DGTEST_HAS_PTHREAD=1
            -fpch-instantiate-templates -x c++-header -c ${header} -o ${name}.pch)
  add_custom_target(${name} DEPENDS ${name}.pch)
  add_dependencies(generated ${name})
endfunction()
if(CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
  target_link_options(gantry_flags INTERFACE -fuse-ld=lld)
  target_compile_options(gantry_flags INTERFACE -Xclang -fno-pch-timestamp)
  gantry_precompile(precompiled ${GANTRY_SYSTEM_HEADERS})
  gantry_precompile(precompiled_test ${GANTRY_SYSTEM_HEADERS} gmock/gmock.h gtest/gtest.h)
  file(CONFIGURE OUTPUT ${CMAKE_BINARY_DIR}/json_members.cc CONTENT "template class nlohmann::basic_json<>;\n")
endif()

# gantry_use_precompiled(TARGET NAME): its files begin with what NAME holds, where that is made.
function(gantry_use_precompiled target name)
  if(TARGET ${name})
    add_dependencies(${target} ${name})
    target_compile_options(${target} PRIVATE $<$<COMPILE_LANGUAGE:CXX>:-include-pch$<SEMICOLON>${name}.pch>)
  endif()
endfunction()

# gantry_folder(NAME [DEPS ...] [TEST_DEPS ...]) makes of the folder it is called in:
#   gantry_NAME  a static library of its *.cc files (public dependencies: DEPS)
#   NAME_test    a GoogleTest program of its *_test.cc files, run by ctest under the label `unit`
# Other targets of a folder (programs, generated code) are written out in its CMakeLists.txt.
function(gantry_folder name)
  cmake_parse_arguments(ARG "" "" "DEPS;TEST_DEPS" ${ARGN})
  file(GLOB sources CONFIGURE_DEPENDS *.cc)
  file(GLOB tests CONFIGURE_DEPENDS *_test.cc)
  list(REMOVE_ITEM sources ${tests})
  if(sources)
    add_library(gantry_${name} STATIC ${sources})
    target_link_libraries(gantry_${name} PUBLIC gantry_flags ${ARG_DEPS})
    gantry_use_precompiled(gantry_${name} precompiled)
  else()
    add_library(gantry_${name} INTERFACE)
    target_link_libraries(gantry_${name} INTERFACE gantry_flags ${ARG_DEPS})
  endif()
  if(GANTRY_BATCHES)
    cmake_language(EVAL CODE "cmake_language(DEFER CALL gantry_batch gantry_${name})")
  endif()
  if(tests)
    if(GANTRY_BATCHES)
      cmake_language(EVAL CODE "cmake_language(DEFER CALL gantry_batch ${name}_test)")
    endif()
    add_executable(${name}_test ${tests})
    if(NOT CMAKE_CXX_COMPILER_ID STREQUAL "Clang")
      # The tests are for the sanitizers, and clang compiles those.
      set_target_properties(${name}_test PROPERTIES EXCLUDE_FROM_ALL ON)
    endif()
    target_link_libraries(${name}_test PRIVATE gantry_${name} ${ARG_TEST_DEPS} GTest::gmock GTest::gtest_main)
    gantry_use_precompiled(${name}_test precompiled_test)
    add_test(NAME ${name} COMMAND ${name}_test)
    set_tests_properties(${name} PROPERTIES LABELS unit TIMEOUT 120 WORKING_DIRECTORY ${CMAKE_SOURCE_DIR})
  endif()
endfunction()

# gantry_batch(TARGET): compiles the target's files a dozen at a time, each dozen as one unit that includes them: half the
# time with sanitizers, a third with -O2. Decisions get units of their own, since only they are counted for coverage; a
# file with compile options of its own stays alone. Names of one namespace must differ in all its files, therefore.
function(gantry_batch target)
  get_target_property(type ${target} TYPE)
  if(type STREQUAL "INTERFACE_LIBRARY")
    return()
  endif()
  get_target_property(sources ${target} SOURCES)
  set(alone)
  set(decisions)
  set(others)
  get_property(known GLOBAL PROPERTY GANTRY_DECISIONS)
  foreach(source ${sources})
    cmake_path(ABSOLUTE_PATH source BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR})
    file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR} ${source})
    get_source_file_property(options ${source} COMPILE_OPTIONS)
    if(path IN_LIST known)
      list(APPEND decisions ${path})
    elseif(options OR NOT path MATCHES "^src/.*\\.cc$")
      list(APPEND alone ${source})
    else()
      list(APPEND others ${path})
    endif()
  endforeach()
  set(units ${alone})
  foreach(kind decisions others)
    list(SORT ${kind})
    list(LENGTH ${kind} left)
    math(EXPR number "(${left} + 11) / 12")
    while(number GREATER 0)
      math(EXPR size "(${left} + ${number} - 1) / ${number}")
      list(SUBLIST ${kind} 0 ${size} batch)
      if(size LESS left)
        list(SUBLIST ${kind} ${size} -1 ${kind})
      endif()
      math(EXPR left "${left} - ${size}")
      list(TRANSFORM batch REPLACE "^src/(.+)" "#include \"\\1\"  // NOLINT")
      list(JOIN batch "\n" text)
      set(unit ${CMAKE_CURRENT_BINARY_DIR}/${target}_${kind}_${number}.cc)
      file(CONFIGURE OUTPUT ${unit} CONTENT "${text}\n" @ONLY)
      if(kind STREQUAL "decisions" AND GANTRY_COVERAGE)
        set_source_files_properties(${unit} PROPERTIES COMPILE_OPTIONS --coverage)
      endif()
      list(APPEND units ${unit})
      math(EXPR number "${number} - 1")
    endwhile()
  endforeach()
  set_target_properties(${target} PROPERTIES SOURCES "${units}")
  # What a unit includes is no header, whatever g++ says.
  target_compile_options(${target} PRIVATE $<$<CXX_COMPILER_ID:GNU>:-Wno-subobject-linkage>)
endfunction()

# gantry_decisions(FILE...): these files of the calling folder are decisions (see ARCHITECTURE.md).
# They alone are compiled for coverage: what is counted can't come from ccache in another clone.
function(gantry_decisions)
  foreach(file ${ARGN})
    file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR} ${CMAKE_CURRENT_SOURCE_DIR}/${file})
    set_property(GLOBAL APPEND PROPERTY GANTRY_DECISIONS ${path})
    if(GANTRY_COVERAGE)
      set_source_files_properties(${file} PROPERTIES COMPILE_OPTIONS --coverage)
    endif()
  endforeach()
endfunction()

# Zig's clang brings musl and a C++ library for it; ./do setup installs it.
file(GLOB GANTRY_ZIG ${GANTRY_CACHE}/venv/lib/python3*/site-packages/ziglang/zig)

# gantry_musl_program(NAME FILE...): a static program of these files, compiled as one unit and linked with musl. It may
# use the headers of fmt, nlohmann and toml++ and no other library.
function(gantry_musl_program name)
  if(NOT GANTRY_ZIG)
    message(FATAL_ERROR "Zig is missing: ./do setup installs it")
  endif()
  set(folder ${CMAKE_CURRENT_BINARY_DIR}/${name}.dir)
  file(MAKE_DIRECTORY ${folder}/include)
  foreach(library fmt nlohmann toml++)  # /usr/include has the headers of another C library
    file(CREATE_LINK /usr/include/${library} ${folder}/include/${library} SYMBOLIC)
  endforeach()
  # ccache knows compilers of one word, and takes this one for clang of the version that the cache's folder is of.
  set(zig ${folder}/zig-c++)
  file(CONFIGURE OUTPUT ${zig} CONTENT "#!/bin/sh\nexec ${GANTRY_ZIG} c++ \"$@\"\n")
  file(CHMOD ${zig} PERMISSIONS OWNER_READ OWNER_WRITE OWNER_EXECUTE)
  file(GLOB version ${GANTRY_CACHE}/venv/lib/python3*/site-packages/ziglang-*.dist-info)
  cmake_path(GET version FILENAME version)
  set(compiler ${zig} -target ${CMAKE_SYSTEM_PROCESSOR}-linux-musl -O2)
  set(environment ${CMAKE_COMMAND} -E env ZIG_GLOBAL_CACHE_DIR=${GANTRY_CACHE}/zig ZIG_LOCAL_CACHE_DIR=${GANTRY_CACHE}/zig)
  set(cached)
  if(CCACHE)
    set(cached CCACHE_BASEDIR=${CMAKE_SOURCE_DIR} CCACHE_COMPILERTYPE=clang CCACHE_COMPILERCHECK=string:${version} ${CCACHE})
  endif()
  set(unit)
  foreach(file ${ARGN})
    cmake_path(ABSOLUTE_PATH file BASE_DIRECTORY ${CMAKE_CURRENT_SOURCE_DIR} NORMALIZE)
    file(RELATIVE_PATH path ${CMAKE_SOURCE_DIR}/src ${file})
    string(APPEND unit "#include \"${path}\"\n")
  endforeach()
  file(CONFIGURE OUTPUT ${folder}/${name}.cc CONTENT "${unit}" @ONLY)
  set(object ${folder}/${name}.o)
  add_custom_command(OUTPUT ${object} DEPENDS ${folder}/${name}.cc DEPFILE ${object}.d VERBATIM
    COMMAND ${environment} ${cached} ${compiler} -std=c++2b -DNDEBUG -DGANTRY_VERSION="${GANTRY_VERSION}" -Wall -Wextra -Werror -ffunction-sections -fdata-sections
            -I${CMAKE_SOURCE_DIR}/src -isystem ${folder}/include
            -MD -MF ${object}.d -MT ${object} -c ${folder}/${name}.cc -o ${object})
  set(program ${CMAKE_RUNTIME_OUTPUT_DIRECTORY}/${name})
  add_custom_command(OUTPUT ${program} DEPENDS ${object} VERBATIM
    COMMAND ${environment} ${compiler} -static -s -Wl,--gc-sections ${object} -o ${program})
  add_custom_target(${name} ALL DEPENDS ${program})
endfunction()
