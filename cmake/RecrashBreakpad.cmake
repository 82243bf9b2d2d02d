# Google Breakpad, from the npm package that carries its sources (there is no Debian package of it).
#
#   recrash_breakpad           static library for the collector: WriteMinidump and what it needs
#   recrash_breakpad_handler   objects for the client: ExceptionHandler, compiled as code for users' programs
#   RECRASH_MINIDUMP_STACKWALK the package's prebuilt minidump_stackwalk, for tests; empty when there is none
include_guard(GLOBAL)

set(_package_name minidump-0.26.0)
set(_package_sha256 0b09e132e39a5bf555324078a7f1fa2f3fe5c498f44bd80bf6fdfca92c1e2bbd)

function(_recrash_sha256_matches file result)
  set(${result} FALSE PARENT_SCOPE)
  if(EXISTS ${file})
    file(SHA256 ${file} found)
    if(found STREQUAL _package_sha256)
      set(${result} TRUE PARENT_SCOPE)
    endif()
  endif()
endfunction()

# Fetches and unpacks the package once for each build folder; gives the unpacked folder.
function(_recrash_fetch_breakpad result)
  set(folder ${CMAKE_BINARY_DIR}/_deps)
  set(tarball ${folder}/${_package_name}.tgz)
  file(MAKE_DIRECTORY ${folder})
  _recrash_sha256_matches(${tarball} present)
  if(NOT present)
    file(REMOVE ${tarball})
    find_program(RECRASH_NPM npm)
    if(RECRASH_NPM)
      execute_process(COMMAND ${RECRASH_NPM} pack minidump@0.26.0 --pack-destination ${folder}
        RESULT_VARIABLE status OUTPUT_QUIET ERROR_VARIABLE message TIMEOUT 300)
    else()
      set(message "npm was not found")
    endif()
    _recrash_sha256_matches(${tarball} present)
  endif()
  if(NOT present)
    message(FATAL_ERROR "Breakpad's sources are needed: npm package minidump 0.26.0 (sha256 ${_package_sha256}).\n"
      "`npm pack minidump@0.26.0` did not give it: ${message}\n"
      "Put ${_package_name}.tgz into ${folder}, or set RECRASH_BREAKPAD_ROOT to the deps/ folder of an unpacked one.")
  endif()
  if(NOT EXISTS ${folder}/${_package_name}/package/package.json)
    file(REMOVE_RECURSE ${folder}/${_package_name})
    file(ARCHIVE_EXTRACT INPUT ${tarball} DESTINATION ${folder}/${_package_name})
  endif()
  set(${result} ${folder}/${_package_name}/package PARENT_SCOPE)
endfunction()

if(RECRASH_BREAKPAD_ROOT)
  set(_deps ${RECRASH_BREAKPAD_ROOT})
else()
  _recrash_fetch_breakpad(_package)
  set(_deps ${_package}/deps)
endif()
set(_src ${_deps}/breakpad/src)
if(NOT EXISTS ${_src}/client/linux/handler/exception_handler.cc)
  message(FATAL_ERROR "RECRASH_BREAKPAD_ROOT (${_deps}) must be a folder with breakpad/src and third_party/lss; "
    "${_src}/client/linux/handler/exception_handler.cc was not found.\n"
    "Leave it empty to fetch the npm package minidump 0.26.0.")
endif()

set(RECRASH_MINIDUMP_STACKWALK "" CACHE INTERNAL "prebuilt minidump_stackwalk")
if(EXISTS ${_deps}/../bin/linux-x64/minidump_stackwalk)
  set(RECRASH_MINIDUMP_STACKWALK ${_deps}/../bin/linux-x64/minidump_stackwalk CACHE INTERNAL "")
endif()

add_library(recrash_breakpad STATIC
  ${_src}/client/linux/dump_writer_common/thread_info.cc
  ${_src}/client/linux/dump_writer_common/ucontext_reader.cc
  ${_src}/client/linux/log/log.cc
  ${_src}/client/linux/minidump_writer/linux_dumper.cc
  ${_src}/client/linux/minidump_writer/linux_ptrace_dumper.cc
  ${_src}/client/linux/minidump_writer/pe_file.cc
  ${_src}/client/minidump_file_writer.cc
  ${_src}/common/convert_UTF.cc
  ${_src}/common/linux/elfutils.cc
  ${_src}/common/linux/file_id.cc
  ${_src}/common/linux/linux_libc_support.cc
  ${_src}/common/linux/memory_mapped_file.cc
  ${_src}/common/linux/safe_readlink.cc
  ${_src}/common/string_conversion.cc)
target_include_directories(recrash_breakpad SYSTEM PUBLIC ${_src} ${_deps})
target_compile_definitions(recrash_breakpad PUBLIC HAVE_GETCONTEXT)
target_compile_features(recrash_breakpad PUBLIC cxx_std_17)
target_compile_options(recrash_breakpad PRIVATE -w)

# The handler goes into users' programs, C programs among them, so it must not need libstdc++: the templates of
# std::string that it uses are instantiated here (_GLIBCXX_EXTERN_TEMPLATE=0), and agent/client defines the rest.
add_library(recrash_breakpad_handler OBJECT
  ${_src}/client/linux/handler/exception_handler.cc
  ${_src}/client/linux/handler/minidump_descriptor.cc
  ${_src}/client/linux/log/log.cc
  ${_src}/common/linux/linux_libc_support.cc)
target_include_directories(recrash_breakpad_handler SYSTEM PUBLIC ${_src} ${_deps})
target_compile_definitions(recrash_breakpad_handler PUBLIC HAVE_GETCONTEXT _GLIBCXX_EXTERN_TEMPLATE=0 NDEBUG)
# The client interposes both for the program (agent/client/handlers.cc); Breakpad means libc's.
target_compile_definitions(recrash_breakpad_handler PRIVATE sigaction=recrash_real_sigaction
  signal=recrash_real_signal)
target_compile_features(recrash_breakpad_handler PUBLIC cxx_std_17)
target_compile_options(recrash_breakpad_handler PRIVATE -w -O2 -fno-exceptions -fno-rtti -fno-stack-protector
  -fno-threadsafe-statics -fvisibility=hidden -ffunction-sections -fdata-sections -fno-plt)

# Breakpad as other programs use it, for tests: what there is besides recrash_breakpad.
set(RECRASH_BREAKPAD_SRC ${_src})
set(RECRASH_BREAKPAD_SOURCES
  client/linux/crash_generation/crash_generation_client.cc
  client/linux/handler/exception_handler.cc
  client/linux/handler/minidump_descriptor.cc
  client/linux/microdump_writer/microdump_writer.cc
  client/linux/minidump_writer/minidump_writer.cc
  common/linux/guid_creator.cc)
