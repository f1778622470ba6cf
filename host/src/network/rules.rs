//! Network rules, and decisions by them.

use super::{
    address::{Forms, Net},
    pattern::{HostPattern, Pattern, PatternFault},
};
use codemode_spec::{
    limits::{FAULT_ECHO_CHARS_MAX, NETWORK_PATTERNS_MAX},
    session::NetworkLists,
};
use serde::{Deserialize, Serialize};
use std::{fmt, net::IpAddr};
use url::Host;

/// Link-local addresses (RFC 3927, RFC 4291). Clouds serve the machine's credentials there: at 169.254.169.254 in most
/// of them, at 169.254.170.2 and .23 for containers on AWS, at 169.254.42.42 at Scaleway, at fe80::a9fe:a9fe in
/// OpenStack.
const LINK_LOCAL: &[Net] = &[Net::v4(169, 254, 0, 0, 16), Net::v6(0xfe80 << 112, 10)];

/// The other addresses at which clouds hand out credentials, as their own documentation has them:
/// - AWS, "Instance metadata service" and "EKS Pod Identity Agent": fd00:ec2::254, fd00:ec2::23
/// - Google Cloud, "About VM metadata", for machines with IPv6 alone: fd20:ce::254
/// - Alibaba Cloud, "Instance metadata": 100.100.100.200
/// - Azure, "What is IP address 168.63.129.16?": the platform's own channel, which hands out certificates
/// - Oracle Cloud, "Getting instance metadata": fd00:c1::a9fe:a9fe; before, in Oracle Cloud Classic: 192.0.0.192
/// - Scaleway (cloud-init, "datasource Scaleway"): fd00:42::42
/// - Akamai (Linode), "Metadata service": fd00:a9fe:a9fe::1
const METADATA: &[Net] = &[
    Net::v6(0xfd00_0ec2_u128 << 96, 32),
    Net::v6(0xfd20_00ce_u128 << 96 | 0x0254, 128),
    Net::v4(100, 100, 100, 200, 32),
    Net::v4(168, 63, 129, 16, 32),
    Net::v4(192, 0, 0, 192, 32),
    Net::v6(0xfd00_00c1_u128 << 96 | 0xa9fe_a9fe, 128),
    Net::v6(0xfd00_0042_u128 << 96 | 0x0042, 128),
    Net::v6(0xfd00_a9fe_a9fe_u128 << 80 | 0x0001, 128),
];

/// The names of the same services: when an upstream proxy resolves names, only the name can be checked.
const METADATA_NAMES: &[&str] =
    &["metadata.google.internal", "metadata.goog", "metadata.tencentyun.com", "instance-data.ec2.internal"];

/// Hosts that Chromium contacts by itself, whatever its flags, and that no page needs (observed at a proxy with
/// Chromium 156). Hosts that pages use as well, such as accounts.google.com, are not listed.
const OWN_SERVICES: &[&str] = &[
    "clients2.google.com",
    "clientservices.googleapis.com",
    "content-autofill.googleapis.com",
    "edgedl.me.gvt1.com",
    "optimizationguide-pa.googleapis.com",
    "passwordsleakcheck-pa.googleapis.com",
    "redirector.gvt1.com",
    "safebrowsing.googleapis.com",
    "update.googleapis.com",
];

/// The destinations that may be reached. Those that match `deny` are refused; if `allow` is not empty, all that do not
/// match it are refused too.
///
/// A name is checked together with each address that it resolves to: a rule about addresses applies to every name that
/// resolves to one of them.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
#[serde(default, deny_unknown_fields)]
pub struct NetworkRules {
    /// If this list is not empty, no destination outside it may be reached.
    pub allow: Vec<Pattern>,
    /// Destinations that may not be reached, whatever `allow` says.
    pub deny: Vec<Pattern>,
}

/// A text that is not a valid pattern.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleFault {
    /// The list that contains the text.
    pub list: &'static str,
    /// The text, or its beginning if it is long.
    pub text: String,
    /// What is wrong.
    pub fault: PatternFault,
}

/// All faults in lists of patterns.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct RuleFaults {
    /// Lists with too many patterns.
    pub too_long: Vec<&'static str>,
    /// Texts that are no valid patterns.
    pub faults: Vec<RuleFault>,
}

impl RuleFaults {
    /// One sentence for each fault.
    #[must_use]
    pub fn lines(&self) -> Vec<String> {
        let too_long =
            self.too_long.iter().map(|list| format!("network.{list}: more than {NETWORK_PATTERNS_MAX} patterns"));
        let faults =
            self.faults.iter().map(|RuleFault { list, text, fault }| format!("network.{list}: {text:?}: {fault}"));
        too_long.chain(faults).collect()
    }
}

impl fmt::Display for RuleFaults {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        out.write_str(&self.lines().join("; "))
    }
}

impl std::error::Error for RuleFaults {}

impl NetworkRules {
    /// Parses the rules.
    ///
    /// # Errors
    /// All texts that are not valid patterns.
    pub fn parse(lists: &NetworkLists) -> Result<Self, RuleFaults> {
        let mut wrong = RuleFaults { too_long: Vec::new(), faults: Vec::new() };
        let mut read = |list: &'static str, texts: &[String]| {
            if texts.len() > NETWORK_PATTERNS_MAX {
                wrong.too_long.push(list);
                return Vec::new();
            }
            let mut patterns = Vec::with_capacity(texts.len());
            for text in texts {
                match text.parse() {
                    Ok(pattern) => patterns.push(pattern),
                    Err(fault) => {
                        let text = text.chars().take(FAULT_ECHO_CHARS_MAX).collect();
                        wrong.faults.push(RuleFault { list, text, fault });
                    }
                }
            }
            patterns
        };
        let rules = Self { allow: read("allow", &lists.allow), deny: read("deny", &lists.deny) };
        if wrong.too_long.is_empty() && wrong.faults.is_empty() { Ok(rules) } else { Err(wrong) }
    }

    /// Whether neither list has a pattern.
    #[must_use]
    pub const fn is_default(&self) -> bool {
        self.allow.is_empty() && self.deny.is_empty()
    }

    /// Checks a destination against these rules alone. Without an address it is unknown where a name resolves to, and
    /// rules about addresses allow nothing.
    fn judge(&self, owner: Owner, host: &Host<String>, port: u16, forms: Option<&Forms>) -> Decision {
        let is_about = |pattern: &Pattern| {
            pattern.names(host, port) || forms.is_some_and(|forms| pattern.has_any_of(forms.all(), port))
        };
        if let Some(pattern) = self.deny.iter().find(|pattern| is_about(pattern)) {
            return Decision::Refused(Rule::Deny { owner, pattern: pattern.clone() });
        }
        // A caller's or call's rules do not lift the default refusals.
        if owner == Owner::Operator
            && let Some(rule) = self.default_of(host, port, forms)
        {
            return Decision::Refused(rule);
        }
        if self.allow.is_empty() {
            return Decision::Allowed(Rule::Default);
        }
        let allows = |pattern: &&Pattern| {
            pattern.names(host, port) || forms.is_some_and(|forms| pattern.has_surely(forms, port))
        };
        match self.allow.iter().find(allows) {
            Some(pattern) => Decision::Allowed(Rule::Allow { owner, pattern: pattern.clone() }),
            None => Decision::Refused(Rule::NotAllowed { owner }),
        }
    }

    /// The default rule that refuses a destination, unless an operator's `allow` names it explicitly: by its name, or by a
    /// network that is within the refused one. `*` and `0.0.0.0/0` do not count.
    fn default_of(&self, host: &Host<String>, port: u16, forms: Option<&Forms>) -> Option<Rule> {
        if let Host::Domain(name) = host {
            let is_named = |pattern: &Pattern| {
                pattern.has_port(port) && matches!(&pattern.host, HostPattern::Name(named) if named == name)
            };
            let lists = [(METADATA_NAMES, Rule::MetadataName as fn(_) -> _), (OWN_SERVICES, Rule::OwnService)];
            for (names, rule) in lists {
                if let Some(found) = names.iter().find(|known| *known == name)
                    && !self.allow.iter().any(is_named)
                {
                    return Some(rule(found));
                }
            }
        }
        let lists = [(LINK_LOCAL, Rule::LinkLocal as fn(_) -> _), (METADATA, Rule::Metadata)];
        for address in forms.into_iter().flat_map(Forms::all) {
            for (nets, rule) in lists {
                let Some(net) = nets.iter().find(|net| net.contains(address)) else { continue };
                let lifts = |pattern: &Pattern| {
                    pattern.has_any_of([address].into_iter(), port)
                        && matches!(pattern.host, HostPattern::Net(own) if own.is_within(*net))
                };
                if !self.allow.iter().any(lifts) {
                    return Some(rule(*net));
                }
            }
        }
        None
    }

    /// Whether a name could be allowed because of an address that it resolves to.
    fn allows_by_address(&self, port: u16) -> bool {
        self.allow.iter().any(|pattern| pattern.has_port(port) && matches!(pattern.host, HostPattern::Net(_)))
    }
}

/// The author of a rule.
#[derive(Clone, Copy, Debug, PartialEq, Eq)]
pub enum Owner {
    /// The operator's, from the configuration's defaults.
    Operator,
    /// The operator's, for the caller.
    Caller,
    /// The call's own.
    Call,
}

/// The rule that decided.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Rule {
    /// A pattern of `deny`.
    Deny {
        /// The author of the pattern.
        owner: Owner,
        /// The pattern that decided.
        pattern: Pattern,
    },
    /// A pattern of `allow`.
    Allow {
        /// The author of the pattern.
        owner: Owner,
        /// The pattern that decided.
        pattern: Pattern,
    },
    /// `allow` is not empty, and none of its patterns matches the destination.
    NotAllowed {
        /// The author of the list.
        owner: Owner,
    },
    /// Default rule: a link-local address.
    LinkLocal(Net),
    /// Default rule: an address at which a cloud serves the credentials of its machines.
    Metadata(Net),
    /// Default rule: a name of such an address.
    MetadataName(&'static str),
    /// Default rule: a host that the browser contacts by itself.
    OwnService(&'static str),
    /// Allowed by default, because no rule applies.
    Default,
}

impl fmt::Display for Rule {
    fn fmt(&self, out: &mut fmt::Formatter<'_>) -> fmt::Result {
        let whose = |owner: &Owner| match owner {
            Owner::Operator => "",
            Owner::Caller => "the caller's ",
            Owner::Call => "the call's ",
        };
        match self {
            Self::Deny { owner, pattern } => write!(out, "{}deny {pattern}", whose(owner)),
            Self::Allow { owner, pattern } => write!(out, "{}allow {pattern}", whose(owner)),
            Self::NotAllowed { owner } => write!(out, "{}allow does not name it", whose(owner)),
            Self::LinkLocal(net) => write!(out, "default: link-local {net}"),
            Self::Metadata(net) => write!(out, "default: cloud metadata {net}"),
            Self::MetadataName(name) => write!(out, "default: cloud metadata {name}"),
            Self::OwnService(name) => write!(out, "default: the browser's own service {name}"),
            Self::Default => out.write_str("default"),
        }
    }
}

/// A decision, with the rule that made it.
#[derive(Clone, Debug, PartialEq, Eq)]
pub enum Decision {
    /// The destination may be reached.
    Allowed(Rule),
    /// The destination may not be reached.
    Refused(Rule),
}

impl Decision {
    /// The rule that refused, if the destination may not be reached.
    #[must_use]
    pub fn refused(self) -> Option<Rule> {
        match self {
            Self::Allowed(_) => None,
            Self::Refused(rule) => Some(rule),
        }
    }
}

/// The rules of an operator, of a caller and of its call. All of them must allow.
#[derive(Clone, Debug, Default, PartialEq, Eq, Serialize, Deserialize)]
pub struct Policy {
    /// The operator's rules.
    #[serde(default)]
    pub operator: NetworkRules,
    /// The operator's rules for the caller; `None` narrows nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub caller: Option<NetworkRules>,
    /// The call's rules; `None` narrows nothing.
    #[serde(default, skip_serializing_if = "Option::is_none")]
    pub call: Option<NetworkRules>,
}

impl Policy {
    /// The operator's rules, narrowed by a call's.
    #[must_use]
    pub const fn narrow(operator: NetworkRules, call: Option<NetworkRules>) -> Self {
        Self { operator, caller: None, call }
    }

    /// Whether there are no rules.
    #[must_use]
    pub fn is_default(&self) -> bool {
        self.operator.is_default() && self.narrower().all(|(_, rules)| rules.is_default())
    }

    /// The rules that narrow the operator's.
    fn narrower(&self) -> impl Iterator<Item = (Owner, &NetworkRules)> {
        let caller = self.caller.iter().map(|rules| (Owner::Caller, rules));
        caller.chain(self.call.iter().map(|rules| (Owner::Call, rules)))
    }

    /// Checks a destination: a host as named in the request, and the address that it resolves to, if known. A host that
    /// is written as an address needs no `address`.
    #[must_use]
    pub fn judge(&self, host: &Host<String>, port: u16, address: Option<IpAddr>) -> Decision {
        let address = super::pattern::literal(host).or(address);
        let forms = address.map(Forms::of);
        let by_operator = self.operator.judge(Owner::Operator, host, port, forms.as_ref());
        self.narrower().fold(by_operator, |decided, (owner, rules)| match decided {
            Decision::Allowed(_) => match rules.judge(owner, host, port, forms.as_ref()) {
                // No rule of this owner matches, so the earlier decision stands.
                Decision::Allowed(Rule::Default) => decided,
                narrowed => narrowed,
            },
            Decision::Refused(_) => decided,
        })
    }

    /// The rule that refuses a name regardless of its addresses: such a name need not be resolved.
    #[must_use]
    pub fn refuses_name(&self, host: &Host<String>, port: u16) -> Option<Rule> {
        let rule = self.judge(host, port, None).refused()?;
        let rules = match rule {
            Rule::NotAllowed { owner: Owner::Operator } => Some(&self.operator),
            Rule::NotAllowed { owner } => self.narrower().find(|(of, _)| *of == owner).map(|(_, rules)| rules),
            _ => None,
        };
        if rules.is_some_and(|rules| rules.allows_by_address(port)) { None } else { Some(rule) }
    }
}

#[cfg(test)]
mod tests;
