//! A client for the binary tensor data extension in Rust, with libcurl, flate2 and serde_json, and
//! its adapter for the client bench. It does what the suite asks of a client.
//!
//!     cargo build    # in the folder with this file and Cargo.toml; needs libcurl or a C compiler
//!     v2-conformance client --one-process -- target/debug/client
//!
//! With Debian's packages instead of crates.io:
//!
//!     apt-get install cargo librust-curl-dev librust-flate2-dev librust-serde-json-dev
//!     cargo build --offline --config 'source.crates-io.replace-with="debian"' \
//!         --config 'source.debian.directory="/usr/share/cargo/registry"'

use curl::easy::{Easy2, Handler, HttpVersion, List, WriteError};
use flate2::bufread::{GzEncoder, MultiGzDecoder, ZlibEncoder};
use flate2::{Compression, Decompress, FlushDecompress, Status};
use serde_json::{json, Value};
use std::io::{self, BufRead, Read};
use std::time::Duration;

/// What the caller is told instead of outputs, with the status of the response if there is one.
struct Failure {
    text: String,
    status: Option<u32>,
}

type Result<T> = std::result::Result<T, Failure>;

fn failure(text: impl Into<String>) -> Failure {
    Failure {
        text: text.into(),
        status: None,
    }
}

impl<E: std::error::Error> From<E> for Failure {
    fn from(error: E) -> Self {
        failure(error.to_string())
    }
}

fn need(condition: bool, problem: &str) -> Result<()> {
    condition.then_some(()).ok_or_else(|| failure(problem))
}

// ---- Elements

#[derive(Clone, Copy, PartialEq)]
enum Kind {
    Bool,
    Unsigned,
    Signed,
    Float { mantissa: u32 },
    Bytes,
}

#[derive(Clone, Copy, PartialEq)]
struct Datatype {
    kind: Kind,
    size: usize, // of an element, in bytes
}

const FP32: Datatype = Datatype {
    kind: Kind::Float { mantissa: 23 },
    size: 4,
};
const BF16: Datatype = Datatype {
    kind: Kind::Float { mantissa: 7 },
    size: 2,
};

fn datatype_of(name: &str) -> Result<Datatype> {
    let (kind, size) = match name {
        "BOOL" => (Kind::Bool, 1),
        "UINT8" => (Kind::Unsigned, 1),
        "UINT16" => (Kind::Unsigned, 2),
        "UINT32" => (Kind::Unsigned, 4),
        "UINT64" => (Kind::Unsigned, 8),
        "INT8" => (Kind::Signed, 1),
        "INT16" => (Kind::Signed, 2),
        "INT32" => (Kind::Signed, 4),
        "INT64" => (Kind::Signed, 8),
        "FP16" => (Kind::Float { mantissa: 10 }, 2),
        "BF16" => return Ok(BF16),
        "FP32" => return Ok(FP32),
        "FP64" => (Kind::Float { mantissa: 52 }, 8),
        "BYTES" => (Kind::Bytes, 0),
        _ => return Err(failure(format!("unknown datatype {name:.20}"))),
    };
    Ok(Datatype { kind, size })
}

/// An element of up to 8 bytes as a number; they are little-endian on a machine of any byte order.
fn get(element: &[u8]) -> u64 {
    element
        .iter()
        .rev()
        .fold(0, |bits, byte| bits << 8 | u64::from(*byte))
}

fn put(blob: &mut Vec<u8>, bits: u64, size: usize) {
    blob.extend_from_slice(&bits.to_le_bytes()[..size]);
}

fn count(shape: &[usize]) -> Result<usize> {
    if shape.contains(&0) {
        return Ok(0);
    }
    let product = shape
        .iter()
        .try_fold(1_usize, |product, size| product.checked_mul(*size));
    product.ok_or_else(|| failure("a shape beyond all memory"))
}

/// The elements of a blob. Those of BYTES each follow their length.
fn split(datatype: Datatype, mut blob: &[u8]) -> Result<Vec<&[u8]>> {
    let mut elements = Vec::new();
    while !blob.is_empty() {
        let mut length = datatype.size;
        if datatype.kind == Kind::Bytes {
            need(blob.len() >= 4, "a length of BYTES that is cut off")?;
            length = get(&blob[..4]) as usize;
            blob = &blob[4..];
        }
        need(length <= blob.len(), "an element past its blob's end")?;
        elements.push(&blob[..length]);
        blob = &blob[length..];
    }
    Ok(elements)
}

fn add(blob: &mut Vec<u8>, datatype: Datatype, element: &[u8]) {
    if datatype.kind == Kind::Bytes {
        put(blob, element.len() as u64, 4);
    }
    blob.extend_from_slice(element);
}

fn check(datatype: Datatype, shape: &[usize], blob: &[u8]) -> Result<()> {
    let elements = match datatype.kind {
        Kind::Bytes => split(datatype, blob)?.len(),
        _ if blob.len() % datatype.size != 0 => return Err(failure("a blob ends in an element")),
        _ => blob.len() / datatype.size,
    };
    need(elements == count(shape)?, "another number of elements")
}

enum Layout {
    RowMajor,
    ColumnMajor,
    BigEndian,
}

/// An array as the caller has it in memory.
struct Array {
    datatype: Datatype,
    shape: Vec<usize>,
    layout: Layout,
    bytes: Vec<u8>,
}

/// For each element in row-major order, its index in column-major order.
fn column_major(shape: &[usize]) -> Result<Vec<usize>> {
    let mut indexes = vec![0; count(shape)?];
    let all = indexes.len();
    for (flat, index) in indexes.iter_mut().enumerate() {
        let (mut rest, mut stride) = (flat, all);
        for size in shape.iter().rev() {
            stride /= size;
            *index += rest % size * stride;
            rest /= size;
        }
    }
    Ok(indexes)
}

fn swapped(bytes: &[u8], size: usize) -> Vec<u8> {
    let elements = bytes.chunks(size);
    elements.flat_map(|e| e.iter().rev().copied()).collect()
}

/// The nearest BF16 of the bits of an FP32, in the middle the even one. A NaN stays one.
fn bf16_of(bits: u64) -> u64 {
    if bits & 0x7fff_ffff > 0x7f80_0000 {
        return bits >> 16 | 0x40;
    }
    (bits + 0x7fff + (bits >> 16 & 1)) >> 16
}

/// The blob of an array, row-major and little-endian, however it lies. FP32 can become BF16.
fn to_wire(array: &Array, datatype: Datatype) -> Result<Vec<u8>> {
    let mut blob = Vec::new();
    match array.layout {
        Layout::RowMajor => blob.extend_from_slice(&array.bytes),
        Layout::BigEndian => blob = swapped(&array.bytes, array.datatype.size),
        Layout::ColumnMajor => {
            let elements = split(array.datatype, &array.bytes)?;
            for index in column_major(&array.shape)? {
                add(&mut blob, array.datatype, elements[index]);
            }
        }
    }
    if datatype == BF16 && array.datatype == FP32 {
        let wide = std::mem::take(&mut blob);
        for element in wide.chunks(FP32.size) {
            put(&mut blob, bf16_of(get(element)), BF16.size);
        }
    }
    Ok(blob)
}

// ---- Elements as JSON

/// The value of a float of any size; None for NaN and infinity, which have no JSON form.
fn value_of(bits: u64, size: usize, mantissa: u32) -> Option<f64> {
    let sign = 1 << (8 * size - 1);
    let bias = (sign >> mantissa >> 1) - 1;
    let magnitude = bits & (sign - 1);
    if magnitude >> mantissa == 2 * bias + 1 {
        return None;
    }
    // Put where the fraction of an f64 is, it is too small by a power of two, and still exact.
    let value = f64::from_bits(magnitude << (52 - mantissa)) * f64::from_bits((2046 - bias) << 52);
    Some(if bits & sign != 0 { -value } else { value })
}

/// The bits of a number, rounded once, to the nearest even.
fn bits_of(value: f64, size: usize, mantissa: u32) -> u64 {
    let bits = value.to_bits();
    if mantissa == 52 {
        return bits;
    }
    let sign = 1 << (8 * size - 1);
    let bias = (sign >> mantissa >> 1) as i32 - 1;
    let exponent = (bits >> 52 & 0x7ff) as i32 - 1023;
    let fraction = (bits & ((1 << 52) - 1)) | 1 << 52;
    let above = (exponent + bias - 1).max(0); // the least normal exponent, and that of subnormals
    let shift = (52 - mantissa as i32 + above - (exponent + bias - 1)).min(60);
    let rounded = (fraction + (1 << (shift - 1)) - 1 + (fraction >> shift & 1)) >> shift;
    let infinity = (2 * bias as u64 + 1) << mantissa;
    (if value.is_sign_negative() { sign } else { 0 })
        | (((above as u64) << mantissa) + rounded).min(infinity)
}

fn to_json(datatype: Datatype, blob: &[u8]) -> Result<Value> {
    let shown = |element: &[u8]| -> Result<Value> {
        let unused = 64 - 8 * datatype.size as u32;
        Ok(match datatype.kind {
            Kind::Bytes => std::str::from_utf8(element)?.into(),
            Kind::Bool => (get(element) != 0).into(),
            Kind::Unsigned => get(element).into(),
            Kind::Signed => ((get(element) << unused) as i64 >> unused).into(),
            Kind::Float { mantissa } => value_of(get(element), datatype.size, mantissa)
                .ok_or_else(|| failure("NaN and infinity have no JSON form"))?
                .into(),
        })
    };
    split(datatype, blob)?.into_iter().map(shown).collect()
}

/// The elements of `data`, flat or nested as `shape`.
fn flatten<'a>(data: &'a Value, shape: &[usize], elements: &mut Vec<&'a Value>) -> Result<()> {
    match (data, shape) {
        (Value::Array(items), [size, inner @ ..]) if items.len() == *size => items
            .iter()
            .try_for_each(|item| flatten(item, inner, elements)),
        (Value::Array(_), _) | (_, [_, ..]) => Err(failure("data that is not nested as its shape")),
        (item, []) => {
            elements.push(item);
            Ok(())
        }
    }
}

fn integer_of(item: &Value, datatype: Datatype) -> Result<u64> {
    let number = match (item.as_u64(), item.as_i64(), item.as_f64()) {
        (Some(number), ..) => i128::from(number),
        (_, Some(number), _) => i128::from(number),
        // 3.0 is an integer, too, while a double is exact.
        (.., Some(near)) if near == near.trunc() && near.abs() < 2_f64.powi(53) => near as i128,
        _ => return Err(failure("not an integer")),
    };
    let all = 1_i128 << (8 * datatype.size);
    let range = match datatype.kind {
        Kind::Signed => -all / 2..all / 2,
        _ => 0..all,
    };
    need(range.contains(&number), "a value is out of range")?;
    Ok(number as u64)
}

fn from_json(datatype: Datatype, shape: &[usize], data: &Value) -> Result<Vec<u8>> {
    let wrong = || failure("data of another datatype");
    let items = data.as_array().ok_or_else(wrong)?;
    let mut elements = Vec::new();
    if items.iter().any(Value::is_array) {
        flatten(data, shape, &mut elements)?;
    } else {
        elements.extend(items);
    }
    let mut blob = Vec::new();
    for item in elements {
        match datatype.kind {
            Kind::Bytes => {
                let text = item.as_str().ok_or_else(wrong)?;
                add(&mut blob, datatype, text.as_bytes());
            }
            Kind::Bool => blob.push(item.as_bool().ok_or_else(wrong)?.into()),
            Kind::Float { mantissa } => {
                let number = item.as_f64().ok_or_else(wrong)?;
                let bits = bits_of(number, datatype.size, mantissa);
                let finite = value_of(bits, datatype.size, mantissa).is_some();
                need(finite, "a value is out of range")?;
                put(&mut blob, bits, datatype.size);
            }
            _ => put(&mut blob, integer_of(item, datatype)?, datatype.size),
        }
    }
    Ok(blob)
}

// ---- HTTP

#[derive(Default)]
struct Response {
    ended: bool, // its head: what follows its body are trailers, which say nothing of it
    header_lengths: Vec<String>,
    codings: Vec<String>,
    body: Vec<u8>,
}

impl Handler for Response {
    fn write(&mut self, part: &[u8]) -> std::result::Result<usize, WriteError> {
        self.body.extend_from_slice(part);
        Ok(part.len())
    }

    fn header(&mut self, line: &[u8]) -> bool {
        let line = String::from_utf8_lossy(line);
        if line.starts_with("HTTP/") {
            *self = Response::default(); // after an interim one
        }
        self.ended |= line.trim_end_matches(['\r', '\n']).is_empty();
        let (name, value) = line.split_once(':').unwrap_or_default();
        match name.to_ascii_lowercase().as_str() {
            _ if self.ended => (),
            "inference-header-content-length" => self.header_lengths.push(value.trim().into()),
            "content-encoding" => {
                let codings = value.split(',').map(|coding| coding.trim());
                self.codings.extend(codings.map(str::to_ascii_lowercase));
            }
            _ => (),
        }
        true
    }
}

fn compressed(coding: &str, body: &[u8]) -> Result<Vec<u8>> {
    let (mut packed, level) = (Vec::new(), Compression::default());
    match coding {
        "gzip" => GzEncoder::new(body, level).read_to_end(&mut packed)?,
        _ => ZlibEncoder::new(body, level).read_to_end(&mut packed)?,
    };
    Ok(packed)
}

/// What the members of a gzip stream hold, each whole and with its checksum.
fn gunzipped(body: &[u8]) -> Result<Vec<u8>> {
    let mut found = Vec::new();
    MultiGzDecoder::new(body).read_to_end(&mut found)?;
    Ok(found)
}

/// What a zlib stream holds. ZlibDecoder would not notice that its end is missing.
fn inflated(body: &[u8]) -> Result<Vec<u8>> {
    let mut stream = Decompress::new(true);
    let mut found = Vec::with_capacity(65536);
    loop {
        let before = (stream.total_in(), stream.total_out());
        let rest = &body[stream.total_in() as usize..];
        let status = stream.decompress_vec(rest, &mut found, FlushDecompress::None)?;
        if status == Status::StreamEnd {
            break;
        }
        let after = (stream.total_in(), stream.total_out());
        need(before != after, "its coding is cut off")?;
        found.reserve(65536);
    }
    let read = stream.total_in() as usize;
    need(read == body.len(), "bytes follow its coding")?;
    Ok(found)
}

/// The body of a response without its codings, the last of which is undone first.
fn uncoded(response: &mut Response) -> Result<Vec<u8>> {
    let mut body = std::mem::take(&mut response.body);
    for coding in response.codings.iter().rev() {
        body = match coding.as_str() {
            "gzip" | "x-gzip" => gunzipped(&body)?,
            "deflate" => inflated(&body)?,
            "identity" | "" => body,
            other => return Err(failure(format!("Content-Encoding {other}"))),
        }
    }
    Ok(body)
}

fn error_text(body: &[u8], status: u32) -> String {
    let said: Value = serde_json::from_slice(body).unwrap_or_default();
    match said["error"].as_str() {
        Some(text) => text.to_string(),
        None if body.is_empty() => format!("status {status}"),
        None => String::from_utf8_lossy(body).chars().take(900).collect(),
    }
}

/// Header fields that only the client itself can know.
const FRAMING: &str = "content-length transfer-encoding content-encoding accept-encoding host \
    connection content-type expect trailer te upgrade inference-header-content-length";

fn header_line(name: &str, value: &str) -> Result<String> {
    let mut framing = FRAMING.split(' ');
    let allowed = !framing.any(|own| own.eq_ignore_ascii_case(name));
    need(allowed, &format!("a caller cannot set the field {name}"))?;
    let sound = !name.contains(['\r', '\n', '\0', ':', ' ']) && !value.contains(['\r', '\n', '\0']);
    need(sound, "a header field that would end its line")?;
    Ok(match value {
        "" => format!("{name};"), // which is how libcurl wants it
        _ => format!("{name}: {value}"),
    })
}

// ---- The client

/// What a request says besides its message.
struct Envelope<'a> {
    path: String,
    headers: &'a Value,
    coding: Option<&'a str>,
    accepted: Option<&'a str>,
}

struct Client {
    url: String,
    timeout: Duration,
    curl: Easy2<Response>, // and its connections
}

impl Client {
    fn new(url: &str, timeout: Duration) -> Self {
        Client {
            url: url.to_string(),
            timeout,
            curl: Easy2::new(Response::default()),
        }
    }

    fn escaped(&mut self, name: &str) -> String {
        self.curl.url_encode(name.as_bytes())
    }

    /// Sends a message, and the blobs if there are any. The response is without its codings.
    fn post(&mut self, how: &Envelope, message: &str, blobs: Option<&[u8]>) -> Result<Response> {
        let mut lines = List::new();
        for (name, value) in how.headers.as_object().into_iter().flatten() {
            lines.append(&header_line(name, value.as_str().unwrap_or_default())?)?;
        }
        let mut body = [message.as_bytes(), blobs.unwrap_or_default()].concat();
        if blobs.is_some() {
            lines.append("Content-Type: application/octet-stream")?;
            let length = message.len();
            lines.append(&format!("Inference-Header-Content-Length: {length}"))?;
        } else {
            lines.append("Content-Type: application/json")?; // there is no header length
        }
        if let Some(coding) = how.coding {
            lines.append(&format!("Content-Encoding: {coding}"))?;
            body = compressed(coding, &body)?; // the header length counts what was before
        }
        // Said so, libcurl does not undo codings: it would not notice that their end is missing.
        let accepted = how.accepted.unwrap_or("identity");
        lines.append(&format!("Accept-Encoding: {accepted}"))?;
        lines.append("Expect:")?; // no waiting for 100 Continue
        self.curl.reset();
        *self.curl.get_mut() = Response::default();
        self.curl.url(&format!("{}{}", self.url, how.path))?;
        self.curl.proxy("")?;
        self.curl.http_version(HttpVersion::V11)?;
        self.curl.timeout(self.timeout)?;
        self.curl.http_headers(lines)?;
        self.curl.post(true)?;
        self.curl.post_fields_copy(&body)?;
        let done = self.curl.perform();
        let status = self.curl.response_code()?;
        let mut response = std::mem::take(self.curl.get_mut());
        if status > 200 {
            // Whatever its body is, it is an error.
            let body = uncoded(&mut response).unwrap_or_default();
            return Err(Failure {
                text: error_text(&body, status),
                status: Some(status),
            });
        }
        done?;
        response.body = uncoded(&mut response)?;
        Ok(response)
    }
}

/// The caller's parameters and the reserved one, which they cannot replace.
fn parameters(theirs: &Value, reserved: &str, value: Option<Value>) -> Result<Value> {
    let mut all = theirs.as_object().cloned().unwrap_or_default();
    let own = !all.contains_key(reserved);
    need(own, &format!("a caller cannot set {reserved}"))?;
    all.extend(value.map(|value| (reserved.to_string(), value)));
    Ok(all.into())
}

/// A size or a length in a response, where 4.0 is as good as 4.
fn size_of(value: &Value) -> Result<usize> {
    let number = value.as_f64().unwrap_or(-1.0);
    let whole = number >= 0.0 && number == number.trunc() && number < 2_f64.powi(53);
    need(whole, "not a size")?;
    Ok(number as usize)
}

fn shape_of(entry: &Value) -> Result<Vec<usize>> {
    let sizes = entry["shape"].as_array();
    let sizes = sizes.ok_or_else(|| failure("an output without a shape"))?;
    sizes.iter().map(size_of).collect()
}

struct Output {
    name: String,
    datatype: String,
    shape: Vec<usize>,
    blob: Vec<u8>,
}

/// The JSON of a response, and its outputs. Every length is checked.
fn decode(response: &Response) -> Result<(Value, Vec<Output>)> {
    let body = response.body.as_slice();
    let length = match response.header_lengths.as_slice() {
        [] => body.len(),
        [text] if !text.is_empty() && text.bytes().all(|digit| digit.is_ascii_digit()) => {
            text.parse()?
        }
        _ => return Err(failure("the header length is not a number")),
    };
    need(length <= body.len(), "the header length is beyond the body")?;
    let (message, mut rest) = body.split_at(length);
    let document: Value = serde_json::from_slice(message)?;
    let mut outputs: Vec<Output> = Vec::new();
    for entry in document["outputs"].as_array().into_iter().flatten() {
        let text = |name: &str| match entry[name].as_str() {
            Some(text) => Ok(text.to_string()),
            None => Err(failure(format!("an output without a {name}"))),
        };
        let (name, datatype, shape) = (text("name")?, text("datatype")?, shape_of(entry)?);
        let first = outputs.iter().all(|other| other.name != name);
        need(first, "an output is there twice")?;
        let kind = datatype_of(&datatype)?;
        let blob = match (entry.get("data"), &entry["parameters"]["binary_data_size"]) {
            (Some(data), Value::Null) => from_json(kind, &shape, data)?,
            (None, Value::Null) => return Err(failure("an output without data")),
            (Some(_), _) => return Err(failure("an output with data and a size")),
            (None, size) => {
                // Blobs come in this order, not in that of the request.
                let size = size_of(size)?;
                need(size <= rest.len(), "a blob ends past the body")?;
                let (blob, behind) = rest.split_at(size);
                rest = behind;
                blob.to_vec()
            }
        };
        check(kind, &shape, &blob)?;
        outputs.push(Output {
            name,
            datatype,
            shape,
            blob,
        });
    }
    need(!outputs.is_empty(), "no outputs")?;
    need(rest.is_empty(), "bytes follow the last blob")?;
    Ok((document, outputs))
}

// ---- The adapter

const ALPHABET: &[u8; 64] = b"ABCDEFGHIJKLMNOPQRSTUVWXYZabcdefghijklmnopqrstuvwxyz0123456789+/";

fn to_base64(bytes: &[u8]) -> String {
    let mut text = String::with_capacity(bytes.len() / 3 * 4 + 4);
    for part in bytes.chunks(3) {
        let mut word = [0; 4];
        word[1..=part.len()].copy_from_slice(part);
        let bits = u32::from_be_bytes(word) as usize;
        let letters = [18, 12, 6, 0].map(|shift| char::from(ALPHABET[bits >> shift & 63]));
        text.extend(&letters[..=part.len()]);
        text.extend(&['='; 2][..3 - part.len()]);
    }
    text
}

fn from_base64(text: &str) -> Vec<u8> {
    let mut values = [0; 256];
    for (letter, value) in ALPHABET.iter().zip(0..) {
        values[usize::from(*letter)] = value;
    }
    let (mut bytes, mut bits, mut have) = (Vec::with_capacity(text.len() / 4 * 3), 0_u32, 0);
    for letter in text.trim_end_matches('=').bytes() {
        bits = bits << 6 | values[usize::from(letter)];
        have += 6;
        if have >= 8 {
            have -= 8;
            bytes.push((bits >> have) as u8);
        }
    }
    bytes
}

/// An input of the task as the caller has it in memory, laid out as it says.
fn array_of(tensor: &Value, datatype: Datatype) -> Result<Array> {
    let shape = shape_of(tensor)?;
    let data = from_base64(tensor["data"].as_str().unwrap_or_default());
    let layout = match tensor["layout"].as_str() {
        Some("column-major") => Layout::ColumnMajor,
        Some("big-endian") if datatype.kind != Kind::Bytes => Layout::BigEndian,
        _ => Layout::RowMajor,
    };
    let bytes = match layout {
        Layout::RowMajor => data,
        Layout::BigEndian => swapped(&data, datatype.size),
        Layout::ColumnMajor => {
            let elements = split(datatype, &data)?;
            let mut laid = elements.clone();
            for (index, element) in column_major(&shape)?.into_iter().zip(elements) {
                laid[index] = element;
            }
            let mut bytes = Vec::new();
            for element in laid {
                add(&mut bytes, datatype, element);
            }
            bytes
        }
    };
    Ok(Array {
        datatype,
        shape,
        layout,
        bytes,
    })
}

/// The message of a request, and its blobs.
fn encode(request: &Value) -> Result<(String, Option<Vec<u8>>)> {
    let mut blobs: Option<Vec<u8>> = None;
    let mut inputs = Vec::new();
    for tensor in request["inputs"].as_array().into_iter().flatten() {
        let datatype = datatype_of(tensor["datatype"].as_str().unwrap_or_default())?;
        let rounds = tensor["from"] == "float32";
        let array = array_of(tensor, if rounds { FP32 } else { datatype })?;
        let blob = to_wire(&array, datatype)?;
        let binary = tensor["form"] == "binary";
        let size = binary.then(|| blob.len().into());
        let mut entry = json!({
            "name": tensor["name"], "datatype": tensor["datatype"], "shape": tensor["shape"],
            "parameters": parameters(&tensor["parameters"], "binary_data_size", size)?,
        });
        if binary {
            blobs.get_or_insert_with(Vec::new).extend_from_slice(&blob);
        } else {
            entry["data"] = to_json(datatype, &blob)?;
        }
        inputs.push(entry);
    }
    let given = |value: &Value| Some(value.clone()).filter(|value| !value.is_null());
    let default = given(&request["binary_data_output"]);
    let all = parameters(&request["parameters"], "binary_data_output", default)?;
    let mut message = json!({"inputs": inputs, "parameters": all});
    if let Some(id) = given(&request["id"]) {
        message["id"] = id;
    }
    if let Some(asked) = request["outputs"].as_array() {
        let entry = |output: &Value| -> Result<Value> {
            let form = given(&output["form"]).map(|form| (form == "binary").into());
            let all = parameters(&output["parameters"], "binary_data", form)?;
            Ok(json!({"name": output["name"], "parameters": all}))
        };
        message["outputs"] = asked.iter().map(entry).collect::<Result<_>>()?;
    }
    Ok((message.to_string(), blobs))
}

/// What the client makes of one request of the task: the line for the bench.
fn answer(client: &mut Client, request: &Value) -> Result<Value> {
    let (message, blobs) = encode(request)?;
    let mut path = "/v2".to_string();
    for (part, name) in [("models", "model"), ("versions", "version")] {
        if let Some(said) = request[name].as_str() {
            path += &format!("/{part}/{}", client.escaped(said));
        }
    }
    let how = Envelope {
        path: path + "/infer",
        headers: &request["headers"],
        coding: request["request_compression"].as_str(),
        accepted: request["response_compression"].as_str(),
    };
    let (said, outputs) = decode(&client.post(&how, &message, blobs.as_deref())?)?;
    let shown = |output: &Output| {
        json!({
            "name": output.name, "datatype": output.datatype, "shape": output.shape,
            "data": to_base64(&output.blob),
        })
    };
    let mut line = json!({"outputs": outputs.iter().map(shown).collect::<Value>()});
    for name in ["model_name", "model_version", "id"] {
        if said[name].is_string() {
            line[name] = said[name].clone();
        }
    }
    Ok(line)
}

/// The lines of a task: its requests in their order, all with one client.
fn lines_of(task: &Value) -> Vec<Value> {
    let timeout = Duration::from_secs_f64(task["timeout_s"].as_f64().unwrap_or(10.0) / 2.0);
    let mut client = Client::new(task["url"].as_str().unwrap_or_default(), timeout);
    let mut lines = Vec::new();
    for request in task["requests"].as_array().into_iter().flatten() {
        let mut line = answer(&mut client, request)
            .unwrap_or_else(|error| json!({"error": error.text, "status": error.status}));
        line["headers"] = request["headers"].clone();
        line["client"] = json!({"name": "rust-curl", "version": curl::Version::get().version()});
        lines.push(line);
    }
    lines
}

fn main() -> std::result::Result<(), Box<dyn std::error::Error>> {
    if std::env::var_os("V2_BENCH_TASKS").map_or(false, |tasks| tasks == "stdin") {
        for text in io::stdin().lock().lines() {
            let task: Value = serde_json::from_str(&text?)?;
            let line = json!({"scenario": task["scenario"], "lines": lines_of(&task)});
            println!("{line}");
        }
        return Ok(());
    }
    let task = std::fs::read(std::env::var("V2_BENCH_TASK")?)?;
    for line in lines_of(&serde_json::from_slice(&task)?) {
        println!("{line}");
    }
    Ok(())
}
