//! Two namespaces of one execution share one browser: one lease, one connection, one audit account, and all tabs. The
//! second namespace, `tabs`, is registered through the public API, as an embedder does.

use crate::support::{
    browsing,
    lab::{self, Lab},
    leases::Leases,
};
use async_trait::async_trait;
use codemode_cdp::CdpProvider;
use codemode_host::{
    exec::{AuditSink, Execution, Request, Settings},
    result::Identity,
    session::{SessionManager, SessionSettings},
    state_dir::StateDir,
};
use codemode_page::{Command, Dialogs, ExecutionBrowser, Step, worded};
use codemode_provider::{
    Account, CallContext, Ending, ExecutionContext, ExecutionId, LeaseMark, Need, Provider, ProviderRuntime,
};
use codemode_spec::{
    Effect, ErrorCode, ErrorReport, Manifest, Method, Param, Signature, Value,
    message::Encoded,
    session::{SessionMode, SessionRequest},
};
use serde_json::{Map, Value as Json, json};
use std::{
    sync::{Arc, Mutex},
    time::Duration,
};

const TIMEOUT: Duration = Duration::from_secs(60);

/// The provider of the namespace `tabs`.
struct Tabs(Manifest);

impl Tabs {
    fn new() -> Self {
        let method = |name: &str, param: &str| Method {
            name: name.into(),
            doc: "Does so.".into(),
            signatures: vec![Signature {
                params: vec![Param { name: param.into(), schema: json!({"type": "string"}), optional: false }],
            }],
            returns: json!({"type": "string"}),
            effect: Effect::Write,
            background: false,
        };
        Self(Manifest {
            namespace: "tabs".into(),
            doc: "Tabs.".into(),
            methods: vec![method("open", "url"), method("title", "tab")],
            layer: None,
            declaration: None,
        })
    }
}

#[async_trait]
impl Provider for Tabs {
    fn manifest(&self) -> &Manifest {
        &self.0
    }

    fn needs(&self) -> Vec<Need> {
        vec![Need::of::<ExecutionBrowser>()]
    }

    async fn create(&self, context: ExecutionContext) -> Result<Arc<dyn ProviderRuntime>, ErrorReport> {
        Ok(Arc::new(TabsRuntime(context.services.require()?)))
    }
}

struct TabsRuntime(Arc<ExecutionBrowser>);

impl TabsRuntime {
    async fn send(
        &self,
        method: &str,
        params: Json,
        tab: Option<&str>,
        context: CallContext,
    ) -> Result<Json, ErrorReport> {
        let Json::Object(params): Json = params else { panic!("an object") };
        let params: Map<String, Json> = params;
        let connected = self.0.connected(context.deadline).await?;
        let session = match tab {
            Some(tab) => self.0.attach(&connected, Some(tab), TIMEOUT).await?.handle(),
            None => None,
        };
        let command = Command {
            method,
            params,
            session: session.as_deref(),
            timeout: TIMEOUT,
            dialogs: Dialogs::Report,
            place: context.place,
        };
        let answer = self.0.send(&connected, command).await?;
        Ok(answer.value().expect("a value").to_plain_json().unwrap_or_default())
    }
}

#[async_trait]
impl ProviderRuntime for TabsRuntime {
    async fn call(&self, method: &str, arguments: Vec<Value>, context: CallContext) -> Result<Encoded, ErrorReport> {
        let Some(Value::String(text)) = arguments.first() else { panic!("the manifest asks for it") };
        let text = text.to_string_lossy();
        let answer = match method {
            "open" => self.send("Target.createTarget", json!({ "url": text }), None, context).await,
            _ => {
                let params = json!({"expression": "document.title", "returnByValue": true});
                self.send("Runtime.evaluate", params, Some(&text), context).await
            }
        };
        let in_own_words = |error| {
            worded(error, &|step, _| match step {
                Step::Attach => "tabs.title(tab)".to_owned(),
                _ => "tabs.open(url)".to_owned(),
            })
        };
        let answer = answer.map_err(in_own_words)?;
        let text = answer["targetId"].as_str().or(answer["result"]["value"].as_str());
        Ok(Value::from(text.unwrap_or_default()).into())
    }

    async fn dispose(&self, _: Ending) -> Result<(), ErrorReport> {
        Ok(())
    }

    fn account(&self, _: &str, _: &[Value]) -> Account {
        Account { lease: self.0.lease_mark(), ..Account::default() }
    }
}

/// Records the lease under which each namespace acted.
#[derive(Default)]
struct Accounts(Mutex<Vec<(String, Option<LeaseMark>)>>);

impl AuditSink for Accounts {
    fn effect(&self, _: &ExecutionId, namespace: &str, _: &str, account: &Account) {
        self.0.lock().unwrap().push((namespace.to_owned(), account.lease.clone()));
    }
}

/// An embedder's host with both namespaces on the sessions of a state folder.
struct Both {
    leases: Leases,
    lab: Lab,
    accounts: Arc<Accounts>,
}

impl Both {
    fn new() -> Self {
        let leases = Leases::new();
        let places = StateDir::open(leases.state()).unwrap();
        let program = env!("CARGO_BIN_EXE_codemode").into();
        // Opening the store needs a runtime.
        let manager = lab::block_on(async { SessionManager::open(places, program, SessionSettings::default()) });
        let accounts = Arc::new(Accounts::default());
        let settings = Settings {
            transform: Arc::new(Identity),
            services: vec![Arc::new(browsing::browsers(Some(Arc::new(manager.unwrap()))))],
            audit: accounts.clone(),
            ..Settings::new(leases.state())
        };
        let lab = Lab::with(vec![Arc::new(CdpProvider::new()), Arc::new(Tabs::new())], settings);
        Self { leases, lab, accounts }
    }

    fn execute(&self, session: SessionRequest, code: &str) -> Execution {
        let code = code.replace("{{site}}", self.leases.site.url());
        lab::block_on(self.lab.execute(Request { session, timeout: TIMEOUT * 2, ..Request::new(code) }))
    }

    /// The leases granted in this state folder: name and token.
    fn leases_given(&self) -> Vec<(Json, Json)> {
        let audit = self.leases.ask(&["audit", "show", "--json"]);
        let rows = audit["data"]["rows"].as_array().unwrap_or_else(|| panic!("{audit}"));
        let given = rows.iter().filter(|row| row["kind"] == "lease.acquired" || row["kind"] == "session.created");
        given.map(|row| (row["kind"].clone(), row["token"].clone())).collect()
    }
}

fn result(execution: Execution) -> Json {
    match execution.outcome {
        Ok(shaped) => shaped.result,
        Err(error) => panic!("{error:?}"),
    }
}

/// Each namespace opens a tab while the browser starts, and then uses the other's tab.
const TOGETHER: &str = "
const page = (title) => `data:text/html,<title>${title}</title>`;
const [tab, { targetId }] = await Promise.all([
  tabs.open(page('of tabs')), cdp.send('Target.createTarget', { url: page('of cdp') }),
]);
const session = await cdp.attachToTarget(tab);
const expression = 'document.title';
// A new tab may not have loaded yet.
const once = async (title) => (await title()) || once(title);
[
  await once(async () => (await cdp.send('Runtime.evaluate', { expression }, session)).result.value),
  await once(() => tabs.title(targetId)),
]";

#[test]
fn a_tab_of_one_namespace_is_used_by_the_other_under_one_lease() {
    let both = Both::new();
    let execution = both.execute(SessionRequest::default(), TOGETHER);
    assert_eq!(execution.warnings, Vec::<String>::new());
    assert!(execution.context.session_id.is_some() && execution.context.target_id.is_some(), "{:?}", execution.context);
    assert_eq!(result(execution), json!(["of tabs", "of cdp"]));

    let accounts = both.accounts.0.lock().unwrap().clone();
    let mut namespaces: Vec<_> = accounts.iter().map(|(namespace, _)| namespace.as_str()).collect();
    namespaces.dedup();
    assert_eq!(namespaces, ["tabs", "cdp", "tabs"]);
    // The first two were recorded before there was a lease.
    let marks: Vec<_> = accounts.iter().filter_map(|(_, lease)| lease.clone()).collect();
    assert!(
        marks.len() == accounts.len() - 2 && marks.iter().all(|mark| *mark == marks[0]),
        "one account: {accounts:?}"
    );
    let created: Vec<_> = both.leases_given().into_iter().filter(|(kind, _)| *kind == "session.created").collect();
    assert_eq!(created, [(json!("session.created"), json!(marks[0].token))], "one browser under one lease");
    both.leases.wait_until_all_ended(TIMEOUT);
}

#[test]
fn the_browser_of_a_key_is_shared_and_comes_back_in_the_next_execution() {
    let both = Both::new();
    let of_key = || SessionRequest {
        mode: SessionMode::Reuse,
        key: Some("both".to_owned()),
        // An execution that waits for its own lease would be refused after this time.
        wait_ms: Some(1_000),
        ..SessionRequest::default()
    };
    let first = result(both.execute(of_key(), &format!("{TOGETHER}.concat(tab, targetId)")));
    assert_eq!((&first[0], &first[1]), (&json!("of tabs"), &json!("of cdp")));
    let [tab, target] = [&first[2], &first[3]].map(|id| id.as_str().unwrap());
    // The other way round: `tabs` is the first to use it.
    let again = format!("const title = await tabs.title('{target}'); const {{ sessionId }} = await cdp.attachToTarget('{tab}');
        [title, (await cdp.send('Runtime.evaluate', {{ expression: 'document.title' }}, {{ sessionId }})).result.value]");
    assert_eq!(result(both.execute(of_key(), &again)), json!(["of cdp", "of tabs"]));

    let given = both.leases_given();
    let acquired: Vec<_> = given.iter().filter(|(kind, _)| kind == "lease.acquired").map(|(_, token)| token).collect();
    assert_eq!(acquired, [&json!(1), &json!(2)], "one lease an execution: {given:?}");
    assert_eq!(given.iter().filter(|(kind, _)| kind == "session.created").count(), 1, "one browser: {given:?}");
    for (_, lease) in both.accounts.0.lock().unwrap().iter() {
        assert_eq!(lease.as_ref().map_or("both", |mark| mark.key.as_deref().unwrap_or_default()), "both");
    }
    assert_eq!(both.leases.ask(&["sessions", "close", "both", "--json"])["ok"], true);
    both.leases.wait_until_all_ended(TIMEOUT);
}

#[test]
fn a_browser_that_no_namespace_uses_is_not_opened() {
    let both = Both::new();
    let code = "[(await cdp.sessionInfo()).state, await cdp.getDebugLog()]";
    assert_eq!(result(both.execute(SessionRequest::default(), code)), json!(["not-started", []]));
    assert_eq!(both.leases_given(), []);
}

/// The shared browser knows no namespaces: its hints use the terms of the namespace that was called.
#[test]
fn a_hint_names_the_namespace_that_was_called() {
    let both = Both::new();
    let hint = |call: &str| {
        let error = both.execute(SessionRequest::default(), &format!("await cdp.attachToTarget(); await {call}"));
        error.outcome.unwrap_err().hint
    };
    let file = "'file:///etc/passwd'";
    for (call, words, other) in [
        ("tabs.title('nobody')", "The open pages are target:", "cdp."),
        (&format!("tabs.open({file})"), "Open an http or https page", "cdp."),
        ("cdp.send('Page.reload', {}, {sessionId: 'nobody'})", "await cdp.attachToTarget(targetId)", "tabs."),
        ("cdp.send('Target.getTargetInfo')", "cdp.sessionInfo() lists them", "tabs."),
    ] {
        let hint = hint(call);
        assert!(hint.contains(words) && !hint.contains(other) && !hint.contains('⟦'), "{call}: {hint}");
    }
    let closed = "(await cdp.send('Target.createTarget', {url: 'about:blank'}).then(async ({targetId}) => {
        await cdp.send('Target.closeTarget', {targetId});
        await cdp.waitForEvent('Target.targetDestroyed', {where: {targetId}});
        return tabs.title(targetId);
    }))";
    let hint = hint(closed);
    assert_eq!(hint, "Open a page with tabs.open(url) and attach to it with tabs.title(tab).");
}

/// A host without a browser fails before anything runs.
#[test]
fn a_namespace_whose_service_the_host_lacks_is_refused_by_name() {
    let state = tempfile::tempdir().unwrap();
    let lab = Lab::new(vec![Arc::new(Tabs::new())], state.path().to_owned());
    let error = lab::block_on(lab.execute(Request::new("1"))).outcome.unwrap_err();
    assert_eq!(error.code, ErrorCode::ProviderCreateFailed, "{error:?}");
    assert!(error.message.contains("tabs") && error.message.contains("ExecutionBrowser"), "{error:?}");
}
