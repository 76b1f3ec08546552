/* Tensors: elements as little-endian bytes, and as JSON values. */

#ifndef TENSORS_H
#define TENSORS_H

#include "json.h"

typedef struct {
  const unsigned char* bytes;
  size_t size;
} Element;

/* A caller's array. `elements` lie in memory as `column_major` says, each with its bytes in the
 * order that `big_endian` says. With `float32` they are FP32, to be rounded to BF16. */
typedef struct {
  const char* datatype;
  const size_t* shape;
  size_t dimensions, count;
  const Element* elements;
  int column_major, big_endian, float32;
} Array;

/* The bytes of an element, 0 for BYTES. Fails for an unknown datatype. */
size_t element_size(const char* datatype);
/* The number of elements in a shape; fails if that is beyond all memory. */
size_t element_count(const size_t* shape, size_t dimensions);
/* The elements of a blob, and how many. Fails if they do not fill it exactly. */
const Element* split_blob(const char* datatype, const void* blob, size_t size, size_t* count);
/* `elements`, row-major, put in column-major order. */
const Element* to_column_major(const Element* elements, const Array* array);
/* The elements of a caller's array as they are sent: row-major, little-endian. */
const Element* to_wire(const Array* array);
const unsigned char* reversed(Element element);
void add_blob(Buffer* buffer, const char* datatype, const Element* elements, size_t count);
/* One element as a JSON value, and from one. Both fail for what the other side cannot say. */
void add_json_element(Buffer* buffer, const char* datatype, Element element);
Element from_json_element(const char* datatype, const Json* value);

#endif
