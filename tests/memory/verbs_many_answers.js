//! Answers of a page that are as large as may be, all at once: they are read one after the other.
//! code: ok
const page = await browser.open("about:blank");
const answers = Array.from({ length: 30 }, () => page.evaluate(() => new Array(150_000).fill(0)).then((list) => list.length));
[...new Set(await Promise.all(answers))].join()
