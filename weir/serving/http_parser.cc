#include <zlib.h>

#include <algorithm>
#include <charconv>

#include "weir/serving/http_server.h"

namespace weir {
namespace {

std::string_view Trim(std::string_view text) {
  while (!text.empty() && (text.front() == ' ' || text.front() == '\t')) text.remove_prefix(1);
  while (!text.empty() && (text.back() == ' ' || text.back() == '\t')) text.remove_suffix(1);
  return text;
}

std::string Lower(std::string_view text) {
  std::string out(text);
  for (char& c : out) c = c >= 'A' && c <= 'Z' ? static_cast<char>(c + 32) : c;
  return out;
}

StatusOr<std::string> Gunzip(const std::string& bytes, size_t limit) {
  z_stream stream{};
  if (inflateInit2(&stream, 15 + 32) != Z_OK) return Internal("zlib cannot be used");
  std::unique_ptr<z_stream, decltype(&inflateEnd)> owner(&stream, inflateEnd);
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(bytes.data()));
  stream.avail_in = static_cast<uInt>(bytes.size());
  std::string out;
  int result = Z_OK;
  while (result == Z_OK) {
    const size_t old = out.size();
    if (old >= limit) return ResourceExhausted("the decompressed body is larger than ", limit, " bytes");
    out.append(std::min<size_t>(limit - old, std::clamp<size_t>(old, 64 << 10, 64 << 20)), '\0');
    stream.next_out = reinterpret_cast<Bytef*>(out.data() + old);
    stream.avail_out = static_cast<uInt>(out.size() - old);
    result = inflate(&stream, Z_NO_FLUSH);
    out.erase(out.size() - stream.avail_out);
    if (result == Z_BUF_ERROR || (result == Z_OK && stream.avail_in == 0 && stream.avail_out > 0)) break;
  }
  if (result != Z_STREAM_END) return InvalidArgument("the body is not gzip data");
  return out;
}

Status ParseHead(std::string_view head, HttpRequest* request) {
  size_t end = head.find("\r\n");
  std::string_view line = head.substr(0, end);
  const size_t first = line.find(' '), second = line.rfind(' ');
  if (first == line.npos || second <= first + 1) return InvalidArgument("malformed request line");
  request->method = line.substr(0, first);
  std::string_view target = line.substr(first + 1, second - first - 1);
  const std::string_view version = line.substr(second + 1);
  if (version != "HTTP/1.1" && version != "HTTP/1.0") return InvalidArgument("not HTTP/1.1");
  if (!target.starts_with('/')) return InvalidArgument("malformed request target");
  request->path = target.substr(0, target.find('?'));
  while (end != head.npos) {
    head.remove_prefix(end + 2);
    end = head.find("\r\n");
    line = head.substr(0, end);
    if (line.empty()) continue;
    const size_t colon = line.find(':');
    if (colon == line.npos || colon == 0) return InvalidArgument("malformed header");
    request->headers[Lower(line.substr(0, colon))] = Trim(line.substr(colon + 1));
  }
  const std::string connection = Lower(request->Header("connection"));
  request->keep_alive = version == "HTTP/1.1" ? connection != "close" : connection == "keep-alive";
  return OkStatus();
}

}  // namespace

StatusOr<bool> HttpParser::TakeChunks(std::string_view bytes, size_t* end, std::string* body) const {
  size_t at = 0;
  while (true) {
    const size_t line_end = bytes.find("\r\n", at);
    if (line_end == bytes.npos) {
      if (bytes.size() - at > 1024) return InvalidArgument("malformed chunk");
      return false;
    }
    uint64_t size = 0;
    const char* begin = bytes.data() + at;
    auto [last, error] = std::from_chars(begin, bytes.data() + line_end, size, 16);
    if (error != std::errc() || last == begin) return InvalidArgument("malformed chunk");
    if (size > max_body_ - body->size()) return ResourceExhausted("the body is larger than ", max_body_, " bytes");
    at = line_end + 2;
    if (size == 0) {  // trailers are skipped
      const size_t blank = bytes.substr(at).starts_with("\r\n") ? at : bytes.find("\r\n\r\n", at);
      if (blank == bytes.npos) {
        if (bytes.size() - at > max_head_) return ResourceExhausted("the trailers are too long");
        return false;
      }
      *end = blank + (blank == at ? 2 : 4);
      return true;
    }
    if (bytes.size() - at < size + 2) return false;
    body->append(bytes.substr(at, size));
    if (bytes.substr(at + size, 2) != "\r\n") return InvalidArgument("malformed chunk");
    at += size + 2;
  }
}

bool HttpParser::AwaitsContinue(std::string_view bytes) const {
  HttpRequest request;
  const size_t head_end = bytes.find("\r\n\r\n");
  return head_end != bytes.npos && ParseHead(bytes.substr(0, head_end), &request).ok() &&
         Lower(request.Header("expect")) == "100-continue";
}

StatusOr<bool> HttpParser::Take(std::string* bytes, HttpRequest* request) const {
  const size_t head_end = bytes->find("\r\n\r\n");
  if (head_end == bytes->npos ? bytes->size() > max_head_ : head_end > max_head_) {
    return ResourceExhausted("the request's head is larger than ", max_head_, " bytes");
  }
  if (head_end == bytes->npos) return false;
  *request = HttpRequest();
  WEIR_RETURN_IF_ERROR(ParseHead(std::string_view(*bytes).substr(0, head_end), request));
  const size_t body_begin = head_end + 4;
  size_t end = body_begin;
  const std::string_view coding = request->Header("transfer-encoding");
  if (!coding.empty()) {
    if (Lower(coding) != "chunked") return Unimplemented("transfer-encoding ", coding, " is not supported");
    size_t length = 0;
    WEIR_ASSIGN_OR_RETURN(bool whole, TakeChunks(std::string_view(*bytes).substr(body_begin), &length, &request->body));
    if (!whole) return false;
    end += length;
  } else if (const std::string_view text = request->Header("content-length"); !text.empty()) {
    uint64_t length = 0;
    auto [last, error] = std::from_chars(text.data(), text.data() + text.size(), length);
    if (error != std::errc() || last != text.data() + text.size()) return InvalidArgument("malformed content-length");
    if (length > max_body_) return ResourceExhausted("the body is larger than ", max_body_, " bytes");
    if (bytes->size() - body_begin < length) return false;
    request->body = bytes->substr(body_begin, length);
    end += length;
  }
  bytes->erase(0, end);
  const std::string content = Lower(request->Header("content-encoding"));
  if (content == "gzip" || content == "deflate") {
    WEIR_ASSIGN_OR_RETURN(request->body, Gunzip(request->body, max_body_));
  } else if (!content.empty() && content != "identity") {
    return Unimplemented("content-encoding ", content, " is not supported");
  }
  return true;
}

}  // namespace weir
