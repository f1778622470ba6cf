// Where a secret of {{site}} may be put in: each row opens a page and names a field, and says what is to come of it.

const field = (page) => page.locator("#password");
const inFrame = (page) => page.frameLocator("#frame").locator("#password");
const inner = (page) => page.frameLocator("#frame").frameLocator("#frame").locator("#password");
const own = (query = "") => `{{site}}/vault${query}`;
const foreign = (query = "") => `{{other}}/vault${query}`;
const around = (url) => `?frame=${encodeURIComponent(url)}`;
const INPUT = encodeURIComponent("<input id=password>");
const like = { secret: "SHOP", toJSON: () => "[secret SHOP]" };

const ROWS = {
  "a page of the origin": ["filled", own(), field],
  "a page of another origin": ["refused", foreign(), field],
  "an object that only looks like a handle": ["refused", foreign(), field, like],
  "a data URL": ["refused", `data:text/html,${INPUT}`, field],
  "about:blank, written by the script": ["refused", "about:blank", field, undefined, "<input id=password>"],
  "a frame of the origin": ["filled", own(around(own())), inFrame],
  "a frame in a frame, all of the origin": ["filled", own(around(own(around(own())))), inner],
  "a frame of another origin": ["refused", own(around(foreign())), inFrame],
  "a frame of the origin in a page of another one": ["refused", foreign(around(own())), inFrame],
  "another origin between two documents of this one": ["refused", own(around(foreign(around(own())))), inner],
  "a frame with a data URL": ["refused", own(around("data:text/html,<input id=password>")), inFrame],
  "a frame with its text in an attribute": ["refused", own(`?text=${INPUT}`), inFrame],
  "an empty frame that the page has written": ["refused", own(`?blank=${INPUT}`), inFrame],
  "a frame whose sandbox takes its origin away": ["refused", own(`${around(own())}&sandbox=allow-scripts`), inFrame],
  "a frame whose sandbox leaves its origin": [
    "filled",
    own(`${around(own())}&sandbox=allow-scripts%20allow-same-origin`),
    inFrame,
  ],
};

const wrong = [];
for (const [name, [expected, url, find, value = secret("SHOP"), html]] of Object.entries(ROWS)) {
  const page = await browser.open(url);
  if (html !== undefined) await page.setContent(html);
  const it = find(page);
  const came = await it.fill(value, { timeout: 10_000 }).then(() => "filled", (error) => error.code);
  const length = await it.evaluate((element) => element.value.length);
  const seen = `${came} ${length > 0 ? "with something" : "empty"}`;
  const wanted = expected === "filled" ? "filled with something" : "POLICY_REFUSED empty";
  if (seen !== wanted) wrong.push(`${name}: ${seen}`);
  await page.close();
}
[Object.keys(ROWS).length, wrong];
