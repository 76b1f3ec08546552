#include "json.h"

#include <stdarg.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

enum { DEEPEST = 512 };

void* take(size_t size) {
  void* memory = calloc(size ? size : 1, 1);
  if (!memory) abort();
  return memory;
}

void add(Buffer* buffer, const void* bytes, size_t size) {
  if (buffer->size + size + 1 > buffer->room) {
    buffer->room = 2 * (buffer->size + size) + 64;
    buffer->bytes = realloc(buffer->bytes, buffer->room);
    if (!buffer->bytes) abort();
  }
  if (size) memcpy(buffer->bytes + buffer->size, bytes, size);
  buffer->size += size;
  buffer->bytes[buffer->size] = 0;
}

void add_text(Buffer* buffer, const char* text) { add(buffer, text, strlen(text)); }

void add_format(Buffer* buffer, const char* format, ...) {
  char text[128];
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(text, sizeof text, format, arguments);
  va_end(arguments);
  add_text(buffer, text);
}

size_t utf8_character(const char* bytes, size_t left) {
  const unsigned char* b = (const unsigned char*)bytes;
  size_t length = b[0] < 0x80                   ? 1
                  : b[0] >= 0xc2 && b[0] < 0xe0 ? 2
                  : (b[0] & 0xf0) == 0xe0       ? 3
                  : b[0] >= 0xf0 && b[0] < 0xf5 ? 4
                                                : 0;
  if (!length || length > left) return 0;
  for (size_t i = 1; i < length; i++)
    if ((b[i] & 0xc0) != 0x80) return 0;
  if (b[0] == 0xe0 && b[1] < 0xa0) return 0; /* longer than needed */
  if (b[0] == 0xed && b[1] > 0x9f) return 0; /* half of a surrogate pair */
  if (b[0] == 0xf0 && b[1] < 0x90) return 0;
  if (b[0] == 0xf4 && b[1] > 0x8f) return 0; /* beyond Unicode */
  return length;
}

void add_string(Buffer* buffer, const char* bytes, size_t size) {
  add_text(buffer, "\"");
  for (size_t i = 0; i < size;) {
    size_t length = utf8_character(bytes + i, size - i);
    unsigned char byte = (unsigned char)bytes[i];
    if (!length)
      add_text(buffer, "\\ufffd");
    else if (byte < 0x20)
      add_format(buffer, "\\u%04x", byte);
    else {
      if (byte == '"' || byte == '\\') add_text(buffer, "\\");
      add(buffer, bytes + i, length);
    }
    i += length ? length : 1;
  }
  add_text(buffer, "\"");
}

typedef struct {
  const char *at, *end;
} Reader;

static void skip_space(Reader* reader) {
  while (reader->at < reader->end && strchr(" \t\r\n", *reader->at) && *reader->at) reader->at++;
}

static int next_is(Reader* reader, char wanted) {
  if (reader->at == reader->end || *reader->at != wanted) return 0;
  reader->at++;
  return 1;
}

static void expect(Reader* reader, const char* word) {
  for (; *word; word++)
    if (!next_is(reader, *word)) fail("not JSON");
}

static unsigned read_hex(Reader* reader) {
  unsigned code = 0;
  for (int i = 0; i < 4; i++, reader->at++) {
    static const char DIGITS[] = "0123456789abcdef";
    const char* digit = reader->at < reader->end && *reader->at
                            ? strchr(DIGITS, *reader->at | (*reader->at > '9' ? 0x20 : 0))
                            : NULL;
    if (!digit) fail("not JSON: \\u without four digits");
    code = 16 * code + (unsigned)(digit - DIGITS);
  }
  return code;
}

static void read_escape(Reader* reader, Buffer* string) {
  static const char NAMES[] = "\"\\/bfnrt", MEANT[] = "\"\\/\b\f\n\r\t";
  if (next_is(reader, 'u')) {
    unsigned code = read_hex(reader);
    if (code >= 0xd800 && code < 0xdc00) {
      expect(reader, "\\u");
      unsigned low = read_hex(reader);
      if (low < 0xdc00 || low > 0xdfff) fail("not JSON: half of a surrogate pair");
      code = 0x10000 + ((code - 0xd800) << 10) + (low - 0xdc00);
    } else if (code >= 0xdc00 && code < 0xe000)
      fail("not JSON: half of a surrogate pair");
    unsigned char bytes[4];
    size_t length = code < 0x80 ? 1 : code < 0x800 ? 2 : code < 0x10000 ? 3 : 4;
    for (size_t i = length; i-- > 1; code >>= 6) bytes[i] = 0x80 | (code & 0x3f);
    static const unsigned char FIRST[] = {0, 0, 0xc0, 0xe0, 0xf0};
    bytes[0] = (unsigned char)(FIRST[length] | code);
    add(string, bytes, length);
    return;
  }
  const char* name = reader->at < reader->end && *reader->at ? strchr(NAMES, *reader->at) : NULL;
  if (!name) fail("not JSON: an unknown escape");
  add(string, MEANT + (name - NAMES), 1);
  reader->at++;
}

static void read_string(Reader* reader, const char** text, size_t* size) {
  Buffer string = {0};
  add(&string, "", 0);
  expect(reader, "\"");
  while (!next_is(reader, '"')) {
    if (reader->at == reader->end) fail("not JSON: a string does not end");
    size_t length = utf8_character(reader->at, (size_t)(reader->end - reader->at));
    if (!length) fail("not UTF-8");
    if ((unsigned char)*reader->at < 0x20) fail("not JSON: a control character in a string");
    if (next_is(reader, '\\'))
      read_escape(reader, &string);
    else {
      add(&string, reader->at, length);
      reader->at += length;
    }
  }
  *text = string.bytes;
  *size = string.size;
}

static void skip_digits(Reader* reader) {
  const char* start = reader->at;
  while (reader->at < reader->end && *reader->at >= '0' && *reader->at <= '9') reader->at++;
  if (reader->at == start) fail("not JSON");
}

static void read_number(Reader* reader, Json* value) {
  Buffer text = {0};
  const char* start = reader->at;
  next_is(reader, '-');
  if (!next_is(reader, '0')) skip_digits(reader);
  if (next_is(reader, '.')) skip_digits(reader);
  if (next_is(reader, 'e') || next_is(reader, 'E')) {
    if (!next_is(reader, '-')) next_is(reader, '+');
    skip_digits(reader);
  }
  add(&text, start, (size_t)(reader->at - start));
  value->kind = JSON_NUMBER;
  value->text = text.bytes;
  value->size = text.size;
}

static Json* read_value(Reader* reader, int depth) {
  Json* value = take(sizeof *value);
  if (depth > DEEPEST) fail("JSON nested more than %d deep", DEEPEST);
  skip_space(reader);
  char first = reader->at < reader->end ? *reader->at : 0;
  if (first == '{' || first == '[') {
    char last = first == '{' ? '}' : ']';
    Json** place = &value->first;
    value->kind = first == '{' ? JSON_OBJECT : JSON_ARRAY;
    reader->at++;
    skip_space(reader);
    for (int more = !next_is(reader, last); more;) {
      const char* key = NULL;
      if (value->kind == JSON_OBJECT) {
        size_t size;
        skip_space(reader);
        read_string(reader, &key, &size);
        skip_space(reader);
        expect(reader, ":");
      }
      *place = read_value(reader, depth + 1);
      (*place)->key = key;
      place = &(*place)->next;
      skip_space(reader);
      more = next_is(reader, ',');
      if (!more) expect(reader, (char[]){last, 0});
    }
  } else if (first == '"') {
    value->kind = JSON_STRING;
    read_string(reader, &value->text, &value->size);
  } else if (first == 't' || first == 'f' || first == 'n') {
    value->kind = first == 't' ? JSON_TRUE : first == 'f' ? JSON_FALSE : JSON_NULL;
    expect(reader, first == 't' ? "true" : first == 'f' ? "false" : "null");
  } else
    read_number(reader, value);
  return value;
}

Json* read_json(const char* text, size_t size) {
  Reader reader = {text, text + size};
  Json* value = read_value(&reader, 0);
  skip_space(&reader);
  if (reader.at != reader.end) fail("not JSON: something follows the value");
  return value;
}

Json* member(const Json* object, const char* key) {
  Json* found = NULL;
  if (object && object->kind == JSON_OBJECT)
    for (Json* child = object->first; child; child = child->next)
      if (!strcmp(child->key, key)) found = child;
  return found;
}

void add_json(Buffer* buffer, const Json* value) {
  static const char* const WORDS[] = {"null", "false", "true"};
  if (value->kind <= JSON_TRUE)
    add_text(buffer, WORDS[value->kind]);
  else if (value->kind == JSON_NUMBER)
    add(buffer, value->text, value->size);
  else if (value->kind == JSON_STRING)
    add_string(buffer, value->text, value->size);
  else {
    add_text(buffer, value->kind == JSON_OBJECT ? "{" : "[");
    for (const Json* child = value->first; child; child = child->next) {
      if (child->key) {
        add_string(buffer, child->key, strlen(child->key));
        add_text(buffer, ":");
      }
      add_json(buffer, child);
      if (child->next) add_text(buffer, ",");
    }
    add_text(buffer, value->kind == JSON_OBJECT ? "}" : "]");
  }
}
