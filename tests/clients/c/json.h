/* JSON, UTF-8 and growing buffers. Nothing is freed: a client on the bench lives for one task. */

#ifndef JSON_H
#define JSON_H

#include <stddef.h>

/* Ends the current request with a message for the user of the client; does not return. */
void fail(const char* format, ...) __attribute__((noreturn, format(printf, 1, 2)));

void* take(size_t size); /* memory full of zeros */

typedef struct {
  char* bytes;
  size_t size, room;
} Buffer;

void add(Buffer* buffer, const void* bytes, size_t size);
void add_text(Buffer* buffer, const char* text);
void add_format(Buffer* buffer, const char* format, ...) __attribute__((format(printf, 2, 3)));
/* A JSON string; what is not UTF-8 becomes U+FFFD. */
void add_string(Buffer* buffer, const char* bytes, size_t size);

/* The length of the valid UTF-8 character at `bytes`, 0 if there is none. */
size_t utf8_character(const char* bytes, size_t left);

typedef enum {
  JSON_NULL,
  JSON_FALSE,
  JSON_TRUE,
  JSON_NUMBER,
  JSON_STRING,
  JSON_ARRAY,
  JSON_OBJECT
} Kind;

typedef struct Json {
  Kind kind;
  const char* text; /* of a string, NULs and all, or of a number as it was written */
  size_t size;
  struct Json *first, *next; /* the first child; the next one of the same parent */
  const char* key;
} Json;

/* Fails for what is not exactly one JSON value in UTF-8. */
Json* read_json(const char* text, size_t size);
/* The value of the last member with this name, NULL if there is none or no object. */
Json* member(const Json* object, const char* key);
void add_json(Buffer* buffer, const Json* value);

#endif
