//! Determinism: a script with the same seed, clock and replies has the same output, byte for byte; without a seed every
//! execution has another one.

use crate::support::lab::{self, Lab};
use codemode_host::exec::{Execution, Request, Settings};
use codemode_provider::{Clock, testkit::FakeProvider};
use serde_json::Value as Json;
use std::{
    collections::BTreeSet,
    sync::Arc,
    time::{Duration, SystemTime},
};

/// Uses every source of randomness, over several turns.
const DRAWING: &str = "
const drawn = [Math.random(), crypto.randomUUID(), [...crypto.getRandomValues(new Uint8Array(8))]];
console.log('first', drawn);
await fake.echo(drawn);
drawn.push(Math.random(), crypto.randomUUID(), [3, 1, 2].sort(() => Math.random() - 0.5));
console.log('second', Math.random(), new Map([[{}, new Error('x')]]));
drawn";

struct NewYear;

impl Clock for NewYear {
    fn now(&self) -> SystemTime {
        SystemTime::UNIX_EPOCH + Duration::from_secs(1_767_225_600)
    }
}

fn draw(seed: Option<u8>) -> Execution {
    let request = Request { seed: seed.map(|seed| [seed; 32]), ..Request::new(DRAWING) };
    lab::block_on(Lab::shared().execute(request))
}

fn said(execution: &Execution) -> (&Json, Vec<&str>) {
    let result = &execution.outcome.as_ref().unwrap().result;
    (result, execution.console.iter().map(|line| line.text.as_str()).collect())
}

#[test]
fn executions_draw_differently() {
    let drawn: BTreeSet<String> = (0..10).map(|_| said(&draw(None)).0.to_string()).collect();
    assert_eq!(drawn.len(), 10, "{drawn:?}");
}

#[test]
fn equal_seeds_draw_equally_to_the_last_byte() {
    let (one, other, third) = (draw(Some(1)), draw(Some(1)), draw(Some(2)));
    assert_eq!(said(&one), said(&other));
    assert_ne!(said(&one), said(&third));
}

#[test]
fn time_comes_from_the_clock_that_was_given() {
    let state = tempfile::tempdir().unwrap();
    let settings = Settings { clock: Arc::new(NewYear), ..Settings::new(state.path()) };
    let lab = Lab::with(vec![Arc::new(FakeProvider::new("fake"))], settings);
    let code =
        "const year = new Date().getUTCFullYear(); await fake.echo(1); [year, new Date().toISOString().slice(0, 10)]";
    assert_eq!(lab::block_on(lab.result(code)), serde_json::json!([2026, "2026-01-01"]));
}
