// Logs in to the demo site by the raw protocol, and reads whose account it is.
const { sessionId } = await cdp.attachToTarget();
const page = async (expression) => {
  const { result } = await cdp.send("Runtime.evaluate", { expression, returnByValue: true }, { sessionId });
  return result.value;
};

await cdp.send("Page.navigate", { url: `${site}/login` }, { sessionId });
await cdp.waitForEvent("Page.loadEventFired", { sessionId });
for (const [field, text] of [["#user", "ada"], ["#password", "lovelace"]]) {
  await page(`document.querySelector("${field}").focus()`);
  await cdp.send("Input.insertText", { text }, { sessionId });
}
console.log("logging in at", await page("location.pathname"));
await page(`document.querySelector("#submit").click()`);
await cdp.waitForEvent("Page.frameNavigated", { sessionId, where: { frame: { url: `${site}/account` } } });
await cdp.waitForEvent("Page.loadEventFired", { sessionId });

const { cookies } = await cdp.send("Network.getCookies", {}, { sessionId });
({
  user: await page(`document.querySelector("#user").textContent`),
  plan: await page(`document.querySelector("#plan").textContent`),
  title: await page("document.title"),
  sessionCookie: cookies.some(({ name, httpOnly }) => name === "session" && httpOnly),
});
