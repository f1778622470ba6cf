//! Filling fields, choosing options, ticking boxes, typing and uploading files.

use crate::{
    input::mouse::Button,
    locate::{Op, Place},
    pointer::{Approach, CLICKABLE, milliseconds},
    read::Property,
    settle::Settle,
    tab::Tab,
    target::Target,
};
use base64::{Engine as _, engine::general_purpose::STANDARD};
use codemode_spec::{ErrorCode, ErrorReport};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

/// A field of a form, and what it is filled with: a text, or whether it is ticked.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub struct Field {
    /// The field.
    pub target: Target,
    /// What it gets.
    pub value: FieldValue,
}

/// What a field is filled with.
#[derive(Clone, Debug, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(untagged)]
pub enum FieldValue {
    /// Ticked or not.
    Checked(bool),
    /// A text, or an option's value or label.
    Text(String),
    /// A number, as its text.
    Number(serde_json::Number),
    /// The value of a secret.
    Secret {
        /// Its name.
        secret: String,
    },
}

/// An option of a `<select>`, by one of its properties.
#[derive(Clone, Debug, Default, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase", default)]
pub struct Choice {
    /// Its value.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value: Option<String>,
    /// Its label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub label: Option<String>,
    /// Its place, counted from 0.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub index: Option<u32>,
    /// Its value or else its label.
    #[serde(skip_serializing_if = "Option::is_none")]
    pub value_or_label: Option<String>,
}

/// A file that is uploaded to a page: bytes from the script, never a file of this machine.
#[derive(Clone)]
pub struct Upload {
    /// Its name.
    pub name: String,
    /// Its MIME type; if empty, the page guesses it from the name.
    pub mime_type: String,
    /// Its content.
    pub bytes: Vec<u8>,
}

/// Files in the JSON form that the in-page engine expects.
pub(crate) fn as_json(files: &[Upload]) -> Json {
    files
        .iter()
        .map(|file| json!({"name": file.name, "type": file.mime_type, "base64": STANDARD.encode(&file.bytes)}))
        .collect()
}

impl Tab<'_> {
    /// Replaces the content of a field.
    pub async fn fill(&self, target: &Target, value: &str, force: bool) -> Result<(), ErrorReport> {
        let args = json!({"strict": true, "timeout": null, "force": force, "value": value});
        let (_, filled) = self.run_on(target, "fill", args, Op::Change).await?;
        if filled["needsInput"] == true {
            self.write_into(value).await?;
        }
        Ok(())
    }

    /// Replaces the selection of the focused element.
    async fn write_into(&self, value: &str) -> Result<(), ErrorReport> {
        if value.is_empty() {
            return self.press_keys("Delete", std::time::Duration::ZERO).await;
        }
        self.insert_text(value).await
    }

    /// Fills the fields of a form, in order.
    pub async fn fill_form(&self, fields: &[Field]) -> Result<(), ErrorReport> {
        for Field { target, value } in fields {
            match value {
                FieldValue::Checked(checked) => {
                    self.check(target, *checked, &Approach::default()).await?;
                }
                FieldValue::Text(text) => self.fill_field(target, text).await?,
                FieldValue::Number(number) => self.fill_field(target, &number.to_string()).await?,
                FieldValue::Secret { secret } => self.fill_secret(target, secret, false).await?,
            }
        }
        Ok(())
    }

    /// Fills a field of any kind; for a `<select>`, chooses the option.
    async fn fill_field(&self, target: &Target, text: &str) -> Result<(), ErrorReport> {
        match self.fill(target, text, false).await {
            Err(error) if error.code == ErrorCode::NotInteractable && error.details["reason"] == "kind" => {
                let choice = Choice { value_or_label: Some(text.to_owned()), ..Choice::default() };
                self.select(target, &[choice], false).await.map(drop)
            }
            filled => filled,
        }
    }

    /// Chooses options, and returns the values that are selected afterwards.
    pub async fn select(&self, target: &Target, options: &[Choice], force: bool) -> Result<Json, ErrorReport> {
        let args = json!({"strict": true, "timeout": null, "force": force, "options": options});
        Ok(self.run_on(target, "select", args, Op::Change).await?.1["value"].clone())
    }

    /// Checks or unchecks a checkbox or radio button: clicks it if it is not in the wanted state.
    pub async fn check(&self, target: &Target, checked: bool, approach: &Approach) -> Result<(), ErrorReport> {
        let read = || self.read(target, Property::Checked, None);
        if read().await? == checked {
            return Ok(());
        }
        let since = self.cursor();
        let held = self.held_modifiers();
        let ready = self.approach(target, approach, CLICKABLE).await?;
        let clicked = if !checked && ready.is_radio() {
            let message = "Cannot uncheck radio button: it is unchecked by checking another one of its group";
            Err(ErrorReport::new(ErrorCode::NotInteractable, message)
                .with_hint("Check another radio button of the same name."))
        } else if approach.trial {
            Ok(())
        } else {
            let clicked = self.mouse_click(Button::Left, 1, std::time::Duration::ZERO).await;
            self.or_closed(clicked)
        };
        drop(ready);
        self.hold_again(held, clicked).await?;
        if approach.trial {
            return Ok(());
        }
        self.settle(Settle::Navigation, since).await?;
        if self.is_closed() || self.has_navigated(since) || read().await? == checked {
            return Ok(());
        }
        Err(ErrorReport::new(ErrorCode::NotInteractable, "Clicking the checkbox did not change its state")
            .with_hint("The page puts it back: look at what the page says, or click the element that it listens to."))
    }

    /// Types into an element, key by key.
    pub async fn type_into(&self, target: &Target, text: &str, delay: f64) -> Result<(), ErrorReport> {
        self.focus(target).await?;
        let since = self.cursor();
        let typed = self.type_text(text, milliseconds(delay)).await;
        self.or_closed(typed)?;
        self.settle(Settle::Navigation, since).await?;
        Ok(())
    }

    /// Presses a key in an element.
    pub async fn press(&self, target: &Target, key: &str, delay: f64) -> Result<(), ErrorReport> {
        self.focus(target).await?;
        let since = self.cursor();
        let pressed = self.press_keys(key, milliseconds(delay)).await;
        self.or_closed(pressed)?;
        self.settle(Settle::Navigation, since).await?;
        Ok(())
    }

    async fn focus(&self, target: &Target) -> Result<(), ErrorReport> {
        self.run_on(target, "focus", json!({"strict": true, "timeout": null}), Op::Look).await.map(drop)
    }

    /// Passes files to a file input.
    pub async fn upload(&self, target: &Target, files: &[Upload]) -> Result<(), ErrorReport> {
        let place = self.locate(target).await?;
        self.give_files(&place, as_json(files), false).await
    }

    /// Passes files to the file input at a place; with `anywhere`, also if it is not in the document.
    pub(crate) async fn give_files(&self, place: &Place, files: Json, anywhere: bool) -> Result<(), ErrorReport> {
        let args = json!({"strict": true, "timeout": null, "files": files, "anywhere": anywhere});
        self.run_at(place, "files", args, Op::Change).await.map(drop)
    }

    /// Whether the page has committed another document since.
    fn has_navigated(&self, since: u64) -> bool {
        let is_navigation = |event: &codemode_page::Event| {
            event.method == "Page.frameNavigated" && event.params["frame"]["id"] == self.id.as_str()
        };
        !self.browser.events().since(since, 1, &is_navigation).events.is_empty()
    }
}
