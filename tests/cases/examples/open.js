// --- two tabs, each with an address of its own
//! result: ["Orders","Order 17",false]
const list = await browser.open("data:text/html,<title>Orders</title>");
const order = await browser.open("data:text/html,<title>Order 17</title>", { waitUntil: "domcontentloaded" });
return [await list.title(), await order.title(), list === order];
