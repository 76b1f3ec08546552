// A client for the binary tensor data extension in JavaScript (Node 18 or newer, no packages): the
// codec beside it and node:http, with its adapter for the client bench:
//
//     v2-conformance client -- node node.mjs
//
// With `fetch` behind it, it uses fetch() in place of node:http, which ignores some of what a server
// may do wrong (docs/clients.md). The task and the answer are described there, too.

import http from "node:http";
import https from "node:https";
import { createInterface } from "node:readline";
import * as codec from "./codec.mjs";

// Header fields that say how the message is framed: only the client itself can know them.
const FRAMING = new Set([
  "content-length", "transfer-encoding", "content-encoding", "accept-encoding", "host", "connection",
  "inference-header-content-length", "content-type", "expect", "trailer", "te", "upgrade", "keep-alive",
]);

// ---- The client. Tensors are those of the codec.

// A caller's parameters with the reserved one, which the caller cannot set.
function withReserved(parameters, reserved, value) {
  if (Object.hasOwn(parameters, reserved)) throw new Error(`a caller cannot set the parameter ${reserved}`);
  return value === null ? parameters : { ...parameters, [reserved]: value };
}

async function infer(url, { model, version, headers, accepted, timeout }, [fields, body]) {
  const framing = Object.keys(headers).filter((name) => FRAMING.has(name.toLowerCase()));
  if (framing.length) throw new Error(`a caller cannot set the header fields ${framing}`);
  const versions = version === null ? "" : `/versions/${encodeURIComponent(version)}`;
  const target = `${url}/v2/models/${encodeURIComponent(model)}${versions}/infer`;
  const sent = { ...headers, ...Object.fromEntries(fields), "Accept-Encoding": accepted ?? "identity" };
  const response = await post(target, sent, body, timeout);
  try {
    return codec.decodeResponse(response.status, response.fields, response.body);
  } catch (error) {
    throw Object.assign(error, { status: response.status });
  }
}

// ---- HTTP. A response is {status, fields, body}, where `fields` are [name, value].

const usesFetch = process.argv[2] === "fetch";
const post = usesFetch ? postWithFetch : postWithHttp;

async function postWithFetch(url, headers, body, timeout) {
  const response = await fetch(url, { method: "POST", headers, body, redirect: "manual", signal: AbortSignal.timeout(timeout) });
  const fields = [...response.headers].filter(([name]) => name !== "content-encoding"); // undone
  return { status: response.status, fields, body: Buffer.from(await response.arrayBuffer()) };
}

function postWithHttp(url, headers, body, timeout) {
  const agent = url.startsWith("https:") ? https : http;
  return new Promise((resolve, reject) => {
    let answered = false;
    const options = { method: "POST", headers: { ...headers, "Content-Length": body.length }, signal: AbortSignal.timeout(timeout) };
    const request = agent.request(url, options, (response) => {
      answered = true; // what goes wrong with the request from now on does not concern the answer
      const chunks = [];
      const names = response.rawHeaders.filter((_, index) => index % 2 === 0);
      const fields = names.map((name, index) => [name, response.rawHeaders[2 * index + 1]]);
      response.on("data", (chunk) => chunks.push(chunk));
      response.on("error", reject);
      response.on("end", () => resolve({ status: response.statusCode, fields, body: Buffer.concat(chunks) }));
    });
    request.on("error", (error) => answered || reject(error));
    request.end(body);
  });
}

// ---- The adapter

function tensorOf({ datatype, shape, data, from }) {
  const bytes = Buffer.from(data, "base64");
  return { datatype, shape, data: from === "float32" ? codec.toBf16(bytes) : bytes };
}

function encoded({ inputs, outputs, parameters, id, binary_data_output: byDefault, request_compression: coding }) {
  const tensors = inputs.map((input) => {
    const own = withReserved(input.parameters, "binary_data_size", null);
    return [input.name, tensorOf(input), input.form === "binary", own];
  });
  const asked = { parameters: withReserved(parameters, "binary_data_output", byDefault) };
  if (id !== null) asked.id = id;
  asked.outputs = outputs?.map(({ name, form, parameters: own }) => (
    { name, parameters: withReserved(own, "binary_data", { binary: true, json: false }[form] ?? null) }));
  return codec.encodeRequest(tensors, asked, coding);
}

async function answer(url, timeout, request) {
  const other = request.inputs.find(({ layout }) => layout !== "row-major");
  if (other) return { unsupported: `arrays are row-major and little-endian, not ${other.layout}` };
  const { model, version, headers, response_compression: accepted } = request;
  try {
    const { outputs, document } = await infer(url, { model, version, headers, accepted, timeout }, encoded(request));
    const text = (name) => (typeof document.get(name) === "string" ? document.get(name) : null);
    return {
      outputs: [...outputs].map(([name, { datatype, shape, data }]) => ({ name, datatype, shape, data: data.toString("base64") })),
      model_name: text("model_name"), model_version: text("model_version"), id: text("id"),
    };
  } catch (error) {
    return { error: error.cause ? `${error.message}: ${error.cause.message}` : error.message, status: error.status ?? null };
  }
}

// Makes the requests of a task in their order; a line for each.
async function* linesOf(task) {
  const client = { name: usesFetch ? "node-fetch" : "node-http", version: process.version };
  for (const request of task.requests) {
    const line = await answer(task.url, task.timeout_s * 500, request);
    yield { ...line, headers: request.headers, client };
  }
}

// No process.exit() at the end: it would cut what is still to be written.
for await (const text of createInterface({ input: process.stdin })) {
  const task = JSON.parse(text);
  const lines = [];
  for await (const line of linesOf(task)) lines.push(line);
  console.log(JSON.stringify({ scenario: task.scenario, lines }));
}
