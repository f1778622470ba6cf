//! How this namespace writes what a hint of the shared browser asks for.

use codemode_page::{Step, worded};
use codemode_spec::ErrorReport;

/// The report in the words of this namespace.
pub(crate) fn in_words_of_browser(report: ErrorReport) -> ErrorReport {
    worded(report, &|step, arguments| match step {
        Step::Send if arguments.contains("Target.createTarget") => "browser.open(url)".to_owned(),
        Step::Send if arguments.contains("handleJavaScriptDialog") => {
            "page.on(\"dialog\", dialog => dialog.accept())".to_owned()
        }
        Step::Send if arguments.contains("Page.reload") => "page.reload()".to_owned(),
        Step::Send if arguments.contains("Page.navigate") => "page.goto(url)".to_owned(),
        Step::Send => format!("cdp.send({arguments})"),
        Step::Attach => "browser.page(id)".to_owned(),
        Step::Targets => "browser.pages()".to_owned(),
        Step::Events => "page.waitForEvent(name)".to_owned(),
        Step::Describe => "browser.help()".to_owned(),
        Step::Start => "cdp.startSession()".to_owned(),
    })
}
