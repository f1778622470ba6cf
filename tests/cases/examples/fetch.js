// --- a login without a page, and what only a logged-in user gets
//! result: {"status":200,"user":"ada"}
const page = await browser.open();
const site = "{{site}}";
const login = await page.request.post(`${site}/login`, { form: { user: "ada", password: "lovelace" } });
const account = await page.request.get(`${site}/account`);
const [, user] = (await account.text()).match(/id="user">(\w+)/);
return { status: login.status(), user };
