// Tables as data: `<table>` and elements with table roles, with spans resolved.
//
// Knows rows and cells; nothing of markdown or locators.

const TABLES = "table, [role=table], [role=grid], [role=treegrid]";
const SPAN_MAX = 1000;
const CELLS_MAX = 200000;

const roleTokens = (element, tags, roles) => tags.includes(tagOf(element)) || roles.includes(explicitRole(element));

/** The rows of a table in order, without those of nested tables. */
function rowsOf(table) {
  const rows = [];
  const visit = (element) => {
    for (const child of flatChildrenOf(element)) {
      if (!isElement(child) || (lookOf(child).display !== "contents" && !checkVisibility(child))) continue;
      if (roleTokens(child, ["tr"], ["row"])) rows.push(child);
      else if (!elementMatches(child, TABLES)) visit(child);
    }
  };
  visit(table);
  return rows;
}

const CELL_ROLES = ["cell", "gridcell", "columnheader", "rowheader"];
function cellsOf(row) {
  const cells = [];
  const visit = (element) => {
    for (const child of flatChildrenOf(element)) {
      if (!isElement(child) || lookOf(child).display === "none") continue;
      if (roleTokens(child, ["td", "th"], CELL_ROLES)) cells.push(child);
      else visit(child);
    }
  };
  visit(row);
  return cells;
}

/** The texts of a table as rows of equal length, and the number of header rows at the top. */
function gridOf(table, textOfCell) {
  const grid = [];
  let headerCount = 0;
  let inHeader = true;
  let filled = 0;
  const rows = rowsOf(table);
  rows.forEach((row, at) => {
    const cells = cellsOf(row);
    const line = (grid[at] ??= []);
    let column = 0;
    for (const cell of cells) {
      while (line[column] !== undefined) column++;
      const span = (name, aria) => Math.min(Math.max(parseInt(attributeOf(cell, name) ?? attributeOf(cell, aria) ?? "1", 10) || 1, 1), SPAN_MAX);
      const text = textOfCell(cell);
      const columns = span("colspan", "aria-colspan");
      // A rowspan of zero extends to the end of the table section.
      const down = attributeOf(cell, "rowspan") === "0" ? rows.length - at : Math.min(span("rowspan", "aria-rowspan"), rows.length - at);
      for (let y = 0; y < down; y++) {
        for (let x = 0; x < columns && filled < CELLS_MAX; x++, filled++) (grid[at + y] ??= [])[column + x] ??= text;
      }
      column += columns;
    }
    const head = cells.length > 0 && (closestOf(row, "thead") !== null || cells.every((cell) => roleTokens(cell, ["th"], ["columnheader"]) && attributeOf(cell, "scope") !== "row"));
    inHeader &&= head;
    if (inHeader) headerCount = at + 1;
  });
  const full = grid.map((line) => Array.from(line, (text) => text ?? ""));
  // Rows without cells are dropped; if all rows are headers, only the first one counts.
  if (headerCount === full.length && full.length > 0 && !queryInElement(table, "thead").length && full.length > 1) headerCount = 1;
  const kept = full.map((line, at) => ({ line, at })).filter(({ line }) => line.length);
  return { grid: kept.map(({ line }) => line), headerCount: kept.filter(({ at }) => at < headerCount).length };
}

/** One name for each column: the texts of its header cells, each once. */
function headersOf(grid, headerCount) {
  const width = Math.max(0, ...grid.map((row) => row.length));
  return Array.from({ length: width }, (_, column) => [...new Set(grid.slice(0, headerCount).map((row) => row[column]).filter(Boolean))].join(" "));
}

/** Unique, non-empty names that can serve as keys. */
function keysOf(headers) {
  const used = new Set();
  return headers.map((header, index) => {
    const base = header || `column ${index + 1}`;
    let key = base;
    for (let count = 2; used.has(key); count++) key = `${base} ${count}`;
    used.add(key);
    return key;
  });
}

function tableOf(element) {
  const table = elementMatches(element, TABLES) ? element : queryDeep(element, TABLES).find(isVisible) || closestAcross(element, TABLES);
  if (!table) return { error: "kind", message: `Element is no table and has none in it: ${preview(element)}` };
  const { grid, headerCount } = gridOf(table, (cell) => normal(readableText(cell)));
  if (!headerCount) return { value: { rows: grid, headers: [] } };
  const keys = keysOf(headersOf(grid, headerCount));
  const rows = grid.slice(headerCount).map((row) => Object.fromEntries(keys.map((key, index) => [key, row[index] ?? ""])));
  return { value: { rows, headers: keys } };
}
