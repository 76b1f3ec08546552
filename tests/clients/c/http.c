#include "http.h"

#include <errno.h>
#include <limits.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>
#include <strings.h>
#include <zlib.h>

static size_t on_body(char* bytes, size_t size, size_t count, void* response) {
  add(&((Response*)response)->body, bytes, size * count);
  return size * count;
}

/* The value of the header field `name`, which ends with its colon, NULL if the line has another. */
static const char* value_of(const char* line, size_t* length, const char* name) {
  size_t start = strlen(name);
  if (*length < start || strncasecmp(line, name, start)) return NULL;
  while (*length > start && strchr(" \t\r\n", line[*length - 1])) --*length;
  while (start < *length && strchr(" \t", line[start])) start++;
  *length -= start;
  return line + start;
}

static size_t on_header(char* bytes, size_t size, size_t count, void* to) {
  Response* response = to;
  size_t length = size * count, coding_length = length;
  const char* header_length = value_of(bytes, &length, "inference-header-content-length:");
  const char* coding = value_of(bytes, &coding_length, "content-encoding:");
  if (size * count >= 5 && !strncmp(bytes, "HTTP/", 5)) *response = (Response){0}; /* after a 1xx */
  if (header_length) {
    response->header_length.size = 0;
    add(&response->header_length, header_length, length);
    response->header_lengths++;
  }
  if (coding) {
    add(&response->codings, coding, coding_length);
    add_text(&response->codings, ",");
  }
  return size * count;
}

static Buffer compressed(const Buffer* body, int gzip) {
  z_stream stream = {0};
  Buffer result = {0};
  if (deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip ? 15 + 16 : 15, 8,
                   Z_DEFAULT_STRATEGY) != Z_OK)
    abort();
  result.room = deflateBound(&stream, body->size) + 32;
  result.bytes = take(result.room);
  stream.next_in = (unsigned char*)body->bytes;
  stream.avail_in = (unsigned)body->size;
  stream.next_out = (unsigned char*)result.bytes;
  stream.avail_out = (unsigned)result.room;
  if (deflate(&stream, Z_FINISH) != Z_STREAM_END) abort();
  result.size = stream.total_out;
  deflateEnd(&stream);
  return result;
}

/* What a zlib stream or the members of a gzip stream hold. Fails unless each is whole, with its
 * checksum, and nothing follows. */
static Buffer decompressed(const Buffer* body) {
  z_stream stream = {0};
  Buffer result = {0};
  unsigned char part[65536];
  int code = Z_OK;
  if (inflateInit2(&stream, 15 + 32) != Z_OK) abort();
  stream.next_in = (unsigned char*)body->bytes;
  stream.avail_in = (unsigned)body->size;
  while (code == Z_OK) {
    stream.next_out = part;
    stream.avail_out = sizeof part;
    code = inflate(&stream, Z_NO_FLUSH);
    add(&result, part, sizeof part - stream.avail_out);
    if (code == Z_STREAM_END && stream.avail_in && body->bytes[0] == '\x1f')
      code = inflateReset(&stream); /* the next member */
  }
  inflateEnd(&stream);
  if (code != Z_STREAM_END || stream.avail_in) fail("malformed response: its coding is damaged");
  return result;
}

/* Undoes the codings of a response, the last one first. */
static void undo_codings(Response* response) {
  char* codings = response->codings.bytes;
  while (codings && *codings) {
    codings[strlen(codings) - 1] = 0; /* the comma */
    char *comma = strrchr(codings, ','), *coding = comma ? comma + 1 : codings;
    coding += strspn(coding, " \t");
    if (!strcasecmp(coding, "gzip") || !strcasecmp(coding, "x-gzip") ||
        !strcasecmp(coding, "deflate"))
      response->body = decompressed(&response->body);
    else if (*coding && strcasecmp(coding, "identity"))
      fail("malformed response: Content-Encoding %s", coding);
    if (comma)
      comma[1] = 0;
    else
      *codings = 0;
  }
}

/* Fails for header fields that only the client itself can know, and for what would end a line. */
static struct curl_slist* caller_headers(const Json* headers) {
  static const char* const FRAMING[] = {
      "content-length",
      "transfer-encoding",
      "content-encoding",
      "accept-encoding",
      "host",
      "connection",
      "inference-header-content-length",
      "content-type",
      "expect",
      "trailer",
      "te",
      "upgrade",
      NULL,
  };
  struct curl_slist* list = NULL;
  for (const Json* child = headers->first; child; child = child->next) {
    Buffer line = {0};
    for (int i = 0; FRAMING[i]; i++)
      if (!strcasecmp(child->key, FRAMING[i]))
        fail("a caller cannot set the header field %s", child->key);
    if (strpbrk(child->key, "\r\n: ") || strpbrk(child->text, "\r\n") ||
        strlen(child->text) != child->size)
      fail("a header field that would end its line");
    add_text(&line, child->key);
    add_text(&line, child->size ? ": " : ";"); /* libcurl's way to send an empty value */
    add_text(&line, child->text);
    list = curl_slist_append(list, line.bytes);
  }
  return list;
}

Response post(CURL* curl, const char* url, const Json* headers, const Buffer* json,
              const Buffer* blobs, int has_blobs, const char* coding, const char* accepted,
              long timeout_ms) {
  static Response response;
  Buffer body = {0};
  char length[64];
  response = (Response){0};
  struct curl_slist* list = caller_headers(headers);
  add(&body, json->bytes, json->size);
  add(&body, blobs->bytes, blobs->size);
  if (has_blobs) { /* without blobs there is no header length */
    snprintf(length, sizeof length, "Inference-Header-Content-Length: %zu", json->size);
    list = curl_slist_append(list, length);
  }
  list = curl_slist_append(list, has_blobs ? "Content-Type: application/octet-stream"
                                           : "Content-Type: application/json");
  if (coding) { /* the header length still counts the JSON as it was before */
    body = compressed(&body, !strcmp(coding, "gzip"));
    list = curl_slist_append(
        list, !strcmp(coding, "gzip") ? "Content-Encoding: gzip" : "Content-Encoding: deflate");
  }
  list = curl_slist_append(list, "Expect:"); /* no waiting for 100 Continue */
  curl_easy_reset(curl);
  curl_easy_setopt(curl, CURLOPT_URL, url);
  curl_easy_setopt(curl, CURLOPT_PROXY, "");
  curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, (long)CURL_HTTP_VERSION_1_1);
  curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, timeout_ms);
  curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
  curl_easy_setopt(curl, CURLOPT_HTTPHEADER, list);
  curl_easy_setopt(curl, CURLOPT_POST, 1L);
  curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, (curl_off_t)body.size);
  curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body.bytes);
  curl_easy_setopt(curl, CURLOPT_ACCEPT_ENCODING, accepted ? accepted : "identity");
  /* libcurl would undo the coding, too, but not notice that its end is missing. */
  curl_easy_setopt(curl, CURLOPT_HTTP_CONTENT_DECODING, 0L);
  curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
  curl_easy_setopt(curl, CURLOPT_WRITEDATA, &response);
  curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
  curl_easy_setopt(curl, CURLOPT_HEADERDATA, &response);
  CURLcode code = curl_easy_perform(curl);
  curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &message_status);
  curl_slist_free_all(list);
  add(&response.body, "", 0);
  if (code == CURLE_OK) undo_codings(&response);
  if (message_status && message_status != 200)
    fail("%.*s", (int)(response.body.size < 900 ? response.body.size : 900), response.body.bytes);
  if (code != CURLE_OK) fail("%s", curl_easy_strerror(code));
  return response;
}

size_t header_length(const Response* response) {
  const Buffer* text = &response->header_length;
  if (!response->header_lengths) return response->body.size;
  errno = 0;
  unsigned long long length = text->size && strspn(text->bytes, "0123456789") == text->size
                                  ? strtoull(text->bytes, NULL, 10)
                                  : ULLONG_MAX;
  if (errno || response->header_lengths > 1 || length > response->body.size)
    fail("malformed response: header length");
  return (size_t)length;
}
