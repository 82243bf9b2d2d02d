// Sends files to a server that takes crashes: one POST of multipart/form-data, in the way of Breakpad's
// `minidump_upload` and of Crashpad's handler. Servers know the minidump by the name of its field,
// `upload_file_minidump`; Sentry keeps every other file as an attachment.
//
//   Upload upload;
//   upload.url = "https://o0.ingest.sentry.io/api/0/minidump/?sentry_key=...";
//   upload.files = {{"upload_file_minidump", "app-1.dmp", bytes}};
//   const Result<std::string> answer = Send(upload);
//
// A redirect is an error: what was meant for one server goes to no other. So is a certificate that is not trusted.
#ifndef RECRASH_INTEGRATIONS_UPLOAD_UPLOAD_H_
#define RECRASH_INTEGRATIONS_UPLOAD_UPLOAD_H_

#include <cstdint>
#include <span>
#include <string>
#include <utility>
#include <vector>

#include "agent/base/result.h"

namespace recrash {

struct UploadFile {
  std::string field;
  std::string name;  // that the server is told
  std::span<const uint8_t> bytes;
};

struct Upload {
  std::string url;  // may hold a password or a key: it is in no message
  std::vector<std::pair<std::string, std::string>> fields;
  std::vector<UploadFile> files;
  double seconds = 300;  // for all of it
  std::string ca_file;   // PEM; empty: whom the system trusts
};

// Returns what may be shown of the URL: "https://sentry.example:8443". kUsage: it is none of http or https.
Result<std::string> ServerOf(const std::string& url);

// Returns what the server answered, at most its first 4096 bytes. It is not fit to print.
Result<std::string> Send(const Upload& upload);

}  // namespace recrash

#endif  // RECRASH_INTEGRATIONS_UPLOAD_UPLOAD_H_
