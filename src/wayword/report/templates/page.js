"use strict";
// Headers become buttons that sort: ascending, descending, as it was. Numbers by their value, missing ones last.
const value = (cell) => {
  const text = cell.textContent.trim();
  if (text === "–") return null;
  if (!cell.classList.contains("number")) return text;
  return Number(text.split(" ")[0].replaceAll(",", "").replace("−", "-").replace("∞", "Infinity"));
};
const compare = (a, b, turn) => {
  if (a === null || b === null) return (a === null) - (b === null);
  return turn * (typeof a === "number" ? a - b : a.localeCompare(b, "en"));
};
const next = { none: "ascending", ascending: "descending", descending: "none" };
for (const table of document.querySelectorAll("table")) {
  const original = [...table.tBodies[0].rows];
  const headers = [...table.tHead.rows[0].cells];
  headers.forEach((header, at) => {
    const button = document.createElement("button");
    button.textContent = header.textContent;
    header.replaceChildren(button);
    button.addEventListener("click", () => {
      const order = next[header.getAttribute("aria-sort") ?? "none"];
      for (const other of headers) other.removeAttribute("aria-sort");
      if (order === "none") return table.tBodies[0].append(...original);
      header.setAttribute("aria-sort", order);
      const turn = order === "ascending" ? 1 : -1;
      const rows = original.toSorted((one, two) => compare(value(one.cells[at]), value(two.cells[at]), turn));
      table.tBodies[0].append(...rows);
    });
  });
}
