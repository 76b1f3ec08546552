/* One HTTP request of the client, with libcurl. */

#ifndef HTTP_H
#define HTTP_H

#include <curl/curl.h>

#include "json.h"

typedef struct {
  Buffer body;
  Buffer header_length; /* empty if there is none */
  int header_lengths;
  Buffer codings; /* of Content-Encoding, with a comma after each */
} Response;

extern long message_status; /* the HTTP status that comes with a failure, 0 for none */

/* Posts JSON and blobs; fails unless a response of status 200 came whole. `curl` keeps its
 * connections from request to request. */
Response post(CURL* curl, const char* url, const Json* headers, const Buffer* json,
              const Buffer* blobs, int has_blobs, const char* coding, const char* accepted,
              long timeout_ms);
/* How much of the response's body is JSON; fails if its header length is none. */
size_t header_length(const Response* response);

#endif
