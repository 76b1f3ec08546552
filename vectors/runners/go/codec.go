// A codec of the binary tensor data extension with the standard library: an example to copy.

package main

import (
	"bytes"
	"compress/gzip"
	"compress/zlib"
	"encoding/binary"
	"encoding/json"
	"fmt"
	"io"
	"math"
	"math/big"
	"strconv"
	"strings"
	"unicode/utf8"
)

type object = map[string]any
type field = [2]string

type tensor struct {
	datatype string
	shape    []int64
	data     []byte // row-major and little-endian
}

type output struct {
	name   string
	binary bool
}

type spec struct {
	Name, Datatype string
	Shape          []int64
}

type model struct {
	Inputs, Outputs []spec
	Batching        bool
}

type rejected string

func need(condition bool, problem string) {
	if !condition {
		panic(rejected(problem))
	}
}

const headerLength = "Inference-Header-Content-Length"

var sizes = map[string]int{"BOOL": 1, "UINT8": 1, "UINT16": 2, "UINT32": 4, "UINT64": 8, "INT8": 1,
	"INT16": 2, "INT32": 4, "INT64": 8, "FP16": 2, "BF16": 2, "FP32": 4, "FP64": 8, "BYTES": 0}

type float struct{ bias, mantissa int }

var floats = map[string]float{"FP16": {15, 10}, "BF16": {127, 7}, "FP32": {127, 23}, "FP64": {1023, 52}}

// --- elements

func count(shape []int64) int64 {
	product := big.NewInt(1)
	for _, size := range shape {
		product.Mul(product, big.NewInt(size))
	}
	if product.IsInt64() {
		return product.Int64()
	}
	return math.MaxInt64
}

func encodeBytes(elements [][]byte) []byte {
	blob := []byte{}
	for _, element := range elements {
		blob = binary.LittleEndian.AppendUint32(blob, uint32(len(element)))
		blob = append(blob, element...)
	}
	return blob
}

func decodeBytes(blob []byte, count int64) [][]byte {
	elements := [][]byte{}
	for len(blob) > 0 {
		need(len(blob) >= 4, "a length is cut off")
		length := uint64(binary.LittleEndian.Uint32(blob))
		blob = blob[4:]
		need(length <= uint64(len(blob)), "an element ends past its blob")
		elements = append(elements, blob[:length])
		blob = blob[length:]
	}
	need(int64(len(elements)) == count, "wrong number of elements")
	return elements
}

func checkBlob(datatype string, shape []int64, blob []byte) {
	n := count(shape)
	if datatype == "BYTES" {
		decodeBytes(blob, n)
		return
	}
	size := int64(sizes[datatype])
	need(int64(len(blob))%size == 0 && int64(len(blob))/size == n, "size contradicts shape")
	if datatype == "BOOL" {
		for _, b := range blob {
			need(b < 2, "a BOOL byte is neither 0 nor 1")
		}
	}
}

// round returns the bits of a number in a format, rounded once, to nearest even.
func (to float) round(value float64) uint64 {
	bits, all := uint64(0), uint64(2*to.bias+1)<<to.mantissa
	if to.bias == 1023 {
		return math.Float64bits(value)
	}
	switch _, exponent := math.Frexp(value); {
	case math.IsNaN(value):
		bits = all | 1<<(to.mantissa-1)
	case math.IsInf(value, 0):
		bits = all
	default:
		e := exponent - 1
		if e < 1-to.bias || value == 0 {
			e = 1 - to.bias
		}
		unit := math.Ldexp(math.Abs(value), to.mantissa-e)
		bits = uint64(e+to.bias-1)<<to.mantissa + uint64(math.RoundToEven(unit))
		if bits > all {
			bits = all
		}
	}
	if math.Signbit(value) {
		bits |= (all + 1<<to.mantissa) // the bit above the exponent
	}
	return bits
}

func (of float) value(bits uint64) float64 {
	if of.bias == 1023 {
		return math.Float64frombits(bits)
	}
	sign, mask := 1.0, uint64(2*of.bias+1)
	if bits>>of.mantissa > mask {
		sign = -1
	}
	exponent, fraction := int(bits>>of.mantissa&mask), float64(bits&(1<<of.mantissa-1))
	switch {
	case exponent == int(mask) && fraction != 0:
		return math.NaN()
	case exponent == int(mask):
		return math.Inf(int(sign))
	case exponent == 0:
		exponent = 1
	default:
		fraction += float64(uint64(1) << of.mantissa)
	}
	return sign * math.Ldexp(fraction, exponent-of.bias-of.mantissa)
}

func putBits(blob []byte, bits uint64, size int) []byte {
	return append(blob, binary.LittleEndian.AppendUint64(nil, bits)[:size]...)
}

func getBits(blob []byte, at, size int) uint64 {
	return binary.LittleEndian.Uint64(append(append([]byte{}, blob[at:at+size]...), make([]byte, 8-size)...))
}

func numbersOf(datatype string, blob []byte) []float64 {
	size, found := sizes[datatype], []float64{}
	for at := 0; at < len(blob); at += size {
		found = append(found, floats[datatype].value(getBits(blob, at, size)))
	}
	return found
}

// toBF16 returns the nearest BF16 of each FP32.
func toBF16(blob []byte) []byte {
	found := []byte{}
	for _, number := range numbersOf("FP32", blob) {
		found = putBits(found, floats["BF16"].round(number), 2)
	}
	return found
}

// toJSON returns `data` of a tensor.
func toJSON(t tensor) []any {
	found := []any{}
	if t.datatype == "BYTES" {
		for _, element := range decodeBytes(t.data, count(t.shape)) {
			need(utf8.Valid(element), "an element is not UTF-8")
			found = append(found, string(element))
		}
		return found
	}
	size := sizes[t.datatype]
	for at := 0; at < len(t.data); at += size {
		bits := getBits(t.data, at, size)
		switch {
		case t.datatype == "BOOL":
			found = append(found, bits != 0)
		case t.datatype[0] == 'U':
			found = append(found, bits)
		case t.datatype[0] == 'I':
			found = append(found, int64(bits<<(64-8*size))>>(64-8*size))
		default:
			value := floats[t.datatype].value(bits)
			need(!math.IsNaN(value) && !math.IsInf(value, 0), "a number is not finite")
			found = append(found, json.Number(strconv.FormatFloat(value, 'g', -1, 64)))
		}
	}
	return found
}

func flat(data any, shape []int64) []any {
	items, isArray := data.([]any)
	need(isArray, "`data` is not an array")
	nested := false
	for _, item := range items {
		_, isRow := item.([]any)
		nested = nested || isRow
	}
	if nested {
		for _, size := range shape[min(1, len(shape)):] {
			inner := []any{}
			for _, row := range items {
				r, isRow := row.([]any)
				need(isRow && int64(len(r)) == size, "wrong nesting")
				inner = append(inner, r...)
			}
			items = inner
		}
	}
	need(int64(len(items)) == count(shape), "wrong number of elements")
	return items
}

func min(a, b int) int {
	if a < b {
		return a
	}
	return b
}

// whole returns a JSON number that is an integer of at most 64 bits; 3.0 and 1e2 are.
func whole(value any) *big.Int {
	number, isNumber := value.(json.Number)
	need(isNumber, "expected an integer")
	near, err := number.Float64()
	need(err == nil && math.Abs(near) < 1<<65 && len(number) < 400, "out of range")
	need(near != 0 || !strings.ContainsAny(strings.SplitN(strings.ToLower(string(number)), "e", 2)[0], "123456789"), "expected an integer")
	need(math.Abs(near) >= 1<<53 || near == math.Trunc(near), "expected an integer")
	exact, ok := new(big.Rat).SetString(string(number))
	need(ok && exact.IsInt(), "expected an integer")
	return exact.Num()
}

// fromJSON returns the blob that `data` stands for.
func fromJSON(datatype string, shape []int64, data any) []byte {
	blob, elements := []byte{}, [][]byte{}
	for _, value := range flat(data, shape) {
		if datatype == "BYTES" {
			text, isText := value.(string)
			need(isText, "expected strings")
			elements = append(elements, []byte(text))
		} else if datatype == "BOOL" {
			truth, isBool := value.(bool)
			need(isBool, "expected true or false")
			blob = append(blob, map[bool]byte{true: 1}[truth])
		} else if to, isFloat := floats[datatype]; isFloat {
			number, isNumber := value.(json.Number)
			need(isNumber, "expected numbers")
			double, err := number.Float64()
			need(err == nil, "out of range")
			bits := to.round(double)
			need(!math.IsInf(to.value(bits), 0), "out of range")
			blob = putBits(blob, bits, sizes[datatype])
		} else {
			integer, size := whole(value), sizes[datatype]
			if datatype[0] == 'U' {
				need(integer.Sign() >= 0 && integer.BitLen() <= 8*size, "out of range")
				blob = putBits(blob, integer.Uint64(), size)
			} else {
				low := new(big.Int).Add(integer, big.NewInt(1)) // -128 has seven bits once it is -127
				if integer.Sign() >= 0 {
					low = integer
				}
				need(low.BitLen() < 8*size, "out of range")
				blob = putBits(blob, uint64(integer.Int64()), size)
			}
		}
	}
	if datatype == "BYTES" {
		return encodeBytes(elements)
	}
	return blob
}

// --- messages

// parse returns a JSON object; numbers keep their digits.
func parse(text []byte) object {
	need(utf8.Valid(text) && json.Valid(text), "not JSON")
	decoder := json.NewDecoder(bytes.NewReader(text))
	decoder.UseNumber()
	document, isObject := parseValue(decoder).(object)
	need(isObject, "not an object")
	return document
}

func parseValue(decoder *json.Decoder) any {
	token, err := decoder.Token()
	need(err == nil, "not JSON")
	switch token {
	case json.Delim('{'):
		found := object{}
		for decoder.More() {
			name := parseValue(decoder).(string)
			_, twice := found[name]
			need(!twice, "a member is there twice")
			found[name] = parseValue(decoder)
		}
		decoder.Token()
		return found
	case json.Delim('['):
		found := []any{}
		for decoder.More() {
			found = append(found, parseValue(decoder))
		}
		decoder.Token()
		return found
	}
	return token
}

func valuesOf(fields []field, name string) []string {
	found := []string{}
	for _, one := range fields {
		if strings.EqualFold(one[0], name) {
			found = append(found, strings.Trim(one[1], " \t"))
		}
	}
	return found
}

// split returns the JSON and what follows it; no JSON in a raw request.
func split(fields []field, body []byte) (text, blobs []byte, raw bool) {
	values := valuesOf(fields, headerLength)
	if len(values) == 0 {
		return body, nil, false
	}
	for _, value := range values {
		need(value == values[0], "conflicting header lengths")
		need(value != "" && strings.Trim(value, "0123456789") == "", "header length is not a number")
	}
	length, err := strconv.ParseUint(values[0], 10, 63)
	need(err == nil && length <= uint64(len(body)), "header length is past the body")
	return body[:length], body[length:], length == 0
}

// decoded returns the body without its content coding.
func decoded(fields []field, body []byte) []byte {
	codings := strings.Split(strings.Join(valuesOf(fields, "Content-Encoding"), ","), ",")
	for at := len(codings) - 1; at >= 0; at-- {
		source := bytes.NewReader(body)
		var reader io.Reader
		var err error
		switch strings.ToLower(strings.TrimSpace(codings[at])) {
		case "gzip", "x-gzip":
			reader, err = gzip.NewReader(source)
		case "deflate":
			reader, err = zlib.NewReader(source)
		case "", "identity":
			continue
		default:
			need(false, "unknown content coding")
		}
		need(err == nil, "the content coding is broken")
		body, err = io.ReadAll(reader)
		need(err == nil && source.Len() == 0, "the content coding is broken")
	}
	return body
}

func member[T any](entry object, name, problem string) T {
	value, fits := entry[name].(T)
	_, there := entry[name]
	need(fits || !there, problem)
	return value
}

func shapeOf(entry object) []int64 {
	items, isArray := entry["shape"].([]any)
	need(isArray, "`shape` is not an array")
	shape := []int64{}
	for _, item := range items {
		number, isNumber := item.(json.Number)
		size, err := strconv.ParseInt(string(number), 10, 64)
		need(isNumber && err == nil && size >= 0, "a dimension is not a size")
		shape = append(shape, size)
	}
	return shape
}

// take returns the bytes of a tensor, and the blobs behind it.
func take(entry object, datatype string, shape []int64, blobs []byte) (blob, rest []byte) {
	parameters := member[object](entry, "parameters", "`parameters` is not an object")
	data, hasData := entry["data"]
	given, hasSize := parameters["binary_data_size"]
	need(hasData || hasSize, "neither data nor a size")
	need(!hasData || !hasSize, "both data and a size")
	if hasData {
		return fromJSON(datatype, shape, data), blobs
	}
	size := whole(given)
	need(size.Sign() >= 0 && size.Cmp(big.NewInt(int64(len(blobs)))) <= 0, "a blob ends past the body")
	blob, rest = blobs[:size.Int64()], blobs[size.Int64():]
	checkBlob(datatype, shape, blob)
	return blob, rest
}

func decodeRequest(model model, fields []field, body []byte) (map[string]tensor, []output, string) {
	text, blobs, raw := split(fields, decoded(fields, body))
	if raw {
		outputs := []output{}
		for _, spec := range model.Outputs {
			outputs = append(outputs, output{spec.Name, true})
		}
		return decodeRaw(model, blobs), outputs, ""
	}
	document := parse(text)
	inputs := map[string]tensor{}
	listed, isArray := document["inputs"].([]any)
	need(isArray, "`inputs` is not an array")
	for _, item := range listed {
		entry, isObject := item.(object)
		need(isObject, "an input is not an object")
		name, shape := member[string](entry, "name", "`name` is not a string"), shapeOf(entry)
		spec := find(model.Inputs, name)
		_, twice := inputs[name]
		need(spec != nil && !twice, "not an input, or there twice")
		need(entry["datatype"] == spec.Datatype, "not the model's datatype")
		need(len(shape) == len(spec.Shape), "not the model's shape")
		for axis, size := range spec.Shape {
			need(size == -1 || size == shape[axis], "not the model's shape")
		}
		blob, rest := take(entry, spec.Datatype, shape, blobs)
		inputs[name], blobs = tensor{spec.Datatype, shape, blob}, rest
	}
	need(len(inputs) == len(model.Inputs), "an input is missing")
	need(len(blobs) == 0, "bytes are left over")
	return inputs, wanted(model, document), member[string](document, "id", "`id` is not a string")
}

func find(specs []spec, name string) *spec {
	for n := range specs {
		if specs[n].Name == name {
			return &specs[n]
		}
	}
	return nil
}

func decodeRaw(model model, body []byte) map[string]tensor {
	need(len(model.Inputs) == 1, "a raw request has one input")
	spec := model.Inputs[0]
	shape := append([]int64{}, spec.Shape...)
	if model.Batching {
		shape[0] = 1
	}
	variable, each := -1, int64(sizes[spec.Datatype])
	for axis, size := range shape {
		if size == -1 {
			need(variable < 0, "more than one variable dimension")
			variable = axis
		} else {
			each *= size
		}
	}
	if spec.Datatype == "BYTES" {
		need(variable < 0 && count(shape) == 1, "a raw BYTES input has one element")
		body = encodeBytes([][]byte{body})
	} else if variable >= 0 {
		need(each > 0 && int64(len(body))%each == 0, "not a whole number of elements")
		shape[variable] = int64(len(body)) / each
	}
	checkBlob(spec.Datatype, shape, body)
	return map[string]tensor{spec.Name: {spec.Datatype, shape, body}}
}

// wanted returns the outputs that a request asks for, and whether each is to be binary.
func wanted(model model, document object) []output {
	byDefault, found := flag(document, "binary_data_output", false), []output{}
	listed := member[[]any](document, "outputs", "`outputs` is not an array")
	if len(listed) == 0 {
		for _, spec := range model.Outputs {
			found = append(found, output{spec.Name, byDefault})
		}
		return found
	}
	seen := map[string]bool{}
	for _, item := range listed {
		entry, isObject := item.(object)
		need(isObject, "an output is not an object")
		name := member[string](entry, "name", "`name` is not a string")
		need(find(model.Outputs, name) != nil && !seen[name], "not an output, or there twice")
		seen[name] = true
		found = append(found, output{name, flag(entry, "binary_data", byDefault)})
	}
	return found
}

func flag(entry object, name string, byDefault bool) bool {
	value, there := member[object](entry, "parameters", "`parameters` is not an object")[name]
	if !there {
		return byDefault
	}
	truth, isBool := value.(bool)
	need(isBool, "`"+name+"` is not a boolean")
	return truth
}

func written(document object, blobs []byte, binary bool) ([]field, []byte) {
	text, err := json.Marshal(document)
	need(err == nil, "no JSON")
	if !binary {
		return []field{{"Content-Type", "application/json"}}, text
	}
	fields := []field{{"Content-Type", "application/octet-stream"}, {headerLength, strconv.Itoa(len(text))}}
	return fields, append(text, blobs...)
}

func entryOf(name string, t tensor, binary bool, parameters object, blobs *[]byte) object {
	entry, own := object{"name": name, "datatype": t.datatype, "shape": t.shape}, object{}
	for key, value := range parameters {
		own[key] = value
	}
	delete(own, "binary_data_size")
	if binary {
		own["binary_data_size"] = len(t.data)
		*blobs = append(*blobs, t.data...)
	} else {
		entry["data"] = toJSON(t)
	}
	if len(own) > 0 {
		entry["parameters"] = own
	}
	return entry
}

func encodeResponse(name string, model model, tensors map[string]tensor, asked object) ([]field, []byte) {
	document, blobs, entries, anyBinary := object{"model_name": name}, []byte{}, []object{}, false
	outputs := []output{}
	if asked["raw"] == true {
		for _, spec := range model.Outputs {
			outputs = append(outputs, output{spec.Name, true})
		}
	} else {
		outputs = wanted(model, asked)
	}
	for _, one := range outputs {
		entries = append(entries, entryOf(one.name, tensors[one.name], one.binary, nil, &blobs))
		anyBinary = anyBinary || one.binary
	}
	document["outputs"] = entries
	if id, there := asked["id"]; there {
		document["id"] = id
	}
	return written(document, blobs, anyBinary)
}

type sent struct {
	name       string
	tensor     tensor
	binary     bool
	parameters object
}

func encodeRequest(tensors []sent, asked object, compression string) ([]field, []byte) {
	document, blobs, entries, anyBinary := object{}, []byte{}, []object{}, false
	for _, name := range []string{"id", "parameters", "outputs"} {
		if value, there := asked[name]; there {
			document[name] = value
		}
	}
	for _, one := range tensors {
		entries = append(entries, entryOf(one.name, one.tensor, one.binary, one.parameters, &blobs))
		anyBinary = anyBinary || one.binary
	}
	document["inputs"] = entries
	fields, body := written(document, blobs, anyBinary)
	if compression == "" {
		return fields, body
	}
	var coded bytes.Buffer
	var writer io.WriteCloser = zlib.NewWriter(&coded)
	if compression == "gzip" {
		writer = gzip.NewWriter(&coded)
	}
	writer.Write(body)
	writer.Close()
	return append(fields, field{"Content-Encoding", compression}), coded.Bytes()
}

// The outputs whose names were asked for have to be there.
func decodeResponse(status int, fields []field, body []byte, asked ...string) (map[string]tensor, object) {
	body = decoded(fields, body)
	need(status >= 200 && status < 300, fmt.Sprintf("status %d: %s", status, body))
	text, blobs, raw := split(fields, body)
	need(!raw, "header length 0")
	document, outputs := parse(text), map[string]tensor{}
	listed, isArray := document["outputs"].([]any)
	need(isArray, fmt.Sprintf("no outputs: %v", document["error"]))
	for _, item := range listed {
		entry, isObject := item.(object)
		need(isObject, "an output is not an object")
		if entry["parameters"] == nil {
			delete(entry, "parameters")
		}
		if parameters, _ := entry["parameters"].(object); parameters["binary_data_size"] != nil {
			delete(entry, "data") // a size counts, whatever else is there
		}
		name, shape := member[string](entry, "name", "`name` is not a string"), shapeOf(entry)
		datatype, _ := entry["datatype"].(string)
		_, known := sizes[datatype]
		_, twice := outputs[name]
		need(known && !twice, "unknown datatype, or there twice")
		blob, rest := take(entry, datatype, shape, blobs)
		outputs[name], blobs = tensor{datatype, shape, blob}, rest
	}
	need(len(outputs) > 0, "no outputs")
	for _, name := range asked {
		_, there := outputs[name]
		need(there, "no output "+name)
	}
	need(len(blobs) == 0, "bytes are left over")
	return outputs, document
}
