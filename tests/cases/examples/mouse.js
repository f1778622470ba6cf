// --- a line on a drawing
//! result: [[70,40],[120,60]]
const page = await browser.open();
await page.setContent(`<body style="margin: 0"><canvas width="300" height="200"></canvas><script>
  const points = [], canvas = document.querySelector("canvas");
  canvas.onmousemove = ({ buttons, clientX, clientY }) => { if (buttons === 1) points.push([clientX, clientY]) };
</script>`);
await page.mouse.move(20, 20);
await page.mouse.down();
await page.mouse.move(120, 60, { steps: 2 });
await page.mouse.up();
return page.evaluate("points");
