// Has secrets everywhere in its memory, marked, and fails in the way that its argument names. They are put together at
// run time, for the file of the program is no secret.
#include <recrash/recrash.h>
#include <sys/mman.h>
#include <sys/prctl.h>

#include <cstdio>
#include <cstdlib>
#include <cstring>
#include <stdexcept>
#include <string>
#include <vector>

namespace {

std::string Secret() {
  std::string secret;
  for (const char c : std::string("dpssfdu!ipstf!cbuufsz!tubqmf")) secret += static_cast<char>(c - 1);
  return secret;
}

char g_key[24];
char g_pin[4];
char* g_copy;
std::string g_part;

// A copy over each edge: every second page is a mapping of its own, and of these every second one is in no report.
void PutOverEdges(const std::string& secret) {
  constexpr size_t kPage = 4096, kPages = 56;
  void* mapped = mmap(nullptr, kPages * kPage, PROT_READ | PROT_WRITE, MAP_PRIVATE | MAP_ANONYMOUS, -1, 0);
  char* pages = static_cast<char*>(mapped);
  for (size_t page = 1; page < kPages; page += 2)
    madvise(pages + page * kPage, kPage, page % 4 == 1 ? MADV_DONTFORK : MADV_DONTDUMP);
  for (size_t page = 1; page < kPages; ++page)
    std::memcpy(pages + page * kPage - 1 - page % (secret.size() - 1), secret.data(), secret.size());
}

// With parts of the secret in registers, where no other memory has them.
__attribute__((noinline)) void FailWith(const char* secret, int* where) {
  asm volatile(
      "movq 4(%0), %%r12\n\t"
      "movups 3(%0), %%xmm5\n\t"
      "movl $1, (%1)\n\t"
      :
      : "r"(secret), "r"(where)
      : "r12", "xmm5", "memory");
}

__attribute__((noinline)) void Throw(const std::string& secret) { throw std::runtime_error("wrong: " + secret); }

__attribute__((noinline)) void ThrowThroughNoexcept(const std::string& secret) noexcept { Throw(secret); }

__attribute__((noinline)) void Replace(const std::string& secret) {
  try {
    Throw(secret);
  } catch (const std::runtime_error&) {
    throw std::logic_error("nothing to see");
  }
}

}  // namespace

int main(int count, char** arguments) {
  const std::string mode = count > 1 ? arguments[1] : "";
  recrash::Sensitive<std::string> password(Secret());
  recrash::Sensitive<std::string> changed(std::string("nothing yet"));
  changed.Change([](std::string& text) { text.assign(Secret(), 8, 20); });
  std::memcpy(g_key, Secret().data() + 2, sizeof g_key);
  RECRASH_SENSITIVE(g_key, sizeof g_key);
  std::memcpy(g_pin, "1234", sizeof g_pin);
  RECRASH_SENSITIVE(g_pin, sizeof g_pin);
  char on_stack[64];
  std::snprintf(on_stack, sizeof on_stack, "password=%s", password.get().c_str());
  g_copy = strdup(on_stack);
  g_part = password.get().substr(5, 9);
  setenv("PASSWORD", password.get().c_str(), 1);
  std::vector<char> on_page(8192);
  std::memcpy(on_page.data() + 4096 - reinterpret_cast<uintptr_t>(on_page.data()) % 4096 - 5, g_key, sizeof g_key);
  PutOverEdges(password.get());
  prctl(PR_SET_NAME, password.get().c_str());
  std::printf("%p\n", static_cast<void*>(g_pin));
  if (mode == "too-many")
    for (int i = 0; i < 5000; ++i) RECRASH_SENSITIVE(&on_page[static_cast<size_t>(i)], 1);
  if (mode == "forgotten") {
    RECRASH_NOT_SENSITIVE(g_pin);
  }
  std::fflush(stdout);
  if (mode == "throw") ThrowThroughNoexcept(password.get());
  if (mode == "replace") Replace(password.get());
  if (mode == "report") RECRASH_REPORT(on_stack);
  FailWith(password.get().c_str(), mode == "report" ? &count : nullptr);
  asm volatile("" : : "r"(on_stack), "r"(on_page.data()) : "memory");
  return mode == "report" && password.get() == Secret() ? 7 : 1;
}
