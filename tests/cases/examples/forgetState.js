// --- a login that was saved is removed
//! result: "NOT_FOUND"
const page = await browser.open();
await page.context().storageState({ path: "old" });
await browser.forgetState("old");
try {
  await browser.open("about:blank", { storageState: "old" });
} catch (error) {
  return error.code;
}
