
(() => {
  "use strict";
  const form = document.querySelector(".filter");
  const shown = document.querySelector("#shown");
  const count = document.querySelector("#count");
  const rows = [...document.querySelectorAll("tr[data-holds]")];
  const wanted = {
    all: () => true,
    differs: row => row.dataset.differs === "1",
    fails: row => row.dataset.holds === "0",
  };
  const filter = () => {
    for (const row of rows) row.hidden = !wanted[shown.value](row);
    for (const body of document.querySelectorAll("tbody")) {
      body.hidden = !body.querySelector("tr[data-holds]:not([hidden])");
    }
    count.textContent = `${rows.filter(row => !row.hidden).length} of ${rows.length} requirements`;
  };
  const jump = () => {
    const row = rows.find(one => "#" + one.id === decodeURIComponent(location.hash));
    if (row && row.hidden) {
      shown.value = "all";
      filter();
      row.scrollIntoView();
    }
  };
  form.hidden = false;
  form.addEventListener("submit", event => event.preventDefault());
  shown.addEventListener("change", filter);
  addEventListener("hashchange", jump);
  filter();
  jump();
})();
