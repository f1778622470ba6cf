//! Renders the placeholders in hints of the shared browser as calls of this namespace.

use codemode_page::{Step, worded};
use codemode_spec::ErrorReport;

/// The report with its hint in terms of this namespace.
pub(crate) fn in_terms_of_cdp(report: ErrorReport) -> ErrorReport {
    worded(report, &|step, arguments| {
        let method = match step {
            Step::Send => "send",
            Step::Attach => "attachToTarget",
            Step::Targets => "sessionInfo",
            Step::Events => "events",
            Step::Describe => "spec",
            Step::Start => "startSession",
        };
        format!("cdp.{method}({arguments})")
    })
}

#[cfg(test)]
mod tests {
    use super::*;
    use codemode_spec::ErrorCode;

    #[test]
    fn each_step_is_a_method_of_the_namespace() {
        let marked =
            "⟦send \"A.b\", {url}⟧ ⟦attach targetId⟧ ⟦targets⟧ ⟦events {names}⟧ ⟦describe⟧ ⟦start {replace: true}⟧";
        let report = in_terms_of_cdp(ErrorReport::new(ErrorCode::CallFailed, "").with_hint(marked));
        let expected = "cdp.send(\"A.b\", {url}) cdp.attachToTarget(targetId) cdp.sessionInfo() cdp.events({names}) \
                        cdp.spec() cdp.startSession({replace: true})";
        assert_eq!(report.hint, expected);
        for call in expected.split("cdp.").skip(1) {
            assert!(crate::methods::find(call.split('(').next().unwrap()).is_some(), "{call}");
        }
    }
}
