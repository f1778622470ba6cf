//! Key events, and the state of the modifier keys.

use super::keys::{self, Key};
use crate::{reports, tab::Tab};
use codemode_spec::ErrorReport;
use serde::{Deserialize, Serialize};
use serde_json::{Value as Json, json};
use std::time::Duration;

/// A key that is held down while others are pressed or the mouse is clicked.
#[derive(Clone, Copy, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[cfg_attr(feature = "schema", derive(schemars::JsonSchema))]
pub enum Modifier {
    /// Alt.
    Alt,
    /// Control.
    Control,
    /// Control: the browser does not run on a Mac.
    ControlOrMeta,
    /// The Windows or command key.
    Meta,
    /// Shift.
    Shift,
}

impl Modifier {
    const fn bit(self) -> u32 {
        match self {
            Self::Alt => 1,
            Self::Control | Self::ControlOrMeta => 2,
            Self::Meta => 4,
            Self::Shift => 8,
        }
    }

    const fn key(self) -> &'static str {
        match self {
            Self::Alt => "Alt",
            Self::Control | Self::ControlOrMeta => "Control",
            Self::Meta => "Meta",
            Self::Shift => "Shift",
        }
    }

    fn of_key(key: &str) -> Option<Self> {
        MODIFIERS.into_iter().find(|modifier| modifier.key() == key)
    }

    /// The protocol's bit mask of several modifiers.
    pub(crate) fn bits(modifiers: &[Self]) -> u32 {
        modifiers.iter().fold(0, |bits, modifier| bits | modifier.bit())
    }
}

/// Each modifier key once.
const MODIFIERS: [Modifier; 4] = [Modifier::Alt, Modifier::Control, Modifier::Meta, Modifier::Shift];

const SHIFT: u32 = Modifier::Shift.bit();

impl Tab<'_> {
    /// Holds down exactly the modifiers of the protocol's bit mask.
    pub(crate) async fn hold(&self, wanted: u32) -> Result<(), ErrorReport> {
        let changed = self.held_modifiers() ^ wanted;
        let mut done = Ok(());
        for modifier in MODIFIERS.into_iter().filter(|modifier| changed & modifier.bit() != 0) {
            let changed = match wanted & modifier.bit() {
                0 => self.key_up(modifier.key()).await,
                _ => self.key_down(modifier.key()).await,
            };
            // The others change also if one fails, or they would stay held.
            done = done.and(changed);
        }
        done
    }

    /// Ends some work that has changed the modifiers: holds down exactly `held` again, also if the work failed. A page
    /// that the work has closed holds nothing.
    pub(crate) async fn hold_again<T>(&self, held: u32, done: Result<T, ErrorReport>) -> Result<T, ErrorReport> {
        let let_go = self.hold(held).await;
        done.and_then(|done| self.or_closed(let_go).map(|()| done))
    }

    /// Runs some work while these modifiers are held down, in addition to those already held. Modifiers that were not
    /// held before are released afterwards, also if the work fails.
    ///
    /// # Errors
    /// Those of the work and of the key events.
    ///
    /// # Cancellation
    /// If dropped midway, the modifiers stay down, like keys that a script has pressed.
    pub async fn holding<T>(
        &self,
        modifiers: &[Modifier],
        work: impl Future<Output = Result<T, ErrorReport>>,
    ) -> Result<T, ErrorReport> {
        let added = Modifier::bits(modifiers) & !self.held_modifiers();
        let done = match self.hold(self.held_modifiers() | added).await {
            Ok(()) => work.await,
            Err(error) => Err(error),
        };
        let let_go = self.hold(self.held_modifiers() & !added).await;
        done.and_then(|done| let_go.map(|()| done))
    }

    /// Presses a key or a key combination: `Enter`, `Control+A`, `Shift+Tab`, `é`.
    pub async fn press_keys(&self, keys: &str, delay: Duration) -> Result<(), ErrorReport> {
        self.press_together(&split(keys)?, delay).await
    }

    /// Presses keys one after the other and releases them in reverse, also if pressing one of them fails.
    async fn press_together(&self, keys: &[String], delay: Duration) -> Result<(), ErrorReport> {
        let mut done = keys.iter().try_for_each(|key| self.key(key).map(drop));
        let mut pressed = 0;
        while done.is_ok() && pressed < keys.len() {
            done = self.key_down(&keys[pressed]).await;
            pressed += 1;
        }
        if done.is_ok() {
            self.pause(delay).await;
        }
        for key in keys[..pressed].iter().rev() {
            let released = self.key_up(key).await;
            done = done.and(released);
        }
        done
    }

    /// Types a text: characters of the US keyboard key by key, others as an input method would insert them.
    pub async fn type_text(&self, text: &str, delay: Duration) -> Result<(), ErrorReport> {
        let mut beyond = String::new();
        for letter in text.chars() {
            let name = letter.to_string();
            if keys::find(&name, false).is_none() {
                beyond.push(letter);
                continue;
            }
            self.insert_text(&std::mem::take(&mut beyond)).await?;
            self.press_together(&[name], Duration::ZERO).await?;
            self.pause(delay).await;
        }
        self.insert_text(&beyond).await
    }

    /// Inserts a text as an input method does, without key events.
    pub async fn insert_text(&self, text: &str) -> Result<(), ErrorReport> {
        if text.is_empty() {
            return Ok(());
        }
        self.send("Input.insertText", json!({ "text": text })).await.map(drop)
    }

    /// Presses a key and holds it.
    pub async fn key_down(&self, name: &str) -> Result<(), ErrorReport> {
        let key = self.key(name)?;
        let held = self.with_held(|held| {
            if let Some(modifier) = Modifier::of_key(&key.key) {
                held.modifiers |= modifier.bit();
            }
            let is_repeated = held.keys.contains(&key.code);
            if !is_repeated {
                held.keys.push(key.code);
            }
            (held.modifiers, is_repeated)
        });
        // With Control, Alt or Meta a key triggers a command and inserts no text.
        let text = key.text.as_deref().filter(|_| held.0 & !SHIFT == 0);
        let mut params = params(&key, held.0);
        params["type"] = json!(if text.is_some() { "keyDown" } else { "rawKeyDown" });
        params["text"] = json!(text.unwrap_or_default());
        params["unmodifiedText"] = params["text"].clone();
        params["autoRepeat"] = json!(held.1);
        params["commands"] = json!(commands(&key, held.0));
        self.send("Input.dispatchKeyEvent", params).await.map(drop)
    }

    /// Releases a key.
    pub async fn key_up(&self, name: &str) -> Result<(), ErrorReport> {
        let key = self.key(name)?;
        let modifiers = self.with_held(|held| {
            if let Some(modifier) = Modifier::of_key(&key.key) {
                held.modifiers &= !modifier.bit();
            }
            held.keys.retain(|code| *code != key.code);
            held.modifiers
        });
        let mut params = params(&key, modifiers);
        params["type"] = json!("keyUp");
        self.send("Input.dispatchKeyEvent", params).await.map(drop)
    }

    fn key(&self, name: &str) -> Result<Key, ErrorReport> {
        let shift = self.held_modifiers() & SHIFT != 0;
        let name = if name == "ControlOrMeta" { "Control" } else { name };
        if let Some(key) = keys::find(name, shift) {
            return Ok(key);
        }
        let mut letters = name.chars();
        match (letters.next(), letters.next()) {
            (Some(_), None) => {
                Ok(Key { key: name.to_owned(), code: "", number: 0, text: Some(name.to_owned()), location: 0 })
            }
            _ => Err(reports::invalid(format!("Unknown key: {name:?}"))
                .with_hint("Keys are named as in KeyboardEvent.key: Enter, ArrowLeft, a, Control+A.")),
        }
    }

    /// The modifiers that are held down, as the protocol's bit mask.
    pub(crate) fn held_modifiers(&self) -> u32 {
        self.with_held(|held| held.modifiers)
    }

    /// Waits between two events for the delay that a script asked for, at most until the verb's deadline.
    pub(crate) async fn pause(&self, delay: Duration) {
        if !delay.is_zero() {
            tokio::time::sleep(delay.min(self.left())).await;
        }
    }
}

/// Splits `Control+Shift+A` into its keys; a plus at the end is the key itself.
fn split(keys: &str) -> Result<Vec<String>, ErrorReport> {
    let mut parts = Vec::new();
    let mut part = String::new();
    for letter in keys.chars() {
        if letter == '+' && !part.is_empty() {
            parts.push(std::mem::take(&mut part));
        } else {
            part.push(letter);
        }
    }
    if part.is_empty() {
        return Err(reports::invalid(format!("{keys:?} names no key")));
    }
    parts.push(part);
    Ok(parts)
}

fn params(key: &Key, modifiers: u32) -> Json {
    json!({
        "key": key.key, "code": key.code, "windowsVirtualKeyCode": key.number, "location": key.location,
        "modifiers": modifiers, "isKeypad": key.location == 3,
    })
}

/// The editing commands of a key combination, which the protocol's key events do not trigger by themselves.
fn commands(key: &Key, modifiers: u32) -> &'static [&'static str] {
    match (modifiers, key.code) {
        (2, "KeyA") => &["selectAll"],
        (2, "KeyC") => &["copy"],
        (2, "KeyX") => &["cut"],
        (2, "KeyV") => &["paste"],
        (2, "KeyZ") => &["undo"],
        (2, "KeyY") | (10, "KeyZ") => &["redo"],
        _ => &[],
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn keys_together_are_split_and_a_plus_is_a_key() {
        assert_eq!(split("Control+Shift+A").unwrap(), ["Control", "Shift", "A"]);
        assert_eq!(split("Control++").unwrap(), ["Control", "+"]);
        assert_eq!(split("+").unwrap(), ["+"]);
        assert!(split("").is_err() && split("Control+").is_err());
    }
}
