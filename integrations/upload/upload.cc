#include "integrations/upload/upload.h"

#include <curl/curl.h>

#include <algorithm>
#include <cstring>
#include <memory>

namespace recrash {
namespace {

using Url = std::unique_ptr<CURLU, decltype(&curl_url_cleanup)>;
using Easy = std::unique_ptr<CURL, decltype(&curl_easy_cleanup)>;
using Form = std::unique_ptr<curl_mime, decltype(&curl_mime_free)>;
using Lines = std::unique_ptr<curl_slist, decltype(&curl_slist_free_all)>;

constexpr size_t kKept = 4096;  // of an answer
constexpr size_t kLongestAnswer = 1 << 20;
constexpr long kConnectSeconds = 30;

struct Answer {
  std::string begin;
  size_t size = 0;
};

size_t Take(char* bytes, size_t, size_t size, void* to) {
  Answer* const answer = static_cast<Answer*>(to);
  answer->size += size;
  answer->begin.append(bytes, std::min(size, kKept - answer->begin.size()));
  return answer->size <= kLongestAnswer ? size : 0;  // another number ends the transfer
}

std::string PartOf(const Url& url, CURLUPart part, unsigned flags = 0) {
  char* text = nullptr;
  if (curl_url_get(url.get(), part, &text, flags) != CURLUE_OK) return "";
  const std::string value = text;
  curl_free(text);
  return value;
}

// Never empty where the text is a URL: a host there must be.
std::string ServerIn(const Url& url) {
  const std::string port = PartOf(url, CURLUPART_PORT, CURLU_NO_DEFAULT_PORT);
  return PartOf(url, CURLUPART_SCHEME) + "://" + PartOf(url, CURLUPART_HOST) + (port.empty() ? "" : ":" + port);
}

Result<Url> Parse(const std::string& text) {
  Url url(curl_url(), curl_url_cleanup);
  const Error none = {Errc::kUsage, "--url: needed an address such as https://HOST/PATH, found something else"};
  // Without a scheme curl would guess one.
  if (!url || curl_url_set(url.get(), CURLUPART_URL, text.c_str(), CURLU_NON_SUPPORT_SCHEME) != CURLUE_OK) return none;
  const std::string scheme = PartOf(url, CURLUPART_SCHEME);
  if ((scheme != "https" && scheme != "http") || PartOf(url, CURLUPART_HOST).empty()) return none;
  return url;
}

Form MakeForm(CURL* easy, const Upload& upload) {
  Form form(curl_mime_init(easy), curl_mime_free);
  for (const auto& [name, value] : upload.fields) {
    curl_mimepart* const part = curl_mime_addpart(form.get());
    curl_mime_name(part, name.c_str());
    curl_mime_data(part, value.data(), value.size());
  }
  for (const UploadFile& file : upload.files) {
    curl_mimepart* const part = curl_mime_addpart(form.get());
    curl_mime_name(part, file.field.c_str());
    curl_mime_filename(part, file.name.c_str());
    curl_mime_type(part, "application/octet-stream");
    curl_mime_data(part, reinterpret_cast<const char*>(file.bytes.data()), file.bytes.size());
  }
  return form;
}

Error NotSent(const std::string& server, const std::string& why, const std::string& way_out = "") {
  return {Errc::kRefused, server + ": not sent: " + why + (way_out.empty() ? "" : "\n" + way_out)};
}

// Of a transfer that ended without an answer.
Error NoAnswer(const Upload& upload, const std::string& server, CURL* easy, CURLcode code, const char* details) {
  long problem = 0;
  curl_easy_getinfo(easy, CURLINFO_OS_ERRNO, &problem);
  const std::string why = *details ? details : curl_easy_strerror(code);
  switch (code) {
    case CURLE_COULDNT_RESOLVE_HOST:
    case CURLE_COULDNT_RESOLVE_PROXY:
      return NotSent(server, "no such host: " + why);
    case CURLE_COULDNT_CONNECT:
      return NotSent(server,
                     std::string("no connection: ") + (problem ? std::strerror(static_cast<int>(problem)) : why));
    case CURLE_OPERATION_TIMEDOUT:
      return NotSent(server, "no answer within " + std::to_string(static_cast<long>(upload.seconds)) + " seconds",
                     "it may have taken what was sent; --timeout SECONDS gives it more time");
    case CURLE_PEER_FAILED_VERIFICATION:
    case CURLE_SSL_CACERT_BADFILE:
      return NotSent(server, "its certificate is not trusted: " + why,
                     "give --ca-file the certificate of its authority, if the server is yours");
    case CURLE_SEND_ERROR:
    case CURLE_RECV_ERROR:
    case CURLE_GOT_NOTHING:
    case CURLE_PARTIAL_FILE:
      return NotSent(server, "it closed the connection without an answer: " + why,
                     "it may have taken what was sent, or the upload is larger than it allows");
    case CURLE_WRITE_ERROR:
      return NotSent(server, "it answers more than a mebibyte", "that is no server for crashes");
    default:
      return NotSent(server, why);
  }
}

std::string WayOut(long status) {
  if (status == 401 || status == 403) return "it does not know the key or the user in --url";
  if (status == 404 || status == 405) return "it takes no crashes at the path in --url";
  if (status == 413)
    return "the upload is larger than it allows: --no-minidump or --no-report leave one of the two out";
  if (status == 429) return "it has had enough for now: try again later";
  if (status >= 500) return "the server has a problem of its own: try again later";
  return "";
}

// What it says of the reason, on one line.
std::string FirstLine(const std::string& text) {
  const std::string line = text.substr(0, std::min(text.find_first_of("\r\n"), size_t{300}));
  return line.empty() ? "" : ": " + line;
}

Status Judge(const std::string& server, CURL* easy, const Answer& answer) {
  long status = 0;
  curl_easy_getinfo(easy, CURLINFO_RESPONSE_CODE, &status);
  if (status >= 200 && status < 300) return Ok{};
  const std::string code = "HTTP status " + std::to_string(status);
  if (status < 300 || status >= 400) return NotSent(server, code + FirstLine(answer.begin), WayOut(status));
  char* target = nullptr;
  curl_easy_getinfo(easy, CURLINFO_REDIRECT_URL, &target);
  const Result<std::string> other = ServerOf(target ? target : "");
  return NotSent(server, code + ": it sends on to " + (other ? *other : "another address"),
                 "that is not followed: give the other address with --url, if you trust it");
}

}  // namespace

Result<std::string> ServerOf(const std::string& url) {
  const Result<Url> parsed = Parse(url);
  if (!parsed) return parsed.error();
  return ServerIn(*parsed);
}

Result<std::string> Send(const Upload& upload) {
  const Result<Url> url = Parse(upload.url);
  if (!url) return url.error();
  const std::string server = ServerIn(*url);
  curl_global_init(CURL_GLOBAL_DEFAULT);
  const Easy easy(curl_easy_init(), curl_easy_cleanup);
  if (!easy) return NotSent(server, "libcurl does not start");
  const Form form = MakeForm(easy.get(), upload);
  // With it curl waits a second for servers that do not know it.
  const Lines headers(curl_slist_append(nullptr, "Expect:"), curl_slist_free_all);
  Answer answer;
  char details[CURL_ERROR_SIZE] = "";
  curl_easy_setopt(easy.get(), CURLOPT_CURLU, url->get());
  curl_easy_setopt(easy.get(), CURLOPT_PROTOCOLS_STR, "http,https");
  curl_easy_setopt(easy.get(), CURLOPT_FOLLOWLOCATION, 0L);
  curl_easy_setopt(easy.get(), CURLOPT_MIMEPOST, form.get());
  curl_easy_setopt(easy.get(), CURLOPT_HTTPHEADER, headers.get());
  curl_easy_setopt(easy.get(), CURLOPT_USERAGENT, "recrash/" RECRASH_VERSION);
  curl_easy_setopt(easy.get(), CURLOPT_CONNECTTIMEOUT, kConnectSeconds);
  curl_easy_setopt(easy.get(), CURLOPT_TIMEOUT_MS, static_cast<long>(upload.seconds * 1000));
  curl_easy_setopt(easy.get(), CURLOPT_WRITEFUNCTION, Take);
  curl_easy_setopt(easy.get(), CURLOPT_WRITEDATA, &answer);
  curl_easy_setopt(easy.get(), CURLOPT_ERRORBUFFER, details);
  if (!upload.ca_file.empty()) curl_easy_setopt(easy.get(), CURLOPT_CAINFO, upload.ca_file.c_str());
  if (const CURLcode code = curl_easy_perform(easy.get()); code != CURLE_OK)
    return NoAnswer(upload, server, easy.get(), code, details);
  if (Status judged = Judge(server, easy.get(), answer); !judged) return judged.error();
  return answer.begin;
}

}  // namespace recrash
