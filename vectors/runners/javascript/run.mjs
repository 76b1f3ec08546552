// Runs the codec through the vectors: node run.mjs [FOLDER]

import { readFileSync } from "node:fs";
import { join } from "node:path";
import * as codec from "./codec.mjs";

class Wrong extends Error {}

function must(condition, problem) {
  if (!condition) throw new Wrong(problem);
}

// Bytes are base64, long ones pieces that repeat.
function bytes(given) {
  const pieces = typeof given === "string" ? [{ data: given, times: 1 }] : given;
  const parts = pieces.flatMap(({ data, times }) => Array(times).fill(Buffer.from(data, "base64")));
  return Buffer.concat(parts);
}

const isForm = (form, binary) => (form ?? "any") === "any" || (form === "binary") === binary;
const isOne = (value) => value !== undefined;

function same(want, got) {
  must(got, `no ${want.name}`);
  must(got.datatype === want.datatype, `${want.name}: datatype ${got.datatype}`);
  must(JSON.stringify(got.shape) === JSON.stringify(want.shape), `${want.name}: shape ${got.shape}`);
  if (want.one_of) {
    const size = got.data.length / want.one_of[0].length;
    const fits = want.one_of.some((reading) => reading.every((element, n) =>
      element === null || bytes(element).equals(got.data.subarray(n * size, n * size + size))));
    must(fits, `${want.name}: none of the readings`);
  } else if (isOne(want.data)) {
    const [left, right] = [bytes(want.data), got.data].map((data) =>
      (want.truth ? Buffer.from(data.map((byte) => (byte ? 1 : 0))) : data));
    must(left.equals(right), `${want.name}: wrong data`);
  }
}

function compare(rules, want, got) {
  must(isForm(want.form, got.binary), `${want.name} has another form`);
  if (rules.not_finite && !got.binary) {
    const numbers = codec.elementsOf({ ...want, data: bytes(want.data) });
    codec.flat(got.entry.get("data"), want.shape).forEach((value, n) => {
      const isNumber = value instanceof codec.NumberText && Number.isFinite(Number(value.text));
      must(!isNumber || Number.isFinite(numbers[n]), "a number for what is none");
    });
  } else same(want, got);
  hasAll(want.parameters, got.entry.get("parameters"));
}

// Compare a message that the codec wrote with the rules of a vector.
function check(rules, fields, body, key) {
  const [text, rest] = codec.split(fields, body);
  must(text !== null, "header length 0");
  const document = codec.parse(text);
  if (rules.read_only) return;
  let blobs = rest;
  const found = [];
  for (const entry of document.get(key)) {
    const [name, datatype] = [entry.get("name"), entry.get("datatype")];
    const shape = entry.get("shape").map((size) => Number(size.text));
    const binary = Boolean(entry.get("parameters")?.has("binary_data_size"));
    must(!rules.data_or_size || !binary || !entry.has("data"), `${name} has both`);
    let data;
    if (binary || !rules.not_finite) [data, blobs] = codec.take(entry, datatype, shape, blobs);
    found.push({ name, datatype, shape, data, binary, entry });
  }
  must(blobs.length === 0, "bytes are left over");
  for (const want of rules.tensors ?? []) {
    const all = found.filter((one) => one.name === want.name);
    must(all.length, `no ${want.name}`);
    all.forEach((got) => compare(rules, want, got));
  }
  must(!rules.only || found.length === rules.tensors.length, "more tensors");
  must(!rules.one_form || new Set(found.map((one) => one.binary)).size < 2, "mixed forms");
  const [type] = codec.valuesOf(fields, "Content-Type");
  const kind = /^application\/json$|\+json$/.test(type) ? "json" : "binary";
  must((rules.content_type ?? kind) === kind, `typed ${type}`);
  must(!isOne(rules.id) || document.get("id") === rules.id, "wrong id");
  const named = document.get("model_name");
  must(!isOne(named) || (rules.model_name ?? named) === named, "wrong model_name");
  must(isOne(named) || !rules.model_name_sent, "no model_name");
  hasAll(rules.parameters, document.get("parameters"));
  const byDefault = codec.flag(document, "binary_data_output", false);
  must(isForm(rules.outputs_form, byDefault), "asks for another form");
  if (rules.outputs) {
    const listed = document.get("outputs") ?? [];
    must(listed.length === rules.outputs.length, "asks for other outputs");
    for (const one of rules.outputs) {
      const fits = listed.some((entry) => entry.get("name") === one.name
        && isForm(one.form, codec.flag(entry, "binary_data", byDefault)));
      must(fits, `does not ask for ${one.name} as ${one.form}`);
    }
  }
}

function hasAll(wanted = {}, got = new Map()) {
  for (const [name, value] of Object.entries(wanted)) {
    const there = got.get(name);
    const plain = there instanceof codec.NumberText ? Number(there.text) : there;
    must(plain === value, `no parameter ${name}`);
  }
}

// Each kind returns what has to be done once the codec has accepted the vector.
const kinds = {
  decode_request(v, models) {
    const got = codec.decodeRequest(models[v.model], v.fields, bytes(v.body));
    return () => {
      for (const want of v.tensors ?? []) same(want, got.inputs.get(want.name));
      for (const one of v.outputs ?? []) {
        must(got.outputs.has(one.name) && isForm(one.form, got.outputs.get(one.name)), "asks for another output");
      }
      must((v.request_id ?? got.id) === got.id, "another id");
    };
  },
  encode_response(v, models) {
    const tensors = new Map(v.tensors.map((one) => [one.name, { ...one, data: bytes(one.data) }]));
    const [fields, body] = codec.encodeResponse(v.model, models[v.model], tensors, v.asked);
    return () => check(v.accept, fields, body, "outputs");
  },
  decode_response(v) {
    const asked = (v.asked?.outputs ?? []).map((one) => one.name);
    const { outputs, document } = codec.decodeResponse(v.status, v.fields, bytes(v.body), asked);
    return () => {
      must(!v.tensors || outputs.size === v.tensors.length, "other outputs");
      for (const want of v.tensors ?? []) same(want, outputs.get(want.name));
      for (const [name, value] of Object.entries(v.members ?? {})) {
        must((document.get(name) ?? null) === value, `another ${name}`);
      }
    };
  },
  encode_request(v) {
    const tensors = v.tensors.map((one) => {
      const data = one.float32 ? codec.toBf16(bytes(one.float32)) : bytes(one.data);
      return [one.name, { ...one, data }, one.form === "binary", one.parameters];
    });
    const [fields, body] = codec.encodeRequest(tensors, v.asked ?? {}, v.compression);
    return () => {
      must(codec.valuesOf(fields, "Content-Encoding").join() === (v.compression ?? ""), "another coding");
      check(v.accept, fields, codec.decoded(fields, body), "inputs");
    };
  },
  datatypes(v) {
    const tensor = { datatype: v.datatype, shape: v.shape, data: bytes(v.data) };
    return () => {
      if (v.float32 && !v.free) must(codec.toBf16(bytes(v.float32)).equals(tensor.data), "rounded to another number");
      codec.checkBlob(v.datatype, v.shape, tensor.data);
      codec.elementsOf(tensor).forEach((value, n) => must(word(value) === known(v.values[n]), "other values"));
      const read = (text) => codec.fromJson(v.datatype, v.shape, codec.parse(Buffer.from(`{"data":${text}}`)).get("data"));
      if (isOne(v.json)) {
        must(read(v.json).equals(tensor.data), "read from JSON as other bytes");
        must(read(codec.toJson(tensor)).equals(tensor.data), "written as another number");
        return;
      }
      try {
        codec.toJson(tensor);
      } catch (error) {
        if (error instanceof codec.Rejected) return;
        throw error;
      }
      must(false, "written as JSON, which has no form for it");
    };
  },
};

const word = (value) => (value instanceof Buffer ? value.toString("base64") : Object.is(value, -0) ? "-0" : String(value));

// Floats are hexadecimal, which JavaScript does not read.
function known(text) {
  const found = /^(-?)0x(\d)\.([0-9a-f]+)p([-+]\d+)$/.exec(text);
  if (!found) return { inf: "Infinity", "-inf": "-Infinity", nan: "NaN" }[text] ?? text;
  const [, sign, whole, fraction, power] = found;
  const digits = Number(BigInt(`0x${whole}${fraction}`));
  const exponent = Number(power) - 4 * fraction.length; // in two steps: 2 ** -1126 would be 0
  const value = (sign ? -1 : 1) * digits * 2 ** Math.max(exponent, -1000) * 2 ** Math.min(exponent + 1000, 0);
  return word(value);
}

// FAIL or WARN and what is wrong, or null.
function judge(vector, models) {
  let finish;
  try {
    finish = kinds[vector.kind](vector, models);
  } catch (error) {
    if (!(error instanceof codec.Rejected)) return ["FAIL", `crashed: ${error.stack}`];
    const words = `rejected: ${error.message}`;
    if (vector.result === "valid") return ["FAIL", words];
    if (!words.includes(vector.says ?? "")) return ["FAIL", "the error lacks the server's words"];
    return vector.should === "accept" ? ["WARN", words] : null;
  }
  if (vector.result === "invalid") return ["FAIL", "accepted"];
  try {
    finish();
  } catch (error) {
    return [vector.free ? "WARN" : "FAIL", error.message];
  }
  return vector.should === "reject" ? ["WARN", "accepted"] : null;
}

const folder = process.argv[2] ?? join(import.meta.dirname ?? ".", "..", "..");
const counts = { PASS: 0, WARN: 0, FAIL: 0 };
for (const { path } of JSON.parse(readFileSync(join(folder, "index.json"))).files) {
  const { models = {}, vectors } = JSON.parse(readFileSync(join(folder, path)));
  for (const vector of vectors) {
    const [grade, words] = judge(vector, models) ?? ["PASS", ""];
    counts[grade] += 1;
    if (words) console.log(`${grade} ${vector.kind} ${vector.id}: ${words}`);
  }
}
const passed = counts.PASS + counts.WARN;
console.log(`${passed} passed, ${counts.FAIL} failed, ${counts.WARN} warnings`);
process.exitCode = counts.FAIL || !passed ? 1 : 0;
