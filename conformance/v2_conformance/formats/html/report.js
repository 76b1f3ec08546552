"use strict";
(function () {
  function all(selector, root) { return Array.from((root || document).querySelectorAll(selector)); }
  function byId(name) { return document.getElementById(name); }
  var find = byId("find"), found = byId("found");
  var choices = ["outcome", "level", "family"].map(byId);
  var items = null, keeping = null;

  function filter() {
    items = items || all("[data-outcome]").map(function (element) {
      return { element: element, key: element.querySelector(".key") || element, text: null };
    });
    var words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    var active = choices.filter(function (choice) { return choice.value; });
    var rows = 0, cases = 0;
    items.forEach(function (item) {
      if (words.length && item.text === null) item.text = item.key.textContent.toLowerCase();
      var shown = active.every(function (choice) { return item.element.dataset[choice.id] === choice.value; }) &&
        words.every(function (word) { return item.text.includes(word); });
      item.element.hidden = !shown;
      if (shown) { if (item.element.tagName === "TR") rows += 1; else cases += 1; }
    });
    var filtering = words.length + active.length > 0;
    all(".group").reverse().forEach(function (group) {
      var some = group.querySelector("[data-outcome]:not([hidden])") !== null;
      group.hidden = filtering && !some;
      if (group.tagName !== "DETAILS") return;
      if (filtering && some && !group.open) { group.open = true; group.dataset.opened = "1"; }
      if (!filtering && group.dataset.opened) { group.open = false; delete group.dataset.opened; }
    });
    byId("nothing").hidden = rows + cases > 0;
    byId("clear").hidden = !filtering;
    remember();
    found.value = filtering ? rows + (rows === 1 ? " requirement, " : " requirements, ") +
      cases + (cases === 1 ? " case" : " cases") : "";
  }

  // The filters live in the URL, so that a link or a reload shows the same.
  function remember() {
    var query = new URLSearchParams();
    [find].concat(choices).forEach(function (box) { if (box.value) query.set(box.id, box.value); });
    var text = query.toString();
    if (text === location.search.slice(1)) return;
    try { history.replaceState(null, "", location.pathname + (text ? "?" + text : "") + location.hash); }
    catch (error) { /* a page that may not change its URL */ }
  }

  function recall() {
    var query = new URLSearchParams(location.search);
    [find].concat(choices).forEach(function (box) { box.value = query.get(box.id) || ""; });
    if (find.value || choices.some(function (choice) { return choice.value; })) filter();
  }

  function clear() {
    find.value = "";
    choices.forEach(function (choice) { choice.value = ""; });
    filter();
  }

  // The id of a case as it is shown everywhere, as the page's anchors write it.
  function anchor(name) {
    return name.replace(/\[/g, "(").replace(/\]/g, ")").replace(/[^A-Za-z0-9\/,:._+=()~-]/gu, function (character) {
      return Array.from(new TextEncoder().encode(character)).map(function (byte) {
        return "~" + byte.toString(16).padStart(2, "0");
      }).join("");
    });
  }

  function show() {
    var name = location.hash.slice(1), target = byId(name);
    try { target = target || byId(anchor(decodeURIComponent(name))); } catch (error) { /* no such anchor */ }
    if (!name || !target) return;
    if (target.closest("[hidden]")) clear();
    for (var up = target; up; up = up.parentElement) if (up.tagName === "DETAILS") up.open = true;
    var bytes = target.querySelector("details.bytes");
    if (bytes) bytes.open = true;
    target.setAttribute("tabindex", "-1");
    target.focus({ preventScroll: true });
    keep(target);
  }

  // What is out of sight has only an estimated height, and moves the target when it is laid out:
  // hold the target in its place until it rests, or the reader moves on.
  function keep(target) {
    var still = 0, frames = 0, last = null;
    keeping = target;
    (function scroll() {
      if (keeping !== target) return;
      target.scrollIntoView();
      var top = target.getBoundingClientRect().top;
      still = top === last ? still + 1 : 0;
      last = top;
      frames += 1;
      if (still < 10 && frames < 300) requestAnimationFrame(scroll);
    })();
  }

  // Long bytes scroll within their box: to the first difference, without moving the page.
  function reveal(root) {
    all("mark.diff", root).forEach(function (mark) {
      var box = mark.closest("pre");
      if (!box || box.dataset.revealed) return;
      box.dataset.revealed = "1";
      box.scrollTop += mark.getBoundingClientRect().top - box.getBoundingClientRect().top - box.clientHeight / 2;
    });
  }

  // Each message as a bar, drawn to scale: its parts, and where its JSON ends if the header length is wrong.
  // The headings of the parts say the same in words.
  function draw(root) {
    all("h5 ~ h6[data-n]", root).forEach(function (first) {
      var before = first.previousElementSibling;
      if (before.matches("ul.notes")) before = before.previousElementSibling;
      if (!before.matches("h5") || first.previousElementSibling.matches(".layout")) return;
      var bar = made("div", "", "layout"), total = 0;
      for (var part = first; part && !part.matches("h5"); part = part.nextElementSibling) {
        if (!part.dataset.n) continue;
        var piece = made("span", "", part.className);
        piece.style.flexGrow = part.dataset.n;
        piece.title = part.textContent;
        total += +part.dataset.n;
        bar.append(piece);
      }
      if (before.dataset.json) {
        var end = made("span", "JSON ends here", "json-end"), share = before.dataset.json / total;
        end.style.insetInlineStart = share * 100 + "%";
        if (share > 0.5) end.classList.add("late");
        bar.append(end);
        bar.classList.add("wrong");
      }
      bar.setAttribute("aria-hidden", "true");
      if (total) first.before(bar);
    });
  }

  function copy(button) {
    var source = byId(button.getAttribute("aria-controls")), text = source.textContent;
    function say(words) { button.textContent = words; }
    function select() {
      getSelection().selectAllChildren(source);
      say(document.execCommand("copy") ? "Copied" : "Selected");
    }
    if (!navigator.clipboard) select();
    else navigator.clipboard.writeText(text).then(function () { say("Copied"); }, select);
  }

  // The bytes of cases that passed: [index, bytes], once somebody has opened one of them.
  var unpacked = null;

  function unpack() {
    var text = byId("packed").textContent, coded = atob(text), bytes = new Uint8Array(coded.length);
    for (var at = 0; at < coded.length; at += 1) bytes[at] = coded.charCodeAt(at);
    var stream = new Blob([bytes]).stream().pipeThrough(new DecompressionStream("deflate"));
    return new Response(stream).arrayBuffer().then(function (buffer) {
      var length = new DataView(buffer).getUint32(0), end = 4 + length, places = [];
      var index = JSON.parse(new TextDecoder().decode(new Uint8Array(buffer, 4, length)));
      index.forEach(function (exchanges) {
        places.push(exchanges.map(function (entry) {
          return { title: entry[0], facts: entry[1], messages: [["Request", 2], ["Response", 4]].map(function (pair) {
            var size = entry[pair[1]], here = entry[pair[1] + 1];
            end += here;
            return { name: pair[0], size: size, bytes: new Uint8Array(buffer, end - here, here) };
          }) };
        }));
      });
      return places;
    });
  }

  function made(tag, text, style) {
    var element = document.createElement(tag);
    if (text) element.textContent = text;
    if (style) element.className = style;
    return element;
  }

  // What does not print, or reorders what does, is spelled out.
  function visible(text) {
    return text.replace(/\r\n/g, "\n").replace(/(?![\n\t])[\p{C}\p{Zl}\p{Zp}]/gu, function (character) {
      var code = character.codePointAt(0).toString(16);
      return code.length < 3 ? "\\x" + code.padStart(2, "0") : "\\u" + code.padStart(4, "0");
    });
  }

  function asText(bytes) {
    try {
      var text = new TextDecoder("utf-8", { fatal: true, ignoreBOM: true }).decode(bytes);
      return /(?![\r\n\t])\p{C}/u.test(text) ? null : text;
    } catch (error) { return null; }
  }

  function hexdump(bytes, base) {
    var lines = [];
    for (var at = 0; at < bytes.length; at += 16) {
      var row = Array.from(bytes.subarray(at, at + 16));
      var hex = row.map(function (byte) { return byte.toString(16).padStart(2, "0"); }).join(" ");
      var signs = row.map(function (byte) { return byte > 31 && byte < 127 ? String.fromCharCode(byte) : "."; });
      lines.push((base + at).toString(16).padStart(6, "0") + "  " + hex.padEnd(49) + signs.join(""));
    }
    return lines.join("\n");
  }

  // A message in parts: [name, bytes]. The header length says where the JSON ends.
  function parts(bytes) {
    for (var end = 0; end + 3 < bytes.length; end += 1)
      if (bytes[end] === 13 && bytes[end + 1] === 10 && bytes[end + 2] === 13 && bytes[end + 3] === 10) break;
    if (end + 3 >= bytes.length) return [["Head", bytes]];
    var head = new TextDecoder("latin1").decode(bytes.subarray(0, end)), body = bytes.subarray(end + 4);
    var length = /^inference-header-content-length:[ \t]*([0-9]{1,9})[ \t]*$/im.exec(head);
    var cut = length && +length[1] <= body.length && !/^transfer-encoding:/im.test(head) ? +length[1] : body.length;
    return [["Head", bytes.subarray(0, end)], [cut < body.length ? "JSON" : "Body", body.subarray(0, cut)],
      ["Binary data", body.subarray(cut)]].filter(function (part) { return part[1].length; });
  }

  function fill(details) {
    unpacked = unpacked || unpack();
    unpacked.then(function (places) {
      var exchanges = places[+details.dataset.packed];
      details.querySelector("p").remove();
      exchanges.forEach(function (exchange, number) {
        var shown = made("details", "", "exchange"), summary = made("summary");
        var title = "Exchange " + (number + 1) + " of " + exchanges.length;
        summary.append(made("h5", exchange.title ? title + ": " + exchange.title : title));
        shown.append(summary, made("p", exchange.facts, "small dim"));
        shown.open = number === 0;
        exchange.messages.forEach(function (message) {
          var left = message.size - message.bytes.length, base = 0;
          shown.append(made("h5", message.name + " · " + message.size + " bytes" +
            (left ? ", the first " + message.bytes.length + " of them here" : "")));
          parts(message.bytes).forEach(function (part) {
            var text = part[0] === "Binary data" ? null : asText(part[1]);
            var kind = { Head: "head", JSON: "json", Body: "raw" }[part[0]] || "blob0";
            var lines = made("pre", text === null ? hexdump(part[1], base) : visible(text), (text === null ? "hex k-" : "text k-") + kind);
            lines.tabIndex = 0;
            var heading = made("h6", part[0] + " · " + part[1].length + " bytes", "k-" + kind);
            heading.dataset.n = part[1].length;
            shown.append(heading, lines);
            if (part[0] !== "Head") base += part[1].length;
          });
        });
        details.append(shown);
      });
      draw(details);
    }).catch(function () { /* a browser without DecompressionStream: the command stays */ });
  }

  document.addEventListener("toggle", function (event) {
    var details = event.target;
    if (details.open && details.matches("details.bytes")) { draw(details); reveal(details); }
    if (!details.open || !details.matches("details[data-packed]") || details.dataset.filled) return;
    details.dataset.filled = "1";
    fill(details);
  }, true);

  // j and k go from one case to the next; / searches, ? says so.
  function step(by) {
    var cases = all("article.case, details.case").filter(function (one) { return one.checkVisibility(); });
    var here = cases.indexOf(document.activeElement && document.activeElement.closest(".case"));
    var next = cases[here < 0 ? (by > 0 ? 0 : cases.length - 1) : here + by];
    if (!next) return;
    next.setAttribute("tabindex", "-1");
    next.focus({ preventScroll: true });
    keep(next);
  }

  var keys = {
    "/": function () { find.focus(); find.select(); },
    "j": function () { step(1); },
    "k": function () { step(-1); },
    "?": function () { byId("keys").open = !byId("keys").open; byId("keys").scrollIntoView({ block: "nearest" }); }
  };

  byId("filter").hidden = false;
  recall();
  find.addEventListener("input", filter);
  choices.forEach(function (choice) { choice.addEventListener("change", filter); });
  byId("clear").addEventListener("click", function () { clear(); find.focus(); });
  document.addEventListener("click", function (event) {
    if (event.target.matches("button.copy")) copy(event.target);
  });
  // Before the listener that lets go of what is kept in place, which j and k set again.
  addEventListener("keydown", function (event) {
    if (event.ctrlKey || event.metaKey || event.altKey || !keys[event.key]) return;
    if (event.target.matches && event.target.matches("input, select, textarea")) return;
    event.preventDefault();
    setTimeout(keys[event.key]);
  });
  ["wheel", "keydown", "pointerdown", "touchstart"].forEach(function (kind) {
    addEventListener(kind, function () { keeping = null; }, { passive: true });
  });
  addEventListener("hashchange", show);
  addEventListener("load", show);
  all("details.bytes[open]").forEach(function (open) { draw(open); reveal(open); });
  show();
})();
