"""The test suites that `suites.py` runs: what Debian calls their source, how their own build systems build them, what runs.

`build` and `run` run under `sh -e` in the build's folder with SRC (the source), CC, CXX and FLAGS (optimisation, -g and,
instrumented, the mode) set. A suite of single programs has neither: each of its files is compiled and run by itself.
"""

import dataclasses

import outcomes


@dataclasses.dataclass(frozen=True)
class Suite:
    package: str
    version: str
    build: str
    run: str
    parse: tuple  # functions of outcomes.py; what each of them finds is added up
    needs: tuple = ()
    patched: bool = True  # with Debian's patches


@dataclasses.dataclass(frozen=True)
class SinglePrograms:
    """Every file that matches is a program; one which plain clang does not build is left out and counted."""

    package: str
    version: str
    folders: tuple  # what is taken out of the source package, which is too large to be unpacked whole
    files: str
    level: str
    dialects: tuple  # the first one in which plain clang builds the file is taken, for both builds
    flags: tuple = ()
    nested: str = ""  # an archive inside the archive


CMAKE = ('cmake -S "$SRC" -B . -G Ninja -DCMAKE_BUILD_TYPE=None -DCMAKE_C_COMPILER="$CC" -DCMAKE_CXX_COMPILER="$CXX" '
         '-DCMAKE_C_FLAGS="$FLAGS" -DCMAKE_CXX_FLAGS="$FLAGS" ')
COPY = 'cp -a "$SRC/." .\n'  # for those that build only in their own source
CTEST = "ctest -V -j1 --timeout 900"

GCC = {"package": "gcc-12", "version": "12.2.0-14+deb12u1", "nested": "*dfsg.tar.xz"}
C_TORTURE = {**GCC, "folders": ("gcc/testsuite/gcc.c-torture/execute",), "files": "gcc/testsuite/gcc.c-torture/execute/**/*.c",
             "dialects": ("gnu17", "gnu89"),
             # What gcc takes with a warning, clang would refuse.
             "flags": ("-Wno-implicit-function-declaration", "-Wno-implicit-int", "-Wno-int-conversion",
                       "-Wno-incompatible-function-pointer-types", "-Wno-return-type", "-Wno-return-mismatch", "-lm")}
EH = {**GCC, "folders": ("gcc/testsuite/g++.dg/eh",), "files": "gcc/testsuite/g++.dg/eh/*.C",
      "dialects": ("gnu++17", "gnu++14", "gnu++98"), "flags": ("-pthread",)}

SUITES = {
    "tinyxml2": Suite(
        "tinyxml2", "9.0.0+dfsg-3.1", CMAKE + "-DBUILD_TESTING=ON\nninja -j2\ncp -a \"$SRC/resources\" .\n"
        "mkdir -p resources/out", "./xmltest", (outcomes.tagged,)),
    "pugixml": Suite(
        "pugixml", "1.13-0.2", CMAKE + "-DPUGIXML_BUILD_TESTS=ON\nninja -j2", 'build=$PWD\ncd "$SRC"\n"$build/pugixml-check"',
        (outcomes.pugixml,)),
    "jsoncpp": Suite(
        "libjsoncpp", "1.9.5-4", CMAKE + "-DJSONCPP_WITH_POST_BUILD_UNITTEST=OFF\nninja -j2", CTEST,
        (outcomes.ctest, outcomes.jsoncpp), ("python3",)),
    "yaml-cpp": Suite(
        "yaml-cpp", "0.7.0+dfsg-8", CMAKE + "-DYAML_CPP_BUILD_TESTS=ON\nninja -j2", CTEST,
        (outcomes.ctest, outcomes.gtest), ("libgtest-dev", "libgmock-dev")),
    "fmt": Suite(
        "fmtlib", "9.1.0+ds1-2", CMAKE + "-DFMT_DOC=OFF -DFMT_TEST=ON\nninja -j2", CTEST,
        (outcomes.ctest, outcomes.gtest), ("googletest",)),
    "re2": Suite(
        "re2", "20220601+dfsg-1",
        # Debian's source has the scripts that make the tables, not the tables.
        'cp -a "$SRC" src\n'
        "PATH=/usr/bin:$PATH make -C src REBUILD_TABLES=1 re2/perl_groups.cc re2/unicode_casefold.cc re2/unicode_groups.cc\n"
        + CMAKE.replace('"$SRC"', "src") + "-DRE2_BUILD_TESTING=ON\nninja -j2", CTEST, (outcomes.ctest, outcomes.re2),
        ("python3", "python3-six", "unicode-data", "perl")),
    "leveldb": Suite(
        "leveldb", "1.23-4", CMAKE + "-DLEVELDB_BUILD_BENCHMARKS=OFF\nninja -j2", CTEST,
        (outcomes.ctest, outcomes.gtest), ("libgtest-dev", "libgmock-dev", "libsnappy-dev")),
    "taglib": Suite(
        "taglib", "1.13-2+deb12u1", CMAKE + "-DBUILD_TESTING=ON -DBUILD_SHARED_LIBS=ON\nninja -j2",
        'build=$PWD\ncd "$SRC/tests"\n"$build/tests/test_runner"', (outcomes.cppunit,),
        ("libcppunit-dev", "libutfcpp-dev", "libboost-dev", "zlib1g-dev")),
    "googletest": Suite(
        "googletest", "1.12.1-0.2", CMAKE + "-DBUILD_GMOCK=OFF -Dgtest_build_tests=ON\nninja -j2", CTEST,
        (outcomes.ctest, outcomes.gtest), ("python3",)),
    "googlemock": Suite(
        "googletest", "1.12.1-0.2", CMAKE + "-Dgtest_build_tests=OFF -Dgmock_build_tests=ON\nninja -j2", CTEST,
        (outcomes.ctest, outcomes.gtest), ("python3",)),
    "cppcheck": Suite(
        "cppcheck", "2.10-2", CMAKE + "-DBUILD_TESTS=ON -DHAVE_RULES=ON -DUSE_MATCHCOMPILER=Off\nninja -j2 testrunner",
        "cd bin\n./testrunner", (outcomes.cppcheck,), ("libpcre3-dev",)),
    "gcc.c-torture/execute -O2": SinglePrograms(level="-O2", **C_TORTURE),
    "gcc.c-torture/execute -O0": SinglePrograms(level="-O0", **C_TORTURE),
    "g++.dg/eh -O2": SinglePrograms(level="-O2", **EH),
    "g++.dg/eh -O0": SinglePrograms(level="-O0", **EH),
    "libcxxabi/test -O2": SinglePrograms(
        "llvm-toolchain-19", "1:19.1.7-3~deb12u1", ("libcxxabi/test", "libcxxabi/src", "libcxxabi/include", "libcxx/test/support"),
        "libcxxabi/test/**/*.pass.cpp", "-O2", ("gnu++20", "gnu++17", "gnu++11"),
        ("-pthread", "-I{source}/libcxx/test/support", "-I{source}/libcxxabi/src", "-I{source}/libcxxabi/test/support")),
}
