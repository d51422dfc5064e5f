"use strict";
// The heads of a table of the class "sortable" become buttons that sort its rows: first upwards, then downwards.
for (const table of document.querySelectorAll("table.sortable")) {
  const heads = [...table.tHead.rows[0].cells];
  const body = table.tBodies[0];
  const value = (row, column) => {
    const cell = row.cells[column];
    const number = Number(cell.dataset.value ?? cell.textContent.replaceAll(",", ""));
    return Number.isNaN(number) ? cell.textContent : number;
  };
  const compare = (one, other) =>
    typeof one === "number" && typeof other === "number" ? one - other : String(one).localeCompare(String(other));
  heads.forEach((head, column) => {
    if (!head.textContent || head.dataset.sort === "none") return;
    const button = document.createElement("button");
    button.type = "button";
    button.textContent = head.textContent;
    button.addEventListener("click", () => {
      const down = head.getAttribute("aria-sort") === "ascending";
      for (const other of heads) other.removeAttribute("aria-sort");
      head.setAttribute("aria-sort", down ? "descending" : "ascending");
      const rows = [...body.rows].sort((one, other) => compare(value(one, column), value(other, column)));
      body.append(...(down ? rows.reverse() : rows));
    });
    head.replaceChildren(button);
  });
}
