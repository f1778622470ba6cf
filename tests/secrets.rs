//! Secrets, which pages receive and scripts never see: where they are filled in, and that no channel discloses them.

use crate::support::{
    browsing::block_on,
    image_dir,
    pages::Pages,
    program::{PATIENCE, Place, need_browser, wait_until},
};
use codemode_host::{
    exec::Observer,
    secrets::Masker,
    service::{AuditQuery, ExecuteRequest, Service, Settings},
};
use codemode_spec::{limits::WALL_MS_MAX, message::ConsoleLine};
use serde_json::{Value as Json, json};
use std::{
    fs,
    io::Write as _,
    os::unix::fs::PermissionsExt as _,
    path::Path,
    process::{Output, Stdio},
    sync::{Arc, Mutex},
};
use tempfile::TempDir;
use tokio_util::sync::CancellationToken;

/// The secret, with characters that each output format escapes differently.
const VALUE: &str = "s3cr\"t/ä&<7>";
const NAME: &str = "SHOP";

/// A host with a secret for the pages of `{{site}}`, and none for those of `{{other}}`.
struct Vault {
    service: Service,
    pages: Pages,
    folder: TempDir,
}

/// Records the console lines and calls that a client is notified of.
#[derive(Default)]
struct Notifications(Mutex<String>);

impl Observer for Notifications {
    fn console(&self, line: &ConsoleLine) {
        self.0.lock().unwrap().push_str(&line.text);
    }

    fn call(&self, namespace: &str, method: &str, _: u64) {
        self.0.lock().unwrap().push_str(&format!("{namespace}.{method}\n"));
    }
}

impl Vault {
    async fn new() -> Self {
        let folder = tempfile::Builder::new().prefix("codemode-test-").tempdir().unwrap();
        let settings = Settings {
            state_dir: Some(folder.path().join("state")),
            image_dir: Some(image_dir()),
            ..Settings::default()
        };
        let vault = Self { service: Service::builder(settings).build().unwrap(), pages: Pages::serve().await, folder };
        let origin = vault.pages.place("{{site}}");
        vault.service.secrets_set(NAME, &origin, VALUE.to_owned()).await.unwrap();
        vault
    }

    /// Runs a script and returns the answer; asserts that neither it nor the notifications contain the value.
    async fn run(&self, code: &str) -> Json {
        let told = Arc::new(Notifications::default());
        let timeout_ms = Some(WALL_MS_MAX);
        let request = ExecuteRequest { timeout_ms, ..ExecuteRequest::new(self.pages.place(code)) };
        let answer = self.service.execute(request, Arc::clone(&told) as _, CancellationToken::new()).await;
        let answer = serde_json::to_value(answer).unwrap();
        assert_hidden(&answer.to_string(), code);
        assert_hidden(&told.0.lock().unwrap(), code);
        answer
    }

    async fn result(&self, code: &str) -> Json {
        let answer = self.run(code).await;
        assert_eq!(answer["ok"], true, "{code}\n{answer}");
        answer["data"]["result"].clone()
    }
}

/// Fails if a text contains the value in any encoding, including some that the masker need not recognise.
fn assert_hidden(text: &str, what: &str) {
    let escaped = json!(VALUE).to_string();
    let url: String = url::form_urlencoded::byte_serialize(VALUE.as_bytes()).collect();
    for form in [VALUE, escaped.trim_matches('"'), &url] {
        assert!(!text.contains(form), "{what}\n{text}");
    }
    assert_eq!(Masker::of([VALUE]).unwrap().masked(text.to_owned()), text, "{what}");
}

#[test]
fn a_secret_is_put_into_documents_of_its_origin_and_no_others() {
    block_on(async {
        let vault = Vault::new().await;
        assert_eq!(vault.result(include_str!("secrets/places.js")).await, json!([15, []]));
    });
}

#[test]
fn every_field_that_takes_text_takes_a_secret_and_nothing_else_does() {
    block_on(async {
        let vault = Vault::new().await;
        let code = "
            const page = await browser.open('{{site}}/vault');
            await page.fill('#password', secret('SHOP'));
            await page.locator('#story').fill(secret('SHOP'));
            await page.fill({ '#code': secret('SHOP'), '#masked': secret('SHOP'), '#redrawn': secret('SHOP') });
            await page.locator('#rich').fill(secret('SHOP'));
            const lengths = await page.evaluate(() =>
                [password, story, code, masked, redrawn].map((it) => it.value.length).concat(rich.textContent.length));
            await page.fill('#code', '');
            await page.locator('#code').pressSequentially(secret('SHOP'));
            const events = await page.evaluate(() => seen.filter((event) => /^(password|masked) /.test(event)).join());
            [lengths, await page.evaluate(() => code.value.length), events];
        ";
        let length = VALUE.chars().count();
        let events =
            "password beforeinput,password input,password change,masked beforeinput,masked input,masked change";
        assert_eq!(vault.result(code).await, json!([[length, length, length, length, length, length], length, events]));
        for field in ["#day", "#size", "#off", "body"] {
            let code = format!(
                "const page = await browser.open('{{{{site}}}}/vault'); await page.fill('{field}', secret('SHOP'), {{ timeout: 300 }})"
            );
            assert_eq!(vault.run(&code).await["error"]["code"], "NOT_INTERACTABLE", "{field}");
        }
        let unknown = vault
            .run("const page = await browser.open('{{site}}/vault'); await page.fill('#password', secret('BANK'))")
            .await;
        assert_eq!(unknown["error"]["code"], "NOT_FOUND");
        let hint = unknown["error"]["hint"].as_str().unwrap();
        assert!(hint.contains(&vault.pages.place("SHOP ({{site}})")), "{hint}");
    });
}

#[test]
fn a_handle_is_no_argument_of_any_other_call() {
    block_on(async {
        let vault = Vault::new().await;
        let rows = [
            "page.evaluate((it) => { document.title = it }, secret('SHOP'))",
            "page.evaluate(([it]) => { document.title = it }, [{ deep: secret('SHOP') }])",
            "page.keyboard.insertText(secret('SHOP'))",
            "page.keyboard.type(secret('SHOP'))",
            "page.press('#password', secret('SHOP'))",
            "page.locator('#size').selectOption(secret('SHOP'))",
            "page.context().addCookies([{ name: 'a', value: secret('SHOP'), url: '{{site}}' }])",
            "cdp.send('Input.insertText', { text: secret('SHOP') }, { sessionId })",
            "cdp.send('Input.insertText', { text: [secret('SHOP')] }, { sessionId })",
        ];
        let calls: Vec<_> = rows.iter().map(|call| format!("({{ page, sessionId }}) => {call}")).collect();
        let code = format!(
            "const seen = [];
             for (const call of [{}]) {{
                 const page = await browser.open('{{{{site}}}}/vault');
                 await page.focus('#code');
                 const {{ sessionId }} = await cdp.attachToTarget(page.id);
                 let code = 'done';
                 try {{ await call({{ page, sessionId }}) }} catch (error) {{ code = error.code }}
                 seen.push([code, await page.title(), await page.inputValue('#code')].join());
                 await page.close();
             }}
             seen",
            calls.join(", ")
        );
        assert_eq!(vault.result(&code).await, json!(rows.map(|_| "INVALID_ARGUMENT,Vault,")));
        let code = "console.log(secret('SHOP')); console.log(`${secret('SHOP')}`);
            [secret('SHOP'), JSON.stringify({ it: secret('SHOP') }), Object.isFrozen(secret('SHOP')), await secret.list()]";
        let answer = vault.run(code).await;
        let listed = json!([{"name": "SHOP", "origin": vault.pages.place("{{site}}")}]);
        assert_eq!(answer["data"]["result"], json!(["[secret SHOP]", "{\"it\":\"[secret SHOP]\"}", true, listed]));
        assert_eq!(answer["data"]["logs"][1]["text"], "[secret SHOP]");
        for wrong in ["secret()", "secret(7)", "secret('')"] {
            assert_eq!(vault.run(wrong).await["error"]["code"], "INVALID_ARGUMENT", "{wrong}");
        }
    });
}

/// The element appears late, when the page has already navigated to another origin.
#[test]
fn a_page_that_navigates_while_a_field_is_waited_for_gets_nothing() {
    block_on(async {
        let vault = Vault::new().await;
        let code = "
            const page = await browser.open('{{site}}/vault');
            await page.evaluate(() => password.remove());
            const filling = page.fill('#password', secret('SHOP'), { timeout: 20000 }).then(() => 'filled', (error) => error.code);
            await page.evaluate((url) => { setTimeout(() => { location.href = url }, 0) }, '{{other}}/vault');
            const code = await filling;
            [code, await page.inputValue('#password'), new URL(page.url()).origin === new URL('{{other}}').origin];
        ";
        assert_eq!(vault.result(code).await, json!(["POLICY_REFUSED", "", true]));
        // The page navigates as soon as the field is touched: the field of the next document stays empty.
        let code = "
            const page = await browser.open('{{site}}/vault');
            const codes = [];
            for (let n = 0; n < 5; n++) {
                await page.goto('{{site}}/vault');
                await page.evaluate((url) => {
                    password.addEventListener('focus', () => { location.href = url });
                    setTimeout(() => { location.href = url }, 0);
                }, '{{other}}/vault');
                await page.fill('#password', secret('SHOP'), { timeout: 20000 }).then(() => codes.push('filled'), (error) => codes.push(error.code));
                await page.waitForURL('{{other}}/vault');
                codes.push((await page.inputValue('#password')).length);
            }
            codes.filter((code) => code !== 'filled' && code !== 'POLICY_REFUSED' && code !== 0);
        ";
        assert_eq!(vault.result(code).await, json!([]));
    });
}

#[test]
fn a_value_that_a_page_shows_is_masked_in_every_reply() {
    block_on(async {
        let vault = Vault::new().await;
        assert_eq!(vault.result(include_str!("secrets/replies.js")).await, json!([34, []]));
    });
}

/// A value that a script reassembles from parts, which the masker cannot recognise, does not leave the sandbox.
#[test]
fn a_value_that_a_script_has_put_together_leaves_in_no_part_of_the_answer() {
    block_on(async {
        let vault = Vault::new().await;
        let parts = "const page = await browser.open('{{site}}/vault'); await page.fill('#code', secret('SHOP'));
            const whole = (await page.evaluate(() => [...code.value])).join('');";
        let mask = "*".repeat(VALUE.chars().count());
        let held = vault.result(&format!("{parts} [whole.length, whole]")).await;
        assert_eq!(held, json!([VALUE.chars().count(), mask]), "the script has it, and cannot say it");
        let rows = [
            "throw new Error(whole)",
            "throw whole",
            "console.log(whole, [whole], { [whole]: 1 }); console.error(JSON.stringify(whole))",
            "browser[whole]()",
            "cdp.send(whole)",
            "Promise.reject(new Error(whole)); await new Promise((done) => setTimeout(done, 10)); 1",
            "new Map([[whole, new Uint8Array(new TextEncoder().encode(whole))]])",
            "page.click(`text=${whole}`, { timeout: 100 })",
            "page.evaluate((it) => { document.title = it; location.hash = it }, whole)",
            "const error = new Error('outer', { cause: new Error(whole) }); throw error",
            "({ a: whole.repeat(3000), b: 'x'.repeat(100000) })",
        ];
        for row in rows {
            let answer = vault.run(&format!("{parts} {row}")).await;
            if let Some(artifact) = answer["data"]["artifact"].as_str() {
                let kept = fs::read_to_string(artifact).unwrap();
                assert!(kept.contains(&mask));
                assert_hidden(&kept, row);
            }
        }
        assert!(
            vault.run(&format!("{parts} ({{ a: whole, b: 'x'.repeat(100000) }})")).await["data"]["artifact"]
                .is_string()
        );
        // Everything that is stored: the audit, the dump, the files of the answers.
        let rows = vault.service.audit_show(AuditQuery::default()).await.unwrap().rows;
        assert_hidden(&json!(rows).to_string(), "the audit");
        let used = rows.iter().filter(|row| row.kind == "secret.used").count();
        assert!(used >= 10, "each use stands there: {used}");
        let row = rows.iter().find(|row| row.kind == "secret.used").unwrap();
        assert_eq!(
            (row.detail.as_str(), row.execution.is_some()),
            (json!({"name": NAME, "origin": vault.pages.place("{{site}}")}).to_string().as_str(), true)
        );
        let execution = row.execution.clone().unwrap();
        let dump = vault.service.dump_execution(&execution).await.unwrap();
        assert_hidden(&json!(dump).to_string(), "the dump");
        assert_hidden_in(&vault.folder.path().join("state"));
    });
}

fn assert_hidden_in(folder: &Path) {
    assert_eq!(holding(folder, VALUE), Vec::<String>::new());
}

/// The files below a folder that contain a text, in UTF-8 or UTF-16.
fn holding(folder: &Path, text: &str) -> Vec<String> {
    let utf16: Vec<u8> = text.encode_utf16().flat_map(u16::to_le_bytes).collect();
    let mut found = Vec::new();
    for entry in fs::read_dir(folder).into_iter().flatten().flatten() {
        let path = entry.path();
        if entry.file_type().unwrap().is_dir() {
            found.extend(holding(&path, text));
        } else if let Ok(bytes) = fs::read(&path)
            && [text.as_bytes(), &utf16].iter().any(|text| bytes.windows(text.len()).any(|window| window == *text))
        {
            found.push(path.display().to_string());
        }
    }
    found
}

/// Without secrets nothing is masked, and with one nothing else is.
#[test]
fn without_secrets_nothing_is_masked_and_a_removed_one_is_text_again() {
    block_on(async {
        let vault = Vault::new().await;
        let script = format!("const text = {}; [text, 's3cr']", json!(VALUE));
        assert_eq!(vault.result(&script).await, json!(["*".repeat(VALUE.chars().count()), "s3cr"]));
        assert_eq!(vault.service.secrets_remove(NAME).await.unwrap().removed, NAME);
        assert!(vault.service.secrets_list().await.unwrap().secrets.is_empty());
        let request = ExecuteRequest::new(script);
        let answer = vault.service.execute(request, Arc::new(Notifications::default()), CancellationToken::new()).await;
        assert_eq!(answer.data.unwrap()["result"], json!([VALUE, "s3cr"]));
    });
}

#[test]
fn while_a_secret_does_not_open_nothing_runs() {
    block_on(async {
        let vault = Vault::new().await;
        let file = vault.folder.path().join("state/secrets/sealed.json");
        let whole = fs::read_to_string(&file).unwrap();
        fs::write(&file, whole.replace("127.0.0.1", "localhost")).unwrap();
        let refused = vault.run("console.log('it ran'); 1").await;
        assert_eq!((&refused["error"]["code"], &refused["data"]), (&json!("NOT_READY"), &Json::Null), "{refused}");
        assert!(refused["error"]["message"].as_str().unwrap().contains(NAME), "{refused}");
        fs::write(&file, whole).unwrap();
        assert_eq!(vault.result("1").await, 1);
    });
}

fn with_input(place: &Place, arguments: &[&str], input: &str) -> Output {
    let mut command = place.command(arguments);
    let mut child = command.stdin(Stdio::piped()).stdout(Stdio::piped()).stderr(Stdio::piped()).spawn().unwrap();
    child.stdin.take().unwrap().write_all(input.as_bytes()).unwrap();
    child.wait_with_output().unwrap()
}

fn text(bytes: &[u8]) -> &str {
    std::str::from_utf8(bytes).unwrap()
}

/// Chromium stores typed form values, to suggest them in other forms, and the values of forms in open pages.
#[test]
fn a_kept_profile_has_nothing_of_a_form_that_was_filled_with_a_secret() {
    need_browser();
    let place = Place::new();
    let pages = block_on(Pages::serve());
    let value = "Zx9 secret value 42";
    let set = ["secrets", "set", NAME, "--origin", &pages.place("{{site}}")];
    assert!(with_input(&place, &set, value).status.success());
    let fill = |value: &str| {
        let code = format!(
            "const page = await browser.open('{{{{site}}}}/vault'); await page.fill({{ '#code': {value}, '#story': {value} }});
             await page.click('button'); await page.waitForURL('**/echo'); await page.goto('{{{{site}}}}/vault');
             await page.fill({{ '#code': {value}, '#story': {value} }});"
        );
        let key = format!("key{}", value.len());
        let run = ["run", "--session-key", &key, "--session-ttl", "1s", "-e", &pages.place(&code)];
        let output = place.run(&run);
        assert!(output.status.success(), "{output:?}");
        wait_until("the end of an idle session", PATIENCE, || {
            let listed = place.run(&["sessions", "list", "--json"]);
            serde_json::from_slice::<Json>(&listed.stdout).is_ok_and(|it| it["data"]["sessions"] == json!([]))
        });
    };
    fill("secret('SHOP')");
    let state = place.folder().join("state");
    assert_eq!(holding(&state, value), Vec::<String>::new());
    fill("'remembered by Chromium'");
    assert!(!holding(&state, "remembered by Chromium").is_empty(), "what is no secret is remembered");
}

/// The command line of an operator, at the most verbose log level.
#[test]
fn an_operator_sets_lists_and_removes_secrets_and_no_output_has_their_values() {
    need_browser();
    let place = Place::new();
    let pages = block_on(Pages::serve());
    let origin = pages.place("{{site}}");
    let set = |name: &str, origin: &str, value: &str| {
        let output = with_input(&place, &["secrets", "set", name, "--origin", origin], value);
        assert_hidden(text(&output.stdout), name);
        assert_hidden(text(&output.stderr), name);
        (output.status.code(), text(&output.stdout).to_owned())
    };
    assert_eq!(
        set(NAME, &format!("{origin}/"), &format!("{VALUE}\n")),
        (Some(0), format!("SHOP is kept, for pages of {origin}\n"))
    );
    assert_eq!(set(NAME, &origin, VALUE), (Some(0), format!("SHOP has another value, for pages of {origin}\n")));
    assert_eq!(set("A B", "shop.example", "abc").0, Some(1));
    assert_eq!(
        place.run(&["secrets", "set", NAME, "--origin", &origin, VALUE]).status.code(),
        Some(2),
        "never an argument"
    );
    let listed = place.run(&["secrets", "list", "--json"]);
    let listed: Json = serde_json::from_slice(&listed.stdout).unwrap();
    assert_eq!(listed["data"]["secrets"], json!([{"name": NAME, "origin": origin, "opens": true}]));

    let code = pages.place(
        "const page = await browser.open('{{site}}/vault'); await page.fill('#code', secret('SHOP'));
         console.log(await page.inputValue('#code')); await page.title()",
    );
    let output =
        place.command(&["run", "-e", &code]).env("CODEMODE_LOG", "trace").stdin(Stdio::null()).output().unwrap();
    assert_eq!((output.status.code(), text(&output.stdout)), (Some(0), "Vault\n"), "{}", text(&output.stderr));
    let log = text(&output.stderr);
    assert!(log.contains("TRACE") || log.contains("DEBUG"), "the log is loud: {log}");
    assert_hidden(log, "the log");
    let state = place.folder().join("state");
    assert_hidden_in(&state);
    for name in ["key", "sealed.json"] {
        let mode = fs::metadata(state.join("secrets").join(name)).unwrap().permissions().mode();
        assert_eq!(mode & 0o777, 0o600, "{name}");
    }
    let audit = place.run(&["audit", "show", "--json"]);
    assert_hidden(text(&audit.stdout), "the audit");
    for kind in ["secret.set", "secret.used"] {
        assert!(text(&audit.stdout).contains(kind), "{kind}");
    }
    assert_eq!(
        text(&place.run(&["secrets", "remove", NAME]).stdout),
        format!("SHOP is removed, which was for pages of {origin}\n")
    );
    assert_eq!(place.run(&["secrets", "remove", NAME]).status.code(), Some(1));
    assert_eq!(text(&place.run(&["secrets", "list"]).stderr), "there are no secrets\n");
}
