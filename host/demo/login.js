// Logs in to the demo site the way a person does, and reads whose account it is.
const page = await browser.open(`${site}/login`);
await page.fill({ "#user": "ada", "#password": "lovelace" });
console.log("logging in at", new URL(page.url()).pathname);
await page.click("#submit");
await page.waitForURL("**/account");

const cookies = await page.context().cookies();
({
  user: await page.textContent("#user"),
  plan: await page.textContent("#plan"),
  title: await page.title(),
  sessionCookie: cookies.some(({ name, httpOnly }) => name === "session" && httpOnly),
});
