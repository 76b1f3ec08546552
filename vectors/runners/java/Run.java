// Runs the codec through the vectors: javac -d build Run.java && java -cp build Run [FOLDER]

import java.io.ByteArrayOutputStream;
import java.io.IOException;
import java.nio.charset.StandardCharsets;
import java.nio.file.Files;
import java.nio.file.Path;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.Base64;
import java.util.HashMap;
import java.util.HashSet;
import java.util.List;
import java.util.Map;
import java.util.Objects;
import java.util.Set;

final class Run {
    static final class Wrong extends RuntimeException {
        Wrong(String problem) {
            super(problem);
        }
    }

    static void must(boolean condition, String problem) {
        if (!condition) throw new Wrong(problem);
    }

    // --- members of a vector; one that is left out is null, false or empty

    static String text(Json.Obj from, String name) {
        return from.get(name, String.class);
    }

    static boolean truth(Json.Obj from, String name) {
        return Boolean.TRUE.equals(from.get(name));
    }

    static long number(Json.Obj from, String name) {
        return Long.parseLong(from.get(name, Json.Num.class).text());
    }

    static Json.Obj object(Json.Obj from, String name) {
        return Objects.requireNonNullElseGet(from.get(name, Json.Obj.class), Json.Obj::new);
    }

    static Json.Arr list(Json.Obj from, String name) {
        return Objects.requireNonNullElseGet(from.get(name, Json.Arr.class), Json.Arr::new);
    }

    static List<Json.Obj> objects(Json.Obj from, String name) {
        return list(from, name).stream().map(one -> (Json.Obj) one).toList();
    }

    static List<Long> shape(Json.Obj from) {
        return list(from, "shape").stream().map(size -> Long.valueOf(((Json.Num) size).text())).toList();
    }

    /** Bytes are base64, long ones pieces that repeat; null if there are none. */
    static byte[] bytes(Json.Obj from, String name) {
        if (from.get(name) instanceof String whole) return Base64.getDecoder().decode(whole);
        if (from.get(name) == null) return null;
        ByteArrayOutputStream found = new ByteArrayOutputStream();
        for (Json.Obj piece : objects(from, name)) {
            byte[] data = bytes(piece, "data");
            for (long n = number(piece, "times"); n > 0; n--) found.writeBytes(data);
        }
        return found.toByteArray();
    }

    static List<Codec.Field> fields(Json.Obj vector) {
        return list(vector, "fields").stream().map(one -> (Json.Arr) one)
            .map(pair -> new Codec.Field((String) pair.get(0), (String) pair.get(1))).toList();
    }

    static Codec.Model model(Json.Obj from) {
        return new Codec.Model(specs(from, "inputs"), specs(from, "outputs"), truth(from, "batching"));
    }

    static List<Codec.Spec> specs(Json.Obj from, String name) {
        return objects(from, name).stream()
            .map(one -> new Codec.Spec(text(one, "name"), text(one, "datatype"), shape(one))).toList();
    }

    static Codec.Tensor tensor(Json.Obj from) {
        byte[] rounded = bytes(from, "float32");
        byte[] data = rounded == null ? bytes(from, "data") : Codec.toBf16(rounded);
        return new Codec.Tensor(text(from, "datatype"), shape(from), data);
    }

    // --- comparing

    static boolean isForm(String form, boolean binary) {
        return form == null || form.equals("any") || form.equals("binary") == binary;
    }

    static void same(Json.Obj want, Codec.Tensor got) {
        String name = text(want, "name");
        must(got != null, "no " + name);
        must(got.datatype().equals(text(want, "datatype")), name + ": datatype " + got.datatype());
        must(got.shape().equals(shape(want)), name + ": shape " + got.shape());
        byte[] data = bytes(want, "data"), there = got.data();
        if (!list(want, "one_of").isEmpty()) {
            boolean fits = list(want, "one_of").stream().anyMatch(one -> reads((Json.Arr) one, there));
            must(fits, name + ": none of the readings");
        } else if (data != null && truth(want, "truth")) {
            must(data.length == there.length, name + ": wrong data");
            for (int n = 0; n < data.length; n++) {
                must((data[n] != 0) == (there[n] != 0), name + ": wrong data");
            }
        } else if (data != null) {
            must(Arrays.equals(data, there), name + ": wrong data");
        }
    }

    static boolean reads(Json.Arr reading, byte[] data) {
        int size = data.length / reading.size();
        for (int n = 0; n < reading.size(); n++) {
            if (!(reading.get(n) instanceof String element)) continue; // any element
            byte[] there = Arrays.copyOfRange(data, n * size, n * size + size);
            if (!Arrays.equals(Base64.getDecoder().decode(element), there)) return false;
        }
        return true;
    }

    static void hasAll(Json.Obj wanted, Json.Obj got) {
        wanted.forEach((name, value) -> must(Objects.equals(got.get(name), value), "no parameter " + name));
    }

    record Found(Codec.Tensor tensor, boolean binary, Json.Obj entry) {}

    /** Compare a message that the codec wrote with the rules of a vector. */
    static void check(Json.Obj rules, List<Codec.Field> fields, byte[] body, String key) {
        Codec.Parts parts = Codec.split(fields, body);
        must(parts.text() != null, "header length 0");
        Json.Obj document = Codec.parse(parts.text());
        if (truth(rules, "read_only")) return;
        boolean notFinite = truth(rules, "not_finite");
        Map<String, List<Found>> got = new HashMap<>();
        Set<Boolean> forms = new HashSet<>();
        for (Json.Obj entry : objects(document, key)) {
            String name = text(entry, "name"), datatype = text(entry, "datatype");
            boolean binary = object(entry, "parameters").containsKey("binary_data_size");
            must(!truth(rules, "data_or_size") || !binary || entry.get("data") == null, name + " has both");
            Codec.Tensor tensor = !binary && notFinite ? null
                : Codec.take(entry, datatype, Codec.shapeOf(entry), parts.blobs());
            got.computeIfAbsent(name, none -> new ArrayList<>()).add(new Found(tensor, binary, entry));
            forms.add(binary);
        }
        must(!parts.blobs().hasRemaining(), "bytes are left over");
        for (Json.Obj want : objects(rules, "tensors")) {
            must(got.containsKey(text(want, "name")), "no " + text(want, "name"));
            for (Found one : got.get(text(want, "name"))) {
                must(isForm(text(want, "form"), one.binary), text(want, "name") + " has another form");
                if (one.tensor == null) noNumbers(want, one.entry);
                else same(want, one.tensor);
                hasAll(object(want, "parameters"), object(one.entry, "parameters"));
            }
        }
        int entries = list(document, key).size();
        must(!truth(rules, "only") || entries == list(rules, "tensors").size(), "more tensors");
        must(!truth(rules, "one_form") || forms.size() < 2, "mixed forms");
        String type = Codec.valuesOf(fields, "Content-Type").get(0), wanted = text(rules, "content_type");
        boolean isJson = type.equals("application/json") || type.endsWith("+json");
        must(wanted == null || wanted.equals("json") == isJson, "typed " + type);
        must(text(rules, "id") == null || text(rules, "id").equals(document.get("id")), "wrong id");
        boolean named = document.containsKey("model_name");
        String model = text(rules, "model_name");
        must(!named || model == null || model.equals(document.get("model_name")), "wrong model_name");
        must(named || !truth(rules, "model_name_sent"), "no model_name");
        hasAll(object(rules, "parameters"), object(document, "parameters"));
        boolean byDefault = Codec.flag(document, "binary_data_output", false);
        must(isForm(text(rules, "outputs_form"), byDefault), "asks for another form");
        if (rules.get("outputs") == null) return;
        List<Json.Obj> listed = objects(document, "outputs");
        must(listed.size() == list(rules, "outputs").size(), "asks for other outputs");
        for (Json.Obj want : objects(rules, "outputs")) {
            boolean fits = listed.stream().anyMatch(entry -> Objects.equals(entry.get("name"), want.get("name"))
                && isForm(text(want, "form"), Codec.flag(entry, "binary_data", byDefault)));
            must(fits, "does not ask for " + want);
        }
    }

    static void noNumbers(Json.Obj want, Json.Obj entry) {
        List<Object> known = Codec.elements(tensor(want)), sent = Codec.flat(entry.get("data"), shape(want));
        for (int n = 0; n < known.size(); n++) {
            boolean isNumber = sent.get(n) instanceof Json.Num;
            must(!isNumber || Double.isFinite((Double) known.get(n)), "a number for what is none");
        }
    }

    static boolean isValue(Object element, String known) {
        if (element instanceof byte[] bytes) return Base64.getEncoder().encodeToString(bytes).equals(known);
        if (element instanceof Json.Num number) return number.text().equals(known);
        if (element instanceof Boolean) return element.toString().equals(known);
        double value = switch (known) {
            case "inf" -> Double.POSITIVE_INFINITY;
            case "-inf" -> Double.NEGATIVE_INFINITY;
            case "nan" -> Double.NaN;
            default -> Double.parseDouble(known); // hexadecimal
        };
        return Double.compare((Double) element, value) == 0;
    }

    // --- the kinds: each gives the vector to the codec, and returns what has to hold once it is accepted

    static Runnable decodeRequest(Json.Obj v, Json.Obj models) {
        Codec.Model model = model(object(models, text(v, "model")));
        Codec.Request got = Codec.decodeRequest(model, fields(v), bytes(v, "body"));
        return () -> {
            for (Json.Obj want : objects(v, "tensors")) same(want, got.inputs().get(text(want, "name")));
            for (Json.Obj want : objects(v, "outputs")) {
                Boolean binary = got.outputs().get(text(want, "name"));
                must(binary != null && isForm(text(want, "form"), binary), "does not ask for " + want);
            }
            must(text(v, "request_id") == null || text(v, "request_id").equals(got.id()), "another id");
        };
    }

    static Runnable encodeResponse(Json.Obj v, Json.Obj models) {
        Map<String, Codec.Tensor> tensors = new HashMap<>();
        for (Json.Obj one : objects(v, "tensors")) tensors.put(text(one, "name"), tensor(one));
        Codec.Model model = model(object(models, text(v, "model")));
        Codec.Message sent = Codec.encodeResponse(text(v, "model"), model, tensors, object(v, "asked"));
        return () -> check(object(v, "accept"), sent.fields(), sent.body(), "outputs");
    }

    static Runnable decodeResponse(Json.Obj v) {
        List<String> asked = objects(object(v, "asked"), "outputs").stream().map(one -> text(one, "name")).toList();
        Codec.Response got = Codec.decodeResponse(number(v, "status"), fields(v), bytes(v, "body"), asked);
        return () -> {
            boolean compared = v.get("tensors") != null;
            must(!compared || got.outputs().size() == list(v, "tensors").size(), "other outputs");
            for (Json.Obj want : objects(v, "tensors")) same(want, got.outputs().get(text(want, "name")));
            object(v, "members").forEach((name, value) ->
                must(Objects.equals(got.document().get(name), value), "another " + name));
        };
    }

    static Runnable encodeRequest(Json.Obj v) {
        List<Codec.Sent> tensors = objects(v, "tensors").stream().map(one -> new Codec.Sent(text(one, "name"),
            tensor(one), "binary".equals(text(one, "form")), object(one, "parameters"))).toList();
        Codec.Message sent = Codec.encodeRequest(tensors, object(v, "asked"), text(v, "compression"));
        return () -> {
            List<String> codings = Codec.valuesOf(sent.fields(), "Content-Encoding");
            List<String> wanted = v.get("compression") == null ? List.of() : List.of(text(v, "compression"));
            must(codings.equals(wanted), "another coding");
            check(object(v, "accept"), sent.fields(), Codec.decoded(sent.fields(), sent.body()), "inputs");
        };
    }

    static Runnable datatypes(Json.Obj v) {
        String datatype = text(v, "datatype");
        byte[] data = bytes(v, "data");
        Codec.Tensor tensor = new Codec.Tensor(datatype, shape(v), data);
        return () -> {
            must(Arrays.equals(tensor(v).data(), data), "rounded to another number");
            Codec.checkBlob(tensor);
            List<Object> elements = Codec.elements(tensor);
            for (int n = 0; n < elements.size(); n++) {
                must(isValue(elements.get(n), (String) list(v, "values").get(n)), "other values");
            }
            String written;
            try {
                written = Json.write(Codec.toJson(tensor));
            } catch (Codec.Rejected error) {
                must(v.get("json") == null, "not written as JSON: " + error.getMessage());
                return;
            }
            must(v.get("json") != null, "written as JSON, which has no form for it");
            for (String json : List.of(text(v, "json"), written)) {
                Object read = Json.parse(json.getBytes(StandardCharsets.UTF_8));
                byte[] made = Codec.fromJson(datatype, shape(v), read);
                must(Arrays.equals(made, data), "read from JSON as other bytes");
            }
        };
    }

    record Judged(String grade, String words) {}

    static Judged failed(String words) {
        return new Judged("FAIL", words);
    }

    /** FAIL or WARN and what is wrong, or PASS. */
    static Judged judge(Json.Obj v, Json.Obj models) {
        String result = text(v, "result");
        Runnable finish;
        try {
            finish = switch (text(v, "kind")) {
                case "decode_request" -> decodeRequest(v, models);
                case "encode_response" -> encodeResponse(v, models);
                case "decode_response" -> decodeResponse(v);
                case "encode_request" -> encodeRequest(v);
                case "datatypes" -> datatypes(v);
                default -> throw new Wrong("an unknown kind");
            };
        } catch (Codec.Rejected error) {
            String words = "rejected: " + error.getMessage();
            if (result.equals("valid")) return failed(words);
            boolean says = v.get("says") == null || words.contains(text(v, "says"));
            if (!says) return failed("the error lacks the server's words");
            return "accept".equals(text(v, "should")) ? new Judged("WARN", words) : new Judged("PASS", "");
        } catch (RuntimeException | StackOverflowError | OutOfMemoryError error) {
            return failed("crashed: " + error);
        }
        if (result.equals("invalid")) return failed("accepted");
        try {
            finish.run();
        } catch (RuntimeException error) {
            return new Judged(truth(v, "free") ? "WARN" : "FAIL", error.toString());
        }
        return "reject".equals(text(v, "should")) ? new Judged("WARN", "accepted") : new Judged("PASS", "");
    }

    static Json.Obj read(Path path) throws IOException {
        return (Json.Obj) Json.parse(Files.readAllBytes(path));
    }

    public static void main(String[] arguments) throws IOException {
        Path folder = Path.of(arguments.length > 0 ? arguments[0] : "../..");
        Map<String, Integer> counts = new HashMap<>(Map.of("PASS", 0, "WARN", 0, "FAIL", 0));
        for (Json.Obj one : objects(read(folder.resolve("index.json")), "files")) {
            Json.Obj file = read(folder.resolve(text(one, "path")));
            for (Json.Obj vector : objects(file, "vectors")) {
                Judged found = judge(vector, object(file, "models"));
                counts.merge(found.grade, 1, Integer::sum);
                if (found.grade.equals("PASS")) continue;
                String kind = text(vector, "kind"), id = text(vector, "id");
                System.out.printf("%s %s %s: %s%n", found.grade, kind, id, found.words);
            }
        }
        int passed = counts.get("PASS") + counts.get("WARN"), failed = counts.get("FAIL");
        System.out.printf("%d passed, %d failed, %d warnings%n", passed, failed, counts.get("WARN"));
        System.exit(failed > 0 || passed == 0 ? 1 : 0);
    }
}
