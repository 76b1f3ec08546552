// How old a report is, by the reader's clock and in days of UTC, so that all pages agree. The page itself has only
// the date, so that it stays as it was made.
(() => {
  "use strict";
  for (const time of document.querySelectorAll("time[data-age]")) {
    const days = Math.floor((Date.now() - Date.parse(time.dataset.age)) / 864e5);
    if (!(days >= 0)) continue;
    const [number, unit] = days < 60 ? [days, "day"] : days < 730 ? [Math.round(days / 30.44), "month"] : [Math.round(days / 365.25), "year"];
    const age = document.createElement("span");
    age.className = "dim";
    age.textContent = number ? ` ${number} ${unit}${number === 1 ? "" : "s"} old` : " today";
    time.after(age);
  }
})();
