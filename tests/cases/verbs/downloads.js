// Files that pages give, on `tests/site/downloads.html`.

// --- a script that downloads nothing leaves the next one a folder
//! result: "about:blank"
const page = await browser.open();
page.url()
// --- with an attachment header
//! result: ["table.csv","/attachment/table.csv","a,b\n1,2\n",null]
const page = await browser.open('{{site}}/downloads');
const [download] = await Promise.all([page.waitForEvent('download'), page.click('#attachment')]);
[download.suggestedFilename(), new URL(download.url()).pathname, (await download.bytes()).toString(), await download.failure()]
// --- by a link with a name, without a header
//! result: ["things of mine.json","{\"things\":[\"lamp\",\"chair\"],\"count\":2}"]
const page = await browser.open('{{site}}/downloads');
const [download] = await Promise.all([page.waitForEvent('download'), page.click('#named')]);
[download.suggestedFilename(), (await download.bytes()).toString()]
// --- of a data: address
//! result: ["data.csv","a,b\n1,2","data:text/csv,a%2Cb%0A1%2C2"]
const page = await browser.open('{{site}}/downloads');
const [download] = await Promise.all([page.waitForEvent('download'), page.click('#data')]);
[download.suggestedFilename(), (await download.bytes()).toString(), download.url()]
// --- of what the page made itself
//! result: ["made.bin",[0,255,10,13],true]
const page = await browser.open('{{site}}/downloads');
const [download] = await Promise.all([page.waitForEvent('download'), page.click('#blob')]);
[download.suggestedFilename(), [...await download.bytes()], download.url().startsWith('blob:{{site}}/')]
// --- of a type that browsers do not show
//! result: "octets"
const page = await browser.open('{{site}}/downloads');
const [download] = await Promise.all([page.waitForEvent('download'), page.click('#octets')]);
(await download.bytes()).toString()
// --- in a frame of the page
//! result: ["inner.csv",true]
const page = await browser.open('{{site}}/downloads');
const [download] = await Promise.all([page.waitForEvent('download'), page.frameLocator('iframe').locator('#inner').click()]);
[download.suggestedFilename(), download.page() === page]
// --- in a window that opens only for it: the page that opened it hears of it
//! result: ["window.csv",true,"a,b\n1,2\n"]
const page = await browser.open('{{site}}/downloads');
const [download] = await Promise.all([page.waitForEvent('download'), page.click('#window')]);
[download.suggestedFilename(), download.page() === page, (await download.bytes()).toString()]
// --- when the page was sent to it
//! result: ["page.goto: Download is starting","NAVIGATION_FAILED","table.csv"]
const page = await browser.open('{{site}}/downloads');
const waiting = page.waitForEvent('download');
const error = await page.goto('{{site}}/attachment/table.csv').catch((error) => error);
[error.message, error.code, (await waiting).suggestedFilename()]
// --- when its page has gone elsewhere, and is closed
//! result: "a,b\n1,2\n"
const page = await browser.open('{{site}}/downloads');
const [download] = await Promise.all([page.waitForEvent('download'), page.click('#attachment')]);
await page.goto('{{site}}/news');
await page.close();
(await download.bytes()).toString()
// --- names that mean to lead elsewhere
//! result: [true,"x"]
const page = await browser.open('{{site}}/downloads');
const [download] = await Promise.all([page.waitForEvent('download'), page.click('#wicked')]);
const name = download.suggestedFilename();
[!/[\/\\\n]/.test(name) && !name.startsWith('.'), (await download.bytes()).toString()]
// --- one of twenty mebibytes is too large for a script, and goes into the answer
//! result: ["RESULT_TOO_LARGE",true,{"name":"kept-1-twenty.bin","mimeType":"application/octet-stream","bytes":20971520}]
const page = await browser.open('{{site}}/downloads');
const [download] = await Promise.all([page.waitForEvent('download'), page.click('#twenty')]);
const error = await download.bytes().catch((error) => error);
[error.code, /saveAs/.test(error.hint), await download.saveAs()]
// --- under a name of the script's
//! result: {"name":"kept-1-passwd","mimeType":"application/octet-stream","bytes":8}
const page = await browser.open('{{site}}/downloads');
const [download] = await Promise.all([page.waitForEvent('download'), page.click('#attachment')]);
await download.saveAs('/etc/passwd')
// --- how far it is
//! result: ["inProgress",true,true,"completed",2000,2000,[1000,1000]]
const page = await browser.open('{{site}}/downloads');
const [download] = await Promise.all([page.waitForEvent('download'), page.click('#trickle')]);
const before = await download.progress();
await page.evaluate(() => fetch('/release/file'));
const bytes = [...await download.bytes()];
const after = await download.progress();
[before.state, [0, 2000].includes(before.totalBytes), before.receivedBytes <= 1000, after.state, after.receivedBytes, after.totalBytes, [1, 2].map((value) => bytes.filter((byte) => byte === value).length)]
// --- one that does not end in time
//! error: CALL_TIMEOUT
//! message: /^download\.bytes: the download did not end in time/
const page = await browser.open('{{site}}/downloads');
const [download] = await Promise.all([page.waitForEvent('download'), page.click('#trickle')]);
await download.bytes({ timeout: 300 })
// --- cancelled
//! result: ["canceled","download.bytes: the download was canceled"]
const page = await browser.open('{{site}}/downloads');
const [download] = await Promise.all([page.waitForEvent('download'), page.click('#trickle')]);
await download.cancel();
[await download.failure(), await download.bytes().catch(({ message }) => message)]
// --- cancelled when it is complete, which changes nothing
//! result: [null,"a,b\n1,2\n"]
const page = await browser.open('{{site}}/downloads');
const [download] = await Promise.all([page.waitForEvent('download'), page.click('#attachment')]);
await download.bytes();
await download.cancel();
[await download.failure(), (await download.bytes()).toString()]
// --- deleted
//! error: IO_ERROR
//! message: /^download\.bytes: the download cannot be read/
const page = await browser.open('{{site}}/downloads');
const [download] = await Promise.all([page.waitForEvent('download'), page.click('#attachment')]);
await download.delete();
await download.bytes()
// --- several at once
//! result: ["data.csv","made.bin","table.csv"]
const page = await browser.open('{{site}}/downloads');
const downloads = [];
page.on('download', (download) => downloads.push(download));
for (const id of ['attachment', 'data', 'blob']) await page.click(`#${id}`);
while (downloads.length < 3) await page.waitForTimeout(10);
await Promise.all(downloads.map((download) => download.bytes()));
downloads.map((download) => download.suggestedFilename()).sort()
// --- the path of a download is not a script's
//! error: /UNSUPPORTED_OPERATION|SCRIPT_ERROR/
//! message: /download\.path is not supported; .*saveAs/
const page = await browser.open('{{site}}/downloads');
const [download] = await Promise.all([page.waitForEvent('download'), page.click('#attachment')]);
await download.path()
