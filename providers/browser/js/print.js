// Translates the options of Playwright's `page.pdf` to the protocol's.

/** Paper sizes, in inches. */
const PAPER = {
  letter: [8.5, 11], legal: [8.5, 14], tabloid: [11, 17], ledger: [17, 11], a0: [33.1, 46.8], a1: [23.4, 33.1],
  a2: [16.54, 23.4], a3: [11.7, 16.54], a4: [8.27, 11.7], a5: [5.83, 8.27], a6: [4.13, 5.83],
};
/** The number of each unit per inch. */
const UNITS = { px: 96, in: 1, cm: 2.54, mm: 25.4 };

/** A length in inches: a number of pixels, or a string with a unit. */
const inches = (method, length) => {
  const [, number, unit] = /^([\d.]+)(px|in|cm|mm)?$/.exec(String(length)) ?? [];
  if (number === undefined) throw wrongArgument(method, `${length} is no length`, 'Write it as "2cm", "1in" or "96px".');
  return Number(number) / UNITS[unit ?? "px"];
};

/** The protocol's options for those of Playwright's `pdf`. */
const printOptions = (method, options) => {
  const same = ["landscape", "displayHeaderFooter", "headerTemplate", "footerTemplate", "printBackground", "scale"];
  const print = pick({}, options, [...same, "pageRanges", "preferCSSPageSize"]);
  const [width, height] = PAPER[String(options.format ?? "letter").toLowerCase()] ?? [];
  if (width === undefined) throw wrongArgument(method, `there is no format ${options.format}`, "Use A4 or Letter.");
  print.paperWidth = options.width === undefined ? width : inches(method, options.width);
  print.paperHeight = options.height === undefined ? height : inches(method, options.height);
  for (const side of ["Top", "Right", "Bottom", "Left"]) {
    const margin = options.margin?.[side.toLowerCase()];
    print[`margin${side}`] = margin === undefined ? 0 : inches(method, margin);
  }
  if (options.tagged !== undefined) print.generateTaggedPDF = options.tagged;
  if (options.outline !== undefined) print.generateDocumentOutline = options.outline;
  return print;
};
