"use strict";
// Headers become buttons that sort: ascending, descending, as it was. Numbers by their value, missing ones last.
for (const table of document.querySelectorAll("table")) {
  const body = table.tBodies[0];
  const original = Array.from(body.rows);
  const headers = Array.from(table.tHead.rows[0].cells);
  const compare = (a, b) =>
    typeof a === "number" && typeof b === "number" ? a - b : String(a).localeCompare(String(b), "en");
  const value = (row, at) => {
    const text = row.cells[at].textContent.trim();
    if (text === "–") return null;
    if (!row.cells[at].classList.contains("number")) return text;
    const number = text.split(" ")[0].replaceAll(",", "").replace("−", "-").replace("∞", "Infinity");
    return Number(number);
  };
  headers.forEach((header, at) => {
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = header.textContent;
    header.replaceChildren(button);
    button.addEventListener("click", () => {
      const next = { none: "ascending", ascending: "descending", descending: "none" };
      const order = next[header.getAttribute("aria-sort") || "none"];
      headers.forEach((other) => other.removeAttribute("aria-sort"));
      if (order !== "none") header.setAttribute("aria-sort", order);
      const turn = order === "descending" ? -1 : 1;
      const rows = original.slice();
      if (order !== "none") {
        rows.sort((one, two) => {
          const a = value(one, at), b = value(two, at);
          if (a === null || b === null) return (a === null) - (b === null);
          return turn * compare(a, b);
        });
      }
      body.append(...rows);
    });
  });
}
