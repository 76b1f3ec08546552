// Strict JSON: a value is an Obj, Arr, String, Num, Boolean or null. Numbers keep their digits.

import java.math.BigDecimal;
import java.nio.ByteBuffer;
import java.nio.CharBuffer;
import java.nio.charset.CharacterCodingException;
import java.nio.charset.StandardCharsets;
import java.util.ArrayList;
import java.util.Arrays;
import java.util.LinkedHashMap;
import java.util.Map;
import java.util.regex.Matcher;
import java.util.regex.Pattern;

final class Json {
    static final class Obj extends LinkedHashMap<String, Object> {
        /** The member as that type, or null if it is not there or of another type. */
        <T> T get(String name, Class<T> type) {
            Object value = get(name);
            return type.isInstance(value) ? type.cast(value) : null;
        }
    }

    static final class Arr extends ArrayList<Object> {}

    record Num(String text) {
        private BigDecimal value() {
            return new BigDecimal(text).stripTrailingZeros();
        }

        /** Numbers are equal if their values are, as 1e2 and 100. */
        @Override
        public boolean equals(Object other) {
            return other instanceof Num number && value().equals(number.value());
        }

        @Override
        public int hashCode() {
            return value().hashCode();
        }
    }

    static final class Broken extends RuntimeException {
        Broken(String problem) {
            super(problem);
        }
    }

    private static final Pattern NUMBER =
        Pattern.compile("-?(?:0|[1-9][0-9]*+)(?:\\.[0-9]++)?(?:[eE][-+]?[0-9]++)?");
    private static final int DEEPEST = 500; // so that no document exhausts the stack

    private final String text;
    private int at = 0;
    private int depth = 0;

    private Json(String text) {
        this.text = text;
    }

    static Object parse(byte[] bytes) {
        Json reader = new Json(fromUtf8(bytes));
        Object value = reader.value();
        reader.need(reader.peek() == 0 && reader.at == reader.text.length(), "something follows the value");
        return value;
    }

    static String fromUtf8(byte[] bytes) {
        try {
            return StandardCharsets.UTF_8.newDecoder().decode(ByteBuffer.wrap(bytes)).toString();
        } catch (CharacterCodingException error) {
            throw new Broken("not UTF-8");
        }
    }

    static byte[] toUtf8(String text) {
        try {
            ByteBuffer bytes = StandardCharsets.UTF_8.newEncoder().encode(CharBuffer.wrap(text));
            return Arrays.copyOf(bytes.array(), bytes.limit());
        } catch (CharacterCodingException error) {
            throw new Broken("half a surrogate pair");
        }
    }

    private void need(boolean condition, String problem) {
        if (!condition) throw new Broken(problem + " at character " + at);
    }

    /** The next character that is no white space, or 0. */
    private char peek() {
        while (at < text.length() && " \t\r\n".indexOf(text.charAt(at)) >= 0) at++;
        return at < text.length() ? text.charAt(at) : 0;
    }

    private boolean skip(char wanted) {
        boolean there = peek() == wanted && at < text.length();
        if (there) at++;
        return there;
    }

    private Object value() {
        need(++depth <= DEEPEST, "nested too deep");
        char first = peek();
        Object value = first == '{' ? object() : first == '[' ? array() : first == '"' ? string() : word();
        depth--;
        return value;
    }

    private Obj object() {
        Obj found = new Obj();
        at++;
        if (skip('}')) return found;
        do {
            need(peek() == '"', "no name");
            String name = string();
            need(!found.containsKey(name), "a member is there twice");
            need(skip(':'), "no colon");
            found.put(name, value());
        } while (skip(','));
        need(skip('}'), "an object is not closed");
        return found;
    }

    private Arr array() {
        Arr found = new Arr();
        at++;
        if (skip(']')) return found;
        do found.add(value()); while (skip(','));
        need(skip(']'), "an array is not closed");
        return found;
    }

    private Object word() {
        for (Object known : new Object[] {true, false, null}) {
            if (text.startsWith(String.valueOf(known), at)) {
                at += String.valueOf(known).length();
                return known;
            }
        }
        Matcher number = NUMBER.matcher(text).region(at, text.length());
        need(number.lookingAt(), "no value");
        at = number.end();
        return new Num(number.group());
    }

    private String string() {
        StringBuilder found = new StringBuilder();
        for (at++; ; at++) {
            need(at < text.length() && text.charAt(at) >= ' ', "a string is not closed");
            char one = text.charAt(at);
            if (one == '"') {
                at++;
                return found.toString();
            }
            found.append(one == '\\' ? escaped() : one);
        }
    }

    private char escaped() {
        need(++at < text.length(), "a string is not closed");
        int simple = "\"\\/bfnrt".indexOf(text.charAt(at));
        if (simple >= 0) return "\"\\/\b\f\n\r\t".charAt(simple);
        need(text.startsWith("u", at) && at + 4 < text.length(), "an unknown escape");
        String digits = text.substring(at + 1, at + 5);
        need(digits.matches("[0-9a-fA-F]{4}"), "an unknown escape");
        at += 4;
        return (char) Integer.parseInt(digits, 16);
    }

    static String write(Object value) {
        StringBuilder into = new StringBuilder();
        write(value, into);
        return into.toString();
    }

    private static void write(Object value, StringBuilder into) {
        String separator = "";
        if (value instanceof Obj object) {
            into.append('{');
            for (Map.Entry<String, Object> one : object.entrySet()) {
                into.append(separator);
                write(one.getKey(), into);
                into.append(':');
                write(one.getValue(), into);
                separator = ",";
            }
            into.append('}');
        } else if (value instanceof Arr array) {
            into.append('[');
            for (Object one : array) {
                into.append(separator);
                write(one, into);
                separator = ",";
            }
            into.append(']');
        } else if (value instanceof String string) {
            into.append('"');
            for (char one : string.toCharArray()) {
                if (one < ' ' || one == '"' || one == '\\') into.append(String.format("\\u%04x", (int) one));
                else into.append(one);
            }
            into.append('"');
        } else {
            into.append(value instanceof Num number ? number.text() : String.valueOf(value));
        }
    }
}
