#include "tensors.h"

#include <errno.h>
#include <math.h>
#include <stdint.h>
#include <stdlib.h>
#include <string.h>

static const struct {
  const char* name;
  size_t size;
  char kind; /* b: BOOL, u and i: integers, f: floats, s: BYTES */
} DATATYPES[] = {
    {"BOOL", 1, 'b'}, {"UINT8", 1, 'u'}, {"UINT16", 2, 'u'}, {"UINT32", 4, 'u'}, {"UINT64", 8, 'u'},
    {"INT8", 1, 'i'}, {"INT16", 2, 'i'}, {"INT32", 4, 'i'},  {"INT64", 8, 'i'},  {"FP16", 2, 'f'},
    {"BF16", 2, 'f'}, {"FP32", 4, 'f'},  {"FP64", 8, 'f'},   {"BYTES", 0, 's'},
};

static size_t datatype_index(const char* datatype) {
  for (size_t i = 0; i < sizeof DATATYPES / sizeof *DATATYPES; i++)
    if (!strcmp(DATATYPES[i].name, datatype)) return i;
  fail("unknown datatype %.20s", datatype);
}

size_t element_size(const char* datatype) { return DATATYPES[datatype_index(datatype)].size; }

static char kind_of(const char* datatype) { return DATATYPES[datatype_index(datatype)].kind; }

size_t element_count(const size_t* shape, size_t dimensions) {
  size_t count = 1;
  for (size_t i = 0; i < dimensions; i++)
    if (!shape[i]) return 0;
  for (size_t i = 0; i < dimensions; i++) {
    if (count > SIZE_MAX / shape[i] / 16) fail("a shape beyond all memory");
    count *= shape[i];
  }
  return count;
}

/* Little-endian bytes as an unsigned integer, and back, on a machine of any byte order. */
static uint64_t get_bits(Element element) {
  uint64_t bits = 0;
  for (size_t i = element.size; i-- > 0;) bits = bits << 8 | element.bytes[i];
  return bits;
}

static Element from_bits(uint64_t bits, size_t size) {
  unsigned char* bytes = take(size);
  for (size_t i = 0; i < size; i++, bits >>= 8) bytes[i] = bits & 0xff;
  return (Element){bytes, size};
}

const Element* split_blob(const char* datatype, const void* blob, size_t size, size_t* count) {
  size_t each = element_size(datatype), found = 0;
  const unsigned char* bytes = blob;
  Element* elements =
      take((each ? size / each : size / 4 + 1) * sizeof *elements + sizeof *elements);
  for (size_t start = 0; start < size; found++) {
    size_t length = each;
    if (!each) {
      if (size - start < 4) fail("a length of BYTES that is cut off");
      length = get_bits((Element){bytes + start, 4});
      start += 4;
    }
    if (length > size - start) fail("element %zu is longer than what is left of its blob", found);
    elements[found] = (Element){bytes + start, length};
    start += length;
  }
  *count = found;
  return elements;
}

/* For each element in row-major order, its index in column-major order. */
static size_t* column_major_indexes(const Array* array) {
  size_t* indexes = take(array->count * sizeof *indexes);
  for (size_t flat = 0; flat < array->count; flat++) {
    size_t rest = flat, stride = array->count, index = 0;
    for (size_t axis = array->dimensions; axis-- > 0;) {
      stride /= array->shape[axis];
      index += rest % array->shape[axis] * stride;
      rest /= array->shape[axis];
    }
    indexes[flat] = index;
  }
  return indexes;
}

const Element* to_column_major(const Element* elements, const Array* array) {
  size_t* indexes = column_major_indexes(array);
  Element* moved = take(array->count * sizeof *moved);
  for (size_t i = 0; i < array->count; i++) moved[indexes[i]] = elements[i];
  return moved;
}

const unsigned char* reversed(Element element) {
  unsigned char* bytes = take(element.size);
  for (size_t i = 0; i < element.size; i++) bytes[i] = element.bytes[element.size - 1 - i];
  return bytes;
}

/* The nearest BF16 of FP32 bits, in the middle the even one. A NaN stays one. */
static uint64_t bf16_of(uint64_t bits) {
  if ((bits & 0x7fffffff) > 0x7f800000) return bits >> 16 | 0x40;
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

const Element* to_wire(const Array* array) {
  size_t* indexes = array->column_major ? column_major_indexes(array) : NULL;
  Element* elements = take(array->count * sizeof *elements);
  for (size_t i = 0; i < array->count; i++) {
    elements[i] = array->elements[indexes ? indexes[i] : i];
    if (array->big_endian) elements[i].bytes = reversed(elements[i]);
    if (array->float32) elements[i] = from_bits(bf16_of(get_bits(elements[i])), 2);
  }
  return elements;
}

void add_blob(Buffer* buffer, const char* datatype, const Element* elements, size_t count) {
  int lengths = !element_size(datatype);
  add(buffer, "", 0);
  for (size_t i = 0; i < count; i++) {
    if (lengths) add(buffer, from_bits(elements[i].size, 4).bytes, 4);
    add(buffer, elements[i].bytes, elements[i].size);
  }
}

static double to_double(const char* datatype, Element element) {
  uint64_t bits = get_bits(element);
  if (!strcmp(datatype, "FP64")) {
    double number;
    memcpy(&number, &bits, sizeof number);
    return number;
  }
  if (strcmp(datatype, "FP16")) { /* BF16 is the upper half of FP32 */
    uint32_t single = (uint32_t)(element.size == 2 ? bits << 16 : bits);
    float number;
    memcpy(&number, &single, sizeof number);
    return number;
  }
  int exponent = bits >> 10 & 0x1f;
  double fraction = bits & 0x3ff, sign = bits & 0x8000 ? -1 : 1;
  if (exponent == 0x1f) return fraction ? (double)NAN : sign * (double)INFINITY;
  return sign * (exponent ? ldexp(1024 + fraction, exponent - 25) : ldexp(fraction, -24));
}

void add_json_element(Buffer* buffer, const char* datatype, Element element) {
  char kind = kind_of(datatype);
  uint64_t bits = kind == 's' ? 0 : get_bits(element);
  if (kind == 's') {
    for (size_t i = 0, length; i < element.size; i += length)
      if (!(length = utf8_character((const char*)element.bytes + i, element.size - i)))
        fail("BYTES that are not UTF-8 have no JSON form");
    add_string(buffer, (const char*)element.bytes, element.size);
  } else if (kind == 'b')
    add_text(buffer, bits ? "true" : "false");
  else if (kind == 'u')
    add_format(buffer, "%llu", (unsigned long long)bits);
  else if (kind == 'i') {
    uint64_t top = (uint64_t)1 << (8 * element.size - 1);
    add_format(buffer, "%lld", (long long)(int64_t)((bits ^ top) - top));
  } else {
    double number = to_double(datatype, element);
    if (!isfinite(number)) fail("%f has no JSON form", number);
    if (number == 0)
      add_text(buffer, signbit(number) ? "-0.0" : "0.0");
    else
      add_format(buffer, "%.17g", number);
  }
}

static uint64_t half_of(double number) {
  uint64_t sign = signbit(number) ? 0x8000 : 0;
  double size = fabs(number);
  if (size >= 65520) return sign | 0x7c00;
  if (size < ldexp(1, -14)) return sign | (uint64_t)nearbyint(ldexp(size, 24));
  int exponent = ilogb(size);
  return sign |
         ((((uint64_t)exponent + 14) << 10) + (uint64_t)nearbyint(ldexp(size, 10 - exponent)));
}

static Element from_float(const char* datatype, double number) {
  uint64_t bits;
  uint32_t single;
  float narrow = (float)number;
  if (!strcmp(datatype, "FP64")) {
    memcpy(&bits, &number, sizeof bits);
    return from_bits(bits, 8);
  }
  if (!strcmp(datatype, "FP16")) return from_bits(half_of(number), 2);
  memcpy(&single, &narrow, sizeof single);
  return strcmp(datatype, "BF16") ? from_bits(single, 4) : from_bits(bf16_of(single), 2);
}

static Element from_integer(const char* datatype, const char* text) {
  size_t size = element_size(datatype);
  int is_signed = kind_of(datatype) == 'i', negative = *text == '-';
  uint64_t most = ~(uint64_t)0 >> (64 - 8 * size + (is_signed ? 1 : 0)), number;
  errno = 0;
  if (text[strspn(text, "-0123456789")]) { /* 3.0 is an integer, too, while a double is exact */
    double value = strtod(text, NULL);
    if (value != floor(value) || fabs(value) > 9007199254740992.0)
      fail("data that is no %s", datatype);
    number = (uint64_t)fabs(value);
  } else
    number = strtoull(text + negative, NULL, 10);
  if (errno || (negative && number && !is_signed) || number > most + (negative ? 1 : 0))
    fail("a value is out of the range of %s", datatype);
  return from_bits(negative ? 0 - number : number, size);
}

Element from_json_element(const char* datatype, const Json* value) {
  char kind = kind_of(datatype);
  if (kind == 's' && value->kind == JSON_STRING)
    return (Element){(const unsigned char*)value->text, value->size};
  if (kind == 'b' && (value->kind == JSON_TRUE || value->kind == JSON_FALSE))
    return from_bits(value->kind == JSON_TRUE, 1);
  if (value->kind != JSON_NUMBER || kind == 's' || kind == 'b')
    fail("data that is no %s", datatype);
  if (kind != 'f') return from_integer(datatype, value->text);
  Element element = from_float(datatype, strtod(value->text, NULL));
  if (!isfinite(to_double(datatype, element))) fail("a value is out of the range of %s", datatype);
  return element;
}
