#include "agent/base/tool_function.h"

#include <gtest/gtest.h>

namespace recrash {
namespace {

TEST(ToolFunction, IsToldByItsNamespace) {
  for (const char* name :
       {"_ZN7recrash6client10MakeReportEv", "_ZN7recrash5watch8MakeStubERKNS0_8FunctionERKNS0_9StubPlaceEPNS0_4StubE",
        "_ZNK7recrash6record13WriteTracking13ListMappingsERNS0_9LogHeaderERNS0_10LogMapListE",
        "_ZN7recrash11signal_safe8MapLines4NextERNS0_3MapE", "_ZZN7recrash6client10MakeReportEvENKUlvE_clEv",
        "_ZN15google_breakpad16ExceptionHandler12HandleSignalEiP9siginfo_tPv", "__recrash_report", "recrash_on_entry",
        "__clang_call_terminate"})
    EXPECT_TRUE(IsToolFunction(name)) << name;
}

TEST(ToolFunction, IsOfASanitizersRuntime) {
  for (const char* name :
       {"_ZN11__sanitizer5AbortEv", "_ZN6__asan18ReportGenericErrorEmmmmbmjb", "_ZN7__ubsanL12handleImplEv",
        "_ZNK14__interception3OneEv", "__asan_report_load8", "__ubsan_handle_type_mismatch_v1_abort",
        "_ZL22handleTypeMismatchImplPN7__ubsan16TypeMismatchDataEmNS_13ReportOptionsE", "__sanitizer_print_stack_trace",
        "___interceptor_free", "__interceptor_strlen"})
    EXPECT_TRUE(IsToolFunction(name)) << name;
}

// The recorder's namespace in programs that were built before it was called `record`.
TEST(ToolFunction, IsToldInOldBuilds) {
  EXPECT_TRUE(IsToolFunction("_ZN7recrash8snapshot10VersionLog3AddERKNS0_8LogFrameE"));
  EXPECT_TRUE(IsToolFunction("_ZNK7recrash8snapshot10VersionLog6headerEv"));
}

TEST(ToolFunction, IsNothingOfTheProgram) {
  for (const char* name : {"main", "", "_Z", "_ZN", "_ZZ", "_ZN4Tree6InsertEi", "_ZN6client4SendEv", "_Z8snapshotv",
                           "_ZN7recrash6ReportC2Ev", "_Z4SendRN7recrash6client4TextE", "recrash_anything",
                           "_ZN4asan4SendEv", "_Z11__sanitizerv"})
    EXPECT_FALSE(IsToolFunction(name)) << name;
}

TEST(ToolVariable, IsToldByItsNamespace) {
  for (const char* name : {"recrash::client::g_record", "recrash::record::(anonymous namespace)::g_alive",
                           "google_breakpad::(anonymous namespace)::g_handler_stack_", "__recrash_profiles"})
    EXPECT_TRUE(IsToolVariable(name)) << name;
  for (const char* name : {"", "g_record", "client::g_record", "recrash::Report::g_count"})
    EXPECT_FALSE(IsToolVariable(name)) << name;
}

}  // namespace
}  // namespace recrash
