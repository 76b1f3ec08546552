
(() => {
  "use strict";
  const form = document.querySelector(".filter");
  const count = document.querySelector("#count");
  const scroll = document.querySelector("#matrix ~ .scroll");
  const names = ["q", "show", "fails", "level", "family"];
  const fields = Object.fromEntries(names.map(name => [name, document.getElementById(name)]));
  const rows = [...document.querySelectorAll("tr[data-holds]")];
  const texts = new Map(rows.map(row => [row, row.cells[0].textContent.toLowerCase()]));
  const open = new Set();
  const has = (list, one) => list.split(" ").includes(one);
  const matches = (row, words) =>
    words.every(word => texts.get(row).includes(word)) &&
    (fields.show.value !== "differs" || row.dataset.differs === "1") &&
    (fields.show.value !== "fails" || row.dataset.holds === "0") &&
    (!fields.fails.value || has(row.dataset.fails, fields.fails.value + (fields.level.value && "-" + fields.level.value))) &&
    (!fields.level.value || has(row.dataset.levels, fields.level.value)) &&
    (!fields.family.value || row.dataset.family === fields.family.value);
  const filter = () => {
    const words = fields.q.value.toLowerCase().split(/\s+/).filter(Boolean);
    // Whoever looks for something is shown it, folded or not.
    const looking = words.length || fields.fails.value || fields.level.value || fields.family.value;
    let shown = 0, folded = 0;
    for (const row of rows) {
      const wanted = matches(row, words);
      const fold = row.parentElement.dataset.fold;
      const inFold = wanted && fold !== undefined && !looking && !open.has(fold);
      row.hidden = !wanted || inFold;
      shown += !row.hidden;
      folded += inFold;
    }
    for (const body of document.querySelectorAll("tbody.rows")) {
      body.hidden = !body.querySelector("tr[data-holds]:not([hidden])");
    }
    for (const head of document.querySelectorAll("tbody.fold")) {
      const body = document.getElementById("fold-" + head.dataset.fold);
      const button = head.querySelector("button");
      head.hidden = body.hidden && !(!looking && [...body.rows].some(row => matches(row, words)));
      button.setAttribute("aria-expanded", String(!body.hidden));
      button.firstElementChild.textContent = body.hidden ? "▸" : "▾";
    }
    count.textContent = `${shown} of ${rows.length} requirements` + (folded ? `, ${folded} in closed groups` : "");
  };
  const keep = () => {
    const query = new URLSearchParams();
    for (const name of names) if (fields[name].value) query.set(name, fields[name].value);
    const text = query.toString();
    if (text === location.search.slice(1)) return;
    try { history.replaceState(null, "", location.pathname + (text ? "?" + text : "") + location.hash); }
    catch { /* some browsers forbid it to pages from files */ }
  };
  const take = search => {
    const query = new URLSearchParams(search);
    for (const name of names) {
      fields[name].value = (query.get(name) || "").slice(0, 200);
      if (fields[name].selectedIndex === -1) fields[name].value = "";
    }
    filter();
  };
  const change = () => { filter(); keep(); };
  const jump = () => {
    let name;
    try { name = decodeURIComponent(location.hash.slice(1)); } catch { return; }
    const row = rows.find(one => one.id === name || one.id === "req-" + name);
    if (!row) return;
    if (row.hidden) {
      const fold = row.parentElement.dataset.fold;
      if (fold !== undefined) open.add(fold);
      for (const field of Object.values(fields)) field.value = "";
      change();
    }
    row.scrollIntoView();
  };
  form.hidden = false;
  for (const button of document.querySelectorAll(".fold button")) {
    button.hidden = false;
    button.nextElementSibling.hidden = true;
    button.addEventListener("click", () => {
      const fold = button.closest("tbody").dataset.fold;
      if (!open.delete(fold)) open.add(fold);
      filter();
    });
  }
  form.addEventListener("submit", event => event.preventDefault());
  form.addEventListener("reset", () => setTimeout(() => { take(""); keep(); }));
  for (const field of Object.values(fields)) {
    field.addEventListener("input", change);
    field.addEventListener("change", change);
  }
  document.addEventListener("click", event => {
    const link = event.target.closest(".heat a");
    if (!link || event.ctrlKey || event.metaKey || event.shiftKey) return;
    event.preventDefault();
    take(link.search);
    keep();
    document.getElementById("matrix").scrollIntoView();
    scroll.scrollTop = 0;
    scroll.focus({preventScroll: true});
  });
  document.addEventListener("keydown", event => {
    if (event.key !== "/" || event.ctrlKey || event.metaKey || event.altKey) return;
    if (event.target.closest("input, select, textarea")) return;
    event.preventDefault();
    fields.q.focus();
  });
  addEventListener("hashchange", jump);
  addEventListener("popstate", () => take(location.search));
  take(location.search);
  jump();
})();
