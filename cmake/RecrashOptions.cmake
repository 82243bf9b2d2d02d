# Flags that every target of ours is compiled with, in two kinds: tools (C++20) and what is linked into users' programs
# (C++17 without exceptions or RTTI).
set(CMAKE_CXX_EXTENSIONS OFF)
set(CMAKE_POSITION_INDEPENDENT_CODE ON)
set(CMAKE_INSTALL_LIBDIR lib)

set(RECRASH_SANITIZE "" CACHE STRING "Sanitizers for the tools, e.g. address,undefined")

add_library(recrash_tool_options INTERFACE)
target_compile_features(recrash_tool_options INTERFACE cxx_std_20)
target_compile_options(recrash_tool_options INTERFACE -Wall -Wextra -Werror)
target_include_directories(recrash_tool_options INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)
if(RECRASH_SANITIZE)
  target_compile_options(recrash_tool_options INTERFACE -fsanitize=${RECRASH_SANITIZE} -fno-omit-frame-pointer)
  target_link_options(recrash_tool_options INTERFACE -fsanitize=${RECRASH_SANITIZE})
endif()

# C++17, no exceptions, no RTTI, no stack protector: this code runs in a program that has just crashed, or in a test
# process after its thread control block was replaced.
add_library(recrash_guest_options INTERFACE)
target_compile_features(recrash_guest_options INTERFACE cxx_std_17)
target_compile_options(recrash_guest_options INTERFACE
  -Wall -Wextra -Werror -fno-exceptions -fno-rtti -fno-stack-protector -fno-threadsafe-statics -fvisibility=hidden)
target_include_directories(recrash_guest_options INTERFACE ${PROJECT_SOURCE_DIR} ${PROJECT_SOURCE_DIR}/include)

# Compiles programs for tests, each program once for all of them.
set(RECRASH_TEST_PROGRAMS ${CMAKE_BINARY_DIR}/programs)
set(RECRASH_TEST_CXX
  "${PROJECT_SOURCE_DIR}/tests/compile_once ${RECRASH_TEST_PROGRAMS} /usr/bin/clang++-${RECRASH_LLVM_VERSION}")

# recrash_test(NAME name SOURCES … LIBRARIES …): a GoogleTest executable of ours, one ctest case for each TEST.
function(recrash_test)
  if(NOT RECRASH_BUILD_TESTS)
    return()
  endif()
  cmake_parse_arguments(ARG "" "NAME" "SOURCES;LIBRARIES" ${ARGN})
  include(GoogleTest)
  add_executable(${ARG_NAME} ${ARG_SOURCES})
  target_link_libraries(${ARG_NAME} PRIVATE recrash_tool_options ${ARG_LIBRARIES} GTest::gtest_main gmock)
  gtest_discover_tests(${ARG_NAME} TEST_PREFIX "${ARG_NAME}." DISCOVERY_TIMEOUT 60)
endfunction()
