// A client for the binary tensor data extension in JavaScript (Node 18 or newer, no packages), and
// its adapter for the client bench:
//
//     v2-conformance client --one-process -- node node.mjs
//
// With `fetch` behind it, it uses fetch() in place of node:http, which ignores some of what a
// server may do wrong (docs/clients.md). The task and the printed lines are described there, too. A caller's array is {datatype,
// shape, bytes, columnMajor, bigEndian}; BYTES have their elements in `elements`, not in `bytes`.

import { readFileSync } from "node:fs";
import http from "node:http";
import https from "node:https";
import { createInterface } from "node:readline";
import { deflateSync, gunzipSync, gzipSync, inflateSync } from "node:zlib";

const SIZES = {
  BOOL: 1, UINT8: 1, UINT16: 2, UINT32: 4, UINT64: 8, INT8: 1, INT16: 2, INT32: 4, INT64: 8,
  FP16: 2, BF16: 2, FP32: 4, FP64: 8,
};
// Header fields that say how the message is framed: only the client itself can know them.
const FRAMING = new Set([
  "content-length", "transfer-encoding", "content-encoding", "accept-encoding", "host", "connection",
  "inference-header-content-length", "content-type", "expect", "trailer", "te", "upgrade", "keep-alive",
]);

class V2Error extends Error {
  constructor(message, status = null) {
    super(message);
    this.status = status;
  }
}

// ---- JSON. Numbers are read and written as text: those of JavaScript are too small for 64-bit
// integers, and JSON.stringify() writes -0 as 0.

class NumberText {
  constructor(text) {
    this.text = text;
  }
}

function writeJson(value) {
  if (value instanceof NumberText) return value.text;
  if (Array.isArray(value)) return `[${value.map(writeJson).join(",")}]`;
  if (value !== null && typeof value === "object") {
    return `{${Object.entries(value).map(([key, item]) => `${JSON.stringify(key)}:${writeJson(item)}`).join(",")}}`;
  }
  return JSON.stringify(value);
}

function readJson(text) {
  JSON.parse(text); // throws for what is no JSON
  // In valid JSON everything outside of strings that begins with a digit or a minus is a number.
  const marked = text.replace(/"[^"\\]*(?:\\.[^"\\]*)*"|-?\d[\d.eE+-]*/g, (found) => (found[0] === '"' ? found : `{"\\u0000number":"${found}"}`));
  return JSON.parse(marked, (key, value) => {
    const number = value?.["\u0000number"];
    return typeof number === "string" ? new NumberText(number) : value;
  });
}

// A size or a length in a response, where 4.0 is as good as 4.
function count(value) {
  const number = value instanceof NumberText ? Number(value.text) : NaN;
  if (!Number.isSafeInteger(number) || number < 0) throw new Error("not a size");
  return number;
}

// ---- Elements

const isFloat = (datatype) => ["FP16", "BF16", "FP32", "FP64"].includes(datatype);
const view = (bytes) => new DataView(bytes.buffer, bytes.byteOffset, bytes.byteLength);

function product(shape) {
  return shape.reduce((sizes, size) => sizes * size, 1);
}

// The index in a column-major array of each element in row-major order.
function columnMajorIndexes(shape) {
  const indexes = [];
  for (let flat = 0; flat < product(shape); flat++) {
    let [rest, index] = [flat, 0];
    const place = shape.map(() => 0);
    for (let axis = shape.length - 1; axis >= 0; axis--) {
      place[axis] = rest % shape[axis];
      rest = Math.floor(rest / shape[axis]);
    }
    for (let axis = shape.length - 1; axis >= 0; axis--) index = index * shape[axis] + place[axis];
    indexes.push(index);
  }
  return indexes;
}

// The elements of a caller's array, each as bytes, row-major and little-endian.
function elementsOf({ datatype, shape, bytes, elements, columnMajor, bigEndian, from }) {
  let found = elements;
  if (datatype !== "BYTES") {
    const size = from === "float32" ? 4 : SIZES[datatype];
    if (bytes.length !== size * product(shape)) throw new Error("the array does not have its shape");
    found = [];
    for (let start = 0; start < bytes.length; start += size) {
      const element = bytes.subarray(start, start + size);
      found.push(bigEndian ? Buffer.from(element).reverse() : element);
    }
  }
  if (columnMajor) found = columnMajorIndexes(shape).map((index) => found[index]);
  return from === "float32" ? found.map(roundToBf16) : found;
}

// The nearest BF16 of a float32, in the middle the even one.
function roundToBf16(element) {
  const bits = element.readUInt32LE(0);
  const rounded = Buffer.alloc(2);
  if (Number.isNaN(element.readFloatLE(0))) rounded.writeUInt16LE((bits >>> 16) | 0x40);
  else rounded.writeUInt16LE(Math.floor((bits + 0x7fff + ((bits >>> 16) & 1)) / 0x10000) & 0xffff);
  return rounded;
}

function toBlob(array) {
  const { datatype, shape, bytes, columnMajor, bigEndian, from } = array;
  // An array that is as it is sent: one object for each element would take seconds for megabytes.
  if (!columnMajor && !bigEndian && from !== "float32" && bytes.length === SIZES[datatype] * product(shape)) return bytes;
  const elements = elementsOf(array);
  if (array.datatype !== "BYTES") return Buffer.concat(elements);
  return Buffer.concat(elements.flatMap((element) => {
    const length = Buffer.alloc(4);
    length.writeUInt32LE(element.length);
    return [length, element];
  }));
}

// The JSON values of a caller's array. Throws for what JSON cannot say.
function toJson(array) {
  return elementsOf(array).map((element) => toJsonValue(array.datatype, element));
}

function toJsonValue(datatype, element) {
  const data = view(element);
  if (datatype === "BYTES") return new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(element);
  if (datatype === "BOOL") return element[0] !== 0;
  if (!isFloat(datatype)) {
    const bits = 8 * SIZES[datatype];
    const number = bits === 64
      ? data[datatype[0] === "U" ? "getBigUint64" : "getBigInt64"](0, true)
      : data[`get${datatype[0] === "U" ? "Uint" : "Int"}${bits}`](0, true);
    return new NumberText(String(number));
  }
  const number = toNumber(datatype, data);
  if (!Number.isFinite(number)) throw new Error(`${number} has no JSON form`);
  return new NumberText(Object.is(number, -0) ? "-0.0" : String(number));
}

function toNumber(datatype, data) {
  if (datatype === "FP64") return data.getFloat64(0, true);
  if (datatype === "FP32") return data.getFloat32(0, true);
  const bits = data.getUint16(0, true);
  if (datatype === "BF16") {
    const wide = Buffer.alloc(4);
    wide.writeUInt32LE(bits * 0x10000);
    return wide.readFloatLE(0);
  }
  const [sign, exponent, fraction] = [bits & 0x8000 ? -1 : 1, (bits >> 10) & 0x1f, bits & 0x3ff];
  if (exponent === 0x1f) return fraction ? NaN : sign * Infinity;
  return sign * (exponent ? 2 ** (exponent - 15) * (1 + fraction / 1024) : 2 ** -14 * (fraction / 1024));
}

function roundEven(number) {
  const low = Math.floor(number);
  if (number - low !== 0.5) return Math.round(number);
  return low % 2 ? low + 1 : low;
}

function halfBits(number) {
  const [sign, size] = [number < 0 || Object.is(number, -0) ? 0x8000 : 0, Math.abs(number)];
  if (size >= 65520) return sign | 0x7c00;
  if (size < 2 ** -14) return sign | roundEven(size * 2 ** 24);
  let exponent = Math.floor(Math.log2(size));
  if (2 ** exponent > size) exponent--;
  if (2 ** (exponent + 1) <= size) exponent++;
  return sign | (((exponent + 14) << 10) + roundEven((size / 2 ** exponent) * 1024));
}

// One element of JSON data as bytes. Throws for another kind or range.
function fromJsonValue(datatype, value) {
  if (datatype === "BYTES") {
    if (typeof value !== "string") throw new Error("data that is no BYTES");
    return Buffer.from(value, "utf-8");
  }
  const element = Buffer.alloc(SIZES[datatype]);
  const data = view(element);
  if (datatype === "BOOL") {
    if (typeof value !== "boolean") throw new Error("data that is no BOOL");
    element[0] = value ? 1 : 0;
    return element;
  }
  if (!(value instanceof NumberText)) throw new Error(`data that is no ${datatype}`);
  const number = Number(value.text);
  if (isFloat(datatype)) {
    if (datatype === "FP64") data.setFloat64(0, number, true);
    else if (datatype === "FP32") data.setFloat32(0, number, true);
    else if (datatype === "FP16") data.setUint16(0, halfBits(number), true);
    else {
      const single = Buffer.alloc(4);
      single.writeFloatLE(number);
      roundToBf16(single).copy(element);
    }
    if (!Number.isFinite(toNumber(datatype, data))) throw new Error(`a value is out of the range of ${datatype}`);
    return element;
  }
  let whole;
  if (/^-?\d+$/.test(value.text)) whole = BigInt(value.text);
  else if (Number.isSafeInteger(number)) whole = BigInt(number);
  else throw new Error(`data that is no ${datatype}`);
  const bits = 8 * SIZES[datatype];
  const [low, high] = datatype[0] === "U" ? [0n, 2n ** BigInt(bits)] : [-(2n ** BigInt(bits - 1)), 2n ** BigInt(bits - 1)];
  if (whole < low || whole >= high) throw new Error(`a value is out of the range of ${datatype}`);
  const unsigned = BigInt.asUintN(bits, whole);
  for (let index = 0; index < element.length; index++) element[index] = Number((unsigned >> BigInt(8 * index)) & 0xffn);
  return element;
}

// ---- Requests and responses

// The caller's parameters and the reserved one, which they cannot replace.
function own(parameters, reserved, value) {
  if (Object.hasOwn(parameters, reserved)) throw new Error(`a caller cannot set the parameter ${reserved}`);
  return value === null ? parameters : { ...parameters, [reserved]: value };
}

function encode({ inputs, outputs, parameters, binaryDataOutput, id }) {
  const blobs = [];
  const request = { parameters: own(parameters, "binary_data_output", binaryDataOutput), inputs: [] };
  if (id !== null) request.id = id;
  for (const { name, array, binary, parameters: theirs } of inputs) {
    const tensor = { name, shape: array.shape, datatype: array.datatype };
    if (binary) {
      blobs.push(toBlob(array));
      tensor.parameters = own(theirs, "binary_data_size", blobs.at(-1).length);
    } else {
      tensor.parameters = own(theirs, "binary_data_size", null);
      tensor.data = toJson(array);
    }
    request.inputs.push(tensor);
  }
  if (outputs !== null) {
    request.outputs = outputs.map(({ name, binary, parameters: theirs }) => ({ name, parameters: own(theirs, "binary_data", binary) }));
  }
  return { json: Buffer.from(writeJson(request), "utf-8"), blobs };
}

function decode(headers, body) {
  const given = headers.get("inference-header-content-length") ?? String(body.length);
  if (!/^\d+$/.test(given) || Number(given) > body.length) throw new Error(`header length ${given} in a body of ${body.length} bytes`);
  const length = Number(given);
  const text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(body.subarray(0, length));
  const response = readJson(text);
  let rest = body.subarray(length);
  const names = new Set(response.outputs.map(({ name }) => name));
  if (names.size === 0 || names.size < response.outputs.length) throw new Error("no outputs, or one of them twice");
  for (const output of response.outputs) {
    if (output.datatype !== "BYTES" && !Object.hasOwn(SIZES, output.datatype)) throw new Error(`datatype ${output.datatype}`);
    output.shape = output.shape.map(count);
    const size = output.parameters?.binary_data_size;
    if (size === undefined || size === null) {
      if (!Array.isArray(output.data)) throw new Error(`${output.name} has no data`);
      if (output.data.some(Array.isArray) && !isNested(output.data, output.shape)) throw new Error(`${output.name}: data that is not in its shape`);
      const elements = output.data.flat(Infinity).map((value) => fromJsonValue(output.datatype, value));
      checkCount(output, elements.length);
      output.blob = toBlob({ ...output, elements, bytes: Buffer.concat(elements) });
    } else {
      if (Object.hasOwn(output, "data") || count(size) > rest.length) throw new Error(`${output.name}: a blob that is not there`);
      output.blob = rest.subarray(0, count(size));
      rest = rest.subarray(count(size));
      checkCount(output, countElements(output.datatype, output.blob));
    }
  }
  if (rest.length) throw new Error(`${rest.length} bytes after the last blob`);
  return response;
}

// Whether data is in rows, as the shape says, and not flat.
function isNested(data, [size, ...inner]) {
  if (size === undefined) return !Array.isArray(data);
  return Array.isArray(data) && data.length === size && data.every((row) => isNested(row, inner));
}

function checkCount(output, elements) {
  if (elements !== product(output.shape)) throw new Error(`${output.name}: ${elements} elements in shape [${output.shape}]`);
}

function countElements(datatype, blob) {
  if (datatype !== "BYTES") return blob.length / SIZES[datatype];
  return readElements(blob).length;
}

function readElements(blob) {
  const elements = [];
  for (let start = 0; start < blob.length; ) {
    const end = start + 4 + (start + 4 <= blob.length ? blob.readUInt32LE(start) : 0);
    if (end > blob.length) throw new Error(`element ${elements.length} is longer than what is left of the blob`);
    elements.push(blob.subarray(start + 4, end));
    start = end;
  }
  return elements;
}

async function infer(url, request, { model, version, headers, coding, accepted, timeout }) {
  const framing = Object.keys(headers).filter((name) => FRAMING.has(name.toLowerCase()));
  if (framing.length) throw new Error(`a caller cannot set the header fields ${framing}`);
  const { json, blobs } = encode(request);
  const sent = { ...headers, "Content-Type": "application/json", "Accept-Encoding": accepted ?? "identity" };
  if (blobs.length) {
    sent["Content-Type"] = "application/octet-stream";
    sent["Inference-Header-Content-Length"] = String(json.length);
  }
  let body = Buffer.concat([json, ...blobs]);
  if (coding !== null) {
    sent["Content-Encoding"] = coding;
    body = coding === "gzip" ? gzipSync(body) : deflateSync(body);
  }
  const versions = version === null ? "" : `/versions/${encodeURIComponent(version)}`;
  const response = await post(`${url}/v2/models/${encodeURIComponent(model)}${versions}/infer`, sent, body, timeout);
  if (response.status !== 200) throw new V2Error(errorText(response), response.status);
  try {
    return decode(response.headers, withoutCodings(response));
  } catch (error) {
    throw new V2Error(`malformed response: ${error.message}`, response.status);
  }
}

// ---- HTTP. A response is {status, reason, headers, body}, where `headers` has get(), as in fetch.

const usesFetch = process.argv[2] === "fetch";
const post = usesFetch ? postWithFetch : postWithHttp;

async function postWithFetch(url, headers, body, timeout) {
  const response = await fetch(url, { method: "POST", headers, body, redirect: "manual", signal: AbortSignal.timeout(timeout) });
  return { status: response.status, reason: response.statusText, headers: response.headers, body: Buffer.from(await response.arrayBuffer()) };
}

function postWithHttp(url, headers, body, timeout) {
  const agent = url.startsWith("https:") ? https : http;
  return new Promise((resolve, reject) => {
    let answered = false;
    const options = { method: "POST", headers: { ...headers, "Content-Length": body.length }, signal: AbortSignal.timeout(timeout) };
    const request = agent.request(url, options, (response) => {
      answered = true; // what goes wrong with the request from now on is no concern of the answer
      const chunks = [];
      const found = { get: (name) => response.headers[name] };
      response.on("data", (chunk) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => resolve({ status: response.statusCode, reason: response.statusMessage, headers: found, body: Buffer.concat(chunks) }));
    });
    request.on("error", (error) => answered || reject(error));
    request.end(body);
  });
}

// The body without its content codings. fetch() has undone those that it knows.
function withoutCodings({ headers, body }) {
  const codings = (headers.get("content-encoding") ?? "").toLowerCase().split(",").map((coding) => coding.trim()).filter((coding) => !["", "identity"].includes(coding));
  for (const coding of codings.reverse()) {
    if (!["gzip", "x-gzip", "deflate"].includes(coding)) throw new Error(`Content-Encoding ${coding}`);
    if (!usesFetch) body = coding === "deflate" ? inflateSync(body) : gunzipSync(body);
  }
  return body;
}

// What the server says of its error: {"error": ...}, or any other text, or nothing.
function errorText(response) {
  let text = "";
  try {
    text = withoutCodings(response).toString("utf-8");
    return String(JSON.parse(text).error ?? text);
  } catch {
    return text || response.reason || "no message";
  }
}

// ---- The adapter

function arrayOf({ datatype, shape: sizes, data, layout, from }) {
  const shape = sizes.map(count);
  const bytes = Buffer.from(data, "base64");
  const array = { datatype, shape, from, bytes, columnMajor: layout === "column-major", bigEndian: layout === "big-endian" };
  if (datatype === "BYTES") array.elements = readElements(bytes);
  const reordered = (elements) => {
    const places = columnMajorIndexes(shape);
    return places.map((_, index) => elements[places.indexOf(index)]);
  };
  if (array.columnMajor && datatype === "BYTES") array.elements = reordered(array.elements);
  else if (datatype !== "BYTES" && (array.columnMajor || array.bigEndian)) {
    // From the task's layout, row-major and little-endian, to the caller's.
    let elements = elementsOf({ ...array, from: null, columnMajor: false });
    if (array.columnMajor) elements = reordered(elements);
    array.bytes = Buffer.concat(elements);
  }
  return array;
}

const FORMS = { binary: true, json: false };

async function answer(url, timeout, request) {
  const { model, version, headers, request_compression: coding, response_compression: accepted } = request;
  const asked = {
    inputs: request.inputs.map((input) => ({ name: input.name, array: arrayOf(input), binary: FORMS[input.form], parameters: input.parameters })),
    outputs: request.outputs?.map(({ name, form, parameters }) => ({ name, binary: FORMS[form] ?? null, parameters })) ?? null,
    parameters: request.parameters,
    binaryDataOutput: request.binary_data_output,
    id: request.id,
  };
  try {
    const response = await infer(url, asked, { model, version, headers, coding, accepted, timeout });
    const outputs = response.outputs.map(({ name, datatype, shape, blob }) => ({ name, datatype, shape, data: blob.toString("base64") }));
    const text = (value) => (typeof value === "string" ? value : null);
    return { outputs, model_name: text(response.model_name), model_version: text(response.model_version), id: text(response.id) };
  } catch (error) {
    return { error: error.cause ? `${error.message}: ${error.cause.message}` : error.message, status: error.status ?? null };
  }
}

// Makes the requests of a task in their order; a line for each.
async function* linesOf(task) {
  const client = { name: usesFetch ? "node-fetch" : "node-http", version: process.version };
  for (const request of task.requests) {
    const line = await answer(task.url, Number(task.timeout_s.text) * 500, request);
    yield { ...line, headers: request.headers, client };
  }
}

// No process.exit() at the end: it would cut what is still to be written.
if (process.env.V2_BENCH_TASKS === "stdin") {
  for await (const text of createInterface({ input: process.stdin })) {
    const task = readJson(text);
    const lines = [];
    for await (const line of linesOf(task)) lines.push(line);
    console.log(JSON.stringify({ scenario: task.scenario, lines }));
  }
} else {
  const task = readJson(readFileSync(process.env.V2_BENCH_TASK, "utf-8"));
  for await (const line of linesOf(task)) console.log(JSON.stringify(line));
}
