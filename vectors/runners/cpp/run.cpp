// Runs the codec through the vectors: g++ -std=c++17 -O1 run.cpp -lz -o run && ./run [FOLDER]

#include <fstream>
#include <iostream>

#include "codec.hpp"

using codec::at;
using codec::json;
using codec::Tensor;

struct Wrong : std::runtime_error {
  using std::runtime_error::runtime_error;
};

static void must(bool condition, const std::string& problem) {
  if (!condition) throw Wrong(problem);
}

static std::string base64(const std::string& text) {
  static const std::string letters =
      "ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";
  std::string found;
  unsigned bits = 0, have = 0;
  for (char letter : text) {
    if (letter == '=') break;
    bits = bits << 6 | static_cast<unsigned>(letters.find(letter));
    have += 6;
    if (have >= 8) found.push_back(static_cast<char>(bits >> (have -= 8)));
  }
  return found;
}

// Bytes are base64, long ones pieces that repeat.
static std::string bytes(const json& given) {
  if (given.is_string()) return base64(given);
  std::string found;
  for (const auto& piece : given) {
    const auto once = base64(piece["data"]);
    for (int left = piece["times"]; left > 0; --left) found += once;
  }
  return found;
}

static bool is_form(const json& holder, const char* name, bool binary) {
  const auto& form = at(holder, name);
  return form.is_null() || form == "any" || (form == "binary") == binary;
}

static void same(const json& want, const Tensor& got) {
  std::string name = want["name"];
  must(got.datatype == want["datatype"], name + ": datatype " + got.datatype);
  must(json(got.shape) == want["shape"], name + ": shape");
  if (want.contains("one_of")) {
    bool fits = false;
    for (const auto& reading : want["one_of"]) {
      bool all = true;
      auto size = got.data.size() / reading.size();
      for (std::size_t n = 0; n < reading.size(); ++n)
        all = all && (reading[n].is_null() || bytes(reading[n]) == got.data.substr(n * size, size));
      fits = fits || all;
    }
    must(fits, name + ": none of the readings");
  } else if (want.contains("data")) {
    auto left = bytes(want["data"]), right = got.data;
    if (at(want, "truth") == true)
      for (auto* data : {&left, &right})
        for (auto& byte : *data) byte = byte != 0;
    must(left == right, name + ": wrong data");
  }
}

static void has_all(const json& holder, const json& entry) {
  for (const auto& [name, value] : at(holder, "parameters").items())
    must(at(at(entry, "parameters"), name) == value, "no parameter " + name);
}

// Compare a message that the codec wrote with the rules of a vector.
static void check(const json& rules, const codec::Message& message, const char* key) {
  auto [text, blobs, raw] = codec::split(message.fields, message.body);
  must(!raw, "header length 0");
  auto document = codec::parse(text);
  if (at(rules, "read_only") == true) return;
  std::size_t end = 0;
  bool forms[2] = {false, false};
  std::vector<std::pair<const json*, Tensor>> found;
  for (const auto& entry : document[key]) {
    bool binary = at(entry, "parameters").contains("binary_data_size");
    must(at(rules, "data_or_size") != true || !binary || !entry.contains("data"), "both");
    Tensor tensor{entry["datatype"], codec::shape_of(entry), ""};
    if (binary || at(rules, "not_finite") != true)
      tensor.data = codec::take(entry, tensor.datatype, tensor.shape, blobs, end);
    forms[binary] = true;
    found.emplace_back(&entry, std::move(tensor));
  }
  must(end == blobs.size(), "bytes are left over");
  for (const auto& want : at(rules, "tensors")) {
    bool there = false;
    for (const auto& [where, tensor] : found) {
      const auto& entry = *where;
      if (entry["name"] != want["name"]) continue;
      there = true;
      bool binary = !entry.contains("data");
      must(is_form(want, "form", binary), "another form");
      if (at(rules, "not_finite") == true && !binary) {
        auto numbers = codec::numbers_of(tensor.datatype, bytes(want["data"]));
        auto written = codec::flat(entry["data"], tensor.shape);
        for (std::size_t n = 0; n < numbers.size(); ++n)
          must(std::isfinite(numbers[n]) || !written[n]->is_number(), "a number for what is none");
      } else {
        same(want, tensor);
      }
      has_all(want, entry);
    }
    must(there, "no " + want["name"].get<std::string>());
  }
  must(at(rules, "only") != true || found.size() == rules["tensors"].size(), "more tensors");
  must(at(rules, "one_form") != true || !forms[0] || !forms[1], "mixed forms");
  auto kind = codec::values_of(message.fields, "Content-Type").at(0);
  std::string written = kind.find("json") == std::string::npos ? "binary" : "json";
  must(rules.value("content_type", written) == written, "typed " + kind);
  must(!rules.contains("id") || at(document, "id") == rules["id"], "wrong id");
  const auto& named = at(document, "model_name");
  must(named.is_null() || !rules.contains("model_name") || rules["model_name"] == named,
       "wrong model_name");
  must(!named.is_null() || at(rules, "model_name_sent") != true, "no model_name");
  has_all(rules, document);
  bool fallback = codec::flag(document, "binary_data_output", false);
  must(is_form(rules, "outputs_form", fallback), "asks for another form");
  if (!rules.contains("outputs")) return;
  const auto& listed = at(document, "outputs");
  must(listed.size() == rules["outputs"].size(), "asks for other outputs");
  for (const auto& one : rules["outputs"]) {
    bool fits = false;
    for (const auto& entry : listed)
      fits = fits || (entry["name"] == one["name"] &&
                      is_form(one, "form", codec::flag(entry, "binary_data", fallback)));
    must(fits, "does not ask for " + one["name"].get<std::string>());
  }
}

static codec::Model model_of(const json& given) {
  codec::Model model;
  for (const auto& one : given["inputs"])
    model.inputs.push_back({one["name"], one["datatype"], one["shape"]});
  for (const auto& one : given["outputs"])
    model.outputs.push_back({one["name"], one["datatype"], one["shape"]});
  model.batching = given.value("batching", false);
  return model;
}

static std::string to_bf16(const json& float32) {
  std::string blob;
  for (auto number : codec::numbers_of("FP32", bytes(float32)))
    codec::put(blob, codec::to_bits(codec::kFloats.at("BF16"), number), 2);
  return blob;
}

// Each kind sets `taken` once the codec has accepted the vector.
static void decode_request(const json& v, const json& models, bool& taken) {
  auto model = model_of(models[v["model"].get<std::string>()]);
  auto got = codec::decode_request(model, v["fields"], bytes(v["body"]));
  taken = true;
  for (const auto& want : at(v, "tensors")) same(want, got.inputs.at(want["name"]));
  for (const auto& one : at(v, "outputs")) {
    bool fits = false;
    for (const auto& [name, binary] : got.outputs)
      fits = fits || (name == one["name"] && is_form(one, "form", binary));
    must(fits, "asks for another output");
  }
  must(v.value("request_id", got.id) == got.id, "another id");
}

static void encode_response(const json& v, const json& models, bool& taken) {
  std::map<std::string, Tensor> tensors;
  for (const auto& one : v["tensors"])
    tensors[one["name"]] = {one["datatype"], one["shape"], bytes(one["data"])};
  std::string name = v["model"];
  auto message = codec::encode_response(name, model_of(models[name]), tensors, at(v, "asked"));
  taken = true;
  check(v["accept"], message, "outputs");
}

static void decode_response(const json& v, const json&, bool& taken) {
  std::vector<std::string> asked;
  for (const auto& one : at(at(v, "asked"), "outputs")) asked.push_back(one["name"]);
  auto got = codec::decode_response(v["status"], v["fields"], bytes(v["body"]), asked);
  taken = true;
  must(!v.contains("tensors") || v["tensors"].size() == got.outputs.size(), "other outputs");
  for (const auto& want : at(v, "tensors")) same(want, got.outputs.at(want["name"]));
  for (const auto& [name, value] : at(v, "members").items())
    must(at(got.document, name) == value, "another " + name);
}

static void encode_request(const json& v, const json&, bool& taken) {
  std::vector<codec::Sent> tensors;
  for (const auto& one : v["tensors"]) {
    auto data = one.contains("float32") ? to_bf16(one["float32"]) : bytes(one["data"]);
    tensors.push_back({one["name"], {one["datatype"], one["shape"], data},
                       at(one, "form") == "binary",
                       one.value("parameters", json::object())});
  }
  auto compression = v.value("compression", "");
  auto message = codec::encode_request(tensors, at(v, "asked"), compression);
  taken = true;
  auto codings = codec::values_of(message.fields, "Content-Encoding");
  must(codings.empty() ? compression.empty() : codings[0] == compression, "another coding");
  message.body = codec::decoded(message.fields, std::move(message.body));
  check(v["accept"], message, "inputs");
}

static void datatypes(const json& v, const json&, bool& taken) {
  Tensor tensor{v["datatype"], v["shape"], bytes(v["data"])};
  taken = true;
  must(!v.contains("float32") || at(v, "free") == true || to_bf16(v["float32"]) == tensor.data,
       "rounded to another number");
  codec::check_blob(tensor.datatype, tensor.shape, tensor.data);
  if (codec::kFloats.count(tensor.datatype)) {
    auto numbers = codec::numbers_of(tensor.datatype, tensor.data);
    for (std::size_t n = 0; n < numbers.size(); ++n) {
      auto value = std::strtod(v["values"][n].get<std::string>().c_str(), nullptr);
      must(value == numbers[n] || (std::isnan(value) && std::isnan(numbers[n])), "other values");
    }
  }
  std::string text;
  try {
    text = codec::to_json(tensor).dump();
  } catch (const codec::Rejected&) {
    must(!v.contains("json"), "not written as JSON");
    return;
  }
  must(v.contains("json"), "written as JSON, which has no form for it");
  for (const auto& one : {v["json"].get<std::string>(), text}) {
    auto read = codec::parse("{\"data\":" + one + "}");
    must(codec::from_json(tensor.datatype, tensor.shape, read["data"]) == tensor.data,
         "read from JSON as other bytes");
  }
}

static const std::map<std::string, void (*)(const json&, const json&, bool&)> kKinds = {
    {"decode_request", decode_request}, {"encode_response", encode_response},
    {"decode_response", decode_response}, {"encode_request", encode_request},
    {"datatypes", datatypes}};

using Judged = std::pair<std::string, std::string>;

// FAIL or WARN and what is wrong, or PASS.
static Judged judge(const json& v, const json& models) {
  bool taken = false;
  std::string found;
  try {
    kKinds.at(v["kind"])(v, models, taken);
  } catch (const std::exception& error) {
    found = error.what();
    if (!taken && !dynamic_cast<const codec::Rejected*>(&error)) return {"FAIL", "crashed: " + found};
  }
  auto should = v.value("should", "");
  if (taken) {
    if (v["result"] == "invalid") return {"FAIL", "accepted"};
    if (!found.empty()) return {at(v, "free") == true ? "WARN" : "FAIL", found};
    return should == "reject" ? Judged{"WARN", "accepted"} : Judged{"PASS", ""};
  }
  if (v["result"] == "valid") return {"FAIL", "rejected: " + found};
  if (found.find(v.value("says", "")) == std::string::npos)
    return {"FAIL", "the error lacks the server's words"};
  return should == "accept" ? Judged{"WARN", "rejected: " + found} : Judged{"PASS", ""};
}

int main(int count, char** arguments) {
  std::string folder = count > 1 ? arguments[1] : "../..";
  std::map<std::string, int> counts;
  auto index = json::parse(std::ifstream(folder + "/index.json"));
  for (const auto& one : index["files"]) {
    auto file = json::parse(std::ifstream(folder + "/" + one["path"].get<std::string>()));
    for (const auto& v : file["vectors"]) {
      auto [grade, words] = judge(v, at(file, "models"));
      ++counts[grade];
      if (!words.empty())
        std::cout << grade << ' ' << v["kind"].get<std::string>() << ' '
                  << v["id"].get<std::string>() << ": " << words << std::endl;
    }
  }
  int passed = counts["PASS"] + counts["WARN"], failed = counts["FAIL"];
  std::cout << passed << " passed, " << failed << " failed, " << counts["WARN"] << " warnings\n";
  return failed || !passed;
}
