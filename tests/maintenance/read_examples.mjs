// Reads examples/ with a codec of its own, as examples/README.md says: node read_examples.mjs FOLDER
// Prints each message that it does not read as described.

import { readFileSync, readdirSync } from "node:fs";
import { join } from "node:path";

const SIZES = { BOOL: 1, UINT32: 4, FP16: 2, FP32: 4 };

function encoded(datatype, values) {
  const view = new DataView(new ArrayBuffer(values.length * SIZES[datatype]));
  values.forEach((value, i) => {
    if (datatype === "BOOL") view.setUint8(i, value ? 1 : 0);
    else if (datatype === "UINT32") view.setUint32(4 * i, value, true);
    else view.setFloat32(4 * i, value, true);
  });
  return Buffer.from(view.buffer);
}

function decoded(body, length) {
  const document = JSON.parse(body.subarray(0, length ?? body.length).toString());
  let at = length ?? body.length;
  const tensors = (document.inputs ?? document.outputs).map((entry) => {
    const expected = entry.shape.reduce((a, b) => a * b, 1) * SIZES[entry.datatype];
    const size = entry.parameters?.binary_data_size;
    const data =
      size === undefined
        ? encoded(entry.datatype, entry.data.flat(Infinity))
        : body.subarray(at, (at += size));
    if (data.length !== expected) throw new Error(`${entry.name}: ${data.length} bytes`);
    return { name: entry.name, shape: entry.shape, datatype: entry.datatype, data };
  });
  if (at !== body.length) throw new Error("bytes are left over");
  return tensors;
}

function read(body, about) {
  if (about.header_length !== 0) return decoded(body, about.header_length);
  const { name, shape, datatype } = about.tensors[0]; // the model knows them, not the message
  return [{ name, shape, datatype, data: body }];
}

const folder = process.argv[2];
let messages = 0;
for (const file of readdirSync(folder).filter((name) => name.endsWith(".json"))) {
  const about = JSON.parse(readFileSync(join(folder, file)));
  const body = readFileSync(join(folder, file.replace(/json$/, "bin")));
  messages += 1;
  let found;
  try {
    found = read(body, about);
  } catch (error) {
    if (about.wrong === null) console.log(`${file}: ${error}`);
    continue;
  }
  const seen = found.map((t) => [t.name, t.datatype, t.shape, t.data.toString("base64")]);
  const right = about.tensors.map((t) => [t.name, t.datatype, t.shape, t.data]);
  if (about.wrong !== null) console.log(`${file}: read, although ${about.wrong}`);
  else if (JSON.stringify(seen) !== JSON.stringify(right)) console.log(`${file}: other tensors`);
}
console.log(`${messages} messages`);
