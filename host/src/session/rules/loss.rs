//! How the holder of a lease loses it, or gets another lease in its place.

use super::{
    Moment,
    lease::{LeaseName, LeaseRecord, LeaseRef, Standing, standing},
    queue::LeaseRow,
    session::{EndReason, SessionRow, SessionState},
};
use codemode_spec::{ErrorCode, ErrorReport};
use serde::{Deserialize, Serialize};

/// How a lease was lost.
#[derive(Clone, Debug, PartialEq, Eq, Serialize, Deserialize)]
#[serde(tag = "how", rename_all = "kebab-case")]
pub enum Loss {
    /// The lease was not renewed in time.
    Expired,
    /// Another execution holds the lease, or held it since.
    Taken {
        /// The token of the other execution.
        token: u64,
    },
    /// An operator revoked the lease.
    Revoked,
    /// The browser was ended.
    Ended {
        /// The session.
        session: String,
        /// Why the session ended; `None` if the session has no record any more.
        reason: Option<EndReason>,
    },
}

impl Loss {
    /// The error for the holder.
    #[must_use]
    pub fn report(&self) -> ErrorReport {
        let lost = |message: &str| ErrorReport::new(ErrorCode::SessionLost, message);
        match self {
            Self::Expired => lost(
                "the lease on the browser expired: this execution was stopped for too long to keep it",
            )
            .with_hint("Call again: a new lease is given, and the page may have been changed by others meanwhile."),
            Self::Taken { token } => {
                lost("another execution has taken the browser over").with_detail("token_now", *token)
            }
            Self::Revoked => lost("an operator revoked the lease on the browser")
                .with_hint("Do not go on with this browser; ask the operator, or use another key."),
            Self::Ended { session, reason: Some(EndReason::Crashed) } => {
                let message = format!("the browser of the session {session} died or was killed");
                ErrorReport::new(ErrorCode::BrowserGone, message)
            }
            Self::Ended { session, reason } => {
                let why = reason.map_or("it is not known any more", EndReason::as_str);
                let message = format!("the session {session} expired or was swept: {why}");
                ErrorReport::new(ErrorCode::SessionExpired, message)
            }
        }
    }
}

/// How a holder lost its lease, given the lease's row; `None` while the lease is held.
#[must_use]
pub fn loss(row: Option<&LeaseRecord>, lease: &LeaseRef, now: &Moment) -> Option<Loss> {
    // A row is removed only if no session of its key has a record, or if the lease was on a session without a key.
    let Some(row) = row else { return Some(Loss::Expired) };
    if row.revoked == lease.token {
        Some(Loss::Revoked)
    } else if row.token != lease.token {
        Some(Loss::Taken { token: row.token })
    } else if standing(row, now) == Standing::Held {
        None
    } else {
        Some(Loss::Expired)
    }
}

/// How a holder lost the use of a session: by the loss of its lease, or because the session ended.
#[must_use]
pub fn loss_in_use(lost: Option<Loss>, session: Option<&SessionRow>, id: &str) -> Option<Loss> {
    let is_over = session.is_none_or(|row| matches!(row.state, SessionState::Closing | SessionState::Ended));
    let reason = session.and_then(|row| row.reason);
    match lost {
        // The loss of the lease is more informative than the end of the session, unless an operator ended the session.
        Some(loss @ (Loss::Revoked | Loss::Taken { .. })) if reason != Some(EndReason::Operator) => Some(loss),
        // A browser may have failed to start because the lease was lost: then the loss is more informative.
        _ if is_over && reason != Some(EndReason::NotStarted) => Some(Loss::Ended { session: id.to_owned(), reason }),
        lost => lost,
    }
}

/// The lease that replaced an execution's lease on its session when the execution promoted that session: the lease of
/// the key to which the session now belongs.
#[must_use]
pub fn lease_after_promotion(
    lease: &LeaseRef,
    session: &SessionRow,
    leases: &[LeaseRow],
    execution: &str,
) -> Option<LeaseRef> {
    let name = session.lease_name();
    if lease.name != LeaseName::of_session(&session.id) || name == lease.name {
        return None;
    }
    let held = leases.iter().find(|row| row.name == name.as_str() && row.holder.execution == execution)?;
    Some(LeaseRef { name, token: held.holder.token })
}
