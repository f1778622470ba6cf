// --- a card from one column to another
//! result: "Done:\nWrite docs"
const page = await browser.open();
await page.setContent(`<div id="card" draggable="true">Write docs</div>
  <div id="done" style="height: 100px">Done:</div>
  <script>
    const done = document.querySelector("#done");
    done.ondragover = (event) => event.preventDefault();
    done.ondrop = () => done.append(document.querySelector("#card"));
  </script>`);
await page.locator("#card").dragTo(page.locator("#done"));
return page.innerText("#done");
