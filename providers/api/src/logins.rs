//! Login states: the cookies and local storage of a login, saved under a name. A state passes from the browser to the
//! host and back, and never into a script.

use crate::audit::LeaseMark;
use async_trait::async_trait;
use codemode_spec::{ErrorCode, ErrorReport, error::clip, limits::LOGIN_NAME_CHARS_MAX};
use std::fmt;
use zeroize::Zeroizing;

/// Cookies and local storage, as JSON text. Its `Debug` prints none of it, and its memory is overwritten on drop.
#[derive(Clone)]
pub struct LoginState(Zeroizing<String>);

impl LoginState {
    /// Wraps the JSON text of a state.
    #[must_use]
    pub fn new(text: String) -> Self {
        Self(Zeroizing::new(text))
    }

    /// The JSON text, for sealing it or passing it to a browser, and for no other use.
    #[must_use]
    pub fn expose(&self) -> &str {
        &self.0
    }
}

impl fmt::Debug for LoginState {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str("LoginState(…)")
    }
}

/// The saved login states of the session key of one execution: a service of the host. The states of other keys are not
/// accessible.
#[async_trait]
pub trait LoginStates: Send + Sync {
    /// Saves a state under a name, replacing an existing one.
    ///
    /// # Errors
    /// `UNSUPPORTED_OPERATION` when the execution has no key, `INVALID_ARGUMENT` when the name is invalid or there are
    /// too many states, `RESULT_TOO_LARGE`, or the reason why the state cannot be written.
    async fn save(&self, name: &str, state: LoginState, lease: Option<&LeaseMark>) -> Result<(), ErrorReport>;

    /// Loads the state of a name, for a browser.
    ///
    /// # Errors
    /// `UNSUPPORTED_OPERATION` when the execution has no key, `NOT_FOUND` when no state has the name, `NOT_READY` when
    /// the state cannot be decrypted.
    async fn load(&self, name: &str, lease: Option<&LeaseMark>) -> Result<LoginState, ErrorReport>;

    /// The names of the saved states, sorted.
    ///
    /// # Errors
    /// `UNSUPPORTED_OPERATION` when the execution has no key.
    async fn names(&self) -> Result<Vec<String>, ErrorReport>;

    /// Removes the state of a name.
    ///
    /// # Errors
    /// `UNSUPPORTED_OPERATION` when the execution has no key, `NOT_FOUND` when no state has the name.
    async fn remove(&self, name: &str, lease: Option<&LeaseMark>) -> Result<(), ErrorReport>;
}

/// Refuses every operation: for hosts that save no states.
#[derive(Clone, Copy, Debug, Default)]
pub struct NoLoginStates;

fn kept_by_none<T>() -> Result<T, ErrorReport> {
    Err(ErrorReport::new(ErrorCode::UnsupportedOperation, "this host keeps no login states")
        .with_hint("Pass the state itself, an object {cookies, origins}."))
}

#[async_trait]
impl LoginStates for NoLoginStates {
    async fn save(&self, _: &str, _: LoginState, _: Option<&LeaseMark>) -> Result<(), ErrorReport> {
        kept_by_none()
    }

    async fn load(&self, _: &str, _: Option<&LeaseMark>) -> Result<LoginState, ErrorReport> {
        kept_by_none()
    }

    async fn names(&self) -> Result<Vec<String>, ErrorReport> {
        kept_by_none()
    }

    async fn remove(&self, _: &str, _: Option<&LeaseMark>) -> Result<(), ErrorReport> {
        kept_by_none()
    }
}

/// Checks that a text is a valid name of a login state.
///
/// # Errors
/// `INVALID_ARGUMENT`; for a path, the message says that a name is required.
pub fn check_login_name(name: &str) -> Result<(), ErrorReport> {
    let of_names = |c: char| c.is_ascii_alphanumeric() || matches!(c, '-' | '_' | '.');
    if (1..=LOGIN_NAME_CHARS_MAX).contains(&name.len()) && name.chars().all(of_names) {
        return Ok(());
    }
    let mut shown = name.to_owned();
    clip(&mut shown, LOGIN_NAME_CHARS_MAX);
    let message = if name.contains(['/', '\\']) {
        format!("a login state is saved under a name, and {shown:?} is a path: scripts have no files")
    } else {
        format!("{shown:?} is no name of a login state")
    };
    Err(ErrorReport::new(ErrorCode::InvalidArgument, message).with_hint(format!(
        "A name has 1 to {LOGIN_NAME_CHARS_MAX} letters, digits, hyphens, underscores and full stops, as \"shop\"."
    )))
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn a_state_is_shown_without_its_values_and_a_path_is_no_name() {
        assert_eq!(format!("{:?}", LoginState::new("hunter2".to_owned())), "LoginState(…)");
        for name in ["shop", "a.b-c_D9", "..", &"x".repeat(LOGIN_NAME_CHARS_MAX)] {
            assert_eq!(check_login_name(name), Ok(()), "{name}");
        }
        for path in ["auth/state.json", "/tmp/state", "..\\state"] {
            assert!(check_login_name(path).unwrap_err().message.contains("is a path"), "{path}");
        }
        for wrong in ["", "a b", "ä", "a\n", &"x".repeat(LOGIN_NAME_CHARS_MAX + 1)] {
            let refused = check_login_name(wrong).unwrap_err();
            assert_eq!(refused.code, ErrorCode::InvalidArgument, "{wrong:?}");
            assert!(refused.message.contains("is no name"), "{refused:?}");
        }
    }
}
