//! The timers of a script: `setTimeout` and `setInterval`.
//!
//! The clock does not advance within a turn, so a timer that a callback sets is never due in the same turn, and running
//! the due timers always terminates.

use crate::{fault, state};
use boa_engine::{
    Context, JsArgs, JsNativeError, JsObject, JsResult, JsValue, NativeFunction, js_string,
    native_function::NativeFunctionPointer,
};
use codemode_spec::limits::TIMERS_PENDING_MAX;
use std::{cell::RefCell, collections::BTreeMap};

/// The longest delay; a longer one fires at once, as in Node and in browsers.
const DELAY_MS_MAX: f64 = 2_147_483_647.0;

struct Timer {
    id: u32,
    callback: JsObject,
    arguments: Vec<JsValue>,
    delay_ms: f64,
    repeat: bool,
}

/// The position of a timer in the queue: its due time, as the bits of a non-negative float, then a sequence number.
/// Timers run in this order.
type Place = (u64, u64);

#[derive(Default)]
struct Timers {
    queue: BTreeMap<Place, Timer>,
    places: BTreeMap<u32, Place>,
    last_id: u32,
    last_sequence: u64,
    /// The timer whose callback is running, unless the callback has cleared it.
    running: Option<u32>,
}

thread_local! {
    static TIMERS: RefCell<Timers> = RefCell::default();
}

/// Defines `setTimeout`, `setInterval`, `clearTimeout` and `clearInterval`.
pub fn install(context: &mut Context) -> JsResult<()> {
    let globals: [(&str, usize, NativeFunctionPointer); 4] = [
        ("setTimeout", 2, |_, arguments, context| from_script("setTimeout", arguments, false, context)),
        ("setInterval", 2, |_, arguments, context| from_script("setInterval", arguments, true, context)),
        ("clearTimeout", 1, clear_from_script),
        ("clearInterval", 1, clear_from_script),
    ];
    for (name, length, function) in globals {
        context.register_global_builtin_callable(js_string!(name), length, NativeFunction::from_fn_ptr(function))?;
    }
    Ok(())
}

/// Sets a timer and returns its id. A delay that is not at least a millisecond, or longer than
/// [`DELAY_MS_MAX`], is one millisecond.
///
/// # Errors
/// A `RangeError` when [`TIMERS_PENDING_MAX`] timers are pending.
pub fn set(callback: JsObject, arguments: Vec<JsValue>, delay_ms: f64, repeat: bool) -> JsResult<u32> {
    let delay_ms = if (1.0..=DELAY_MS_MAX).contains(&delay_ms) { delay_ms.trunc() } else { 1.0 };
    TIMERS.with_borrow_mut(|timers| {
        if timers.queue.len() >= TIMERS_PENDING_MAX {
            let message = format!("{TIMERS_PENDING_MAX} timers are pending, which is the most there may be");
            return Err(JsNativeError::range().with_message(message).into());
        }
        timers.last_id += 1;
        let id = timers.last_id;
        timers.enqueue(Timer { id, callback, arguments, delay_ms, repeat }, state::now_ms());
        Ok(id)
    })
}

/// Clears a timer or an interval; an unknown id is ignored.
pub fn clear(id: u32) {
    TIMERS.with_borrow_mut(|timers| {
        if let Some(place) = timers.places.remove(&id) {
            timers.queue.remove(&place);
        }
        if timers.running == Some(id) {
            timers.running = None;
        }
    });
}

/// When the next timer is due, in milliseconds since the Unix epoch.
pub fn next_due() -> Option<f64> {
    TIMERS.with_borrow(|timers| timers.queue.first_key_value().map(|((due, _), _)| f64::from_bits(*due)))
}

/// Runs the timers that are due, one by one, and the promise jobs after each. What a callback throws is reported as
/// uncaught, and the next one runs.
///
/// # Errors
/// The engine's own limits, which JavaScript cannot catch. The remaining due timers have not run then.
pub fn run_due(now_ms: f64, context: &mut Context) -> JsResult<()> {
    while let Some(timer) = TIMERS.with_borrow_mut(|timers| timers.take_due(now_ms)) {
        if let Err(error) = timer.callback.call(&JsValue::undefined(), &timer.arguments, context) {
            if error.as_engine().is_some() {
                return Err(error);
            }
            fault::report_uncaught(error, context);
        }
        TIMERS.with_borrow_mut(|timers| timers.finish(timer, now_ms));
        context.run_jobs()?;
    }
    Ok(())
}

impl Timers {
    fn enqueue(&mut self, timer: Timer, now_ms: f64) {
        self.last_sequence += 1;
        let due = (now_ms + timer.delay_ms).max(0.0);
        let place = (due.to_bits(), self.last_sequence);
        self.places.insert(timer.id, place);
        self.queue.insert(place, timer);
    }

    fn take_due(&mut self, now_ms: f64) -> Option<Timer> {
        let entry = self.queue.first_entry()?;
        if f64::from_bits(entry.key().0) > now_ms {
            return None;
        }
        let timer = entry.remove();
        self.places.remove(&timer.id);
        self.running = Some(timer.id);
        Some(timer)
    }

    /// The next run of an interval is scheduled when its callback ends, so runs never pile up.
    fn finish(&mut self, timer: Timer, now_ms: f64) {
        let still_set = self.running.take() == Some(timer.id);
        if timer.repeat && still_set {
            self.enqueue(timer, now_ms);
        }
    }
}

fn from_script(name: &str, arguments: &[JsValue], repeat: bool, context: &mut Context) -> JsResult<JsValue> {
    let Some(callback) = arguments.get_or_undefined(0).as_callable() else {
        let kind = arguments.get_or_undefined(0).type_of();
        let message = format!("{name} needs a function as its first argument, not {kind}: {name}(() => {{ … }}, ms)");
        return Err(JsNativeError::typ().with_message(message).into());
    };
    let delay_ms = arguments.get_or_undefined(1).to_number(context)?;
    let rest = arguments.get(2..).unwrap_or_default().to_vec();
    Ok(set(callback, rest, delay_ms, repeat)?.into())
}

fn clear_from_script(_: &JsValue, arguments: &[JsValue], _: &mut Context) -> JsResult<JsValue> {
    if let Some(id) = arguments.get_or_undefined(0).as_number() {
        clear(id as u32);
    }
    Ok(JsValue::undefined())
}

#[cfg(test)]
mod tests {
    use super::*;
    use boa_engine::Source;

    fn context() -> Context {
        let mut context = Context::default();
        install(&mut context).unwrap();
        context.eval(Source::from_bytes("var log = []; const say = (...words) => log.push(words.join(' '))")).unwrap();
        context
    }

    fn run(source: &str, context: &mut Context) {
        context.eval(Source::from_bytes(source)).unwrap();
        context.run_jobs().unwrap();
    }

    fn at(now_ms: f64, context: &mut Context) -> String {
        state::with(|state| state.now_ms = now_ms);
        run_due(now_ms, context).unwrap();
        let log = context.eval(Source::from_bytes("log.splice(0).join(', ')")).unwrap();
        log.as_string().unwrap().to_std_string_lossy()
    }

    #[test]
    fn timers_run_in_the_order_of_due_time_then_insertion() {
        let context = &mut context();
        run("setTimeout(say, 5, 'b'); setTimeout(say, 1, 'a'); setTimeout(say, 5, 'c', 'd'); setTimeout(say)", context);
        assert_eq!(next_due(), Some(1.0));
        assert_eq!(at(0.5, context), "");
        assert_eq!(at(5.0, context), "a, , b, c d");
        assert_eq!(next_due(), None);
    }

    #[test]
    fn promise_jobs_run_after_each_callback() {
        let context = &mut context();
        run(
            "for (const n of [1, 2]) setTimeout(() => { say('t' + n); Promise.resolve().then(() => say('p' + n)) }, 1)",
            context,
        );
        assert_eq!(at(1.0, context), "t1, p1, t2, p2");
    }

    #[test]
    fn a_cleared_timer_does_not_run_even_if_it_is_due_already() {
        let context = &mut context();
        run(
            "var b; setTimeout(() => { say('a'); clearTimeout(b) }, 1); b = setTimeout(say, 1, 'b'); clearTimeout(); clearTimeout({})",
            context,
        );
        assert_eq!(at(9.0, context), "a");
    }

    #[test]
    fn an_interval_runs_once_per_turn_until_it_is_cleared() {
        let context = &mut context();
        run("let n = 0; const id = setInterval(() => { say(++n); if (n === 3) clearInterval(id) }, 10)", context);
        assert_eq!(at(10.0, context), "1");
        assert_eq!(at(55.0, context), "2");
        assert_eq!(next_due(), Some(65.0));
        assert_eq!(at(65.0, context), "3");
        assert_eq!(next_due(), None);
    }

    #[test]
    fn strange_delays_are_a_millisecond() {
        for delay in ["NaN", "-5", "0", "0.9", "'x'", "2 ** 40", "Infinity", "undefined", "null"] {
            let context = &mut context();
            run(&format!("setTimeout(say, {delay}, 'x')"), context);
            assert_eq!(next_due(), Some(state::now_ms() + 1.0), "{delay}");
            assert_eq!(at(state::now_ms() + 1.0, context), "x");
        }
    }

    #[test]
    fn an_error_is_reported_and_the_next_timer_runs() {
        let context = &mut context();
        run("setTimeout(() => { throw new Error('boom') }, 1); setTimeout(say, 1, 'next')", context);
        assert_eq!(at(1.0, context), "next");
        let reported = state::with(|state| std::mem::take(&mut state.uncaught));
        assert_eq!(reported.len(), 1);
        assert!(reported[0].starts_with("Error: boom"), "{reported:?}");
    }

    #[test]
    fn text_is_not_a_callback_and_timers_are_bounded() {
        let context = &mut context();
        run("try { setTimeout('say(1)', 1) } catch (error) { say(error) }", context);
        run("try { for (;;) setTimeout(say, 1) } catch (error) { say(error.name) }", context);
        state::with(|state| state.now_ms = 0.0);
        assert_eq!(TIMERS.with_borrow(|timers| timers.queue.len()), TIMERS_PENDING_MAX);
        let log = context.eval(Source::from_bytes("log.join('; ')")).unwrap();
        assert_eq!(
            log.as_string().unwrap().to_std_string_lossy(),
            "TypeError: setTimeout needs a function as its first argument, not string: setTimeout(() => { … }, ms); RangeError"
        );
        TIMERS.with_borrow_mut(|timers| *timers = Timers::default());
    }
}
