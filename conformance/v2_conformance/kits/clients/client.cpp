// A client for the binary tensor data extension in C++, with libcurl, zlib and nlohmann/json, and
// its adapter for the client bench. It does what the suite asks of a client.
//
//     apt-get install g++ libcurl4-openssl-dev zlib1g-dev nlohmann-json3-dev    # on Debian
//     g++ -std=c++17 -O1 -o client client.cpp -lcurl -lz
//     v2-conformance client --one-process -- ./client

#include <curl/curl.h>
#include <strings.h>
#include <zlib.h>

#include <cmath>
#include <cstdint>
#include <cstdlib>
#include <cstring>
#include <fstream>
#include <iostream>
#include <map>
#include <memory>
#include <nlohmann/json.hpp>
#include <set>
#include <stdexcept>
#include <string>
#include <string_view>
#include <utility>
#include <vector>

using nlohmann::json;

struct Error : std::runtime_error {
  explicit Error(const std::string& text, long code = 0) : std::runtime_error(text), status(code) {}
  long status;  // 0 if there is none
};

static void need(bool condition, const std::string& problem) {
  if (!condition) throw Error(problem);
}

// ---- Elements

using Shape = std::vector<std::uint64_t>;

struct Datatype {
  char kind;  // b: BOOL, u and i: integers, f: floats, s: BYTES
  std::size_t size;
  int bias, mantissa;  // of floats
};
static const std::map<std::string, Datatype> DATATYPES = {
    {"BOOL", {'b', 1, 0, 0}},    {"UINT8", {'u', 1, 0, 0}},    {"UINT16", {'u', 2, 0, 0}},
    {"UINT32", {'u', 4, 0, 0}},  {"UINT64", {'u', 8, 0, 0}},   {"INT8", {'i', 1, 0, 0}},
    {"INT16", {'i', 2, 0, 0}},   {"INT32", {'i', 4, 0, 0}},    {"INT64", {'i', 8, 0, 0}},
    {"FP16", {'f', 2, 15, 10}},  {"BF16", {'f', 2, 127, 7}},   {"FP32", {'f', 4, 127, 23}},
    {"FP64", {'f', 8, 1023, 52}}, {"BYTES", {'s', 0, 0, 0}},
};

static const Datatype& datatype_of(const std::string& name) {
  auto found = DATATYPES.find(name);
  need(found != DATATYPES.end(), "unknown datatype " + name.substr(0, 20));
  return found->second;
}

static std::uint64_t get(std::string_view bytes) {  // little-endian on a machine of any byte order
  std::uint64_t bits = 0;
  for (std::size_t n = bytes.size(); n-- > 0;)
    bits = bits << 8 | static_cast<unsigned char>(bytes[n]);
  return bits;
}

static void put(std::string& blob, std::uint64_t bits, std::size_t size) {
  for (std::size_t n = 0; n < size; ++n) blob.push_back(static_cast<char>(bits >> (8 * n) & 0xff));
}

static std::uint64_t count(const Shape& shape) {
  std::uint64_t product = 1;
  for (auto size : shape)
    if (size == 0) return 0;
  for (auto size : shape)
    need(!__builtin_mul_overflow(product, size, &product), "a shape beyond all memory");
  return product;
}

// The elements of a blob. Those of BYTES each follow their length.
static std::vector<std::string_view> split(const Datatype& type, std::string_view blob) {
  std::vector<std::string_view> elements;
  for (std::size_t at = 0; at < blob.size();) {
    std::size_t length = type.size;
    if (type.kind == 's') {
      need(blob.size() - at >= 4, "a length of BYTES that is cut off");
      length = get(blob.substr(at, 4));
      at += 4;
    }
    need(length <= blob.size() - at, "an element is longer than what is left of its blob");
    elements.push_back(blob.substr(at, length));
    at += length;
  }
  return elements;
}

static void add(std::string& blob, const Datatype& type, std::string_view element) {
  if (type.kind == 's') put(blob, element.size(), 4);
  blob += element;
}

static void check(const std::string& datatype, const Shape& shape, std::string_view blob) {
  const auto& type = datatype_of(datatype);
  if (type.kind == 's')
    need(split(type, blob).size() == count(shape), "the shape has another number of elements");
  else
    need(blob.size() % type.size == 0 && blob.size() / type.size == count(shape),
         "the shape has another number of elements");
}

// An array as the caller has it in memory.
struct Array {
  std::string datatype;
  Shape shape;
  std::string bytes;
  bool column_major, big_endian, float32;  // float32: of FP32, to be rounded to BF16
};

// For each element in row-major order, its index in column-major order.
static std::vector<std::size_t> column_major(const Shape& shape) {
  std::vector<std::size_t> indexes(count(shape));
  for (std::size_t flat = 0; flat < indexes.size(); ++flat) {
    std::size_t rest = flat, stride = indexes.size();
    for (std::size_t axis = shape.size(); axis-- > 0; rest /= shape[axis]) {
      stride /= shape[axis];
      indexes[flat] += rest % shape[axis] * stride;
    }
  }
  return indexes;
}

// The nearest BF16 of the bits of an FP32, in the middle the even one. A NaN stays one.
static std::uint64_t bf16_of(std::uint64_t bits) {
  if ((bits & 0x7fffffff) > 0x7f800000) return bits >> 16 | 0x40;
  return (bits + 0x7fff + (bits >> 16 & 1)) >> 16;
}

// The blob of an array: row-major and little-endian, however it lies.
static std::string to_wire(const Array& array) {
  if (!array.column_major && !array.big_endian && !array.float32) return array.bytes;
  const auto& type = datatype_of(array.float32 ? "FP32" : array.datatype);
  auto elements = split(type, array.bytes);
  auto order = array.column_major ? column_major(array.shape) : std::vector<std::size_t>();
  std::string blob;
  for (std::size_t n = 0; n < elements.size(); ++n) {
    std::string element(elements[order.empty() ? n : order[n]]);
    if (array.big_endian) element.assign(element.rbegin(), element.rend());
    if (array.float32)
      put(blob, bf16_of(get(element)), 2);
    else
      add(blob, type, element);
  }
  return blob;
}

// ---- Elements as JSON

static double value_of(const Datatype& type, std::uint64_t bits) {
  const int all = 2 * type.bias + 1;
  const double sign = bits >> (8 * type.size - 1) ? -1 : 1;
  int exponent = static_cast<int>(bits >> type.mantissa) & all;
  auto fraction = static_cast<double>(bits & ((std::uint64_t{1} << type.mantissa) - 1));
  if (exponent == all) return fraction != 0 ? std::nan("") : sign * HUGE_VAL;
  if (exponent == 0)
    exponent = 1;
  else
    fraction += std::ldexp(1, type.mantissa);
  return sign * std::ldexp(fraction, exponent - type.bias - type.mantissa);
}

// The bits of a number, rounded once, to the nearest even.
static std::uint64_t bits_of(const Datatype& type, double value) {
  std::uint64_t bits;
  std::memcpy(&bits, &value, sizeof bits);
  if (type.size == 8) return bits;
  const auto all = static_cast<std::uint64_t>(2 * type.bias + 1) << type.mantissa;
  const auto sign = std::uint64_t{std::signbit(value)} << (8 * type.size - 1);
  const int least = 1 - type.bias;
  const int exponent = value == 0 ? least : std::max(std::ilogb(value), least);
  const double unit = std::nearbyint(std::ldexp(std::fabs(value), type.mantissa - exponent));
  return sign | std::min((static_cast<std::uint64_t>(exponent - least) << type.mantissa) +
                             static_cast<std::uint64_t>(unit),
                         all);
}

static json to_json(const std::string& datatype, const std::string& blob) {
  const auto& type = datatype_of(datatype);
  json data = json::array();
  for (auto element : split(type, blob)) {
    if (type.kind == 's') {
      data.push_back(std::string(element));  // dump() throws for what is not UTF-8
      continue;
    }
    const auto bits = get(element);
    const auto shift = 64 - 8 * type.size;
    if (type.kind == 'b') data.push_back(bits != 0);
    if (type.kind == 'u') data.push_back(bits);
    if (type.kind == 'i') data.push_back(static_cast<std::int64_t>(bits << shift) >> shift);
    if (type.kind == 'f') {
      need(std::isfinite(value_of(type, bits)), "NaN and infinity have no JSON form");
      data.push_back(value_of(type, bits));
    }
  }
  return data;
}

// The elements of `data`, flat or nested as `shape`.
static void flatten(const json& data, const Shape& shape, std::size_t axis,
                    std::vector<const json*>& elements) {
  need(data.is_array() && (axis == 0 || (axis < shape.size() && data.size() == shape[axis])),
       "data that is not nested as its shape");
  const bool nested = !data.empty() && data.front().is_array();
  need(axis == 0 || nested == (axis + 1 < shape.size()) || data.empty(),
       "data that is not nested as its shape");
  for (const auto& item : data) {
    need(item.is_array() == nested, "data that is not nested as its shape");
    if (nested)
      flatten(item, shape, axis + 1, elements);
    else
      elements.push_back(&item);
  }
}

static std::uint64_t integer_of(const json& item, std::size_t size, bool is_signed) {
  const auto width = 8 * size - (is_signed ? 1 : 0);
  if (item.is_number_unsigned()) {
    const auto number = item.get<std::uint64_t>();
    need(width == 64 || number >> width == 0, "a value is out of range");
    return number;
  }
  std::int64_t number;
  if (item.is_number_float()) {  // 3.0 is an integer, too, while a double is exact
    const auto near = item.get<double>();
    need(near == std::trunc(near) && std::fabs(near) < 9007199254740992.0, "not an integer");
    number = static_cast<std::int64_t>(near);
  } else {
    need(item.is_number_integer(), "not an integer");
    number = item.get<std::int64_t>();
  }
  need(is_signed || number >= 0, "a value is out of range");
  if (width < 63)
    need(number < std::int64_t{1} << width && number >= -(std::int64_t{1} << width),
         "a value is out of range");
  return static_cast<std::uint64_t>(number);
}

static std::string from_json(const std::string& datatype, const Shape& shape, const json& data) {
  const auto& type = datatype_of(datatype);
  std::vector<const json*> elements;
  std::string blob;
  flatten(data, shape, 0, elements);
  for (const auto* item : elements) {
    if (type.kind == 's') {
      need(item->is_string(), "BYTES that are not strings");
      add(blob, type, item->get_ref<const std::string&>());
    } else if (type.kind == 'b') {
      need(item->is_boolean(), "BOOL that is not true or false");
      blob.push_back(item->get<bool>() ? 1 : 0);
    } else if (type.kind == 'f') {
      need(item->is_number(), "a float that is not a number");
      auto number = item->get<double>();
      // The parser reads -0 as an integer, and 0 as one without a sign.
      if (number == 0 && item->is_number_integer() && !item->is_number_unsigned()) number = -0.0;
      const auto bits = bits_of(type, number);
      need(std::isfinite(value_of(type, bits)), "a value is out of range");
      put(blob, bits, type.size);
    } else {
      put(blob, integer_of(*item, type.size, type.kind == 'i'), type.size);
    }
  }
  return blob;
}

// ---- HTTP

struct Response {
  long status = 0;
  bool ended = false;  // its head: what follows its body are trailers, which say nothing of it
  std::vector<std::string> header_lengths;
  std::string codings, body;
};

static size_t on_body(char* bytes, size_t size, size_t number, void* to) {
  static_cast<Response*>(to)->body.append(bytes, size * number);
  return size * number;
}

static size_t on_header(char* bytes, size_t size, size_t number, void* to) {
  auto& response = *static_cast<Response*>(to);
  std::string line(bytes, size * number);
  if (line.rfind("HTTP/", 0) == 0) response = Response();  // after an interim one
  response.ended = response.ended || line == "\r\n" || line == "\n";
  const auto colon = line.find(':');
  if (colon != std::string::npos && !response.ended) {
    const std::string name = line.substr(0, colon);
    const auto first = line.find_first_not_of(" \t\r\n", colon + 1);
    const auto last = line.find_last_not_of(" \t\r\n");
    const std::string value =
        first == std::string::npos ? "" : line.substr(first, last - first + 1);
    if (!strcasecmp(name.c_str(), "inference-header-content-length"))
      response.header_lengths.push_back(value);
    if (!strcasecmp(name.c_str(), "content-encoding")) response.codings += value + ",";
  }
  return size * number;
}

static std::string compressed(const std::string& body, bool gzip) {
  z_stream stream = {};
  need(deflateInit2(&stream, Z_DEFAULT_COMPRESSION, Z_DEFLATED, gzip ? 31 : 15, 8,
                    Z_DEFAULT_STRATEGY) == Z_OK,
       "no memory");
  std::string packed(deflateBound(&stream, body.size()) + 32, '\0');
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(body.data()));
  stream.avail_in = static_cast<uInt>(body.size());
  stream.next_out = reinterpret_cast<Bytef*>(packed.data());
  stream.avail_out = static_cast<uInt>(packed.size());
  const int code = deflate(&stream, Z_FINISH);
  packed.resize(stream.total_out);
  deflateEnd(&stream);
  need(code == Z_STREAM_END, "the body cannot be compressed");
  return packed;
}

// What a zlib stream or the members of a gzip stream hold. Throws unless each is whole, with its
// checksum, and nothing follows.
static std::string decompressed(const std::string& body) {
  z_stream stream = {};
  std::string found;
  std::vector<char> part(65536);
  need(inflateInit2(&stream, 15 + 32) == Z_OK, "no memory");  // + 32: gzip or zlib
  stream.next_in = reinterpret_cast<Bytef*>(const_cast<char*>(body.data()));
  stream.avail_in = static_cast<uInt>(body.size());
  int code = Z_OK;
  while (code == Z_OK) {
    stream.next_out = reinterpret_cast<Bytef*>(part.data());
    stream.avail_out = static_cast<uInt>(part.size());
    code = inflate(&stream, Z_NO_FLUSH);
    found.append(part.data(), part.size() - stream.avail_out);
    if (code == Z_STREAM_END && stream.avail_in && body[0] == '\x1f')
      code = inflateReset(&stream);  // the next member
  }
  const bool left = stream.avail_in;
  inflateEnd(&stream);
  need(code == Z_STREAM_END && !left, "its coding is damaged");
  return found;
}

// Undoes the codings of a response, the last one first.
static void undo_codings(Response& response) {
  auto& codings = response.codings;
  while (!codings.empty()) {
    codings.pop_back();  // the comma
    const auto start = codings.find_last_of(',') + 1;
    std::string coding = codings.substr(start);
    codings.erase(start);
    coding.erase(0, coding.find_first_not_of(" \t"));
    coding.erase(coding.find_last_not_of(" \t") + 1);
    const auto is = [&](const char* name) { return !strcasecmp(coding.c_str(), name); };
    if (is("gzip") || is("x-gzip") || is("deflate"))
      response.body = decompressed(response.body);
    else
      need(coding.empty() || is("identity"), "Content-Encoding " + coding);
  }
}

static std::string error_text(const std::string& body, long status) {
  const json said = json::parse(body, nullptr, false);
  if (said.is_object() && said.contains("error") && said["error"].is_string())
    return said["error"].get<std::string>();
  return body.empty() ? "status " + std::to_string(status) : body.substr(0, 900);
}

// ---- The client

class Client {
 public:
  Client(std::string url, double timeout_s)
      : url_(std::move(url)), timeout_ms_(static_cast<long>(timeout_s * 1000)) {}

  // Sends `message` and `blobs`, and returns the response without its codings. Throws Error.
  Response post(const std::string& path, const json& headers, const std::string& message,
                const std::string& blobs, bool has_blobs, const std::string& coding,
                const std::string& accepted) {
    std::string body = message + blobs;
    curl_slist* lines = nullptr;
    const auto say = [&](const std::string& line) {
      lines = curl_slist_append(lines, line.c_str());
    };
    for (const auto& [name, value] : headers.items()) {
      check_header(name, value.get<std::string>());
      say(value == "" ? name + ";" : name + ": " + value.get<std::string>());
    }
    say(has_blobs ? "Content-Type: application/octet-stream" : "Content-Type: application/json");
    if (has_blobs)  // without blobs there is no header length
      say("Inference-Header-Content-Length: " + std::to_string(message.size()));
    if (!coding.empty()) {  // the header length still counts the JSON as it was before
      say("Content-Encoding: " + coding);
      body = compressed(body, coding == "gzip");
    }
    say("Expect:");  // no waiting for 100 Continue
    Response response;
    CURL* curl = curl_.get();
    curl_easy_reset(curl);
    curl_easy_setopt(curl, CURLOPT_URL, (url_ + path).c_str());
    curl_easy_setopt(curl, CURLOPT_PROXY, "");
    curl_easy_setopt(curl, CURLOPT_HTTP_VERSION, static_cast<long>(CURL_HTTP_VERSION_1_1));
    curl_easy_setopt(curl, CURLOPT_TIMEOUT_MS, timeout_ms_);
    curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1L);
    curl_easy_setopt(curl, CURLOPT_HTTPHEADER, lines);
    curl_easy_setopt(curl, CURLOPT_POST, 1L);
    curl_easy_setopt(curl, CURLOPT_POSTFIELDSIZE_LARGE, static_cast<curl_off_t>(body.size()));
    curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body.data());
    curl_easy_setopt(curl, CURLOPT_ACCEPT_ENCODING, accepted.c_str());
    // libcurl would undo the coding, too, but not notice that its end is missing.
    curl_easy_setopt(curl, CURLOPT_HTTP_CONTENT_DECODING, 0L);
    curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body);
    curl_easy_setopt(curl, CURLOPT_WRITEDATA, &response);
    curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header);
    curl_easy_setopt(curl, CURLOPT_HEADERDATA, &response);
    const CURLcode code = curl_easy_perform(curl);
    curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &response.status);
    curl_slist_free_all(lines);
    if (response.status && response.status != 200) {
      try {
        undo_codings(response);
      } catch (const Error&) {
        response.body.clear();  // the status is an error, whatever its body is
      }
      throw Error(error_text(response.body, response.status), response.status);
    }
    need(code == CURLE_OK, curl_easy_strerror(code));
    undo_codings(response);
    return response;
  }

  std::string escaped(const std::string& name) {
    std::unique_ptr<char, void (*)(void*)> text(
        curl_easy_escape(curl_.get(), name.c_str(), static_cast<int>(name.size())), curl_free);
    return text.get();
  }

 private:
  // Header fields that only the client itself can know.
  static void check_header(const std::string& name, const std::string& value) {
    static const char* const FRAMING[] = {
        "content-length", "transfer-encoding", "content-encoding", "accept-encoding",
        "host",           "connection",        "content-type",     "expect",
        "trailer",        "te",                "upgrade",          "inference-header-content-length",
    };
    for (const char* own : FRAMING)
      need(strcasecmp(name.c_str(), own) != 0, "a caller cannot set the header field " + name);
    need(name.find_first_of("\r\n: ") == std::string::npos &&
             value.find_first_of(std::string("\r\n\0", 3)) == std::string::npos,
         "a header field that would end its line");
  }

  std::string url_;
  long timeout_ms_;
  std::unique_ptr<CURL, void (*)(CURL*)> curl_{curl_easy_init(), curl_easy_cleanup};
};

// The caller's parameters and the reserved one, which they cannot replace; null: not given.
static json parameters(const json& own, const char* reserved, const json& value) {
  need(!own.contains(reserved), std::string("a caller cannot set the parameter ") + reserved);
  json all = own;
  if (!value.is_null()) all[reserved] = value;
  return all;
}

// A size or a length in a response, where 4.0 is as good as 4.
static std::uint64_t size_of(const json& value) {
  need(value.is_number(), "not a size");
  const auto number = value.get<double>();
  need(number >= 0 && number == std::floor(number) && number < 9007199254740992.0, "not a size");
  return static_cast<std::uint64_t>(number);
}

static Shape shape_of(const json& entry) {
  need(entry.contains("shape") && entry["shape"].is_array(), "an output without a shape");
  Shape shape;
  for (const auto& size : entry["shape"]) shape.push_back(size_of(size));
  return shape;
}

struct Output {
  std::string name, datatype;
  Shape shape;
  std::string blob;
};

// The JSON of a response, and its outputs. Every length is checked. Throws Error.
static std::pair<json, std::vector<Output>> decode(const Response& response) {
  std::size_t at = response.body.size();
  if (!response.header_lengths.empty()) {
    const auto& text = response.header_lengths.front();
    need(response.header_lengths.size() == 1 && !text.empty() && text.size() < 19 &&
             text.find_first_not_of("0123456789") == std::string::npos,
         "the header length is not a number");
    at = std::stoull(text);
    need(at <= response.body.size(), "the header length is beyond the body");
  }
  const std::string message = response.body.substr(0, at);
  need(message.find('\0') == std::string::npos, "not JSON");  // the parser would end there
  json document = json::parse(message, nullptr, false);
  need(document.is_object() && document.contains("outputs") && document["outputs"].is_array() &&
           !document["outputs"].empty(),
       "no outputs");
  std::vector<Output> outputs;
  std::set<std::string> names;
  for (const auto& entry : document["outputs"]) {
    need(entry.is_object() && entry.contains("name") && entry["name"].is_string() &&
             entry.contains("datatype") && entry["datatype"].is_string(),
         "an output without name or datatype");
    Output output = {entry["name"], entry["datatype"], shape_of(entry), ""};
    need(names.insert(output.name).second, "an output is there twice");
    json size;
    if (entry.contains("parameters") && entry["parameters"].is_object())
      size = entry["parameters"].value("binary_data_size", json());
    if (size.is_null()) {
      need(entry.contains("data"), "an output without data");
      output.blob = from_json(output.datatype, output.shape, entry["data"]);
    } else {  // blobs come in this order, not in that of the request
      need(!entry.contains("data"), "an output with data and a size");
      need(size_of(size) <= response.body.size() - at, "a blob ends past the body");
      output.blob = response.body.substr(at, size_of(size));
      at += output.blob.size();
    }
    check(output.datatype, output.shape, output.blob);
    outputs.push_back(std::move(output));
  }
  need(at == response.body.size(), "bytes follow the last blob");
  return {std::move(document), std::move(outputs)};
}

// ---- The adapter

static const char ALPHABET[] = "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

static std::string to_base64(const std::string& bytes) {
  std::string text;
  for (std::size_t n = 0; n < bytes.size(); n += 3) {
    std::uint32_t bits = 0;
    for (std::size_t k = 0; k < 3; ++k)
      bits = bits << 8 | (n + k < bytes.size() ? static_cast<unsigned char>(bytes[n + k]) : 0);
    for (std::size_t k = 0; k < 4; ++k)
      text += n + k <= bytes.size() ? ALPHABET[bits >> (18 - 6 * k) & 63] : '=';
  }
  return text;
}

static std::string from_base64(const std::string& text) {
  std::string bytes;
  std::uint32_t bits = 0;
  int have = 0;
  for (char letter : text) {
    if (letter == '=') break;
    bits = bits << 6 | static_cast<std::uint32_t>(std::strchr(ALPHABET, letter) - ALPHABET);
    if ((have += 6) >= 8) bytes += static_cast<char>(bits >> (have -= 8) & 0xff);
  }
  return bytes;
}

// An input of the task as the caller has it in memory, laid out as it says.
static Array array_of(const json& tensor) {
  Array array = {tensor["datatype"], shape_of(tensor), from_base64(tensor["data"]), false, false,
                 tensor["from"] == "float32"};
  const auto& type = datatype_of(array.float32 ? "FP32" : array.datatype);
  array.column_major = tensor["layout"] == "column-major";
  array.big_endian = tensor["layout"] == "big-endian" && type.kind != 's';
  if (!array.column_major && !array.big_endian) return array;
  const auto elements = split(type, array.bytes);
  std::vector<std::string> laid(elements.begin(), elements.end());
  if (array.column_major) {
    const auto order = column_major(array.shape);
    for (std::size_t n = 0; n < order.size(); ++n) laid[order[n]] = elements[n];
  }
  std::string bytes;
  for (auto& element : laid) {
    if (array.big_endian) element.assign(element.rbegin(), element.rend());
    add(bytes, type, element);
  }
  array.bytes = bytes;
  return array;
}

static std::string text_of(const json& value, const char* otherwise) {
  return value.is_string() ? value.get<std::string>() : otherwise;
}

// What the client makes of one request of the task: the line for the bench.
static json answer(Client& client, const json& request) {
  json document = {{"inputs", json::array()}};
  std::string blobs;
  bool has_blobs = false;
  if (request["id"].is_string()) document["id"] = request["id"];
  document["parameters"] =
      parameters(request["parameters"], "binary_data_output", request["binary_data_output"]);
  for (const auto& tensor : request["inputs"]) {
    const auto blob = to_wire(array_of(tensor));
    const bool binary = tensor["form"] == "binary";
    json entry = {{"name", tensor["name"]}, {"datatype", tensor["datatype"]},
                  {"shape", tensor["shape"]}};
    entry["parameters"] =
        parameters(tensor["parameters"], "binary_data_size", binary ? json(blob.size()) : json());
    if (binary)
      blobs += blob;
    else
      entry["data"] = to_json(tensor["datatype"], blob);
    has_blobs = has_blobs || binary;
    document["inputs"].push_back(entry);
  }
  if (request["outputs"].is_array()) document["outputs"] = json::array();
  for (const auto& output : request["outputs"]) {
    const json form = output["form"].is_null() ? json() : json(output["form"] == "binary");
    document["outputs"].push_back(
        {{"name", output["name"]},
         {"parameters", parameters(output["parameters"], "binary_data", form)}});
  }
  std::string path = "/v2/models/" + client.escaped(request["model"]);
  if (request["version"].is_string()) path += "/versions/" + client.escaped(request["version"]);
  const auto coding = text_of(request["request_compression"], "");
  const auto accepted = text_of(request["response_compression"], "identity");
  const auto response = client.post(path + "/infer", request["headers"], document.dump(), blobs,
                                    has_blobs, coding, accepted);
  const auto [said, outputs] = decode(response);
  json line = {{"outputs", json::array()}};
  for (const auto& output : outputs)
    line["outputs"].push_back({{"name", output.name},
                               {"datatype", output.datatype},
                               {"shape", output.shape},
                               {"data", to_base64(output.blob)}});
  for (const char* name : {"model_name", "model_version", "id"})
    if (said.contains(name) && said[name].is_string()) line[name] = said[name];
  return line;
}

// The lines of a task: its requests in their order, all with one client.
static std::vector<json> lines_of(const json& task) {
  Client client(task["url"], task["timeout_s"].get<double>() / 2);
  std::vector<json> lines;
  for (const auto& request : task["requests"]) {
    json line;
    try {
      line = answer(client, request);
    } catch (const Error& error) {
      line = {{"error", error.what()}};
      if (error.status) line["status"] = error.status;
    } catch (const json::exception& error) {  // of what has no JSON form
      line = {{"error", error.what()}};
    }
    line["headers"] = request["headers"];
    line["client"] = {{"name", "cpp-libcurl"}, {"version", LIBCURL_VERSION}};
    lines.push_back(line);
  }
  return lines;
}

static std::string shown(const json& line) {  // what a server says may be no UTF-8
  return line.dump(-1, ' ', false, json::error_handler_t::replace);
}

int main() {
  curl_global_init(CURL_GLOBAL_ALL);
  const char* tasks = std::getenv("V2_BENCH_TASKS");
  if (tasks && !std::strcmp(tasks, "stdin")) {
    for (std::string text; std::getline(std::cin, text);) {
      const json task = json::parse(text);
      std::cout << shown({{"scenario", task["scenario"]}, {"lines", lines_of(task)}}) << std::endl;
    }
    return 0;
  }
  const char* path = std::getenv("V2_BENCH_TASK");
  std::ifstream file(path ? path : "");
  if (!file) {
    std::cerr << "V2_BENCH_TASK names no file\n";
    return 1;
  }
  for (const auto& line : lines_of(json::parse(file))) std::cout << shown(line) << std::endl;
  return 0;
}
