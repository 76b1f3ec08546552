// Runs the codec through the vectors: go run . [FOLDER]

package main

import (
	"bytes"
	"encoding/base64"
	"encoding/json"
	"fmt"
	"math"
	"math/big"
	"os"
	"path/filepath"
	"reflect"
	"strconv"
	"strings"
)

type blob []byte

// Bytes are base64, long ones pieces that repeat.
func (b *blob) UnmarshalJSON(text []byte) error {
	var whole []byte
	if json.Unmarshal(text, &whole) == nil {
		*b = whole
		return nil
	}
	var pieces []struct {
		Data  []byte
		Times int
	}
	if err := json.Unmarshal(text, &pieces); err != nil {
		return err
	}
	for _, piece := range pieces {
		*b = append(*b, bytes.Repeat(piece.Data, piece.Times)...)
	}
	return nil
}

type expected struct {
	Name, Datatype, Form, Layout string
	Shape                        []int64
	Data, Float32                *blob
	OneOf                        [][]*string `json:"one_of"`
	Truth                        bool
	Parameters                   object
}

type vector struct {
	Kind, ID, Requirement, Result, Should, Model, Says, Compression, Datatype string
	Free                                                                      bool
	Fields                                                                    []field
	Body, Data, Float32                                                       blob
	Tensors                                                                   *[]expected
	Outputs                                                                   []struct{ Name, Form string }
	RequestID                                                                 string `json:"request_id"`
	Status                                                                    int
	Members                                                                   object
	Shape                                                                     []int64
	Values                                                                    []string
	JSON                                                                      *string
	Asked                                                                     json.RawMessage
	Accept                                                                    rules
}

type rules struct {
	Tensors       []expected
	Only          bool
	OneForm       bool                           `json:"one_form"`
	DataOrSize    bool                           `json:"data_or_size"`
	ContentType   string                         `json:"content_type"`
	ID            string                         `json:"id"`
	ModelName     string                         `json:"model_name"`
	ModelNameSent bool                           `json:"model_name_sent"`
	Outputs       *[]struct{ Name, Form string } `json:"outputs"`
	OutputsForm   string                         `json:"outputs_form"`
	Parameters    object
	NotFinite     bool `json:"not_finite"`
	ReadOnly      bool `json:"read_only"`
}

type wrong string

func must(condition bool, format string, values ...any) {
	if !condition {
		panic(wrong(fmt.Sprintf(format, values...)))
	}
}

func isForm(wanted string, binary bool) bool {
	return wanted == "" || wanted == "any" || (wanted == "binary") == binary
}

func same(want expected, got tensor) {
	must(got.datatype == want.Datatype, "%s: datatype %s", want.Name, got.datatype)
	must(fmt.Sprint(got.shape) == fmt.Sprint(want.Shape), "%s: shape %v", want.Name, got.shape)
	if len(want.OneOf) > 0 {
		size, fits := len(got.data)/len(want.OneOf[0]), false
		for _, reading := range want.OneOf {
			all := true
			for n, element := range reading {
				if element != nil {
					bits, _ := base64.StdEncoding.DecodeString(*element)
					all = all && bytes.Equal(bits, got.data[n*size:n*size+size])
				}
			}
			fits = fits || all
		}
		must(fits, "%s: none of the readings", want.Name)
	} else if want.Data != nil && want.Truth {
		for n, b := range *want.Data {
			must((b != 0) == (got.data[n] != 0), "%s: wrong data", want.Name)
		}
	} else if want.Data != nil {
		must(bytes.Equal(*want.Data, got.data), "%s: wrong data", want.Name)
	}
}

// equal compares values of JSON; numbers are equal if their values are, as 1e2 and 100.
func equal(wanted, got any) bool {
	number, isNumber := wanted.(json.Number)
	other, isOther := got.(json.Number)
	if !isNumber || !isOther {
		return reflect.DeepEqual(wanted, got)
	}
	left, fits := new(big.Rat).SetString(string(number))
	right, alsoFits := new(big.Rat).SetString(string(other))
	return fits && alsoFits && left.Cmp(right) == 0
}

func hasAll(wanted, entry object) {
	parameters, _ := entry["parameters"].(object)
	for name, value := range wanted {
		must(equal(value, parameters[name]), "no parameter %s", name)
	}
}

// check compares a message that the codec wrote with the rules of a vector.
func check(rules rules, fields []field, body []byte, key string) {
	text, blobs, raw := split(fields, body)
	must(!raw, "header length 0")
	document := parse(text)
	if rules.ReadOnly {
		return
	}
	type found struct {
		tensor
		binary bool
		entry  object
	}
	got, number := map[string][]found{}, 0
	forms := map[bool]bool{}
	for _, item := range document[key].([]any) {
		entry := item.(object)
		name, datatype, shape := entry["name"].(string), entry["datatype"].(string), shapeOf(entry)
		parameters, _ := entry["parameters"].(object)
		_, sized := parameters["binary_data_size"]
		must(!rules.DataOrSize || !sized || entry["data"] == nil, "%s has both", name)
		data := []byte(nil)
		if sized || !rules.NotFinite {
			data, blobs = take(entry, datatype, shape, blobs)
		}
		got[name] = append(got[name], found{tensor{datatype, shape, data}, sized, entry})
		number++
		forms[sized] = true
	}
	must(len(blobs) == 0, "bytes are left over")
	for _, want := range rules.Tensors {
		must(got[want.Name] != nil, "no %s", want.Name)
		for _, one := range got[want.Name] {
			must(isForm(want.Form, one.binary), "%s has another form", want.Name)
			if rules.NotFinite && !one.binary {
				for n, value := range flat(one.entry["data"], want.Shape) {
					_, isNumber := value.(json.Number)
					number := numbersOf(want.Datatype, *want.Data)[n]
					must(!isNumber || !(math.IsNaN(number) || math.IsInf(number, 0)), "a number for what is none")
				}
			} else {
				same(want, one.tensor)
			}
			hasAll(want.Parameters, one.entry)
		}
	}
	must(!rules.Only || number == len(rules.Tensors), "more tensors")
	must(!rules.OneForm || len(forms) < 2, "mixed forms")
	kind := valuesOf(fields, "Content-Type")[0]
	isJSON := kind == "application/json" || strings.HasSuffix(kind, "+json")
	must(rules.ContentType == "" || (rules.ContentType == "json") == isJSON, "typed %s", kind)
	must(rules.ID == "" || document["id"] == rules.ID, "wrong id")
	name, named := document["model_name"]
	must(!named || rules.ModelName == "" || name == rules.ModelName, "wrong model_name")
	must(named || !rules.ModelNameSent, "no model_name")
	hasAll(rules.Parameters, document)
	byDefault := flag(document, "binary_data_output", false)
	must(isForm(rules.OutputsForm, byDefault), "asks for another form")
	if rules.Outputs != nil {
		listed, _ := document["outputs"].([]any)
		must(len(listed) == len(*rules.Outputs), "asks for other outputs")
		for _, one := range *rules.Outputs {
			fits := false
			for _, item := range listed {
				entry := item.(object)
				fits = fits || entry["name"] == one.Name && isForm(one.Form, flag(entry, "binary_data", byDefault))
			}
			must(fits, "does not ask for %s as %s", one.Name, one.Form)
		}
	}
}

func asked(v vector) object {
	if len(v.Asked) == 0 {
		return object{}
	}
	return parse(v.Asked)
}

// Each kind calls `accepted` once the codec has taken the vector.
var kinds = map[string]func(v vector, models map[string]model, accepted func()){
	"decode_request": func(v vector, models map[string]model, accepted func()) {
		inputs, outputs, id := decodeRequest(models[v.Model], v.Fields, v.Body)
		accepted()
		if v.Tensors != nil {
			for _, want := range *v.Tensors {
				same(want, inputs[want.Name])
			}
		}
		for _, one := range v.Outputs {
			fits := false
			for _, got := range outputs {
				fits = fits || got.name == one.Name && isForm(one.Form, got.binary)
			}
			must(fits, "does not ask for %s as %s", one.Name, one.Form)
		}
		must(v.RequestID == "" || v.RequestID == id, "another id")
	},
	"encode_response": func(v vector, models map[string]model, accepted func()) {
		tensors := map[string]tensor{}
		for _, one := range *v.Tensors {
			tensors[one.Name] = tensor{one.Datatype, one.Shape, *one.Data}
		}
		fields, body := encodeResponse(v.Model, models[v.Model], tensors, asked(v))
		accepted()
		check(v.Accept, fields, body, "outputs")
	},
	"decode_response": func(v vector, _ map[string]model, accepted func()) {
		names := []string{}
		listed, _ := asked(v)["outputs"].([]any)
		for _, one := range listed {
			names = append(names, one.(object)["name"].(string))
		}
		outputs, document := decodeResponse(v.Status, v.Fields, v.Body, names...)
		accepted()
		if v.Tensors != nil {
			must(len(outputs) == len(*v.Tensors), "other outputs")
			for _, want := range *v.Tensors {
				same(want, outputs[want.Name])
			}
		}
		for name, value := range v.Members {
			must(equal(value, document[name]), "another %s", name)
		}
	},
	"encode_request": func(v vector, _ map[string]model, accepted func()) {
		given := []sent{}
		for _, one := range *v.Tensors {
			data := []byte(*one.Data)
			if one.Float32 != nil {
				data = toBF16(*one.Float32)
			}
			given = append(given, sent{one.Name, tensor{one.Datatype, one.Shape, data}, one.Form == "binary", one.Parameters})
		}
		fields, body := encodeRequest(given, asked(v), v.Compression)
		accepted()
		must(strings.Join(valuesOf(fields, "Content-Encoding"), ",") == v.Compression, "another coding")
		check(v.Accept, fields, decoded(fields, body), "inputs")
	},
	"datatypes": func(v vector, _ map[string]model, accepted func()) {
		if v.Float32 != nil {
			must(v.Free || bytes.Equal(toBF16(v.Float32), v.Data), "rounded to another number")
		}
		accepted()
		checkBlob(v.Datatype, v.Shape, v.Data)
		if _, isFloat := floats[v.Datatype]; isFloat {
			for n, number := range numbersOf(v.Datatype, v.Data) {
				value, err := strconv.ParseFloat(v.Values[n], 64)
				must(err == nil && (value == number || math.IsNaN(value) && math.IsNaN(number)), "other values")
			}
		}
		var text []byte
		failure := attempt(func() { text, _ = json.Marshal(toJSON(tensor{v.Datatype, v.Shape, v.Data})) })
		if v.JSON == nil {
			must(failure != nil, "written as JSON, which has no form for it")
			return
		}
		for _, one := range []string{*v.JSON, string(text)} {
			read := fromJSON(v.Datatype, v.Shape, parse([]byte(`{"data":` + one + `}`))["data"])
			must(bytes.Equal(read, v.Data), "read from JSON as other bytes")
		}
	},
}

func attempt(what func()) (failure any) {
	defer func() { failure = recover() }()
	what()
	return nil
}

// judge returns FAIL or WARN and what is wrong, or PASS.
func judge(v vector, models map[string]model) (string, string) {
	taken := false
	failure := attempt(func() { kinds[v.Kind](v, models, func() { taken = true }) })
	if reason, isRejected := failure.(rejected); isRejected && !taken {
		if v.Result == "valid" {
			return "FAIL", "rejected: " + string(reason)
		}
		if !strings.Contains(string(reason), v.Says) {
			return "FAIL", "the error lacks the server's words"
		}
		if v.Should == "accept" {
			return "WARN", "rejected: " + string(reason)
		}
		return "PASS", ""
	}
	if failure != nil && !taken {
		return "FAIL", fmt.Sprint("crashed: ", failure)
	}
	if v.Result == "invalid" {
		return "FAIL", "accepted"
	}
	words := fmt.Sprint(reflect.TypeOf(failure), " ", failure)
	if failure != nil && !v.Free {
		return "FAIL", words
	}
	if failure != nil {
		return "WARN", words
	}
	if v.Should == "reject" {
		return "WARN", "accepted"
	}
	return "PASS", ""
}

func read(path string, into any) {
	file, err := os.Open(path)
	if err == nil {
		defer file.Close()
		decoder := json.NewDecoder(file)
		decoder.UseNumber()
		err = decoder.Decode(into)
	}
	if err != nil {
		panic(fmt.Sprint(path, ": ", err))
	}
}

func main() {
	folder := filepath.Join("..", "..")
	if len(os.Args) > 1 {
		folder = os.Args[1]
	}
	var index struct{ Files []struct{ Path string } }
	read(filepath.Join(folder, "index.json"), &index)
	counts := map[string]int{}
	for _, one := range index.Files {
		var file struct {
			Models  map[string]model
			Vectors []vector
		}
		read(filepath.Join(folder, one.Path), &file)
		for _, v := range file.Vectors {
			grade, words := judge(v, file.Models)
			counts[grade]++
			if words != "" {
				fmt.Printf("%s %s %s: %s\n", grade, v.Kind, v.ID, words)
			}
		}
	}
	passed := counts["PASS"] + counts["WARN"]
	fmt.Printf("%d passed, %d failed, %d warnings\n", passed, counts["FAIL"], counts["WARN"])
	if counts["FAIL"] > 0 || passed == 0 {
		os.Exit(1)
	}
}
