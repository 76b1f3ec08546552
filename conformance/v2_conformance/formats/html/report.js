"use strict";
(async () => {
  function all(selector, root) { return Array.from((root || document).querySelectorAll(selector)); }
  function byId(name) { return document.getElementById(name); }
  const { made, coded } = Exchanges;
  var AT_ONCE = 50;  // so many rows of a list are made at once
  var PRINTED = 30;  // and so many are printed, as the style says
  var find = byId("find"), found = byId("found");
  var choices = ["outcome", "level", "family"].map(byId);
  var filters = [find].concat(choices);
  var keeping = null;

  // The cases: rows are made when they are needed, their bytes when they are opened.

  const packed = await Exchanges.unpacked().catch(() => {
    all("section.list").forEach(list => list.append(made("p", "card", "This browser is too old for the list of cases.")));
    return [];
  });
  const cases = packed.map(one => ({ ...one, family: one.requirement.slice(0, 1), text: null, element: null, list: null }));
  // A case by its anchor, or by its id as it is shown everywhere.
  const named = new Map([...cases.map(one => ["case-" + one.id, one]), ...cases.map(one => [one.anchor, one])]);

  function mark(one) {
    const sign = made("span", "", one.sign);
    sign.setAttribute("aria-hidden", "true");
    return made("span", "mark o-" + one.outcome, sign, " " + one.label);
  }

  // A link to a place in this page, or to a source.
  function to(href, style, child) {
    const link = made("a", style, child);
    link.href = href;
    if (href[0] !== "#") link.rel = "noopener noreferrer";
    return link;
  }

  function link(id) { return to("#" + cases.find(one => one.id === id).anchor, "", made("code", "", id)); }

  function row(one) {
    if (one.element) return one.element;
    const summary = made("summary", "key", mark(one), " ", made("span", "level", one.level), " ",
      made("h3", "", made("code", "", one.id)), " ", made("span", "dim small", one.time),
      !one.list.quiet && one.message && coded("span", "message", one.message));
    const box = made("details", "card case", summary);
    box.id = one.anchor;
    box.dataset.outcome = one.outcome;
    box.addEventListener("toggle", () => { if (box.open) fill(one); });
    one.element = box;
    return box;
  }

  function fill(one) {
    const box = one.element, requirement = byId("req-" + one.requirement);
    if (box.dataset.filled) return;
    box.dataset.filled = "1";
    const about = requirement ? [to("#" + requirement.id, "", one.requirement),
      made("span", "", ": " + requirement.querySelector("strong").textContent), " · "] : [];
    box.append(...[
      made("p", "small dim", about, to("#" + box.id, "", "link to this case")),
      one.list.quiet && one.message && coded("p", "message", one.message), one.why && coded("p", "why", one.why),
      one.cite.map(([title, url, place]) => made("p", "cited dim", "Allowed by: ", url ? to(url, "", title) : title, ", " + place)),
    ].flat().filter(Boolean));
    if (one.shown) box.append(...Exchanges.all(JSON.parse(one.shown), one.replay, box.id, one.elsewhere.map(link),
      "client" in document.body.dataset));
    else if (one.list.sent) box.append(made("p", "small dim", "To see it in a terminal: ",
      made("code", "", `v2-conformance show report.json '${one.id.replace(/'/g, "'\\''")}'`)));
    reveal(box);
  }

  // A list of rows in `box`; in a `pile` they are made once it is opened.
  function List(box, chosen, pile, quiet, sent) {
    var list = this;
    this.box = box; this.cases = chosen; this.matching = chosen; this.limit = AT_ONCE;
    this.pile = pile; this.quiet = quiet; this.sent = sent;
    chosen.forEach(function (one) { one.list = list; });
    if (pile) pile.addEventListener("toggle", function () { list.draw(); });
    else this.draw();
  }

  List.prototype.draw = function () {
    if (this.pile && !this.pile.open) return;
    var list = this, rows = this.matching.slice(0, this.limit).map(row), left = this.matching.length - rows.length;
    if (rows.length + left > PRINTED) rows.push(made("p", "printed dim", "Not all of these are printed; report.json has all."));
    if (left > 0) {
      var more = made("button", "more", `Show ${Math.min(left, AT_ONCE)} more of ${left}`);
      more.type = "button";
      more.addEventListener("click", function () {
        var first = list.limit;
        list.grow();
        focus(list.matching[first].element);
      });
      rows.push(more);
    }
    this.box.replaceChildren.apply(this.box, rows);
  };

  List.prototype.grow = function (place) {
    if (this.limit < this.matching.length) this.limit = Math.max(this.limit + AT_ONCE, (place || 0) + 1);
    this.draw();
  };

  List.prototype.filter = function (matches, filtering) {
    this.matching = filtering ? this.cases.filter(matches) : this.cases;
    this.limit = AT_ONCE;
    var pile = this.pile, some = this.matching.length > 0;
    if (pile) {
      pile.hidden = !some;
      if (filtering && some && !pile.open) { pile.open = true; pile.dataset.opened = "1"; }
      if (!filtering && pile.dataset.opened) { pile.open = false; delete pile.dataset.opened; }
    }
    this.draw();
  };

  function withOutcome(outcome) { return cases.filter(function (one) { return one.outcome === outcome; }); }

  function listsOfThisPage() {
    var lists = [], settled = ["pass", "not_run", "unsupported"], box = byId("troubled");
    var troubled = cases.filter(function (one) { return !settled.includes(one.outcome); });
    if (box) {
      lists.push(new List(box, troubled, null, false, true));
      if (troubled.length <= +box.dataset.open) troubled.forEach(function (one) { one.element.open = true; });
    }
    box = byId("settled");
    if (box) lists.push(new List(box, withOutcome("pass"), box.parentElement, true, true));
    settled.slice(1).forEach(function (outcome) {
      var groups = new Map();
      withOutcome(outcome).forEach(function (one) {
        groups.set(one.message, (groups.get(one.message) || []).concat(one));
      });
      groups = Array.from(groups.values());
      all("details.pile[data-skipped=" + outcome + "]").forEach(function (pile, n) {
        lists.push(new List(pile.lastElementChild, groups[n] || [], pile, true, false));
      });
    });
    return lists;
  }

  function allOf(details) {
    const own = cases.filter(one => one.requirement === details.dataset.requirement);
    details.append(made("ul", "cases", own.map(one =>
      made("li", "", to("#" + one.anchor, "t-" + one.outcome, `${one.sign} ${one.id}`)))));
  }

  // Filters.

  var rows = null;
  function filter() {
    rows = rows || all("tr[data-outcome]").map(function (element) { return { element: element, text: null }; });
    var words = find.value.toLowerCase().split(/\s+/).filter(Boolean);
    var active = choices.filter(function (choice) { return choice.value; });
    var filtering = words.length + active.length > 0, shownRows = 0, shownCases = 0;
    // The grade "MUST (blocks robust)" is of the level MUST, too. A requirement may have several.
    function chosen(choice, of) {
      return of[choice.id].split(", ").some(function (one) { return one === choice.value || one.startsWith(choice.value + " ("); });
    }
    function has(text) { return words.every(function (word) { return text.includes(word); }); }
    rows.forEach(function (one) {
      if (words.length && one.text === null) one.text = one.element.textContent.toLowerCase();
      var shown = active.every(function (choice) { return chosen(choice, one.element.dataset); }) && has(one.text || "");
      one.element.hidden = !shown;
      shownRows += shown;
    });
    function matches(one) {
      if (!active.every(function (choice) { return chosen(choice, one); })) return false;
      if (words.length && one.text === null)
        one.text = [one.id, one.label, one.level, one.requirement, one.message, one.why].join(" ").toLowerCase();
      return has(one.text || "");
    }
    lists.forEach(function (list) {
      list.filter(matches, filtering);
      shownCases += list.matching.length;
    });
    all(".group").forEach(function (group) {
      group.hidden = filtering && group.querySelector("tr[data-outcome]:not([hidden])") === null;
    });
    all("section.list").forEach(function (section) {
      section.hidden = filtering && !lists.some(function (list) { return list.matching.length && section.contains(list.box); });
    });
    byId("nothing").hidden = shownRows + shownCases > 0;
    byId("clear").hidden = !filtering;
    remember();
    found.value = filtering ? shownRows + (shownRows === 1 ? " requirement, " : " requirements, ") +
      shownCases + (shownCases === 1 ? " case" : " cases") : "";
  }

  // The filters live in the URL, so that a link or a reload shows the same.
  function remember() {
    var query = new URLSearchParams();
    filters.forEach(function (box) { if (box.value) query.set(box.id, box.value); });
    var text = query.toString();
    if (text === location.search.slice(1)) return;
    try { history.replaceState(null, "", location.pathname + (text ? "?" + text : "") + location.hash); }
    catch (error) { /* a page that may not change its URL */ }
  }

  function recall(query) {
    filters.forEach(function (box) { box.value = query.get(box.id) || ""; });
    if (filters.some(function (box) { return box.value; })) filter();
  }

  function clear() {
    filters.forEach(function (box) { box.value = ""; });
    filter();
  }

  // Links to a place in the page.

  function show() {
    var name = location.hash.slice(1), decoded = name;
    if (!name) return;
    try { decoded = decodeURIComponent(name); } catch (error) { /* as it is */ }
    var one = named.get(name) || named.get(decoded), target = one ? rowOf(one) : byId(name) || byId(decoded);
    if (!target) return;
    if (target.closest("[hidden]")) clear();
    for (var up = target; up; up = up.parentElement) if (up.tagName === "DETAILS") up.open = true;
    all(".case.chosen").forEach(function (other) { other.classList.remove("chosen"); });
    if (one) target.classList.add("chosen");
    focus(target);
    keep(target);
  }

  // The row of a case, in its list, wherever a filter or the length of the list hides it.
  function rowOf(one) {
    var list = one.list;
    if (!list) return null;
    if (!list.matching.includes(one)) clear();
    if (list.pile) list.pile.open = true;
    list.draw();
    var place = list.matching.indexOf(one);
    if (place >= list.limit) list.grow(place);
    return one.element;
  }

  function focus(target) {
    if (target.matches("details.case")) target = target.firstElementChild;
    else target.setAttribute("tabindex", "-1");
    target.focus({ preventScroll: true });
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
    all("pre mark.wrong:first-of-type", root).forEach(function (difference) {
      var box = difference.closest("pre");
      box.scrollTop += difference.getBoundingClientRect().top - box.getBoundingClientRect().top - box.clientHeight / 2;
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

  // j and k go from one case to the next; / searches, ? says so.
  function step(by) {
    var shown = all("details.case").filter(function (one) { return one.checkVisibility(); });
    var from = document.activeElement && document.activeElement.closest(".case"), here = shown.indexOf(from);
    var next = shown[here < 0 ? (by > 0 ? 0 : shown.length - 1) : here + by];
    lists.forEach(function (list) {
      if (by < 0 || !list.box.contains(from) || list.box.contains(next)) return;
      list.grow();
      next = from.nextElementSibling.matches(".case") ? from.nextElementSibling : next;
    });
    if (!next) return;
    focus(next);
    keep(next);
  }

  var keys = {
    "/": function () { find.focus(); find.select(); },
    "j": function () { step(1); },
    "k": function () { step(-1); },
    "?": function () { byId("keys").open = !byId("keys").open; byId("keys").scrollIntoView({ block: "nearest" }); }
  };

  byId("filter").hidden = false;
  var lists = listsOfThisPage();
  recall(new URLSearchParams(location.search));
  find.addEventListener("input", filter);
  choices.forEach(function (choice) { choice.addEventListener("change", filter); });
  byId("clear").addEventListener("click", function () { clear(); find.focus(); });
  all("details.all").forEach(function (details) {
    details.addEventListener("toggle", function () { allOf(details); }, { once: true });
  });
  document.addEventListener("click", function (event) {
    if (event.target.matches("button.copy")) copy(event.target);
    var cell = event.target.closest(".heat a");
    if (!cell || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    recall(new URL(cell.href).searchParams);
    location.hash = "";
    location.hash = "requirements";
  });
  // Another link to where the reader is leads there again.
  document.addEventListener("click", function (event) {
    var to = event.target.closest("a[href^='#']");
    if (to && to.getAttribute("href") === location.hash) show();
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
  show();
})();
