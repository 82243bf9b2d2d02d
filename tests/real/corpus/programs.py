"""The programs of corpus.tsv: what Debian calls them and how their own build systems build them (see ../programs.py)."""

from programs import CMAKE, COPY, Program

# `-E` of the build compiler is looked for with variables that only older autoconfs set.
ICARUS = (COPY + "sh autoconf.sh; sed -i s,^ac_build_,ac_, configure; "
          './configure CC="$CC" CXX="$CXX" CFLAGS="$FLAGS" CXXFLAGS="$FLAGS -std=gnu++14" --prefix="$PWD/installed"')
ICARUS_NEEDS = ("autoconf", "bison", "flex", "gperf", "libbz2-dev", "zlib1g-dev")
# The configuration in the source is used as it is, whatever the times of the files that Debian's patches touch.
GROFF = (COPY + "touch aclocal.m4; sleep 1; touch configure Makefile.in src/include/config.hin; "
         './configure CC="$CC" CXX="$CXX" CFLAGS="$FLAGS" CXXFLAGS="$FLAGS" --without-x')
GROFF_HEADERS = "make -j2 lib/uniwidth.h lib/unitypes.h; "
WABT = CMAKE + "-DBUILD_TESTS=OFF"

PROGRAMS = {
    "ivl": Program("iverilog", "11.0-1.1", ICARUS, "make dep; make -j2 ivl", "ivl", ICARUS_NEEDS),
    "vvp": Program("iverilog", "11.0-1.1", ICARUS,
                   "make version_tag.h _pli_types.h; make -C vvp dep; make -C vvp -j2 vvp; "
                   "make -C vpi dep; make -C vpi -j2; make -C vpi install", "vvp/vvp", ICARUS_NEEDS),
    "wasm-decompile": Program("wabt", "1.0.32-1", WABT, "ninja -j2 wasm-decompile", "wasm-decompile"),
    "wat2wasm": Program("wabt", "1.0.32-1", WABT, "ninja -j2 wat2wasm", "wat2wasm"),
    "zpaq": Program("zpaq", "7.15+repack-1", COPY,
                    'make zpaq CXX="$CXX" CPPFLAGS=-Dunix CXXFLAGS="$FLAGS"', "zpaq"),
    "probalign": Program("probalign", "1.4-10", COPY,
                         """make probalign CXX="$CXX" CXXFLAGS="$FLAGS -DVERSION='\\"1.4\\"'" """, "probalign"),
    "amap": Program("amap-align", "2.2+git20080214.600fc29+dfsg-2", COPY,
                    """make -C align amap CXX="$CXX" CXXFLAGS="$FLAGS -DNDEBUG -DNumInsertStates=1 -DVERSION='\\"2.2\\"'" """,
                    "align/amap"),
    "capnp": Program("capnproto", "0.9.2-2", CMAKE + "-DBUILD_TESTING=OFF", "ninja -j2 capnp_tool", "src/capnp/capnp"),
    "tbl": Program("groff", "1.22.4-10", GROFF, GROFF_HEADERS + "make -j2 tbl", "tbl", ("texinfo", "bison")),
    "pic": Program("groff", "1.22.4-10", GROFF, GROFF_HEADERS + "make -j2 pic", "pic", ("texinfo", "bison")),
}
