// --- an invoice as a PDF; returned from a script it is among the files of the answer
//! result: "%PDF-"
const page = await browser.open();
await page.setContent(`<h1>Invoice 17</h1><p>One chair: 40.00</p>`);
const pdf = await page.pdf({ format: "A4", printBackground: true, margin: { top: "2cm", left: "2cm" } });
return new TextDecoder().decode(pdf.slice(0, 5));
