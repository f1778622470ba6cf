use super::*;
use codemode_spec::ErrorCode;
use serde_json::json;

fn targets_after(events: &[(&str, Option<&str>, Json)]) -> Targets {
    let targets = Targets::new();
    for (seq, (method, session, params)) in (0..).zip(events) {
        targets.state().apply(&Event {
            seq,
            method: (*method).to_owned(),
            session: session.map(str::to_owned),
            params: params.clone(),
            bytes: 0,
        });
    }
    targets
}

fn page(id: &str) -> Json {
    json!({"targetInfo": {"targetId": id, "type": "page", "url": "https://a.test/", "title": "A"}})
}

fn attached(session: &str, id: &str, kind: &str) -> Json {
    json!({"sessionId": session, "targetInfo": {"targetId": id, "type": kind, "url": "", "title": ""}})
}

#[test]
fn a_dialog_blocks_every_session_of_its_page_and_no_other_page() {
    let opening = json!({"type": "alert", "message": "hello", "url": "https://a.test/"});
    let mut events = vec![
        ("Target.attachedToTarget", None, attached("S1", "A", "page")),
        ("Target.attachedToTarget", None, attached("S2", "A", "page")),
        ("Target.attachedToTarget", None, attached("S3", "B", "page")),
        ("Target.attachedToTarget", Some("S1"), attached("S4", "F", "iframe")),
        ("Page.javascriptDialogOpening", Some("S1"), opening),
    ];
    let targets = targets_after(&events);
    let obstacle = |session: &str, method: &str| targets.obstacle(session, method).map(|error| error.code);
    for session in ["S1", "S2", "S4"] {
        assert_eq!(obstacle(session, "Runtime.evaluate"), Some(ErrorCode::DialogOpen), "{session}");
        assert_eq!(obstacle(session, "Page.handleJavaScriptDialog"), None);
    }
    assert_eq!(obstacle("S3", "Runtime.evaluate"), None);
    events.push(("Page.javascriptDialogClosed", Some("S2"), json!({"result": true})));
    assert_eq!(targets_after(&events).obstacle("S1", "Runtime.evaluate"), None);
}

#[test]
fn a_popups_dialog_is_told_by_others_until_its_own_session_tells() {
    let targets = targets_after(&[("Target.attachedToTarget", None, attached("S1", "A", "page"))]);
    let opening = json!({"type": "confirm", "message": "really?", "url": ""});
    let shown = || targets.target("A").is_some_and(|target| target.dialog.is_some());
    // Requested and not answered yet: the dialog may have opened before.
    assert!(targets.watch("S1"));
    targets.popup_opened_dialog("A", &opening);
    assert!(shown());
    targets.popup_closed_dialog("A");
    assert!(!shown());
    targets.set_reports_dialogs("S1");
    targets.popup_opened_dialog("A", &opening);
    assert!(!shown());
    targets.unwatch("S1");
    targets.popup_opened_dialog("A", &opening);
    assert!(shown());
}

#[test]
fn each_dialog_has_one_number_on_all_sessions() {
    let opening = json!({"type": "confirm", "message": "really?", "url": ""});
    let opens = |session| ("Page.javascriptDialogOpening", Some(session), opening.clone());
    let closes = |session| ("Page.javascriptDialogClosed", Some(session), json!({"result": true}));
    let attachments = ["S1", "S2"].map(|session| ("Target.attachedToTarget", None, attached(session, "A", "page")));
    let number_after = |events: &[(&str, Option<&str>, Json)]| {
        let targets = targets_after(&[&attachments, events].concat());
        targets.target("A").and_then(|target| target.dialog).map(|dialog| dialog.number)
    };
    let first = number_after(&[opens("S1")]);
    assert!(first.is_some());
    assert_eq!(number_after(&[opens("S1"), opens("S2")]), first);
    let both_closed = [opens("S1"), opens("S2"), closes("S1"), closes("S2")];
    assert_eq!(number_after(&both_closed), None);
    assert_ne!(number_after(&[&both_closed[..], &[opens("S1")]].concat()), first);
    // The event of its end was lost: the same session reports another dialog.
    assert_ne!(number_after(&[opens("S1"), opens("S1")]), first);
}

#[test]
fn a_late_report_that_a_popups_dialog_closed_leaves_the_next_one() {
    let opening = json!({"type": "confirm", "message": "really?", "url": ""});
    let mut events = vec![
        ("Target.attachedToTarget", None, attached("S1", "A", "page")),
        ("Page.javascriptDialogOpening", Some("S1"), opening),
    ];
    let is_shown_after = |events: &[(&str, Option<&str>, Json)]| {
        let targets = targets_after(events);
        targets.popup_closed_dialog("A");
        targets.target("A").is_some_and(|target| target.dialog.is_some())
    };
    assert!(is_shown_after(&events));
    // Its session is gone and reports no end any more.
    events.push(("Target.detachedFromTarget", None, json!({"sessionId": "S1"})));
    assert!(!is_shown_after(&events));
}

#[test]
fn a_list_of_targets_does_not_put_back_what_events_said_since_it_was_asked_for() {
    let moved = json!({"targetInfo": {"targetId": "A", "type": "page", "url": "https://b.test/", "title": ""}});
    let targets = targets_after(&[
        ("Target.targetCreated", None, page("A")),
        ("Target.targetInfoChanged", None, moved),
        ("Target.targetCreated", None, page("B")),
    ]);
    let info = |id: &str, url: &str| json!({"targetId": id, "type": "page", "url": url, "title": "new"});
    let shown = |targets: &Targets, id: &str| targets.target(id).map(|target| (target.url, target.title)).unwrap();
    let of = |url: &str, title: &str| (url.to_owned(), title.to_owned());
    // The list was requested before the second event; whether the answer is older than that event is unknown.
    targets.refreshed(&json!([info("A", "https://a.test/"), info("B", "https://a.test/"), info("C", "")]), 1);
    assert_eq!(shown(&targets, "A"), of("https://b.test/", ""));
    assert_eq!(shown(&targets, "B"), of("https://a.test/", "new"));
    assert!(targets.target("C").is_none(), "what no event told of has gone");
    // Requested after all events.
    targets.refreshed(&json!([info("A", "https://c.test/")]), 3);
    assert_eq!(shown(&targets, "A"), of("https://c.test/", "new"));
}

#[test]
fn a_crash_is_known_until_the_page_is_loaded_again() {
    let mut events = vec![
        ("Target.targetCreated", None, page("A")),
        ("Target.attachedToTarget", None, attached("S1", "A", "page")),
        ("Target.targetCrashed", None, json!({"targetId": "A"})),
    ];
    let targets = targets_after(&events);
    assert_eq!(targets.obstacle("S1", "Runtime.evaluate").map(|e| e.code), Some(ErrorCode::CdpTargetCrashed));
    assert_eq!(targets.obstacle("S1", "Page.reload"), None);
    assert_eq!(targets.silence("S1", "Inspector.targetReloadedAfterCrash"), None);
    assert!(targets.silence("S1", "Page.loadEventFired").is_some());
    events.push(("Inspector.targetReloadedAfterCrash", Some("S1"), json!({})));
    assert_eq!(targets_after(&events).obstacle("S1", "Runtime.evaluate"), None);
}

#[test]
fn what_is_gone_is_remembered_as_gone() {
    let targets = targets_after(&[
        ("Target.targetCreated", None, page("A")),
        ("Target.attachedToTarget", None, attached("S1", "A", "page")),
        ("Target.detachedFromTarget", None, json!({"sessionId": "S1", "targetId": "A"})),
        ("Target.targetDestroyed", None, json!({"targetId": "A"})),
    ]);
    assert!(targets.was_closed("A") && targets.was_detached("S1") && targets.target_of("S1").is_none());
    targets.attached("S1", "A");
    assert!(targets.target_of("S1").is_none(), "a late reply does not bring it back");
    assert_eq!(targets.obstacle("S1", "Page.navigate").map(|e| e.code), Some(ErrorCode::CdpTargetClosed));
}

#[test]
fn the_last_used_page_is_the_current_one() {
    let ui = json!({"targetInfo": {"targetId": "U", "type": "browser_ui", "url": "", "title": ""}});
    let targets = targets_after(&[
        ("Target.targetCreated", None, ui),
        ("Target.targetCreated", None, page("A")),
        ("Target.targetCreated", None, page("B")),
    ]);
    assert_eq!(targets.current().unwrap().id, "A");
    targets.used("B");
    assert_eq!(targets.current().unwrap().id, "B");
    assert_eq!(targets.visible().len(), 2);
}

fn frame(
    session: Option<&'static str>,
    id: &str,
    within: &str,
    url: &str,
) -> (&'static str, Option<&'static str>, Json) {
    let info = json!({"targetId": id, "type": "iframe", "url": url, "title": "", "parentId": within});
    ("Target.targetInfoChanged", session, json!({ "targetInfo": info }))
}

#[test]
fn a_session_is_taken_when_its_target_goes_where_no_script_may_be() {
    let mut events = vec![
        ("Target.targetCreated", None, page("A")),
        ("Target.attachedToTarget", None, attached("S1", "A", "page")),
        ("Target.targetInfoChanged", None, page("A")),
        ("Target.attachedToTarget", Some("S1"), attached("S2", "F", "iframe")),
        frame(None, "F", "A", ""),
        frame(None, "G", "F", "https://a.test/"),
    ];
    let targets = targets_after(&events);
    assert_eq!(targets.access("A"), TargetAccess::Usable);
    assert_eq!(targets.access("F"), TargetAccess::NotKnownYet);
    assert_eq!(targets.access("G"), TargetAccess::NotKnownYet, "what it lies in is not known");
    assert_eq!(targets.access("none"), TargetAccess::Absent);
    assert_eq!(targets.take_detachments(), (vec![], vec![]));
    events.push(frame(Some("S1"), "F", "A", "chrome-extension://x/index.html"));
    events.push(frame(None, "F", "A", "https://b.test/"));
    let targets = targets_after(&events);
    let eviction = Detachment { session: "S2".to_owned(), through: Some("S1".to_owned()) };
    let left = Departure { kind: "iframe".to_owned(), scheme: "chrome-extension".to_owned() };
    assert_eq!(targets.take_detachments(), (vec![eviction], vec![left]), "also if it goes on at once");
    assert_eq!(targets.take_detachments(), (vec![], vec![]));
    assert_eq!(targets.obstacle("S2", "Runtime.evaluate").map(|e| e.code), Some(ErrorCode::PolicyRefused));
    assert!(targets.silence("S2", "Page.loadEventFired").is_some());
    assert_eq!(targets.obstacle("S1", "Runtime.evaluate"), None);
    let event = |seq, session: &str| Event {
        seq,
        method: "Runtime.bindingCalled".to_owned(),
        session: Some(session.to_owned()),
        params: json!({}),
        bytes: 0,
    };
    assert!(targets.may_be_read(&event(5, "S2")) && targets.may_be_read(&event(9, "S1")));
    assert!(!targets.may_be_read(&event(6, "S2")) && !targets.may_be_read(&event(9, "unheard of")));
}

#[test]
fn a_page_is_taken_before_it_loads_what_is_not_for_scripts() {
    let starting = |frame: &str, url: &str| json!({"frameId": frame, "url": url});
    let paused = |url: &str| json!({"resourceType": "Document", "request": {"url": url}});
    for (method, params, is_taken) in [
        ("Page.frameStartedNavigating", starting("A", "file:///etc/passwd"), true),
        ("Page.frameStartedNavigating", starting("A", "https://a.test/"), false),
        ("Page.frameStartedNavigating", starting("A", "mailto:a@a.test"), false),
        ("Fetch.requestPaused", paused("file:///etc/passwd"), true),
        ("Fetch.requestPaused", paused("https://a.test/"), false),
    ] {
        let targets = targets_after(&[
            ("Target.attachedToTarget", None, attached("S1", "A", "page")),
            ("Target.targetInfoChanged", None, page("A")),
            (method, Some("S1"), params.clone()),
        ]);
        assert_eq!(targets.refusal("S1", "Runtime.evaluate").is_some(), is_taken, "{method} {params}");
        assert_eq!(matches!(targets.access("A"), TargetAccess::Refused(_)), is_taken);
        let event = Event { seq: 2, method: method.to_owned(), session: Some("S1".to_owned()), params, bytes: 0 };
        assert_eq!(targets.may_be_read(&event), !is_taken, "{event:?}");
    }
}

#[test]
fn what_was_missed_is_not_judged_by_what_was_known() {
    let targets = targets_after(&[
        ("Target.attachedToTarget", None, attached("S1", "A", "page")),
        ("Target.targetInfoChanged", None, page("A")),
    ]);
    assert!(!targets.has_gap());
    targets.missed(10);
    let list = |url: &str| json!([{"targetId": "A", "type": "page", "url": url, "title": ""}]);
    targets.refreshed(&list("https://a.test/"), 9);
    assert!(targets.has_gap(), "that list was asked for before");
    targets.refreshed(&list("chrome://settings/"), 10);
    assert!(!targets.has_gap() && targets.refusal("S1", "Runtime.evaluate").is_some());
}
