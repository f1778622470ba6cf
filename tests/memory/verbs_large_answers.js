//! Many values in each of many answers of a page, read by verbs: each is refused before anything is made of it.
//! code: ok
const page = await browser.open("about:blank");
const answers = Array.from({ length: 40 }, () => page.evaluate(() => new Array(1_500_000).fill(0)).catch((error) => error.code));
[...new Set(await Promise.all(answers))].join()
