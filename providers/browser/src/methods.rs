//! The methods of the provider: the verbs, one row each. Scripts reach them through the layer.

use crate::{
    calls::{
        self, Authenticate, Check, Chooser, Clock, Close, Content, Cookies, DialogAnswer, Dialogs, Dispatch, Download,
        DownloadOp, Drag, ElementCall, ElementCallOp, Evaluate, Extract, Fetch, Files, Fill, FillForm, Goto, Har,
        History, Keyboard, Limit, LoadStorage, Locate, Mouse, Named, Nothing, On, Open, Part, Pdf, Permissions, Press,
        Read, ReadAll, Request, RouteReply, Routes, Select, SelectPopup, Source, Traffic, Type, Upon, Viewport,
        WaitFor, WaitForFunction, WaitForLoad, WaitForUrl, Watch, answer, field,
    },
    execution::{Browser, NAMESPACE},
    layer,
};
use codemode_provider::CallContext;
use codemode_spec::{Effect, ErrorCode, ErrorReport, Manifest, Method, Param, Signature, Value};
use codemode_verbs::{Address, Argument, Downloaded, PageEventQuery, Tab, TextOrSecret, Upload, milliseconds};
use serde_json::{Value as Json, json};
use std::{pin::Pin, sync::LazyLock};
use tokio::time::Instant;

/// A verb.
pub(crate) struct Row {
    /// The method's entry in the manifest.
    pub(crate) method: Method,
    /// Executes a call.
    pub(crate) run: Run,
    /// The schema of the call's argument, for documentation only: the verb itself validates its argument.
    #[cfg(feature = "schema")]
    pub(crate) schema: fn() -> schemars::Schema,
}

type Answer<'a> = Pin<Box<dyn Future<Output = Result<Value, ErrorReport>> + Send + 'a>>;
type Run = for<'a> fn(&'a Browser, Value, CallContext) -> Answer<'a>;

/// The verb of this name.
pub(crate) fn find(name: &str) -> Option<&'static Row> {
    ROWS.iter().find(|row| row.method.name == name)
}

/// The manifest of the namespace.
pub(crate) fn manifest() -> Manifest {
    Manifest {
        namespace: NAMESPACE.into(),
        doc: "Pages of a real browser, in Playwright's names.".into(),
        methods: ROWS.iter().map(|row| row.method.clone()).collect(),
        layer: Some(layer::SOURCE.into()),
        declaration: Some(layer::DECLARATION.into()),
    }
}

/// The JSON schema of each verb's argument, by the verb's name.
#[cfg(feature = "schema")]
pub(crate) fn schemas() -> Vec<(String, serde_json::Value)> {
    ROWS.iter().map(|row| (row.method.name.clone(), (row.schema)().into())).collect()
}

/// The row of a verb on one page.
macro_rules! verb {
    ($name:literal, $effect:ident, $doc:literal, $call:ty, |$tab:ident, $verb:ident, $argument:ident| $body:expr) => {
        Row {
            method: method($name, $doc, Effect::$effect),
            run: |browser, $argument, context| {
                Box::pin(async move {
                    let On::<$call> { at, verb: $verb } = calls::read(&$argument)?;
                    let $tab = browser.verbs.tab(&at, context.deadline).await?;
                    let carried_out = async {
                        let value: Value = $body;
                        Ok(answer(&$tab, value))
                    };
                    carried_out.await.map_err(|error| $tab.report_lost_frame(error))
                })
            },
            #[cfg(feature = "schema")]
            schema: || schemars::schema_for!(On<$call>),
        }
    };
}

/// A verb whose pending calls do not keep the script from ending.
fn in_background(row: Row) -> Row {
    Row { method: Method { background: true, ..row.method }, ..row }
}

static ROWS: LazyLock<Vec<Row>> = LazyLock::new(|| {
    vec![
        Row {
            method: method("open", "Opens a page.", Effect::Write),
            run: |browser, argument, context| Box::pin(open(browser, argument, context)),
            #[cfg(feature = "schema")]
            schema: || schemars::schema_for!(Open),
        },
        Row {
            method: method("pages", "The pages that there are.", Effect::Read),
            run: |browser, _, context| {
                Box::pin(async move { Ok(json!({"pages": browser.verbs.pages(context.deadline).await?}).into()) })
            },
            #[cfg(feature = "schema")]
            schema: || schemars::schema_for!(Nothing),
        },
        Row {
            method: Method { background: true, ..method("events", "News of pages, as they come.", Effect::Read) },
            run: |browser, argument, context| {
                Box::pin(async move {
                    let query: PageEventQuery = calls::read(&argument)?;
                    Ok(json!(browser.verbs.page_events(&query, context.deadline).await?).into())
                })
            },
            #[cfg(feature = "schema")]
            schema: || schemars::schema_for!(PageEventQuery),
        },
        verb!("closePage", Write, "Closes the page.", Close, |tab, verb, argument| done(
            tab.close(verb.run_before_unload).await
        )?),
        verb!("bringToFront", Write, "Brings the page to the front.", Nothing, |tab, _verb, argument| done(
            tab.bring_to_front().await
        )?),
        verb!("goto", Write, "Sends the page to an address.", Goto, |tab, verb, argument| {
            json!(tab.goto(&verb.url, verb.referer.as_deref(), verb.wait_until).await?).into()
        }),
        verb!("history", Write, "Back, forward, or the same again.", History, |tab, verb, argument| {
            json!(tab.history(verb.delta, verb.wait_until).await?).into()
        }),
        verb!("click", Write, "Clicks an element.", Upon<codemode_verbs::Click>, |tab, verb, argument| {
            done(tab.click(&verb.target, &verb.how).await)?
        }),
        verb!(
            "hover",
            Write,
            "Moves the mouse onto an element.",
            Upon<codemode_verbs::Approach>,
            |tab, verb, argument| { done(tab.hover(&verb.target, &verb.how).await)? }
        ),
        verb!("drag", Write, "Draws an element onto another one.", Drag, |tab, verb, argument| {
            let [from, to] = verb.approaches();
            done(tab.drag((&verb.source, &from), (&verb.target, &to)).await)?
        }),
        verb!("fill", Write, "Replaces what is in a field.", Upon<Fill>, |tab, verb, argument| {
            done(match &verb.how.value {
                TextOrSecret::Text(text) => tab.fill(&verb.target, text, verb.how.force).await,
                TextOrSecret::Secret { secret } => tab.fill_secret(&verb.target, secret, verb.how.force).await,
            })?
        }),
        verb!("fillForm", Write, "Fills the fields of a form.", FillForm, |tab, verb, argument| {
            done(tab.fill_form(&verb.fields).await)?
        }),
        verb!("type", Write, "Types a text, key by key.", Upon<Type>, |tab, verb, argument| {
            done(match &verb.how.text {
                TextOrSecret::Text(text) => tab.type_into(&verb.target, text, verb.how.delay).await,
                // Key events go wherever the focus is, and cannot be bound to a document.
                TextOrSecret::Secret { secret } => tab.fill_secret(&verb.target, secret, false).await,
            })?
        }),
        verb!("press", Write, "Presses a key, or keys together.", Upon<Press>, |tab, verb, argument| {
            done(tab.press(&verb.target, &verb.how.key, verb.how.delay).await)?
        }),
        verb!("check", Write, "Ticks a box, or takes the tick away.", Upon<Check>, |tab, verb, argument| {
            done(tab.check(&verb.target, verb.how.checked, &verb.how.approach).await)?
        }),
        verb!("select", Write, "Chooses options.", Upon<Select>, |tab, verb, argument| {
            tab.select(&verb.target, &verb.how.options, verb.how.force).await?.into()
        }),
        verb!("upload", Write, "Gives files of the script to a file input.", Upon<Files>, |tab, verb, argument| {
            done(tab.upload(&verb.target, &uploads(&argument)?).await)?
        }),
        verb!(
            "element",
            Write,
            "Focuses an element, takes the focus away, selects its text, scrolls to it, or empties it.",
            Upon<ElementCall>,
            |tab, verb, argument| {
                match verb.how.op {
                    ElementCallOp::Op(op) => done(tab.element(&verb.target, op).await)?,
                    ElementCallOp::Clear(calls::Clear::Clear) => done(tab.fill(&verb.target, "", false).await)?,
                }
            }
        ),
        verb!(
            "dispatchEvent",
            Write,
            "Dispatches an event of the script's own.",
            Upon<Dispatch>,
            |tab, verb, argument| { done(tab.dispatch(&verb.target, &verb.how.kind, &verb.how.init).await)? }
        ),
        verb!("read", Read, "Reads something of one element.", Upon<Read>, |tab, verb, argument| {
            tab.read(&verb.target, verb.how.what, verb.how.name.as_deref()).await?.into()
        }),
        verb!("readAll", Read, "Reads something of all elements that match.", Upon<ReadAll>, |tab, verb, argument| {
            tab.read_all(&verb.target, verb.how.what).await?.into()
        }),
        verb!("waitFor", Read, "Waits for the state of an element.", Upon<WaitFor>, |tab, verb, argument| {
            done(tab.wait_for_element(&verb.target, verb.how.state).await)?
        }),
        verb!("waitForURL", Read, "Waits for an address.", WaitForUrl, |tab, verb, argument| {
            done(tab.wait_for_url(&verb.url, verb.wait_until).await)?
        }),
        verb!("waitForLoad", Read, "Waits until the page is loaded.", WaitForLoad, |tab, verb, argument| {
            done(tab.wait_for_load(verb.state).await)?
        }),
        verb!(
            "waitForFunction",
            Write,
            "Waits until a function in the page answers something true.",
            WaitForFunction,
            |tab, verb, argument| {
                let value = field(&argument, "arg");
                let given = Argument { value: value.as_ref(), handles: &verb.handles };
                tab.wait_for_function(&verb.code, given, verb.polling).await?
            }
        ),
        verb!("evaluate", Write, "Evaluates a function in the page.", Evaluate, |tab, verb, argument| {
            let value = field(&argument, "arg");
            let given = Argument { value: value.as_ref(), handles: &verb.handles };
            tab.evaluate(verb.target.as_ref(), verb.all, &verb.code, given).await?
        }),
        verb!(
            "snapshot",
            Read,
            "An outline of the page with refs.",
            Part<codemode_verbs::Snapshot>,
            |tab, verb, argument| { json!(tab.snapshot(verb.target.as_ref(), &verb.how).await?).into() }
        ),
        verb!(
            "screenshot",
            Read,
            "A picture of the page or of an element.",
            Part<codemode_verbs::Screenshot>,
            |tab, verb, argument| { Value::from(tab.screenshot(verb.target.as_ref(), &verb.how).await?) }
        ),
        verb!("pdf", Read, "The page as a PDF.", Pdf, |tab, verb, argument| {
            Value::from(tab.pdf(&verb.options).await?)
        }),
        verb!("extract", Read, "The content of the page or of an element.", Part<Extract>, |tab, verb, argument| {
            tab.extract(verb.target.as_ref(), verb.how.form).await?.into()
        }),
        verb!("content", Write, "The page's source, or another one in its place.", Content, |tab, verb, argument| {
            match verb.html {
                Some(html) => done(tab.write(&html).await)?,
                None => tab.extract(None, codemode_verbs::ExtractFormat::Html).await?.into(),
            }
        }),
        verb!("keyboard", Write, "Keys, wherever the focus is.", Keyboard, |tab, verb, argument| done(
            keyboard(&tab, verb).await
        )?),
        verb!("mouse", Write, "The mouse, wherever it is.", Mouse, |tab, verb, argument| done(
            mouse(&tab, verb).await
        )?),
        verb!("viewport", Write, "Gives the viewport a size.", Viewport, |tab, verb, argument| {
            done(tab.resize(verb.width, verb.height).await)?
        }),
        verb!(
            "initScript",
            Write,
            "Runs a script in each document before the page's own.",
            Source,
            |tab, verb, argument| { done(tab.add_init_script(&verb.source).await)? }
        ),
        verb!("frames", Read, "The page's frames.", Nothing, |tab, _verb, argument| tab.frames().await?.into()),
        verb!("dialogs", Write, "What becomes of dialogs.", Dialogs, |tab, verb, argument| {
            tab.set_dialog_policy(verb.policy);
            Value::Undefined
        }),
        verb!("dialog", Write, "Answers the open dialog.", DialogAnswer, |tab, verb, argument| {
            tab.answer_dialog(verb.accept, verb.text.as_deref()).await?.into()
        }),
        Row {
            method: Method {
                background: true,
                ..method("watch", "Which news a page tells from now on.", Effect::Read)
            },
            run: |browser, argument, context| Box::pin(watch(browser, argument, context)),
            #[cfg(feature = "schema")]
            schema: || schemars::schema_for!(Watch),
        },
        verb!("responseBody", Read, "The body of an answer.", Request, |tab, verb, argument| {
            Value::from(tab.response_body(&verb.request_id).await?)
        }),
        verb!("network", Read, "The page's requests.", Traffic, |tab, verb, argument| {
            tab.network(verb.filter.as_ref(), verb.limit).await?.into()
        }),
        verb!("har", Read, "The page's requests as an HTTP archive.", Har, |tab, verb, argument| {
            tab.har(verb.filter.as_ref(), verb.bodies).await?.into()
        }),
        verb!("fetch", Write, "Has the browser send a request.", Fetch, |tab, verb, argument| {
            let body = bytes(&argument, "body");
            let (answer, body) = tab.fetch(verb.request, body.as_deref()).await?;
            Value::Object(vec![("answer".into(), json!(answer).into()), ("body".into(), Value::from(body))])
        }),
        verb!(
            "credentials",
            Write,
            "What servers get that ask for a name and a password.",
            Authenticate,
            |tab, verb, argument| { done(tab.set_credentials(verb.credentials).await)? }
        ),
        verb!("permissions", Write, "What pages may do.", Permissions, |tab, verb, argument| {
            match verb.permissions {
                Some(permissions) => done(tab.grant(&permissions, verb.origin.as_deref()).await)?,
                None => done(tab.clear_permissions().await)?,
            }
        }),
        verb!("geolocation", Write, "Where the page is.", Locate, |tab, verb, argument| {
            done(tab.set_geolocation(verb.geolocation).await)?
        }),
        verb!("console", Read, "The page's console and uncaught errors.", Limit, |tab, verb, argument| {
            tab.console(verb.limit).await?.into()
        }),
        verb!("route", Write, "Which requests wait for the script.", Routes, |tab, verb, argument| {
            done(tab.set_routes(&verb.patterns).await)?
        }),
        // Calls that wait for the request resume before the browser has acknowledged this answer.
        in_background(verb!(
            "routeAnswer",
            Write,
            "Answers a request that waits.",
            RouteReply,
            |tab, verb, argument| {
                let body = ["body", "postData"].into_iter().find_map(|name| bytes(&argument, name));
                done(tab.answer_route(&verb.route, &verb.answer, body.as_deref()).await)?
            }
        )),
        verb!("chooser", Write, "Gives files to an open file chooser.", Chooser, |tab, verb, argument| {
            done(tab.choose(&verb.chooser, &uploads(&argument)?).await)?
        }),
        verb!("clock", Write, "Halts the page's scripts, or lets them go on.", Clock, |tab, verb, argument| {
            if let Clock::Set { paused, initial_ms } = verb {
                tab.set_clock(paused, initial_ms).await?;
            }
            tab.clock()?.into()
        }),
        verb!("selectPopup", Write, "Chooses in an open popup of a list.", SelectPopup, |tab, verb, argument| {
            tab.select_popup(&verb.popup, verb.choice()?).await?.into()
        }),
        Row {
            method: method("download", "What a download came to.", Effect::Write),
            run: |browser, argument, context| Box::pin(download(browser, argument, context)),
            #[cfg(feature = "schema")]
            schema: || schemars::schema_for!(Download),
        },
        verb!("cookies", Write, "Reads, sets or deletes cookies.", Cookies, |tab, verb, argument| {
            match verb {
                Cookies::Get { urls } => tab.cookies(&urls).await?.into(),
                Cookies::Set { cookies } => done(tab.set_cookies(&cookies).await)?,
                Cookies::Clear { filter } => done(tab.clear_cookies(&filter).await)?,
            }
        }),
        verb!("storageState", Read, "Cookies and local storage.", Nothing, |tab, _verb, argument| tab
            .storage_state()
            .await?
            .into()),
        verb!("saveState", Write, "Saves what a login left, under a name.", Named, |tab, verb, argument| {
            tab.save_login(&verb.name).await?;
            tab.storage_state().await?.into()
        }),
        verb!("loadState", Write, "Puts what a login left into the browser.", LoadStorage, |tab, verb, argument| {
            done(match verb.state {
                Json::String(name) => tab.load_login(&name).await,
                state => tab.put_storage_state(calls::storage_state(state)?).await,
            })?
        }),
        Row {
            method: method("forgetState", "Removes what was saved under a name.", Effect::Write),
            run: |browser, argument, _| {
                Box::pin(async move {
                    let Named { name } = calls::read(&argument)?;
                    done(browser.verbs.remove_login(&name).await)
                })
            },
            #[cfg(feature = "schema")]
            schema: || schemars::schema_for!(Named),
        },
    ]
});

/// Opens a page, and navigates it to the URL if one is given.
async fn open(browser: &Browser, argument: Value, context: CallContext) -> Result<Value, ErrorReport> {
    let call: Open = calls::read(&argument)?;
    let page = browser.verbs.open(context.deadline).await?;
    let at = Address { page: page.clone(), timeout_ms: call.timeout_ms };
    let tab = browser.verbs.tab(&at, context.deadline).await?;
    let response = match &call.url {
        Some(url) => tab.goto(url, None, call.wait_until).await?,
        None => None,
    };
    Ok(json!({"page": page, "url": tab.url(), "status": response.map(|response| response.status)}).into())
}

/// Subscribes to page events, and returns the cursor from which to read them. Without a page, returns the cursor for
/// the events that the browser reports without a subscription.
async fn watch(browser: &Browser, argument: Value, context: CallContext) -> Result<Value, ErrorReport> {
    let Watch { page, types } = calls::read(&argument)?;
    let next = match page {
        Some(page) => {
            let at = Address { page, timeout_ms: None };
            browser.verbs.tab(&at, context.deadline).await?.watch(&types).await?
        }
        None => browser.verbs.page_event_cursor(context.deadline).await?,
    };
    Ok(json!({ "next": next }).into())
}

/// An operation on a download, whose page may be closed already.
async fn download(browser: &Browser, argument: Value, context: CallContext) -> Result<Value, ErrorReport> {
    let Download { download, op, name, timeout_ms } = calls::read(&argument)?;
    let own = timeout_ms.filter(|ms| *ms > 0.0).and_then(|ms| Instant::now().checked_add(milliseconds(ms)));
    let deadline = own.map_or(context.deadline, |own| own.min(context.deadline));
    let verbs = &browser.verbs;
    let value = match op {
        DownloadOp::Bytes => {
            let (content, _place) = verbs.download_bytes(&download, deadline).await?;
            Value::from(content)
        }
        DownloadOp::Keep => keep(browser, verbs.downloaded(&download, deadline).await?, name).await?,
        DownloadOp::Progress => verbs.download_progress(&download, deadline).await?.into(),
        DownloadOp::Failure => verbs.download_failure(&download, deadline).await?.into(),
        DownloadOp::Cancel => done(verbs.cancel_download(&download, deadline).await)?,
        DownloadOp::Delete => done(verbs.delete_download(&download, deadline).await)?,
    };
    Ok(Value::Object(vec![("value".into(), value)]))
}

/// Adds a downloaded file to the files of the answer.
async fn keep(browser: &Browser, mut downloaded: Downloaded, name: String) -> Result<Value, ErrorReport> {
    let Some(files) = browser.files.clone() else {
        return Err(ErrorReport::new(ErrorCode::UnsupportedOperation, "this host's answers have no files")
            .with_hint("Read it: await download.bytes()."));
    };
    let kept = tokio::task::spawn_blocking(move || files.keep(&name, &mut downloaded.file)).await;
    let lost = |error| ErrorReport::new(ErrorCode::HostFault, format!("the file was not kept: {error}"));
    let kept = kept.map_err(lost)??;
    Ok(json!({"name": kept.name, "mimeType": kept.mime_type, "bytes": kept.bytes}).into())
}

async fn keyboard(tab: &Tab<'_>, verb: Keyboard) -> Result<(), ErrorReport> {
    match verb {
        Keyboard::Down { key, modifiers } => tab.holding(&modifiers, tab.key_down(&key)).await,
        Keyboard::Up { key } => tab.key_up(&key).await,
        Keyboard::Press { key, delay } => tab.press_keys(&key, milliseconds(delay)).await,
        Keyboard::Type { text, delay } => tab.type_text(&text, milliseconds(delay)).await,
        Keyboard::InsertText { text } => tab.insert_text(&text).await,
    }
}

async fn mouse(tab: &Tab<'_>, verb: Mouse) -> Result<(), ErrorReport> {
    match verb {
        Mouse::Move { x, y, steps } => tab.mouse_move(x, y, steps.unwrap_or(1)).await,
        Mouse::Down(button) => tab.mouse_down(button.button, button.click_count).await,
        Mouse::Up(button) => tab.mouse_up(button.button, button.click_count).await,
        Mouse::Click { x, y, button, delay, modifiers } => {
            let click = async {
                tab.mouse_move(x, y, 1).await?;
                tab.mouse_click(button.button, button.click_count, milliseconds(delay)).await
            };
            tab.holding(&modifiers, click).await
        }
        Mouse::Wheel { dx, dy } => tab.mouse_wheel(dx, dy).await,
    }
}

/// A field as bytes: a buffer, or a text as UTF-8.
fn bytes(argument: &Value, name: &str) -> Option<Vec<u8>> {
    match field(argument, name)? {
        Value::Bytes(_, bytes) => Some(bytes),
        Value::String(text) => Some(text.to_string_lossy().into_bytes()),
        _ => None,
    }
}

/// The files of a call. They are read here, since JSON has no type for their bytes.
fn uploads(argument: &Value) -> Result<Vec<Upload>, ErrorReport> {
    let wrong = || {
        ErrorReport::new(ErrorCode::InvalidArgument, "files must be objects {name, mimeType, buffer}").with_hint(
            "Files come from the script, not from this machine: {name: \"a.txt\", mimeType: \"text/plain\", buffer: new \
             TextEncoder().encode(\"…\")}.",
        )
    };
    let Some(Value::Array(files)) = field(argument, "files") else { return Err(wrong()) };
    let text = |file: &Value, name: &str| match field(file, name) {
        Some(Value::String(text)) => Some(text.to_string_lossy()),
        _ => None,
    };
    files
        .iter()
        .map(|file| match field(file, "buffer") {
            Some(Value::Bytes(_, bytes)) => Ok(Upload {
                name: text(file, "name").ok_or_else(wrong)?,
                mime_type: text(file, "mimeType").unwrap_or_default(),
                bytes,
            }),
            _ => Err(wrong()),
        })
        .collect()
}

fn done(result: Result<(), ErrorReport>) -> Result<Value, ErrorReport> {
    result.map(|()| Value::Undefined)
}

fn method(name: &str, doc: &str, effect: Effect) -> Method {
    let params = vec![Param { name: "call".into(), schema: json!({"type": "object"}), optional: true }];
    Method {
        name: name.into(),
        doc: doc.into(),
        signatures: vec![Signature { params }],
        returns: json!({"tsType": "any"}),
        effect,
        background: false,
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn each_verb_says_whether_it_changes_something() {
        let reads: Vec<_> =
            ROWS.iter().filter(|row| row.method.effect == Effect::Read).map(|row| row.method.name.as_str()).collect();
        let expected = [
            "pages",
            "events",
            "read",
            "readAll",
            "waitFor",
            "waitForURL",
            "waitForLoad",
            "snapshot",
            "screenshot",
            "pdf",
            "extract",
            "frames",
            "watch",
            "responseBody",
            "network",
            "har",
            "console",
            "storageState",
        ];
        assert_eq!(reads, expected);
    }
}
