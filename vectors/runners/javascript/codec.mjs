// A codec of the binary tensor data extension for Node.js, without dependencies: an example to copy.
//
// A tensor is {datatype, shape, data}: data is a Buffer, row-major and little-endian.

import zlib from "node:zlib";

export const HEADER_LENGTH = "Inference-Header-Content-Length";
const SIZES = {
  BOOL: 1, UINT8: 1, UINT16: 2, UINT32: 4, UINT64: 8, INT8: 1, INT16: 2, INT32: 4, INT64: 8,
  FP16: 2, BF16: 2, FP32: 4, FP64: 8, BYTES: 0,
};
const FORMATS = { FP16: [15, 10], BF16: [127, 7], FP32: [127, 23], FP64: [1023, 52] };

export class Rejected extends Error {}

export function need(condition, problem) {
  if (!condition) throw new Rejected(problem);
}

// --- elements

export function count(shape) {
  return shape.reduce((product, size) => product * BigInt(size), 1n);
}

export function encodeBytes(elements) {
  return Buffer.concat(elements.flatMap((element) => {
    const prefix = Buffer.alloc(4);
    prefix.writeUInt32LE(element.length);
    return [prefix, element];
  }));
}

export function decodeBytes(blob, n) {
  const elements = [];
  for (let at = 0; at < blob.length;) {
    need(at + 4 <= blob.length, "a length is cut off");
    const end = at + 4 + blob.readUInt32LE(at);
    need(end <= blob.length, "an element ends past its blob");
    elements.push(blob.subarray(at + 4, end));
    at = end;
  }
  need(BigInt(elements.length) === n, "wrong number of elements");
  return elements;
}

export function checkBlob(datatype, shape, blob) {
  const n = count(shape);
  if (datatype === "BYTES") return void decodeBytes(blob, n);
  need(BigInt(blob.length) === n * BigInt(SIZES[datatype]), "size contradicts shape");
  need(datatype !== "BOOL" || blob.every((byte) => byte < 2), "a BOOL byte is neither 0 nor 1");
}

// The bits of a number in a format, rounded once, to nearest even.
export function toBits(datatype, value) {
  const [bias, mantissa] = FORMATS[datatype];
  if (datatype === "FP64") {
    const double = Buffer.alloc(8);
    double.writeDoubleLE(value);
    return double.readBigUInt64LE();
  }
  const all = (2 * bias + 1) * 2 ** mantissa;
  let bits = all;
  if (Number.isNaN(value)) bits = all + 2 ** (mantissa - 1);
  else if (Number.isFinite(value)) {
    let exponent = value === 0 ? 1 - bias : Math.floor(Math.log2(Math.abs(value)));
    while (2 ** exponent > Math.abs(value) && value !== 0) exponent -= 1; // log2 is not exact
    while (2 ** (exponent + 1) <= Math.abs(value)) exponent += 1;
    exponent = Math.max(exponent, 1 - bias);
    const scaled = Math.abs(value) * 2 ** (mantissa - exponent);
    const down = Math.floor(scaled);
    const up = scaled - down > 0.5 || (scaled - down === 0.5 && down % 2 === 1);
    bits = Math.min(all, (exponent + bias - 1) * 2 ** mantissa + down + (up ? 1 : 0));
  }
  const sign = value < 0 || Object.is(value, -0) ? all + 2 ** mantissa : 0;
  return BigInt(bits + sign);
}

export function toValue(datatype, bits) {
  const [bias, mantissa] = FORMATS[datatype];
  if (datatype === "FP64") {
    const double = Buffer.alloc(8);
    double.writeBigUInt64LE(bits);
    return double.readDoubleLE();
  }
  const mask = 2 * bias + 1;
  const number = Number(bits);
  const whole = Math.floor(number / 2 ** mantissa);
  const fraction = number % 2 ** mantissa;
  const exponent = whole % (mask + 1);
  const sign = whole > mask ? -1 : 1;
  if (exponent === mask) return fraction ? NaN : sign * Infinity;
  if (exponent === 0) return sign * fraction * 2 ** (1 - bias - mantissa);
  return sign * (2 ** mantissa + fraction) * 2 ** (exponent - bias - mantissa);
}

function bitsAt(blob, at, size) {
  let bits = 0n;
  for (let n = size - 1; n >= 0; n -= 1) bits = (bits << 8n) | BigInt(blob[at + n]);
  return bits;
}

export function fromBits(all, size) {
  const blob = Buffer.alloc(all.length * size);
  all.forEach((bits, index) => {
    for (let n = 0; n < size; n += 1) blob[index * size + n] = Number((bits >> BigInt(8 * n)) & 255n);
  });
  return blob;
}

// The nearest BF16 of each FP32.
export function toBf16(blob) {
  const numbers = elementsOf({ datatype: "FP32", shape: [blob.length / 4], data: blob });
  return fromBits(numbers.map((number) => toBits("BF16", number)), 2);
}

// The elements as true, bigint, number or Buffer.
export function elementsOf({ datatype, shape, data }) {
  if (datatype === "BYTES") return decodeBytes(data, count(shape));
  const size = SIZES[datatype];
  const found = [];
  for (let at = 0; at < data.length; at += size) {
    const bits = bitsAt(data, at, size);
    if (datatype === "BOOL") found.push(bits !== 0n);
    else if (datatype in FORMATS) found.push(toValue(datatype, bits));
    else found.push(datatype[0] === "U" ? bits : BigInt.asIntN(8 * size, bits));
  }
  return found;
}

const utf8 = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });

function textOf(bytes, problem) {
  try {
    return utf8.decode(bytes);
  } catch {
    throw new Rejected(problem);
  }
}

// The text of `data` of a tensor in JSON.
export function toJson(tensor) {
  return `[${elementsOf(tensor).map((value) => {
    if (value instanceof Buffer) return JSON.stringify(textOf(value, "an element is not UTF-8"));
    need(typeof value !== "number" || Number.isFinite(value), "a number is not finite");
    return Object.is(value, -0) ? "-0.0" : String(value);
  })}]`;
}

export function flat(data, shape) {
  need(Array.isArray(data), "`data` is not an array");
  let items = data;
  if (items.some(Array.isArray)) {
    for (const size of shape.slice(1)) {
      need(items.every((row) => Array.isArray(row) && row.length === size), "wrong nesting");
      items = items.flat();
    }
  }
  need(BigInt(items.length) === count(shape), "wrong number of elements");
  return items;
}

// A JSON number as a bigint, if it is an integer; 3.0 and 1e2 are.
function integer(value) {
  need(value instanceof NumberText, "expected an integer");
  const [, sign, whole, fraction = "", exponent = "0"] =
    /^(-?)(\d+)(?:\.(\d+))?(?:[eE]([-+]?\d+))?$/.exec(value.text);
  const digits = `${whole}${fraction}`.replace(/^0+|0+$/g, "");
  if (!digits) return 0n;
  const zeros = `${whole}${fraction}`.length - `${whole}${fraction}`.replace(/0+$/, "").length;
  const power = Number(exponent) - fraction.length + zeros;
  need(power >= 0 && power + digits.length < 400, "expected an integer");
  return BigInt(sign + digits) * 10n ** BigInt(power);
}

// The blob that `data` stands for.
export function fromJson(datatype, shape, data) {
  const values = flat(data, shape);
  const size = SIZES[datatype];
  if (datatype === "BYTES") {
    need(values.every((value) => typeof value === "string" && value.isWellFormed()), "expected strings");
    return encodeBytes(values.map((value) => Buffer.from(value)));
  }
  if (datatype === "BOOL") {
    need(values.every((value) => typeof value === "boolean"), "expected true or false");
    return Buffer.from(values.map(Number));
  }
  return fromBits(values.map((value) => {
    if (datatype in FORMATS) {
      need(value instanceof NumberText, "expected numbers");
      const bits = toBits(datatype, Number(value.text));
      need(Number.isFinite(toValue(datatype, bits)), "out of range");
      return bits;
    }
    const number = integer(value);
    const wrapped = datatype[0] === "U" ? BigInt.asUintN(8 * size, number) : BigInt.asIntN(8 * size, number);
    need(wrapped === number, "out of range");
    return BigInt.asUintN(8 * size, number);
  }), size);
}

// --- messages

// A number as it is written: JSON.parse would round it.
export class NumberText {
  constructor(text) {
    this.text = text;
  }
}

const TOKEN = /[ \t\r\n]*(?:([{}[\],:])|("(?:[^"\\\x00-\x1f]|\\(?:["\\/bfnrt]|u[0-9a-fA-F]{4}))*")|(-?(?:0|[1-9]\d*)(?:\.\d+)?(?:[eE][-+]?\d+)?)|(true|false|null))/y;
const DEEPEST = 1000;

// A JSON object, as a Map in each place; numbers keep their digits.
export function parse(bytes) {
  const text = textOf(bytes, "not UTF-8");
  let at = 0;
  const next = () => {
    TOKEN.lastIndex = at;
    const found = TOKEN.exec(text);
    need(found, "not JSON");
    at = TOKEN.lastIndex;
    return found;
  };
  const value = (token, depth) => {
    const [, mark, string, number, word] = token;
    need(depth < DEEPEST, "nested too deeply");
    if (string !== undefined) return JSON.parse(string);
    if (number !== undefined) return new NumberText(number);
    if (word !== undefined) return { true: true, false: false, null: null }[word];
    need(mark === "{" || mark === "[", "not JSON");
    const found = mark === "{" ? new Map() : [];
    const end = mark === "{" ? "}" : "]";
    let one = next();
    if (one[1] === end) return found;
    for (;; one = next()) {
      if (mark === "[") found.push(value(one, depth + 1));
      else {
        need(one[2] !== undefined && next()[1] === ":", "not JSON");
        const name = JSON.parse(one[2]);
        need(!found.has(name), "a member is there twice");
        found.set(name, value(next(), depth + 1));
      }
      const after = next()[1];
      if (after === end) return found;
      need(after === ",", "not JSON");
    }
  };
  const document = value(next(), 0);
  need(!/[^ \t\r\n]/.test(text.slice(at)), "more than one value");
  need(document instanceof Map, "not an object");
  return document;
}

export function valuesOf(fields, name) {
  const same = fields.filter(([key]) => key.toLowerCase() === name.toLowerCase());
  return same.map(([, value]) => value.replace(/^[ \t]+|[ \t]+$/g, ""));
}

// The JSON and what follows it; the JSON is null in a raw request.
export function split(fields, body) {
  const lengths = new Set(valuesOf(fields, HEADER_LENGTH));
  if (lengths.size === 0) return [body, body.subarray(body.length)];
  const [text] = lengths;
  need(lengths.size === 1, "conflicting header lengths");
  need(/^[0-9]{1,19}$/.test(text), "header length is not a number");
  const length = Number(text);
  need(length <= body.length, "header length is past the body");
  return [length ? body.subarray(0, length) : null, body.subarray(length)];
}

export function decoded(fields, body) {
  let found = body;
  const codings = valuesOf(fields, "Content-Encoding").join().toLowerCase().split(/[ \t]*,[ \t]*/);
  for (const coding of codings.filter(Boolean).reverse()) {
    need(["gzip", "x-gzip", "deflate", "identity"].includes(coding), "unknown content coding");
    try {
      if (coding.endsWith("gzip")) found = zlib.gunzipSync(found);
      else if (coding === "deflate") found = zlib.inflateSync(found);
    } catch {
      throw new Rejected("the content coding is broken");
    }
  }
  return found;
}

function shapeOf(entry) {
  const shape = entry.get("shape");
  need(Array.isArray(shape), "`shape` is not an array");
  return shape.map((size) => {
    need(size instanceof NumberText && /^\d{1,15}$/.test(size.text), "a dimension is not a size");
    return Number(size.text);
  });
}

function parametersOf(entry) {
  const found = entry.get("parameters") ?? new Map();
  need(found instanceof Map, "`parameters` is not an object");
  return found;
}

// The bytes of a tensor, and the blobs behind it.
export function take(entry, datatype, shape, blobs) {
  const size = parametersOf(entry).get("binary_data_size");
  const binary = size !== undefined;
  need(binary !== entry.has("data"), "both data and a size, or neither");
  if (!binary) return [fromJson(datatype, shape, entry.get("data")), blobs];
  const length = integer(size);
  need(length >= 0n && length <= BigInt(blobs.length), "a blob ends past the body");
  const blob = blobs.subarray(0, Number(length));
  checkBlob(datatype, shape, blob);
  return [blob, blobs.subarray(Number(length))];
}

export function decodeRequest(model, fields, body) {
  const [text, rest] = split(fields, decoded(fields, body));
  if (text === null) {
    return { inputs: decodeRaw(model, rest), outputs: new Map(model.outputs.map((one) => [one.name, true])) };
  }
  const document = parse(text);
  const inputs = new Map();
  let blobs = rest;
  need(Array.isArray(document.get("inputs")), "`inputs` is not an array");
  for (const entry of document.get("inputs")) {
    need(entry instanceof Map, "an input is not an object");
    const name = entry.get("name");
    const spec = model.inputs.find((one) => one.name === name);
    need(spec && !inputs.has(name), "not an input, or there twice");
    const shape = shapeOf(entry);
    need(entry.get("datatype") === spec.datatype, "not the model's datatype");
    need(shape.length === spec.shape.length, "not the model's shape");
    need(spec.shape.every((size, axis) => size === -1 || size === shape[axis]), "not the model's shape");
    let data;
    [data, blobs] = take(entry, spec.datatype, shape, blobs);
    inputs.set(name, { datatype: spec.datatype, shape, data });
  }
  need(inputs.size === model.inputs.length, "an input is missing");
  need(blobs.length === 0, "bytes are left over");
  const id = document.get("id");
  need(id == null || typeof id === "string", "`id` is not a string");
  return { inputs, outputs: wanted(model, document), id };
}

function decodeRaw(model, body) {
  need(model.inputs.length === 1, "a raw request has one input");
  const [{ name, datatype, shape: dims }] = model.inputs;
  const shape = dims.map((size, axis) => (model.batching && axis === 0 ? 1 : size));
  const variable = shape.filter((size) => size === -1).length;
  let data = body;
  need(variable < 2, "more than one variable dimension");
  if (datatype === "BYTES") {
    need(variable === 0 && count(shape) === 1n, "a raw BYTES input has one element");
    data = encodeBytes([body]);
  } else if (variable) {
    const each = shape.filter((size) => size !== -1).reduce((a, b) => a * b, SIZES[datatype]);
    need(each && body.length % each === 0, "not a whole number of elements");
    shape[shape.indexOf(-1)] = body.length / each;
  }
  checkBlob(datatype, shape, data);
  return new Map([[name, { datatype, shape, data }]]);
}

// The outputs that a request asks for, and whether each is to be binary.
export function wanted(model, document) {
  const byDefault = flag(document, "binary_data_output", false);
  const listed = document.get("outputs") ?? [];
  need(Array.isArray(listed), "`outputs` is not an array");
  if (listed.length === 0) return new Map(model.outputs.map((one) => [one.name, byDefault]));
  const found = new Map();
  for (const entry of listed) {
    need(entry instanceof Map, "an output is not an object");
    const name = entry.get("name");
    need(model.outputs.some((one) => one.name === name) && !found.has(name), "not an output, or there twice");
    found.set(name, flag(entry, "binary_data", byDefault));
  }
  return found;
}

export function flag(entry, name, byDefault) {
  const value = parametersOf(entry).get(name) ?? byDefault;
  need(typeof value === "boolean", `\`${name}\` is not a boolean`);
  return value;
}

function written(members, blobs) {
  const text = Buffer.from(`{${members.filter(Boolean).join(",")}}`);
  if (blobs.length === 0) return [[["Content-Type", "application/json"]], text];
  const fields = [["Content-Type", "application/octet-stream"], [HEADER_LENGTH, String(text.length)]];
  return [fields, Buffer.concat([text, ...blobs])];
}

function entryOf(name, tensor, binary, blobs, parameters = {}) {
  const { binary_data_size: _, ...own } = parameters;
  const members = [`"name":${JSON.stringify(name)}`, `"datatype":"${tensor.datatype}"`,
    `"shape":${JSON.stringify(tensor.shape)}`];
  if (binary) {
    own.binary_data_size = tensor.data.length;
    blobs.push(tensor.data);
  } else members.push(`"data":${toJson(tensor)}`);
  if (Object.keys(own).length) members.push(`"parameters":${JSON.stringify(own)}`);
  return `{${members}}`;
}

function memberOf(name, value) {
  return value === undefined ? "" : `"${name}":${JSON.stringify(value)}`;
}

// `asked` has the members of the request's JSON, as plain objects.
export function encodeResponse(name, model, tensors, asked) {
  const blobs = [];
  const document = parse(Buffer.from(JSON.stringify(asked)));
  const outputs = asked.raw ? new Map(model.outputs.map((one) => [one.name, true])) : wanted(model, document);
  const entries = [...outputs].map(([key, binary]) => entryOf(key, tensors.get(key), binary, blobs));
  return written([memberOf("model_name", name), memberOf("id", asked.id), `"outputs":[${entries}]`], blobs);
}

// `tensors` are [name, tensor, is binary, parameters].
export function encodeRequest(tensors, asked, compression) {
  const blobs = [];
  const entries = tensors.map(([name, tensor, binary, own]) => entryOf(name, tensor, binary, blobs, own));
  const members = [memberOf("id", asked.id), memberOf("parameters", asked.parameters),
    `"inputs":[${entries}]`, memberOf("outputs", asked.outputs)];
  const [fields, body] = written(members, blobs);
  if (!compression) return [fields, body];
  const coded = compression === "gzip" ? zlib.gzipSync(body) : zlib.deflateSync(body);
  return [[...fields, ["Content-Encoding", compression]], coded];
}

// The outputs whose names were asked for have to be there.
export function decodeResponse(status, fields, coded, asked = []) {
  const body = decoded(fields, coded);
  need(status >= 200 && status < 300, `status ${status}: ${body}`);
  const [text, rest] = split(fields, body);
  need(text !== null, "header length 0");
  const document = parse(text);
  const outputs = new Map();
  let blobs = rest;
  need(Array.isArray(document.get("outputs")), `no outputs: ${document.get("error")}`);
  for (const entry of document.get("outputs")) {
    need(entry instanceof Map, "an output is not an object");
    const [name, datatype, shape] = [entry.get("name"), entry.get("datatype"), shapeOf(entry)];
    need(typeof name === "string" && !outputs.has(name) && datatype in SIZES, "not an output");
    if (parametersOf(entry).has("binary_data_size")) entry.delete("data"); // a size counts
    let data;
    [data, blobs] = take(entry, datatype, shape, blobs);
    outputs.set(name, { datatype, shape, data });
  }
  need(outputs.size > 0 && asked.every((name) => outputs.has(name)), "an output is missing");
  need(blobs.length === 0, "bytes are left over");
  return { outputs, document };
}
