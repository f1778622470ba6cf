use super::{super::pattern::host as parse_host, *};
use proptest::{prelude::*, sample::select};
use std::net::{Ipv4Addr, Ipv6Addr};

fn rules(allow: &[&str], deny: &[&str]) -> NetworkRules {
    let list = |texts: &[&str]| texts.iter().map(|text| (*text).to_owned()).collect();
    NetworkRules::parse(&NetworkLists { allow: list(allow), deny: list(deny) }).unwrap()
}

/// The rule that decided, prefixed with `+` for allowed or `-` for refused.
fn judged(policy: &Policy, host: &str, port: u16, address: Option<&str>) -> String {
    let address = address.map(|address| address.parse().unwrap());
    match policy.judge(&parse_host(host).unwrap(), port, address) {
        Decision::Allowed(rule) => format!("+ {rule}"),
        Decision::Refused(rule) => format!("- {rule}"),
    }
}

#[test]
fn a_decision_names_the_rule_that_made_it() {
    let none: (&[&str], &[&str]) = (&[], &[]);
    let shop: (&[&str], &[&str]) =
        (&["shop.test", "*.shop.test:443", "10.0.0.0/8"], &["admin.shop.test", "10.9.0.0/16"]);
    let rows = [
        // By default.
        (none, "example.com", 443, Some("93.184.215.14"), "+ default"),
        (none, "127.0.0.1", 80, None, "+ default"),
        (none, "169.254.169.254", 80, None, "- default: link-local 169.254.0.0/16"),
        (none, "innocent.test", 80, Some("169.254.1.1"), "- default: link-local 169.254.0.0/16"),
        (none, "[fe80::1]", 80, None, "- default: link-local fe80::/10"),
        (none, "[::ffff:169.254.169.254]", 80, None, "- default: link-local 169.254.0.0/16"),
        (none, "[64:ff9b::a9fe:a9fe]", 80, None, "- default: link-local 169.254.0.0/16"),
        (none, "[2002:a9fe:a9fe::1]", 80, None, "- default: link-local 169.254.0.0/16"),
        (none, "0xa9fea9fe", 80, None, "- default: link-local 169.254.0.0/16"),
        (none, "[fd00:ec2::254]", 80, None, "- default: cloud metadata fd00:ec2::/32"),
        (none, "[fd20:ce::254]", 80, None, "- default: cloud metadata fd20:ce::254"),
        (none, "[fd00:c1::a9fe:a9fe]", 80, None, "- default: cloud metadata fd00:c1::a9fe:a9fe"),
        (none, "[fd00:42::42]", 80, None, "- default: cloud metadata fd00:42::42"),
        (none, "[fd00:a9fe:a9fe::1]", 80, None, "- default: cloud metadata fd00:a9fe:a9fe::1"),
        (none, "100.100.100.200", 80, None, "- default: cloud metadata 100.100.100.200"),
        (none, "168.63.129.16", 80, None, "- default: cloud metadata 168.63.129.16"),
        (none, "192.0.0.192", 80, None, "- default: cloud metadata 192.0.0.192"),
        (none, "Metadata.Google.Internal.", 80, None, "- default: cloud metadata metadata.google.internal"),
        (none, "update.googleapis.com", 443, None, "- default: the browser's own service update.googleapis.com"),
        // Refusals that an operator lifts, and patterns that lift nothing.
        ((&["169.254.169.254"], &[]), "169.254.169.254", 80, None, "+ allow 169.254.169.254"),
        ((&["*", "169.254.169.254:80"], &[]), "169.254.169.254", 80, None, "+ allow *"),
        ((&["*", "169.254.169.254:80"], &[]), "169.254.169.254", 81, None, "- default: link-local 169.254.0.0/16"),
        ((&["*", "169.254.0.0/24"], &[]), "169.254.169.254", 80, None, "- default: link-local 169.254.0.0/16"),
        ((&["*"], &[]), "169.254.169.254", 80, None, "- default: link-local 169.254.0.0/16"),
        ((&["0.0.0.0/0"], &[]), "169.254.169.254", 80, None, "- default: link-local 169.254.0.0/16"),
        ((&["cloud.test"], &[]), "cloud.test", 80, Some("169.254.169.254"), "- default: link-local 169.254.0.0/16"),
        (
            (&["metadata.google.internal"], &[]),
            "metadata.google.internal",
            80,
            None,
            "+ allow metadata.google.internal",
        ),
        ((&["169.254.169.254"], &["*:80"]), "169.254.169.254", 80, None, "- deny *:80"),
        // Lists.
        (shop, "shop.test", 80, None, "+ allow shop.test"),
        (shop, "www.shop.test", 443, None, "+ allow *.shop.test:443"),
        (shop, "www.shop.test", 80, None, "- allow does not name it"),
        (shop, "a.admin.shop.test", 443, None, "+ allow *.shop.test:443"),
        (shop, "admin.shop.test", 443, None, "- deny admin.shop.test"),
        (shop, "eshop.test", 80, None, "- allow does not name it"),
        (shop, "other.test", 80, None, "- allow does not name it"),
        (shop, "other.test", 80, Some("10.1.1.1"), "+ allow 10.0.0.0/8"),
        (shop, "shop.test", 80, Some("10.9.1.1"), "- deny 10.9.0.0/16"),
        (shop, "[2002:a00:1::]", 80, None, "+ allow 10.0.0.0/8"),
        (shop, "[64:ff9b:1::10.9.0.1]", 80, None, "- deny 10.9.0.0/16"),
        // An address that may be reached does not make a destination allowed.
        (shop, "[64:ff9b:1::10.0.0.1]", 80, None, "- allow does not name it"),
        ((&[], &["127.0.0.0/8"]), "0.0.0.0", 80, None, "- deny 127.0.0.0/8"),
        ((&[], &["127.0.0.0/8"]), "[::]", 80, None, "- deny 127.0.0.0/8"),
        ((&[], &["::1"]), "localhost", 80, Some("::1"), "- deny ::1"),
        ((&[], &["*"]), "127.0.0.1", 1, None, "- deny *"),
    ];
    for ((allow, deny), host, port, address, expected) in rows {
        let policy = Policy::narrow(rules(allow, deny), None);
        assert_eq!(judged(&policy, host, port, address), expected, "{allow:?} {deny:?} {host}:{port} {address:?}");
    }
}

#[test]
fn a_call_narrows_and_lifts_nothing() {
    let policy = |allow, deny| {
        Policy::narrow(rules(&["*.shop.test", "10.0.0.0/8"], &["bad.shop.test"]), Some(rules(allow, deny)))
    };
    let rows: [(&[&str], &[&str], &str, &str); 6] = [
        (&[], &[], "a.shop.test", "+ allow *.shop.test"),
        (&["a.shop.test"], &[], "a.shop.test", "+ the call's allow a.shop.test"),
        (&["a.shop.test"], &[], "b.shop.test", "- the call's allow does not name it"),
        (&["*", "bad.shop.test"], &[], "bad.shop.test", "- deny bad.shop.test"),
        (&["other.test"], &[], "other.test", "- allow does not name it"),
        (&[], &["a.shop.test"], "a.shop.test", "- the call's deny a.shop.test"),
    ];
    for (allow, deny, host, expected) in rows {
        assert_eq!(judged(&policy(allow, deny), host, 80, None), expected, "{allow:?} {deny:?} {host}");
    }
    let lifting = Policy::narrow(NetworkRules::default(), Some(rules(&["169.254.169.254"], &[])));
    assert_eq!(judged(&lifting, "169.254.169.254", 80, None), "- default: link-local 169.254.0.0/16");
}

#[test]
fn a_name_that_is_refused_anyway_is_not_resolved() {
    let rows: [(&[&str], &[&str], &str, bool); 5] = [
        (&[], &["*.bad.test"], "a.bad.test", true),
        (&["good.test"], &[], "a.bad.test", true),
        (&["good.test", "10.0.0.0/8"], &[], "a.bad.test", false),
        (&["good.test", "10.0.0.0/8:443"], &[], "a.bad.test", true),
        (&[], &["10.0.0.0/8"], "a.bad.test", false),
    ];
    for (allow, deny, host, refused) in rows {
        for policy in [
            Policy::narrow(rules(allow, deny), None),
            Policy::narrow(NetworkRules::default(), Some(rules(allow, deny))),
        ] {
            let rule = policy.refuses_name(&parse_host(host).unwrap(), 80);
            assert_eq!(rule.is_some(), refused, "{allow:?} {deny:?} {host}: {rule:?}");
        }
    }
}

#[test]
fn every_offender_is_named_and_rules_survive_their_writing() {
    let lists = NetworkLists {
        allow: vec!["good.test".into(), "https://a.test".into(), "b.test:x".into()],
        deny: vec!["*".repeat(1_000)],
    };
    let faults = NetworkRules::parse(&lists).unwrap_err();
    assert_eq!(faults.lines().len(), 3, "{faults}");
    assert!(
        faults.to_string().len() < 600 && faults.to_string().contains("network.allow: \"b.test:x\": \"x\" is no port")
    );
    let many = NetworkLists { allow: vec!["a.test".into(); NETWORK_PATTERNS_MAX + 1], deny: Vec::new() };
    assert_eq!(NetworkRules::parse(&many).unwrap_err().too_long, ["allow"]);

    let policy = Policy::narrow(rules(&["*.a.test:1-9"], &["[fe80::/10]:80"]), Some(rules(&[], &["*"])));
    let text = serde_json::to_string(&policy).unwrap();
    assert_eq!(serde_json::from_str::<Policy>(&text).unwrap(), policy);
    assert!(!policy.is_default() && Policy::default().is_default());
    assert!(serde_json::from_str::<NetworkRules>(r#"{"allow": ["://"]}"#).is_err());
    assert!(serde_json::from_str::<NetworkRules>(r#"{"alow": []}"#).is_err());
}

fn pattern() -> impl Strategy<Value = String> {
    let host = select(vec![
        "*",
        "a.test",
        "*.a.test",
        "b.a.test",
        "localhost",
        "metadata.google.internal",
        "127.0.0.0/8",
        "169.254.0.0/16",
        "169.254.169.254",
        "10.0.0.0/8",
        "0.0.0.0/0",
        "::/0",
        "fe80::/10",
        "fd00:ec2::254",
        "2002::/16",
    ]);
    (host, select(vec!["", ":80", ":1-443"])).prop_map(|(host, ports)| {
        if !ports.is_empty() && host.contains("::") { format!("[{host}]{ports}") } else { format!("{host}{ports}") }
    })
}

fn some_rules() -> impl Strategy<Value = NetworkRules> {
    let list = || prop::collection::vec(pattern(), 0..4);
    (list(), list()).prop_map(|(allow, deny)| NetworkRules::parse(&NetworkLists { allow, deny }).unwrap())
}

fn address() -> impl Strategy<Value = IpAddr> {
    prop_oneof![
        select(vec![
            "127.0.0.1",
            "169.254.169.254",
            "10.1.2.3",
            "::1",
            "fe80::1",
            "fd00:ec2::254",
            "2002:a9fe:a9fe::",
            "0.0.0.0"
        ])
        .prop_map(|text| text.parse().unwrap()),
        any::<u32>().prop_map(|bits| Ipv4Addr::from_bits(bits).into()),
        any::<u128>().prop_map(|bits| Ipv6Addr::from_bits(bits).into()),
    ]
}

fn some_host() -> impl Strategy<Value = Host<String>> {
    prop_oneof![
        select(vec!["a.test", "b.a.test", "c.b.a.test", "localhost", "metadata.google.internal", "x.test"])
            .prop_map(|name| Host::Domain(name.to_owned())),
        address().prop_map(|address| match address {
            IpAddr::V4(address) => Host::Ipv4(address),
            IpAddr::V6(address) => Host::Ipv6(address),
        }),
    ]
}

proptest! {
    #![proptest_config(ProptestConfig::with_cases(2_000))]

    #[test]
    fn narrowing_never_widens(
        operator in some_rules(),
        call in some_rules(),
        host in some_host(),
        port in select(vec![22_u16, 80, 443, 8080]),
        address in prop::option::of(address()),
    ) {
        let alone = Policy::narrow(operator.clone(), None);
        let narrowed = Policy::narrow(operator, Some(call.clone()));
        let by_call = Policy::narrow(NetworkRules::default(), Some(call));
        if narrowed.judge(&host, port, address).refused().is_none() {
            prop_assert_eq!(alone.judge(&host, port, address).refused(), None);
            // Default refusals lifted by the operator are not the call's to impose.
            let refused = by_call.judge(&host, port, address).refused();
            prop_assert!(!matches!(refused, Some(Rule::Deny { .. } | Rule::NotAllowed { .. })), "{refused:?}");
        }
        // A name that is refused before its resolution is refused with every address.
        if let Some(address) = address && narrowed.refuses_name(&host, port).is_some() {
            prop_assert!(narrowed.judge(&host, port, Some(address)).refused().is_some());
        }
    }

    #[test]
    fn nothing_is_read_that_cannot_be_written(text in "\\PC{0,20}") {
        if let Ok(pattern) = text.parse::<Pattern>() {
            prop_assert_eq!(pattern.to_string().parse::<Pattern>(), Ok(pattern));
        }
    }
}
