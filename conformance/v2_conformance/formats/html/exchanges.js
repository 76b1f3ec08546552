"use strict";
// What a case shows once it is opened: what it expected and got, its bytes, and how to send them again.
// Everything from a report becomes a text node, with hidden characters spelled out.
var Exchanges = (function () {
  // What does not print, or reorders what does, is spelled out.
  function visible(text) {
    return text.replace(/(?![\n\t])[\p{C}\p{Zl}\p{Zp}]/gu, function (character) {
      var code = character.codePointAt(0).toString(16);
      return code.length < 3 ? "\\x" + code.padStart(2, "0") : "\\u" + code.padStart(4, "0");
    });
  }

  function made(tag, text, style) {
    var element = document.createElement(tag);
    if (text) element.textContent = visible(String(text));
    if (style) element.className = style;
    return element;
  }

  // What stands between backticks on one line, as code.
  function coded(tag, text, style) {
    var element = made(tag, "", style);
    text.split(/`([^`\n]+)`/).forEach(function (piece, n) {
      if (piece) element.append(n % 2 ? made("code", piece) : visible(piece));
    });
    return element;
  }

  // UTF-8 as text, and each byte that is none as an escape.
  var CHARACTER = /[\x00-\x7f]+|[\xc2-\xdf][\x80-\xbf]|[\xe0-\xef][\x80-\xbf]{2}|[\xf0-\xf4][\x80-\xbf]{3}|[^]/g;
  function decoded(bytes) {
    var strict = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true });
    try { return strict.decode(bytes); } catch (error) { /* byte for byte */ }
    var text = "";
    bytes.forEach(function (byte) { text += String.fromCharCode(byte); });
    return text.replace(CHARACTER, function (found) {
      var codes = Uint8Array.from(found, function (one) { return one.charCodeAt(0); });
      try { return strict.decode(codes); } catch (error) { /* none */ }
      return Array.from(codes, function (code) { return "\\x" + code.toString(16); }).join("");
    });
  }

  function asText(bytes, kind) {
    var text = decoded(bytes);
    // A line that ends in LF alone must not look like one that ends in CRLF.
    if (kind === "head") text = text.replace(/(?<!\r)\n/g, "\\\n");
    return visible(text.replace(/\r\n/g, "\n"));
  }

  // Text; the wrong bytes, `[offset, words, length]`, are marked, and pointed at from below.
  function text(box, bytes, start, one) {
    var found = one.differing, from = found ? found[0] - one.base - start : -1;
    function last(piece) { return asText(piece, one.kind).replace(/\n+$/, ""); }
    if (from < 0 || from >= bytes.length) { box.append(last(bytes)); return; }
    box.append(asText(bytes.subarray(0, from), one.kind), made("mark", decoded(bytes.subarray(from, from + found[2])), "diff"),
      last(bytes.subarray(from + found[2])), "\n", made("span", "▲ " + found[1], "diff"));
  }

  // Rows of a hexdump; the differing byte, `[offset, words, length]`, is marked, and pointed at from below.
  function hexdump(box, bytes, base, differing) {
    for (var at = 0; at < bytes.length; at += 16) {
      var row = Array.from(bytes.subarray(at, at + 16)), column = differing ? differing[0] - base - at : -1;
      var start = (base + at).toString(16).padStart(6, "0") + "  ";
      var hex = row.map(function (byte) { return byte.toString(16).padStart(2, "0"); }).join(" ").padEnd(47);
      var signs = row.map(function (byte) { return byte > 31 && byte < 127 ? String.fromCharCode(byte) : "."; }).join("");
      var line = start + hex + "  " + signs;
      if (at) box.append("\n");
      if (column < 0 || column >= row.length) { box.append(line); continue; }
      var digits = start.length + 3 * column, sign = start.length + 49 + column, words = visible(differing[1]);
      box.append(line.slice(0, digits), made("mark", line.slice(digits, digits + 2), "diff"), line.slice(digits + 2, sign),
        made("mark", line[sign], "diff"), line.slice(sign + 1), "\n",
        made("span", words.length < digits ? (words + " ▲").padStart(digits + 1) : " ".repeat(digits) + "▲ " + words, "diff"));
    }
  }

  function inBytes(number) { return number === 1 ? "1 byte" : number.toLocaleString("en") + " bytes"; }

  // A section as data: see packed.py. `take` gives the next bytes of the record.
  function section(box, one, take) {
    var heading = made("h6", one.title, "k-" + one.style);
    box.append(heading);
    if (one.spans.some(function (span) { return span[1]; })) {
      var lines = made("pre", "", (one.isText ? "text k-" : "hex k-") + one.style);
      lines.tabIndex = 0;
      one.spans.forEach(function (span) {
        var bytes = take(span[1]);
        if (span[2]) lines.append("\n", made("span", "… " + inBytes(span[2]) + " left out", "fold"), "\n");
        if (one.isText) text(lines, bytes, span[0], one);
        else hexdump(lines, bytes, one.base + span[0], one.differing);
      });
      box.append(lines);
    }
    if (one.sha256) {
      var digest = made("p", "SHA-256 of the whole: ", "hash");
      digest.append(made("code", one.sha256));
      box.append(digest);
    }
  }

  // A message as a bar, drawn to scale: its parts, where its header length cuts, where its JSON ends if
  // that is elsewhere, and the first byte that differs. The headings below say the same in words.
  function bar(message, sections) {
    var box = made("div", "", "layout"), marks = [], total = 0;
    sections.forEach(function (one) {
      var piece = made("span", "", "k-" + one.style), last = one.spans[one.spans.length - 1];
      piece.style.flexGrow = one.length;
      piece.title = one.title;
      if (one.differing && last && last[0] + last[1] === one.length)
        marks.push([one.isText ? "wrong here" : "first difference", total + one.differing[0] - one.base, "at-difference"]);
      total += one.length;
      if (one.length) box.append(piece);
    });
    if (!total) return null;
    var wrong = message.json !== null;
    if (message.cut !== null) marks.push([wrong ? "header length cuts here" : "", message.cut, wrong ? "at-cut wrong" : "at-cut"]);
    if (wrong) marks.push(["JSON ends here", message.json, "at-json"]);
    var named = 0;
    marks.sort(function (one, other) { return one[1] - other[1]; }).forEach(function (mark) {
      var share = Math.min(1, mark[1] / total), tick = made("span", "", "tick " + mark[2]);
      tick.style.insetInlineStart = share * 100 + "%";
      if (mark[0]) {
        var words = mark[1] > total ? mark[0] + ", " + inBytes(mark[1] - total) + " behind the end" : mark[0];
        tick.append(made("span", words, (share > 0.5 ? "late" : "") + " row" + named));
        named += 1;
      }
      box.append(tick);
    });
    box.classList.add("named" + named);
    box.setAttribute("aria-hidden", "true");
    return box;
  }

  // A message of a case that passed, of which only the first `bytes` are here: the same sections, but for
  // what is rare.
  var LENGTH = /^inference-header-content-length:[ \t]*([0-9]{1,15})[ \t]*$/im;
  function read(name, size, bytes) {
    var message = { title: name + " · " + (size ? inBytes(size) : "nothing"), notes: [], json: null, cut: null, sections: [] };
    function add(label, kind, style, start, end, base, inBody) {
      if (end <= start) return;
      var here = Math.max(0, Math.min(end, bytes.length) - start), isText = kind === "head" || kind === "json" ||
        (kind === "raw" && isVisible(bytes.subarray(start, end)));
      var title = label + " · " + inBytes(end - start) + (inBody ? ", bytes " + base + "–" + (base + end - start - 1) + " of the body" : "");
      message.sections.push({ title: title, length: end - start, kind: kind, style: style, isText: isText, base: base,
        sha256: "", spans: here ? [[0, here, 0]] : [] });
    }
    if (bytes.length < size) message.notes.push("the first " + inBytes(bytes.length) + " are here; report.json has all");
    var latin = "";
    bytes.forEach(function (byte) { latin += String.fromCharCode(byte); });
    var at = 0, end = latin.indexOf("\r\n\r\n") + 4;
    for (; end > 3 && /^HTTP\/1\.1 1[0-9][0-9]/.test(latin.slice(at)); at = end, end = latin.indexOf("\r\n\r\n", at) + 4)
      add("Interim response", "head", "head", at, end, at);
    if (end < 4) { add("Head", "head", "head", at, size, at); return message; }
    add("Head", "head", "head", at, end, at);
    var head = latin.slice(at, end), length = LENGTH.exec(head), body = latin.slice(end);
    if (/^(transfer|content)-encoding:/im.test(head)) { add("Body", "raw", "raw", end, size, 0); return message; }
    var object = objectEnd(body), declared = length ? +length[1] : null, left = size - end;
    message.cut = length && end + declared;
    if (declared === 0) { add("Body without JSON (header length 0)", "blob", "blob0", end, size, 0, true); return message; }
    var fits = length && declared <= left, cut = fits ? declared : object || left;
    if (!object) {
      add(fits ? "Declared to be JSON, but not a JSON object" : "Body, not a JSON object", "raw", "raw", end, end + cut, 0);
      add("After the declared JSON", "slack", "slack", end + cut, size, cut, true);
      return message;
    }
    if (length && (!fits || body.slice(Math.min(cut, object), Math.max(cut, object)).trim())) message.json = end + object;
    add("JSON", "json", "json", end, end + cut, 0, true);
    var blob = end + cut;
    tensors(body.slice(0, object)).forEach(function (one, n) {
      var stop = Math.min(blob + one[1], size);
      add(one[0], "blob", "blob" + n % COLORS, blob, stop, blob - end, true);
      blob = stop;
    });
    add("Bytes that no tensor accounts for", "slack", "slack", blob, size, blob - end, true);
    return message;
  }

  function isVisible(bytes) {
    try { return !/(?![\r\n\t])\p{C}/u.test(new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes)); }
    catch (error) { return false; }
  }

  // Where the JSON object that a text begins with ends; 0 if it begins with none.
  function objectEnd(text) {
    var token = /"(?:[^"\\]|\\[^])*"|[{}[\]]/g, depth = 0, found;
    if (!/^\s*\{/.test(text)) return 0;
    while ((found = token.exec(text))) {
      if (found[0] === "{" || found[0] === "[") depth += 1;
      if (found[0] === "}" || found[0] === "]") depth -= 1;
      if (depth === 0 && found[0].length === 1) return token.lastIndex;
    }
    return 0;
  }

  // The tensors with blobs that a JSON object declares: [name, bytes].
  function tensors(text) {
    var found = [], entries;
    try { entries = JSON.parse(text); entries = entries.inputs || entries.outputs; } catch (error) { return found; }
    if (Array.isArray(entries)) entries.slice(0, 64).forEach(function (entry) {
      var size = entry && entry.parameters && entry.parameters.binary_data_size;
      if (Number.isInteger(size) && size >= 0) found.push([[entry.name, entry.datatype, JSON.stringify(entry.shape)].join(" ").slice(0, 120), size]);
    });
    return found;
  }

  var COLORS = 5;  // of blobs; their labels tell them apart as well
  function sectionsOf(message) {
    return message.sections.map(function (one) {
      return { title: one[0], length: one[1], kind: one[2], style: one[3] === null ? one[2] : "blob" + one[3] % COLORS,
        isText: one[4] === 1, base: one[5], sha256: one[6], spans: one[7], differing: one[8] };
    });
  }

  // One exchange of a record. The bytes are in the order of the record, whatever is shown first.
  function exchange(one, number, of, take, requestFirst) {
    var box = made("details", "", "exchange"), summary = made("summary");
    var title = "Exchange " + number + " of " + of;
    summary.append(made("h4", one.title ? title + ": " + one.title : title));
    box.append(summary, made("p", one.facts, "small dim"));
    box.open = number === 1 || !one.complete;
    var messages = (one.messages || one.begun).map(function (message, n) {
      var part = made("div", "", "message-bytes"), sections;
      if (one.begun) {
        var bytes = take(message[1]), at = 0;
        message = read(n ? "Response" : "Request", message[0], bytes);
        sections = message.sections;
      } else sections = sectionsOf(message);
      function next(length) { at += length; return bytes.subarray(at - length, at); }
      part.append(made("h5", message.title));
      if (message.notes.length) {
        var notes = made("ul", "", "notes");
        message.notes.forEach(function (note) { notes.append(made("li", note)); });
        part.append(notes);
      }
      var drawn = bar(message, sections);
      if (drawn) part.append(drawn);
      sections.forEach(function (each) { section(part, each, one.begun ? next : take); });
      return part;
    });
    if (!requestFirst) messages.reverse();
    box.append.apply(box, messages);
    return box;
  }

  function difference(found) {
    var box = made("div", "", "difference"), where = made("p", "First differing byte: output ");
    where.append(made("strong", found.output), visible(" " + found.datatype + ", element " + found.element + ", byte " +
      found.offset + " of its blob" + (found.body_offset === null ? " (in binary form; the server sent JSON)" :
      ", byte " + found.body_offset + " of the body")));
    var table = made("table"), head = made("tr"), rows = made("tbody"), top = made("thead");
    table.setAttribute("aria-label", "The element as expected and as received");
    head.append(made("td"));
    ["Value", "Bytes in wire order"].forEach(function (name) {
      head.append(made("th", name));
      head.lastChild.scope = "col";
    });
    [["expected", found.expected_value, found.expected], ["got", found.got_value, found.got]].forEach(function (values) {
      var row = made("tr"), name = made("th", values[0]);
      name.scope = "row";
      row.append(name);
      values.slice(1).forEach(function (value) {
        row.append(made("td"));
        row.lastChild.append(made("code", value || "(none)"));
      });
      rows.append(row);
    });
    top.append(head);
    table.append(top, rows);
    var scroll = made("div", "", "scroll");
    scroll.append(table);
    box.append(where, scroll);
    return box;
  }

  function replay(command, name) {
    var box = made("div", "", "replay"), button = made("button", "Copy", "copy"), text = made("pre", command, "text");
    text.id = "replay-" + name;
    text.tabIndex = 0;
    button.type = "button";
    button.setAttribute("aria-controls", text.id);
    box.append(made("h4", "Replay"), button, text);
    return box;
  }

  // All that a record shows: `name` is its anchor, `link` makes a link to a case.
  function show(box, record, name, link, requestFirst) {
    var at = 0;
    function take(length) { at += length; return record.bytes.subarray(at - length, at); }
    if (record.difference) box.append(difference(record.difference));
    if (record.said) {
      var said = made("ul", "", "notes");
      record.said.forEach(function (line) {
        said.append(made("li"));
        said.lastChild.append(made("code", line));
      });
      box.append(made("h4", "What the client said"), said);
    }
    if (record.survival) box.append(made("p", record.survival, "small"));
    if (record.elsewhere) {
      var elsewhere = made("p", "Exchanges: ");
      record.elsewhere.forEach(function (id, n) { elsewhere.append(n ? ", " : "", link(id)); });
      box.append(elsewhere);
    }
    if (record.brief) box.append(made("p", "Shortened; report.json has all of the bytes.", "small dim"));
    record.exchanges.forEach(function (one, n) {
      box.append(exchange(one, n + 1, record.exchanges.length, take, requestFirst));
    });
    if (record.replay) box.append(replay(record.replay, name));
  }

  // The records by the place of their case, once somebody has opened one: see packed.py.
  var unpacking = null;
  function unpack() {
    var text = document.getElementById("packed").textContent;
    if (!text) return Promise.resolve(new Map());
    var coded = atob(text), bytes = new Uint8Array(coded.length);
    for (var at = 0; at < coded.length; at += 1) bytes[at] = coded.charCodeAt(at);
    var stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).arrayBuffer().then(function (buffer) {
      var view = new DataView(buffer), records = new Map(), reader = new TextDecoder();
      for (var at = 0; at < buffer.byteLength;) {
        var end = at + 8 + view.getUint32(at), length = view.getUint32(at + 4);
        var record = JSON.parse(reader.decode(new Uint8Array(buffer, at + 8, end - at - 8)));
        record.bytes = new Uint8Array(buffer, end, length);
        records.set(record.case, record);
        at = end + length;
      }
      return records;
    });
  }

  function records() {
    unpacking = unpacking || new Promise(function (done) { done(unpack()); });
    return unpacking;
  }

  return { made: made, coded: coded, show: show, records: records };
})();
