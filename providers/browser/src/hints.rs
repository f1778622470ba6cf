//! Writes the steps that hints of the shared browser ask for as calls of this namespace.

use codemode_page::{Step, worded};
use codemode_spec::ErrorReport;

/// The report with its steps written as calls of this namespace.
pub(crate) fn in_terms_of_browser(report: ErrorReport) -> ErrorReport {
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
