//! A lease: its name, its row, and how it is granted, renewed, freed and revoked.

use super::Moment;

/// The name of a lease: that of a key's browser, or that of one session without a key.
#[derive(Clone, Debug, PartialEq, Eq, PartialOrd, Ord, Hash)]
pub struct LeaseName(String);

impl LeaseName {
    /// The name of the lease on a key's browser.
    #[must_use]
    pub fn of_key(key: &str) -> Self {
        Self(format!("key:{key}"))
    }

    /// The name of the lease on one session without a key.
    #[must_use]
    pub fn of_session(id: &str) -> Self {
        Self(format!("session:{id}"))
    }

    /// Parses the text form of a name.
    #[must_use]
    pub fn parse(text: &str) -> Option<Self> {
        ["key:", "session:"].iter().any(|kind| text.starts_with(kind)).then(|| Self(text.to_owned()))
    }

    /// The text form of the name.
    #[must_use]
    pub fn as_str(&self) -> &str {
        &self.0
    }

    /// The key, if the lease is on a key's browser.
    #[must_use]
    pub fn key(&self) -> Option<&str> {
        self.0.strip_prefix("key:")
    }
}

/// The identity of a granted lease, as held by its holder.
#[derive(Clone, Debug, PartialEq, Eq, Hash)]
pub struct LeaseRef {
    /// The name of the lease.
    pub name: LeaseName,
    /// The fencing token. For each name it only grows.
    pub token: u64,
}

/// An execution's request for a lease.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Claim {
    /// The name of the lease.
    pub name: LeaseName,
    /// The execution that claims the lease.
    pub execution: String,
    /// The host in which that execution runs.
    pub host: String,
    /// The TTL of the lease, in milliseconds.
    pub ttl_ms: u64,
}

/// The row of a lease. It stays while the lease is free, so that the token does not start again from zero.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct LeaseRecord {
    /// The token of the last grant, or a larger token since that lease was revoked.
    pub token: u64,
    /// The holder; `None` while the lease is free.
    pub execution: Option<String>,
    /// The host in which the holder runs.
    pub host: String,
    /// Whether that host may be alive. Not a column: the store checks it when it loads the row.
    pub host_lives: bool,
    /// The boot to which the steady times belong.
    pub boot: String,
    /// Since when the lease is held, by the steady clock.
    pub since_steady_ms: i64,
    /// When the lease expires unless it is renewed, by the steady clock.
    pub until_steady_ms: i64,
    /// How often the holder has renewed the lease.
    pub renewals: u64,
    /// The last token that an operator revoked.
    pub revoked: u64,
}

/// The status of a lease.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Standing {
    /// The lease has no holder.
    Free,
    /// The holder may use the browser.
    Held,
    /// The holder did not renew the lease in time, or the machine was booted since.
    Expired,
    /// The holder's host is dead.
    HostDied,
}

impl Standing {
    /// How the holder lost the lease, as written to the audit; `None` if it did not.
    #[must_use]
    pub const fn lost_how(self) -> Option<&'static str> {
        match self {
            Self::Free | Self::Held => None,
            Self::Expired => Some("expired"),
            Self::HostDied => Some("host-died"),
        }
    }
}

/// The status of a lease. A lease that expired, or whose host died, can be granted again once its loss is recorded.
#[must_use]
pub fn standing(lease: &LeaseRecord, now: &Moment) -> Standing {
    if lease.execution.is_none() {
        Standing::Free
    } else if lease.boot != now.boot || lease.until_steady_ms <= now.steady_ms {
        Standing::Expired
    } else if lease.host_lives {
        Standing::Held
    } else {
        Standing::HostDied
    }
}

/// The row of a lease that is granted to a claim. Its token is one more than that of the previous row, or than the
/// token floor if there is no previous row.
#[must_use]
pub fn granted(claim: &Claim, before: Option<&LeaseRecord>, token_floor: u64, now: &Moment) -> LeaseRecord {
    LeaseRecord {
        token: before.map_or(token_floor, |row| row.token) + 1,
        execution: Some(claim.execution.clone()),
        host: claim.host.clone(),
        host_lives: true,
        boot: now.boot.clone(),
        since_steady_ms: now.steady_ms,
        until_steady_ms: now.after_ms(claim.ttl_ms),
        renewals: 0,
        revoked: before.map_or(0, |row| row.revoked),
    }
}

/// The row of a held lease that is renewed.
#[must_use]
pub fn renewed(lease: LeaseRecord, ttl_ms: u64, now: &Moment) -> LeaseRecord {
    LeaseRecord { until_steady_ms: now.after_ms(ttl_ms), renewals: lease.renewals + 1, ..lease }
}

/// Whether the audit has a row for the renewal with this number: the first, second, fourth, eighth and so on.
#[must_use]
pub const fn is_renewal_noted(renewals: u64) -> bool {
    renewals.is_power_of_two()
}

/// The row of a lease that is free again; `None` if the row is to be removed. A session without a key is never leased
/// twice, so its token is not needed any more.
#[must_use]
pub fn freed(name: &LeaseName, lease: LeaseRecord) -> Option<LeaseRecord> {
    name.key().map(|_| LeaseRecord { execution: None, ..lease })
}

/// The row of a held lease that an operator revokes. The token grows, so that no later holder has the revoked token.
#[must_use]
pub fn revoked(lease: LeaseRecord) -> LeaseRecord {
    LeaseRecord { revoked: lease.token, token: lease.token + 1, execution: None, ..lease }
}
