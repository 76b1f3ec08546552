// A codec of the binary tensor data extension with nlohmann/json and zlib: an example to copy.

#pragma once

#include <zlib.h>

#include <algorithm>
#include <cctype>
#include <cmath>
#include <cstdint>
#include <cstring>
#include <map>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <utility>
#include <vector>

namespace codec {

using json = nlohmann::json;
using Fields = std::vector<std::pair<std::string, std::string>>;

struct Rejected : std::runtime_error {
  using std::runtime_error::runtime_error;
};

struct Tensor {
  std::string datatype;
  std::vector<std::int64_t> shape;
  std::string data;  // row-major and little-endian
};

struct Spec {
  std::string name, datatype;
  std::vector<std::int64_t> shape;
};

struct Model {
  std::vector<Spec> inputs, outputs;
  bool batching = false;
};

struct Message {
  Fields fields;
  std::string body;
};

inline void need(bool condition, const std::string& problem) {
  if (!condition) throw Rejected(problem);
}

inline const std::string kHeaderLength = "Inference-Header-Content-Length";

inline const std::map<std::string, std::size_t> kSizes = {
    {"BOOL", 1},  {"UINT8", 1}, {"UINT16", 2}, {"UINT32", 4}, {"UINT64", 8},
    {"INT8", 1},  {"INT16", 2}, {"INT32", 4},  {"INT64", 8},  {"FP16", 2},
    {"BF16", 2},  {"FP32", 4},  {"FP64", 8},   {"BYTES", 0}};

struct Format {
  int bias, mantissa;
};
inline const std::map<std::string, Format> kFloats = {
    {"FP16", {15, 10}}, {"BF16", {127, 7}}, {"FP32", {127, 23}}, {"FP64", {1023, 52}}};

// --- elements

inline std::int64_t count(const std::vector<std::int64_t>& shape) {
  for (auto size : shape)
    if (size == 0) return 0;
  std::int64_t product = 1;
  for (auto size : shape)
    if (__builtin_mul_overflow(product, size, &product)) return INT64_MAX;
  return product;
}

inline void put(std::string& blob, std::uint64_t bits, std::size_t size) {
  for (std::size_t n = 0; n < size; ++n) blob.push_back(static_cast<char>(bits >> (8 * n)));
}

inline std::uint64_t get(const std::string& blob, std::size_t at, std::size_t size) {
  std::uint64_t bits = 0;
  for (std::size_t n = 0; n < size; ++n)
    bits |= static_cast<std::uint64_t>(static_cast<unsigned char>(blob[at + n])) << (8 * n);
  return bits;
}

inline std::string encode_bytes(const std::vector<std::string>& elements) {
  std::string blob;
  for (const auto& element : elements) {
    put(blob, element.size(), 4);
    blob += element;
  }
  return blob;
}

inline std::vector<std::string> decode_bytes(const std::string& blob, std::int64_t n) {
  std::vector<std::string> elements;
  for (std::size_t at = 0; at < blob.size();) {
    need(blob.size() - at >= 4, "a length is cut off");
    auto length = get(blob, at, 4);
    at += 4;
    need(length <= blob.size() - at, "an element ends past its blob");
    elements.push_back(blob.substr(at, length));
    at += length;
  }
  need(static_cast<std::int64_t>(elements.size()) == n, "wrong number of elements");
  return elements;
}

inline void check_blob(const std::string& datatype, const std::vector<std::int64_t>& shape,
                       const std::string& blob) {
  if (datatype == "BYTES") {
    decode_bytes(blob, count(shape));
    return;
  }
  auto size = kSizes.at(datatype);
  need(blob.size() % size == 0, "size contradicts shape");
  need(static_cast<std::int64_t>(blob.size() / size) == count(shape), "size contradicts shape");
  if (datatype == "BOOL")
    need(blob.find_first_not_of(std::string("\0\1", 2)) == std::string::npos, "not 0 or 1");
}

// The bits of a number in a format, rounded once, to nearest even.
inline std::uint64_t to_bits(Format to, double value) {
  std::uint64_t bits;
  std::memcpy(&bits, &value, 8);
  if (to.bias == 1023) return bits;
  const std::uint64_t all = static_cast<std::uint64_t>(2 * to.bias + 1) << to.mantissa;
  const std::uint64_t sign = std::signbit(value) ? all + (std::uint64_t{1} << to.mantissa) : 0;
  if (std::isnan(value)) return sign | all | (std::uint64_t{1} << (to.mantissa - 1));
  if (std::isinf(value)) return sign | all;
  int exponent = value == 0 ? 1 - to.bias : std::max(std::ilogb(value), 1 - to.bias);
  auto unit = std::nearbyint(std::ldexp(std::fabs(value), to.mantissa - exponent));
  auto found = (static_cast<std::uint64_t>(exponent + to.bias - 1) << to.mantissa) +
               static_cast<std::uint64_t>(unit);
  return sign | std::min(found, all);
}

inline double to_value(Format of, std::uint64_t bits) {
  if (of.bias == 1023) {
    double value;
    std::memcpy(&value, &bits, 8);
    return value;
  }
  const int mask = 2 * of.bias + 1;
  double sign = (bits >> of.mantissa) > static_cast<std::uint64_t>(mask) ? -1 : 1;
  int exponent = static_cast<int>((bits >> of.mantissa) & static_cast<std::uint64_t>(mask));
  auto fraction = static_cast<double>(bits & ((std::uint64_t{1} << of.mantissa) - 1));
  if (exponent == mask) return fraction != 0 ? std::nan("") : sign * HUGE_VAL;
  if (exponent == 0) exponent = 1;
  else fraction += std::ldexp(1, of.mantissa);
  return sign * std::ldexp(fraction, exponent - of.bias - of.mantissa);
}

inline std::vector<double> numbers_of(const std::string& datatype, const std::string& blob) {
  std::vector<double> found;
  auto size = kSizes.at(datatype);
  for (std::size_t at = 0; at < blob.size(); at += size)
    found.push_back(to_value(kFloats.at(datatype), get(blob, at, size)));
  return found;
}

inline json to_json(const Tensor& tensor) {
  json found = json::array();
  if (tensor.datatype == "BYTES") {
    for (const auto& element : decode_bytes(tensor.data, count(tensor.shape))) {
      try {
        json(element).dump();
      } catch (const json::exception&) {
        throw Rejected("an element is not UTF-8");
      }
      found.push_back(element);
    }
    return found;
  }
  auto size = kSizes.at(tensor.datatype);
  for (std::size_t at = 0; at < tensor.data.size(); at += size) {
    auto bits = get(tensor.data, at, size);
    if (tensor.datatype == "BOOL") {
      found.push_back(bits != 0);
    } else if (tensor.datatype[0] == 'U') {
      found.push_back(bits);
    } else if (tensor.datatype[0] == 'I') {
      auto shift = 64 - 8 * size;
      found.push_back(static_cast<std::int64_t>(bits << shift) >> shift);
    } else {
      auto value = to_value(kFloats.at(tensor.datatype), bits);
      need(std::isfinite(value), "a number is not finite");
      found.push_back(value);
    }
  }
  return found;
}

// The elements of `data`, nested by `shape` or flat.
inline std::vector<const json*> flat(const json& data, const std::vector<std::int64_t>& shape) {
  need(data.is_array(), "`data` is not an array");
  std::vector<const json*> items;
  bool nested = false;
  for (const auto& item : data) {
    items.push_back(&item);
    nested = nested || item.is_array();
  }
  for (std::size_t axis = 1; nested && axis < shape.size(); ++axis) {
    std::vector<const json*> inner;
    for (const auto* row : items) {
      need(row->is_array() && static_cast<std::int64_t>(row->size()) == shape[axis],
           "wrong nesting");
      for (const auto& item : *row) inner.push_back(&item);
    }
    items = std::move(inner);
  }
  need(static_cast<std::int64_t>(items.size()) == count(shape), "wrong number of elements");
  return items;
}

// The bits of an integer of at most 64 bits; 3.0 and 1e2 are integers.
inline std::uint64_t integer(const json& value, std::size_t size, bool is_signed) {
  need(value.is_number(), "expected an integer");
  std::int64_t number;
  if (value.is_number_unsigned()) {
    auto positive = value.get<std::uint64_t>();
    auto bits = 8 * size - (is_signed ? 1 : 0);
    need(bits == 64 || positive >> bits == 0, "out of range");
    return positive;
  }
  if (value.is_number_float()) {
    auto near = value.get<double>();
    need(std::fabs(near) < 9007199254740992.0 && near == std::trunc(near), "expected an integer");
    number = static_cast<std::int64_t>(near);
  } else {
    number = value.get<std::int64_t>();
  }
  need(is_signed || number >= 0, "out of range");
  auto bits = 8 * size - (is_signed ? 1 : 0);
  if (bits < 63) {
    auto limit = std::int64_t{1} << bits;
    need(number < limit && number >= -limit, "out of range");
  }
  return static_cast<std::uint64_t>(number);
}

inline std::string from_json(const std::string& datatype, const std::vector<std::int64_t>& shape,
                             const json& data) {
  std::string blob;
  std::vector<std::string> elements;
  auto size = kSizes.at(datatype);
  for (const auto* item : flat(data, shape)) {
    const auto& value = *item;
    if (datatype == "BYTES") {
      need(value.is_string(), "expected strings");
      elements.push_back(value.get<std::string>());
    } else if (datatype == "BOOL") {
      need(value.is_boolean(), "expected true or false");
      blob.push_back(value.get<bool>() ? 1 : 0);
    } else if (auto to = kFloats.find(datatype); to != kFloats.end()) {
      need(value.is_number(), "expected numbers");
      auto bits = to_bits(to->second, value.get<double>());
      need(std::isfinite(to_value(to->second, bits)), "out of range");
      put(blob, bits, size);
    } else {
      put(blob, integer(value, size, datatype[0] == 'I'), size);
    }
  }
  return datatype == "BYTES" ? encode_bytes(elements) : blob;
}

// --- messages

// Finds names that are twice in an object. A callback of json::parse could, in quadratic time.
struct Names : nlohmann::json_sax<json> {
  std::vector<std::set<std::string>> open;
  bool twice = false;

  bool start_object(std::size_t) override { return open.emplace_back(), true; }
  bool key(std::string& name) override { return !(twice = !open.back().insert(name).second); }
  bool end_object() override { return open.pop_back(), true; }
  bool start_array(std::size_t) override { return true; }
  bool end_array() override { return true; }
  bool null() override { return true; }
  bool boolean(bool) override { return true; }
  bool number_integer(std::int64_t) override { return true; }
  bool number_unsigned(std::uint64_t) override { return true; }
  bool number_float(double, const std::string&) override { return true; }
  bool string(std::string&) override { return true; }
  bool binary(json::binary_t&) override { return true; }
  bool parse_error(std::size_t, const std::string&, const json::exception&) override {
    return false;
  }
};

inline json parse(const std::string& text) {
  need(text.find('\0') == std::string::npos, "not JSON");  // the parser would end there
  Names names;
  bool read = json::sax_parse(text, &names);
  need(!names.twice, "a member is there twice");
  need(read, "not JSON");
  auto document = json::parse(text);
  need(document.is_object(), "not a JSON object");
  return document;
}

// A member, or null. No copy: a copy of JSON that is nested deeply would need a deep stack.
inline const json& at(const json& entry, const std::string& name) {
  static const json none;
  auto found = entry.find(name);
  return found == entry.end() ? none : *found;
}

inline const json& member(const json& entry, const std::string& name, json::value_t type) {
  const auto& found = at(entry, name);
  need(found.type() == type || !entry.contains(name), name + " has another type");
  return found;
}

inline std::string text_of(const json& entry, const std::string& name) {
  const auto& found = member(entry, name, json::value_t::string);
  return found.is_null() ? "" : found.get<std::string>();
}

inline const json& parameters_of(const json& entry) {
  return member(entry, "parameters", json::value_t::object);
}

inline bool flag(const json& entry, const char* name, bool fallback) {
  const auto& found = member(parameters_of(entry), name, json::value_t::boolean);
  return found.is_null() ? fallback : found.get<bool>();
}

inline std::string lower(std::string text) {
  for (auto& c : text) c = static_cast<char>(std::tolower(static_cast<unsigned char>(c)));
  return text;
}

inline std::vector<std::string> values_of(const Fields& fields, const std::string& name) {
  std::vector<std::string> found;
  for (const auto& [key, value] : fields) {
    if (lower(key) != lower(name)) continue;
    auto start = value.find_first_not_of(" \t"), end = value.find_last_not_of(" \t");
    found.push_back(start == std::string::npos ? "" : value.substr(start, end - start + 1));
  }
  return found;
}

constexpr int kZlib = 15, kGzip = 31;  // the window bits by which zlib tells its formats

inline std::string inflated(const std::string& body, int format) {
  z_stream stream{};
  need(inflateInit2(&stream, format) == Z_OK, "no memory");
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(body.data()));
  stream.avail_in = static_cast<uInt>(body.size());
  std::string found, buffer(1 << 16, '\0');
  int status = Z_OK;
  while (status == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(buffer.data());
    stream.avail_out = static_cast<uInt>(buffer.size());
    status = inflate(&stream, Z_NO_FLUSH);
    found.append(buffer, 0, buffer.size() - stream.avail_out);
    if (status == Z_STREAM_END && stream.avail_in && format == kGzip)
      status = inflateReset(&stream);  // gzip may have several members
  }
  bool whole = status == Z_STREAM_END && !stream.avail_in;
  inflateEnd(&stream);
  need(whole, "the content coding is broken");
  return found;
}

inline std::string deflated(const std::string& body, int format) {
  z_stream stream{};
  need(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, format, 8,
                    Z_DEFAULT_STRATEGY) == Z_OK, "no memory");
  std::string found(deflateBound(&stream, body.size()), '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(body.data()));
  stream.avail_in = static_cast<uInt>(body.size());
  stream.next_out = reinterpret_cast<Bytef*>(found.data());
  stream.avail_out = static_cast<uInt>(found.size());
  deflate(&stream, Z_FINISH);
  found.resize(stream.total_out);
  deflateEnd(&stream);
  return found;
}

// The body without its content coding.
inline std::string decoded(const Fields& fields, std::string body) {
  for (const auto& value : values_of(fields, "Content-Encoding")) {
    auto coding = lower(value);
    need(coding == "gzip" || coding == "x-gzip" || coding == "deflate" || coding == "identity",
         "unknown content coding");
    if (coding != "identity") body = inflated(body, coding == "deflate" ? kZlib : kGzip);
  }
  return body;
}

struct Split {
  std::string text, blobs;
  bool raw = false;
};

inline Split split(const Fields& fields, const std::string& body) {
  auto values = values_of(fields, kHeaderLength);
  if (values.empty()) return {body, "", false};
  for (const auto& value : values) need(value == values[0], "conflicting header lengths");
  const auto& digits = values[0];
  need(!digits.empty() && digits.size() < 20 &&
           digits.find_first_not_of("0123456789") == std::string::npos,
       "header length is not a number");
  auto length = std::stoull(digits);
  need(length <= body.size(), "header length is past the body");
  return {body.substr(0, length), body.substr(length), length == 0};
}

inline std::vector<std::int64_t> shape_of(const json& entry) {
  need(entry.contains("shape") && entry["shape"].is_array(), "`shape` is not an array");
  std::vector<std::int64_t> shape;
  for (const auto& size : entry["shape"]) {
    need(size.is_number_unsigned() && size.get<std::uint64_t>() <= INT64_MAX, "not a dimension");
    shape.push_back(size.get<std::int64_t>());
  }
  return shape;
}

inline std::string take(const json& entry, const std::string& datatype,
                        const std::vector<std::int64_t>& shape, const std::string& blobs,
                        std::size_t& start) {
  const auto& parameters = parameters_of(entry);
  bool binary = parameters.contains("binary_data_size");
  need(binary != entry.contains("data"), "both data and a size, or neither");
  if (!binary) return from_json(datatype, shape, entry["data"]);
  auto size = integer(parameters["binary_data_size"], 8, true);
  need(size <= blobs.size() - start, "a blob ends past the body");
  auto blob = blobs.substr(start, size);
  start += size;
  check_blob(datatype, shape, blob);
  return blob;
}

inline const Spec* find(const std::vector<Spec>& specs, const std::string& name) {
  for (const auto& spec : specs)
    if (spec.name == name) return &spec;
  return nullptr;
}

using Outputs = std::vector<std::pair<std::string, bool>>;

// The outputs that a request asks for, and whether each is to be binary.
inline Outputs wanted(const Model& model, const json& document) {
  bool fallback = flag(document, "binary_data_output", false);
  const auto& listed = member(document, "outputs", json::value_t::array);
  Outputs found;
  if (listed.empty())
    for (const auto& spec : model.outputs) found.emplace_back(spec.name, fallback);
  std::map<std::string, bool> seen;
  for (const auto& entry : listed) {
    need(entry.is_object(), "an output is not an object");
    auto name = text_of(entry, "name");
    need(find(model.outputs, name) && !seen[name], "not an output, or there twice");
    seen[name] = true;
    found.emplace_back(name, flag(entry, "binary_data", fallback));
  }
  return found;
}

struct Request {
  std::map<std::string, Tensor> inputs;
  Outputs outputs;
  std::string id;
};

inline Request decode_raw(const Model& model, std::string body) {
  need(model.inputs.size() == 1, "a raw request has one input");
  const auto& spec = model.inputs[0];
  auto shape = spec.shape;
  if (model.batching) shape[0] = 1;
  auto each = static_cast<std::int64_t>(kSizes.at(spec.datatype));
  std::int64_t* variable = nullptr;
  for (auto& size : shape) {
    need(size != -1 || !variable, "more than one variable dimension");
    if (size == -1) variable = &size;
    else each *= size;
  }
  if (spec.datatype == "BYTES") {
    need(!variable && count(shape) == 1, "a raw BYTES input has one element");
    body = encode_bytes({body});
  } else if (variable) {
    auto size = static_cast<std::int64_t>(body.size());
    need(each > 0 && size % each == 0, "not a whole number of elements");
    *variable = size / each;
  }
  check_blob(spec.datatype, shape, body);
  Request request;
  request.inputs[spec.name] = {spec.datatype, shape, std::move(body)};
  for (const auto& output : model.outputs) request.outputs.emplace_back(output.name, true);
  return request;
}

inline Request decode_request(const Model& model, const Fields& fields, const std::string& body) {
  auto [text, blobs, raw] = split(fields, decoded(fields, body));
  if (raw) return decode_raw(model, blobs);
  auto document = parse(text);
  Request request;
  std::size_t end = 0;
  need(document.contains("inputs") && document["inputs"].is_array(), "`inputs` is not an array");
  for (const auto& entry : document["inputs"]) {
    need(entry.is_object(), "an input is not an object");
    auto name = text_of(entry, "name");
    const auto* spec = find(model.inputs, name);
    need(spec && !request.inputs.count(name), "not an input, or there twice");
    need(entry.contains("datatype") && entry["datatype"] == spec->datatype, "another datatype");
    auto shape = shape_of(entry);
    need(shape.size() == spec->shape.size(), "not the model's shape");
    for (std::size_t axis = 0; axis < shape.size(); ++axis)
      need(spec->shape[axis] == -1 || spec->shape[axis] == shape[axis], "not the model's shape");
    request.inputs[name] = {spec->datatype, shape, take(entry, spec->datatype, shape, blobs, end)};
  }
  need(request.inputs.size() == model.inputs.size(), "an input is missing");
  need(end == blobs.size(), "bytes are left over");
  request.outputs = wanted(model, document);
  request.id = text_of(document, "id");
  return request;
}

inline Message written(const json& document, const std::string& blobs, bool binary) {
  auto text = document.dump();
  if (!binary) return {{{"Content-Type", "application/json"}}, text};
  Fields fields = {{"Content-Type", "application/octet-stream"},
                   {kHeaderLength, std::to_string(text.size())}};
  return {fields, text + blobs};
}

inline json entry_of(const std::string& name, const Tensor& tensor, bool binary, json parameters,
                     std::string& blobs) {
  json entry = {{"name", name}, {"datatype", tensor.datatype}, {"shape", tensor.shape}};
  parameters.erase("binary_data_size");
  if (binary) {
    parameters["binary_data_size"] = tensor.data.size();
    blobs += tensor.data;
  } else {
    entry["data"] = to_json(tensor);
  }
  if (!parameters.empty()) entry["parameters"] = parameters;
  return entry;
}

// `asked` has the members of the request's JSON.
inline Message encode_response(const std::string& name, const Model& model,
                               const std::map<std::string, Tensor>& tensors, const json& asked) {
  json document = {{"model_name", name}, {"outputs", json::array()}};
  if (asked.contains("id")) document["id"] = asked["id"];
  Outputs outputs;
  if (at(asked, "raw") == true)
    for (const auto& spec : model.outputs) outputs.emplace_back(spec.name, true);
  else
    outputs = wanted(model, asked);
  std::string blobs;
  bool any = false;
  for (const auto& [key, binary] : outputs) {
    document["outputs"].push_back(entry_of(key, tensors.at(key), binary, json::object(), blobs));
    any = any || binary;
  }
  return written(document, blobs, any);
}

struct Sent {
  std::string name;
  Tensor tensor;
  bool binary;
  json parameters;
};

inline Message encode_request(const std::vector<Sent>& tensors, const json& asked,
                              const std::string& compression) {
  json document = {{"inputs", json::array()}};
  for (const char* name : {"id", "parameters", "outputs"})
    if (asked.contains(name)) document[name] = asked[name];
  std::string blobs;
  bool any = false;
  for (const auto& one : tensors) {
    document["inputs"].push_back(
        entry_of(one.name, one.tensor, one.binary, one.parameters, blobs));
    any = any || one.binary;
  }
  auto message = written(document, blobs, any);
  if (compression.empty()) return message;
  message.fields.emplace_back("Content-Encoding", compression);
  message.body = deflated(message.body, compression == "gzip" ? kGzip : kZlib);
  return message;
}

struct Response {
  std::map<std::string, Tensor> outputs;
  json document;
};

// The outputs whose names were asked for have to be there.
inline Response decode_response(int status, const Fields& fields, const std::string& body,
                                const std::vector<std::string>& asked = {}) {
  auto plain = decoded(fields, body);
  need(status >= 200 && status < 300, "status " + std::to_string(status) + ": " + plain);
  auto [text, blobs, raw] = split(fields, plain);
  need(!raw, "header length 0");
  Response response;
  response.document = parse(text);
  std::size_t end = 0;
  auto& document = response.document;
  need(document.contains("outputs") && document["outputs"].is_array(), "no outputs");
  for (auto& entry : document["outputs"]) {
    need(entry.is_object(), "an output is not an object");
    if (entry.contains("parameters") && entry["parameters"].is_null()) entry.erase("parameters");
    if (parameters_of(entry).contains("binary_data_size"))
      entry.erase("data");  // a size counts, whatever else is there
    auto name = text_of(entry, "name");
    auto datatype = text_of(entry, "datatype");
    need(entry.contains("name") && kSizes.count(datatype) && !response.outputs.count(name),
         "not an output");
    auto shape = shape_of(entry);
    response.outputs[name] = {datatype, shape, take(entry, datatype, shape, blobs, end)};
  }
  for (const auto& name : asked) need(response.outputs.count(name), "no output " + name);
  need(end == blobs.size(), "bytes are left over");
  return response;
}

}  // namespace codec
