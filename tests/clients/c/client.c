/* A client for the binary tensor data extension in C, with libcurl and zlib, and its adapter for
 * the client bench (the task and the printed lines are described in docs/clients.md):
 *
 *     cc -std=c11 -O1 -o client client.c http.c json.c tensors.c -lcurl -lz -lm
 *     v2-conformance client -- ./client
 */

#include <curl/curl.h>
#include <math.h>
#include <setjmp.h>
#include <stdarg.h>
#include <stdint.h>
#include <stdio.h>
#include <stdlib.h>
#include <string.h>

#include "http.h"
#include "json.h"
#include "tensors.h"

static jmp_buf request_ends;
static char message[1024];
long message_status;

void fail(const char* format, ...) {
  va_list arguments;
  va_start(arguments, format);
  vsnprintf(message, sizeof message, format, arguments);
  va_end(arguments);
  longjmp(request_ends, 1);
}

/* ---- The client */

enum Form { UNSAID, BINARY, AS_JSON };

typedef struct {
  const char* name;
  Array array;
  enum Form form;
  const Json* parameters;
} Input;

static void add_member(Buffer* json, const char* name) {
  if (json->bytes[json->size - 1] != '{') add_text(json, ",");
  add_string(json, name, strlen(name));
  add_text(json, ":");
}

/* The caller's parameters and the reserved one, which they cannot replace; value NULL: not given.
 */
static void add_parameters(Buffer* json, const Json* parameters, const char* reserved,
                           const char* value) {
  if (member(parameters, reserved)) fail("a caller cannot set the parameter %s", reserved);
  add_member(json, "parameters");
  add_text(json, "{");
  for (const Json* child = parameters->first; child; child = child->next) {
    add_member(json, child->key);
    add_json(json, child);
  }
  if (value) {
    add_member(json, reserved);
    add_text(json, value);
  }
  add_text(json, "}");
}

static void add_input(Buffer* json, Buffer* blobs, const Input* input) {
  char size[32];
  const Array* array = &input->array;
  const Element* elements = to_wire(array);
  size_t before = blobs->size;
  if (input->form == BINARY) add_blob(blobs, array->datatype, elements, array->count);
  snprintf(size, sizeof size, "%zu", blobs->size - before);
  add_text(json, "{");
  add_member(json, "name");
  add_string(json, input->name, strlen(input->name));
  add_member(json, "datatype");
  add_string(json, array->datatype, strlen(array->datatype));
  add_member(json, "shape");
  for (size_t i = 0; i < array->dimensions; i++)
    add_format(json, "%c%zu", i ? ',' : '[', array->shape[i]);
  add_text(json, array->dimensions ? "]" : "[]");
  add_parameters(json, input->parameters, "binary_data_size", input->form == BINARY ? size : NULL);
  if (input->form != BINARY) {
    add_member(json, "data");
    add_text(json, "[");
    for (size_t i = 0; i < array->count; i++) {
      if (i) add_text(json, ",");
      add_json_element(json, array->datatype, elements[i]);
    }
    add_text(json, "]");
  }
  add_text(json, "}");
}

static const char* text_of(const Json* value) {
  return value && value->kind == JSON_STRING ? value->text : NULL;
}

/* A size or a length in a response, where 4.0 is as good as 4. */
static size_t count_of(const Json* value) {
  double number = value && value->kind == JSON_NUMBER ? strtod(value->text, NULL) : -1;
  if (!(number >= 0) || number != floor(number) || number > 9007199254740992.0)
    fail("malformed response: not a size");
  return (size_t)number;
}

static size_t flatten(const Json* data, const char* datatype, Element* elements) {
  size_t count = 0;
  for (const Json* child = data->first; child; child = child->next) {
    if (child->kind == JSON_ARRAY)
      count += flatten(child, datatype, elements ? elements + count : NULL);
    else if (elements)
      elements[count++] = from_json_element(datatype, child);
    else
      count++;
  }
  return count;
}

/* ---- The adapter */

static const char ALPHABET[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static void add_base64(Buffer* to, const unsigned char* bytes, size_t size) {
  for (size_t i = 0; i < size; i += 3) {
    uint32_t bits = (uint32_t)bytes[i] << 16 | (i + 1 < size ? bytes[i + 1] << 8 : 0) |
                    (i + 2 < size ? bytes[i + 2] : 0);
    char text[4] = {ALPHABET[bits >> 18], ALPHABET[bits >> 12 & 63], ALPHABET[bits >> 6 & 63],
                    ALPHABET[bits & 63]};
    if (i + 1 >= size) text[2] = '=';
    if (i + 2 >= size) text[3] = '=';
    add(to, text, 4);
  }
}

static Buffer from_base64(const char* text) {
  Buffer bytes = {0};
  uint32_t bits = 0;
  add(&bytes, "", 0);
  for (int have = 0; *text && *text != '='; text++) {
    bits = bits << 6 | (uint32_t)(strchr(ALPHABET, *text) - ALPHABET);
    have += 6;
    if (have >= 8) {
      unsigned char byte = (bits >> (have -= 8)) & 0xff;
      add(&bytes, &byte, 1);
    }
  }
  return bytes;
}

static size_t* shape_of(const Json* shape, size_t* dimensions) {
  size_t *sizes = take(64 * sizeof *sizes), found = 0;
  if (!shape || shape->kind != JSON_ARRAY) fail("malformed response: no shape");
  for (const Json* child = shape->first; child; child = child->next) {
    if (found == 64) fail("malformed response: more than 64 dimensions");
    sizes[found++] = count_of(child);
  }
  *dimensions = found;
  return sizes;
}

/* An array as the caller has it in memory: an input of the task, laid out as it says. */
static Array array_of(const Json* tensor) {
  Array array = {.datatype = text_of(member(tensor, "datatype"))};
  const char *layout = text_of(member(tensor, "layout")), *from = text_of(member(tensor, "from"));
  Buffer raw = from_base64(text_of(member(tensor, "data")));
  array.float32 = from && !strcmp(from, "float32");
  array.shape = shape_of(member(tensor, "shape"), &array.dimensions);
  array.elements =
      split_blob(array.float32 ? "FP32" : array.datatype, raw.bytes, raw.size, &array.count);
  array.column_major = !strcmp(layout, "column-major");
  array.big_endian = !strcmp(layout, "big-endian") && strcmp(array.datatype, "BYTES");
  if (array.column_major) array.elements = to_column_major(array.elements, &array);
  if (array.big_endian) {
    Element* swapped = take(array.count * sizeof *swapped);
    for (size_t i = 0; i < array.count; i++)
      swapped[i] = (Element){reversed(array.elements[i]), array.elements[i].size};
    array.elements = swapped;
  }
  return array;
}

static enum Form form_of(const Json* tensor) {
  const char* form = text_of(member(tensor, "form"));
  return !form ? UNSAID : strcmp(form, "binary") ? AS_JSON : BINARY;
}

static const char* word_of(const Json* flag) {
  return !flag || flag->kind == JSON_NULL ? NULL : flag->kind == JSON_TRUE ? "true" : "false";
}

static int add_request(Buffer* json, Buffer* blobs, const Json* request) {
  const Json *id = member(request, "id"), *outputs = member(request, "outputs");
  int has_blobs = 0;
  add_text(json, "{");
  if (text_of(id)) {
    add_member(json, "id");
    add_json(json, id);
  }
  add_parameters(json, member(request, "parameters"), "binary_data_output",
                 word_of(member(request, "binary_data_output")));
  add_member(json, "inputs");
  add_text(json, "[");
  for (const Json* tensor = member(request, "inputs")->first; tensor; tensor = tensor->next) {
    Input input = {text_of(member(tensor, "name")), array_of(tensor), form_of(tensor),
                   member(tensor, "parameters")};
    add_input(json, blobs, &input);
    has_blobs |= input.form == BINARY;
    if (tensor->next) add_text(json, ",");
  }
  add_text(json, "]");
  if (outputs->kind == JSON_ARRAY) {
    add_member(json, "outputs");
    add_text(json, "[");
    for (const Json* output = outputs->first; output; output = output->next) {
      static const char* const ASKED[] = {NULL, "true", "false"};
      add_text(json, "{");
      add_member(json, "name");
      add_json(json, member(output, "name"));
      add_parameters(json, member(output, "parameters"), "binary_data", ASKED[form_of(output)]);
      add_text(json, output->next ? "}," : "}");
    }
    add_text(json, "]");
  }
  add_text(json, "}");
  return has_blobs;
}

/* True for data in rows, as the shape says. */
static int is_nested(const Json* data, const size_t* shape, size_t dimensions) {
  size_t rows = 0;
  if (!dimensions || data->kind != JSON_ARRAY) return !dimensions && data->kind != JSON_ARRAY;
  for (const Json* row = data->first; row; row = row->next, rows++)
    if (!is_nested(row, shape + 1, dimensions - 1)) return 0;
  return rows == shape[0];
}

/* Reads one output, whose blob, if it has one, is at the beginning of `rest`; its line for the
 * bench goes to `line`. Returns the size of that blob. */
static size_t read_output(const Json* output, const char* rest, size_t left, Buffer* line) {
  const char *name = text_of(member(output, "name")),
             *datatype = text_of(member(output, "datatype"));
  const Json *size = member(member(output, "parameters"), "binary_data_size"),
             *data = member(output, "data");
  size_t dimensions, count, taken = 0, *shape = shape_of(member(output, "shape"), &dimensions);
  const Element* elements;
  Buffer blob = {0};
  if (!name || !datatype) fail("malformed response: an output without name or datatype");
  element_size(datatype);
  if (size && size->kind != JSON_NULL) {
    taken = count_of(size);
    if (data || taken > left)
      fail("malformed response: a blob of %zu bytes, %zu are left", taken, left);
    elements = split_blob(datatype, rest, taken, &count);
  } else {
    if (!data || data->kind != JSON_ARRAY) fail("malformed response: an output without data");
    int nested = 0;
    for (const Json* row = data->first; row; row = row->next) nested |= row->kind == JSON_ARRAY;
    if (nested && !is_nested(data, shape, dimensions))
      fail("malformed response: data that is not in its shape");
    Element* read = take(flatten(data, datatype, NULL) * sizeof *read);
    count = flatten(data, datatype, read);
    elements = read;
  }
  if (count != element_count(shape, dimensions))
    fail("malformed response: %zu elements, the shape has others", count);
  add_blob(&blob, datatype, elements, count);
  add_text(line, "{");
  add_member(line, "name");
  add_string(line, name, strlen(name));
  add_member(line, "datatype");
  add_string(line, datatype, strlen(datatype));
  add_member(line, "shape");
  add_text(line, "[");
  for (size_t i = 0; i < dimensions; i++) add_format(line, "%s%zu", i ? "," : "", shape[i]);
  add_text(line, "]");
  add_member(line, "data");
  add_text(line, "\"");
  add_base64(line, (const unsigned char*)blob.bytes, blob.size);
  add_text(line, "\"}");
  return taken;
}

static void infer(CURL* curl, const Json* task, const Json* request, Buffer* line) {
  Buffer url = {0}, json = {0}, blobs = {0};
  static const char* const OPTIONAL[] = {"model_name", "model_version", "id"};
  char* model = curl_easy_escape(curl, text_of(member(request, "model")), 0);
  const char* version = text_of(member(request, "version"));
  add(&blobs, "", 0);
  int has_blobs = add_request(&json, &blobs, request);
  add_text(&url, text_of(member(task, "url")));
  add_text(&url, "/v2/models/");
  add_text(&url, model);
  if (version) {
    add_text(&url, "/versions/");
    add_text(&url, curl_easy_escape(curl, version, 0));
  }
  add_text(&url, "/infer");
  long timeout_ms = (long)(strtod(member(task, "timeout_s")->text, NULL) * 500);
  Response response = post(curl, url.bytes, member(request, "headers"), &json, &blobs, has_blobs,
                           text_of(member(request, "request_compression")),
                           text_of(member(request, "response_compression")), timeout_ms);
  size_t start = header_length(&response);
  const Json *said = read_json(response.body.bytes, start), *outputs = member(said, "outputs");
  if (!outputs || outputs->kind != JSON_ARRAY || !outputs->first)
    fail("malformed response: no outputs");
  for (const Json* output = outputs->first; output; output = output->next)
    for (const Json* other = output->next; other; other = other->next) {
      const char *name = text_of(member(output, "name")), *again = text_of(member(other, "name"));
      if (name && again && !strcmp(name, again)) fail("malformed response: an output twice");
    }
  add_text(line, "{");
  add_member(line, "outputs");
  add_text(line, "[");
  for (const Json* output = outputs->first; output; output = output->next) {
    start += read_output(output, response.body.bytes + start, response.body.size - start, line);
    if (output->next) add_text(line, ",");
  }
  add_text(line, "]");
  if (start != response.body.size)
    fail("malformed response: %zu bytes after the last blob", response.body.size - start);
  for (size_t i = 0; i < 3; i++)
    if (text_of(member(said, OPTIONAL[i]))) {
      add_member(line, OPTIONAL[i]);
      add_json(line, member(said, OPTIONAL[i]));
    }
}

/* What the server said: the text of {"error": text}, else all of it, or that it said nothing. */
static void add_error(Buffer* line) {
  static char said[sizeof message];
  const char* volatile error = NULL; /* it is written between setjmp and longjmp */
  memcpy(said, message, sizeof said);
  if (!setjmp(request_ends)) error = text_of(member(read_json(said, strlen(said)), "error"));
  if (!error) error = *said ? said : "no message";
  add_string(line, error, strlen(error));
}

int main(void) {
  Buffer text = {0};
  char part[65536];
  const char* path = getenv("V2_BENCH_TASK");
  FILE* file = path ? fopen(path, "rb") : NULL;
  if (!file) {
    fputs("V2_BENCH_TASK names no file\n", stderr);
    return 1;
  }
  for (size_t got; (got = fread(part, 1, sizeof part, file));) add(&text, part, got);
  if (setjmp(request_ends)) {
    fprintf(stderr, "the task cannot be read: %s\n", message);
    return 1;
  }
  const Json* task = read_json(text.bytes, text.size);
  curl_global_init(CURL_GLOBAL_ALL);
  CURL* curl = curl_easy_init();
  for (const Json* volatile request = member(task, "requests")->first; request;
       request = request->next) {
    Buffer* line = take(sizeof *line);
    message_status = 0;
    if (!setjmp(request_ends))
      infer(curl, task, request, line);
    else {
      line->size = 0;
      add_text(line, "{");
      add_member(line, "error");
      add_error(line);
      if (message_status) {
        add_member(line, "status");
        add_format(line, "%ld", message_status);
      }
    }
    add_member(line, "headers");
    add_json(line, member(request, "headers"));
    add_member(line, "client");
    add_format(line, "{\"name\":\"c-libcurl\",\"version\":\"%s\"}}\n", LIBCURL_VERSION);
    fwrite(line->bytes, 1, line->size, stdout);
    fflush(stdout);
  }
  return 0;
}
