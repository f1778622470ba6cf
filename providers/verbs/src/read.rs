//! Reading elements and pages.

use crate::{capture::Rectangle, locate::Op, reports, tab::Tab, target::Target};
use codemode_spec::{ErrorReport, limits::ELEMENTS_READ_MAX};
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};

/// What is read of one element.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "each is named as the property of an element, or as the method of a locator")]
pub enum Property {
    TextContent,
    InnerText,
    InnerHTML,
    OuterHTML,
    InputValue,
    Attribute,
    Checked,
    Visible,
    Hidden,
    Enabled,
    Disabled,
    Editable,
    Box,
    Aria,
}

/// What is read of all elements that match.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "each is named as the method of a locator")]
pub enum ListProperty {
    Count,
    TextContent,
    InnerText,
}

/// The state that is waited for.
#[derive(Clone, Copy, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ElementState {
    /// It is in the page.
    Attached,
    /// It is not.
    Detached,
    /// It can be seen.
    #[default]
    Visible,
    /// It cannot, or is not there.
    Hidden,
}

impl ElementState {
    const fn word(self) -> &'static str {
        match self {
            Self::Attached => "attached",
            Self::Detached => "detached",
            Self::Visible => "visible",
            Self::Hidden => "hidden",
        }
    }
}

/// The format in which a page or an element is extracted.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "lowercase")]
pub enum ExtractFormat {
    /// Its readable content as markdown.
    Markdown,
    /// Its readable text.
    Text,
    /// Its source.
    Html,
    /// The rows of a table.
    Table,
}

impl ExtractFormat {
    const fn op(self) -> &'static str {
        match self {
            Self::Markdown => "markdown",
            Self::Text => "text",
            Self::Html => "html",
            Self::Table => "table",
        }
    }
}

/// An operation on an element that neither changes nor clicks it.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
#[serde(rename_all = "camelCase")]
#[expect(missing_docs, reason = "each is named as the method of a locator")]
pub enum ElementOp {
    Focus,
    Blur,
    SelectText,
    ScrollIntoView,
}

impl Tab<'_> {
    /// Reads a property of one element.
    pub async fn read(&self, target: &Target, what: Property, name: Option<&str>) -> Result<Json, ErrorReport> {
        if what == Property::Aria {
            let args = json!({"strict": true, "timeout": null});
            return Ok(self.run_on(target, "aria", args, Op::Look).await?.1["value"].clone());
        }
        let args = json!({"strict": true, "timeout": null, "what": what, "name": name});
        if matches!(what, Property::Visible | Property::Hidden) {
            // A missing element counts as not visible, so there is nothing to wait for.
            let gone = json!(what == Property::Hidden);
            let Some(place) = self.locate_now(target).await? else { return Ok(gone) };
            return match self.run_at(&place, "read", args, Op::Look).await {
                Err(error) if self.has_lost_frame(&error) => Ok(gone),
                answer => Ok(answer?["value"].clone()),
            };
        }
        let (place, answer) = self.run_on(target, "read", args, Op::Look).await?;
        let mut value = answer["value"].clone();
        if what == Property::Box && value.is_object() {
            value = json!(self.viewport(&place).await?.bounds(Rectangle::of(&value)));
        }
        Ok(value)
    }

    /// Reads a property of all elements that match now.
    pub async fn read_all(&self, target: &Target, what: ListProperty) -> Result<Json, ErrorReport> {
        let none = if what == ListProperty::Count { json!(0) } else { json!([]) };
        let Some(place) = self.locate_now(target).await? else { return Ok(none) };
        let args = json!({"what": what, "limit": ELEMENTS_READ_MAX + 1});
        let value = match self.run_at(&place, "all", args, Op::Look).await {
            Err(error) if self.has_lost_frame(&error) => return Ok(none),
            answer => answer?["value"].take(),
        };
        if value.as_array().is_some_and(|read| read.len() > ELEMENTS_READ_MAX) {
            return Err(reports::too_many(&place.description, ELEMENTS_READ_MAX));
        }
        Ok(value)
    }

    /// Waits until an element is in a state.
    pub async fn wait_for_element(&self, target: &Target, state: ElementState) -> Result<(), ErrorReport> {
        let named = |mut error: ErrorReport| {
            if state != ElementState::Attached {
                let words = crate::describe::locator(&target.steps);
                let wait = format!("waiting for {words}");
                error.message = error.message.replacen(&wait, &format!("{wait} to be {}", state.word()), 1);
            }
            error
        };
        self.wait_for_state(target, state).await.map_err(named)
    }

    async fn wait_for_state(&self, target: &Target, state: ElementState) -> Result<(), ErrorReport> {
        let args = json!({"strict": true, "timeout": null, "state": state});
        if matches!(state, ElementState::Attached | ElementState::Visible) {
            return self.run_on(target, "wait", args, Op::Look).await.map(drop);
        }
        // An element is detached together with its frame.
        while let Some(place) = self.locate_now(target).await? {
            match self.run_at(&place, "wait", args.clone(), Op::Look).await {
                Err(error) if self.has_lost_frame(&error) && !self.left().is_zero() => self.next_document().await,
                waited => return waited.map(drop),
            }
        }
        Ok(())
    }

    /// Performs an operation on an element that does not change it.
    pub async fn element(&self, target: &Target, op: ElementOp) -> Result<(), ErrorReport> {
        let op = match op {
            ElementOp::Focus => "focus",
            ElementOp::Blur => "blur",
            ElementOp::SelectText => "selectText",
            ElementOp::ScrollIntoView => "scroll",
        };
        self.run_on(target, op, json!({"strict": true, "timeout": null}), Op::Change).await.map(drop)
    }

    /// Dispatches an event constructed from a script's values.
    pub async fn dispatch(&self, target: &Target, kind: &str, init: &Json) -> Result<(), ErrorReport> {
        let args = json!({"strict": true, "timeout": null, "type": kind, "init": init});
        self.run_on(target, "dispatch", args, Op::Change).await.map(drop)
    }

    /// Extracts the content of the page or of an element.
    pub async fn extract(&self, target: Option<&Target>, form: ExtractFormat) -> Result<Json, ErrorReport> {
        let args = json!({"strict": true, "timeout": null});
        let answer = match target {
            Some(target) => {
                let place = self.locate(target).await?;
                self.run_at(&place, form.op(), args, Op::Look).await?
            }
            None => self.run(&self.main_frame(), form.op(), args, None, false).await?,
        };
        Ok(answer["value"].clone())
    }

    /// Replaces the page's document.
    pub async fn write(&self, html: &str) -> Result<(), ErrorReport> {
        self.run(&self.main_frame(), "write", json!({ "html": html }), None, true).await.map(drop)
    }
}
