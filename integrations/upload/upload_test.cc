// What may be shown of a URL. What is sent and what becomes of it: tests/e2e/test_send.py.
#include "integrations/upload/upload.h"

#include <gmock/gmock.h>
#include <gtest/gtest.h>

namespace recrash {
namespace {

using testing::HasSubstr;
using testing::Not;

TEST(ServerOf, HasNeitherUserNorKey) {
  EXPECT_EQ(*ServerOf("https://ada:hunter2@sentry.example/api/7/minidump/?sentry_key=hunter2#hunter2"),
            "https://sentry.example");
  EXPECT_EQ(*ServerOf("http://127.0.0.1:8080/hunter2"), "http://127.0.0.1:8080");
  EXPECT_EQ(*ServerOf("HTTPS://[::1]:443/x"), "https://[::1]");
}

TEST(ServerOf, IsOfHttpAlone) {
  for (const char* url :
       {"", "sentry.example", "sentry.example/hunter2", "file:///etc/passwd", "ftp://hunter2@host/", "https://",
        "http://a b/", "gopher://x", "http://host:99999/", "https://ho\nst/", "-o", "https://[hunter2/"}) {
    const Result<std::string> server = ServerOf(url);
    ASSERT_FALSE(server) << url << " is at " << *server;
    EXPECT_EQ(server.error().code, Errc::kUsage);
    EXPECT_THAT(server.error().message, Not(HasSubstr("hunter2")));
    EXPECT_FALSE(Send({.url = url, .fields = {}, .files = {}, .ca_file = ""}));
  }
}

}  // namespace
}  // namespace recrash
