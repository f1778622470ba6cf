//! One sandbox: its turns, its resource limits, and the ways in which it is stopped.
#![expect(unsafe_code, reason = "giving pages back to the system has no safe form")]

use super::ticker::{Ticker, TickerHandle};
use codemode_spec::{
    abi,
    limits::{GUEST_STACK_BYTES, MEMORY_BYTES_MAX, TURN_BYTES_MAX},
    message::{self, Resume, Start, State, Turn},
};
use rustix::{
    mm::{Advice, madvise},
    time::{ClockId, clock_gettime},
};
use serde::Serialize;
use std::time::{Duration, Instant};
use thiserror::Error;
use tokio_util::sync::CancellationToken;
use wasmtime::{
    Global, InstancePre, Linker, Memory, ResourceLimiter, Store, StoreContextMut, Trap, TypedFunc, UpdateDeadline, Val,
};
use wasmtime_wasi::{HostMonotonicClock, HostWallClock, WasiCtxBuilder, p1::WasiP1Ctx, p2::pipe::MemoryOutputPipe};

/// Size of the guest's function table, which never grows after creation.
pub(super) const TABLE_ELEMENTS_MAX: usize = 20_000;

/// Why a turn did not complete. The sandbox cannot be used afterwards.
#[derive(Clone, Debug, PartialEq, Eq, Error)]
#[expect(missing_docs, reason = "each says it in its message")]
pub enum Stop {
    #[error("the script used its {0:?} of processor time")]
    Cpu(Duration),
    #[error("the script's time was over")]
    Time,
    #[error("the execution was cancelled")]
    Cancelled,
    #[error("the script used all of its {} MiB of memory", MEMORY_BYTES_MAX >> 20)]
    Memory,
    #[error("the script nested calls or data too deeply")]
    Stack,
    #[error("no place for one more sandbox")]
    NoPlace,
    #[error("the sandbox had already been stopped")]
    Poisoned,
    /// The guest panicked, with this message, which is for the log. The engine does not interpret it.
    #[error("the sandbox broke")]
    Panicked(String),
    /// wasmtime failed, with this message, which is for the log: it names wasmtime's parts and build paths.
    #[error("the sandbox broke")]
    Fault(String),
}

/// The limits of a turn.
#[derive(Clone, Debug)]
pub struct Allowance {
    /// The end of the execution's wall time.
    pub deadline: Instant,
    /// The processor time of all turns of the execution together.
    pub cpu: Duration,
    /// The part of `cpu` that earlier turns have used.
    pub cpu_used: Duration,
    /// Stops the turn at the next tick.
    pub cancel: CancellationToken,
}

/// An instance of the image.
pub struct Sandbox {
    store: Store<StoreData>,
    memory: Memory,
    stack_pointer: Global,
    buffer: TypedFunc<u32, u32>,
    start: TypedFunc<u32, u64>,
    resume: TypedFunc<u32, u64>,
    ticker: TickerHandle,
    turn_cpu: Duration,
    poisoned: bool,
}

pub(super) struct StoreData {
    wasi: WasiP1Ctx,
    /// The guest's standard error, which receives a panic's message.
    stderr: MemoryOutputPipe,
    memory_exhausted: bool,
    turn: Option<TurnClock>,
}

/// The limits of the running turn, and the point from which its processor time counts.
struct TurnClock {
    allowance: Allowance,
    /// Processor time of the thread when the turn started. Earlier turns may have run on other threads.
    cpu_before: Duration,
}

impl Sandbox {
    pub(super) fn new(instance_pre: &InstancePre<StoreData>, ticker: &Ticker) -> Result<Self, Stop> {
        let mut store = Store::new(instance_pre.module().engine(), StoreData::new());
        store.limiter(|data| data);
        store.epoch_deadline_callback(check_deadlines);
        store.set_epoch_deadline(1);
        let instance = instance_pre.instantiate(&mut store).map_err(|error| {
            if error.is::<wasmtime::PoolConcurrencyLimitError>() { Stop::NoPlace } else { fault(&error) }
        })?;
        let missing = |name: &str| Stop::Fault(format!("the image has no {name}"));
        let memory = instance.get_memory(&mut store, abi::MEMORY).ok_or_else(|| missing(abi::MEMORY))?;
        let stack_pointer =
            instance.get_global(&mut store, abi::STACK_POINTER).ok_or_else(|| missing(abi::STACK_POINTER))?;
        let buffer = instance.get_typed_func(&mut store, abi::BUFFER).map_err(|error| fault(&error))?;
        let start = instance.get_typed_func(&mut store, abi::START).map_err(|error| fault(&error))?;
        let resume = instance.get_typed_func(&mut store, abi::RESUME).map_err(|error| fault(&error))?;
        Ok(Self {
            store,
            memory,
            stack_pointer,
            buffer,
            start,
            resume,
            ticker: ticker.handle(),
            turn_cpu: Duration::ZERO,
            poisoned: false,
        })
    }

    /// Starts the execution and runs it until it is idle. Blocks; run it on [`super::Threads`]. When the script has
    /// ended, `before_end` is called before its result, which may be large, is copied out: to release other memory of
    /// the execution.
    ///
    /// # Errors
    /// When a limit was reached or the guest failed. The sandbox cannot be used afterwards.
    pub fn start(&mut self, start: &Start, allowance: Allowance, before_end: impl FnOnce()) -> Result<Turn, Stop> {
        let call = self.start.clone();
        self.turn(start, &call, allowance, before_end)
    }

    /// Resumes the execution with the results that it waited for.
    ///
    /// # Errors
    /// As [`Self::start`].
    pub fn resume(&mut self, resume: Resume, allowance: Allowance, before_end: impl FnOnce()) -> Result<Turn, Stop> {
        let call = self.resume.clone();
        self.turn(resume, &call, allowance, before_end)
    }

    /// Returns the pages of the guest's stack to the system: between turns the stack is empty, and should hold no
    /// memory during a long wait.
    pub fn release_stack_pages(&mut self) {
        if self.poisoned {
            return;
        }
        let bottom = self.memory.data_ptr(&self.store);
        // SAFETY: these pages belong to the sandbox's memory, to which no reference exists while the sandbox is
        // borrowed here. No byte below the stack pointer, which is at its initial value, has a meaning for the guest.
        let given_back = unsafe { madvise(bottom.cast(), GUEST_STACK_BYTES, Advice::LinuxDontNeed) };
        if let Err(error) = given_back {
            tracing::debug!(%error, "the stack of a waiting sandbox could not be given back");
        }
    }

    /// The size of its linear memory in bytes: what the script may read and write. It only grows.
    #[must_use]
    pub fn memory_bytes(&self) -> usize {
        self.memory.data_size(&self.store)
    }

    /// Processor time of the last turn, including one that was stopped.
    #[must_use]
    pub fn turn_cpu(&self) -> Duration {
        self.turn_cpu
    }

    fn turn(
        &mut self,
        message: impl Serialize,
        call: &TypedFunc<u32, u64>,
        allowance: Allowance,
        before_end: impl FnOnce(),
    ) -> Result<Turn, Stop> {
        self.turn_cpu = Duration::ZERO;
        if self.poisoned {
            return Err(Stop::Poisoned);
        }
        let cpu_before = thread_cpu();
        let cpu_max = allowance.cpu;
        self.store.data_mut().turn = Some(TurnClock { allowance, cpu_before });
        let running = self.ticker.running();
        let turn = self.exchange(message, call, before_end);
        drop(running);
        self.store.data_mut().turn = None;
        self.turn_cpu = thread_cpu().saturating_sub(cpu_before);
        let turn = turn.map_err(|error| self.classify_trap(&error, cpu_max));
        // A trapped instance would still accept calls, but its state cannot be trusted.
        self.poisoned = turn.is_err();
        turn
    }

    fn exchange(
        &mut self,
        message: impl Serialize,
        call: &TypedFunc<u32, u64>,
        before_end: impl FnOnce(),
    ) -> wasmtime::Result<Turn> {
        // Encoded straight into guest memory and dropped before the guest runs, to keep as few copies of a large
        // message as possible.
        let bytes = message::length(&message);
        let length = u32::try_from(bytes)?;
        let pointer = self.buffer.call(&mut self.store, length)? as usize;
        let place = self.memory.data_mut(&mut self.store).get_mut(pointer..pointer.saturating_add(bytes));
        let place = place.ok_or_else(|| wasmtime::format_err!("the buffer lies outside of memory"))?;
        message::encode_into(&message, place).map_err(|error| wasmtime::format_err!("the message: {error}"))?;
        drop(message);
        let (pointer, length) = abi::unpack(call.call(&mut self.store, length)?);
        let (pointer, length) = (pointer as usize, length as usize);
        if length > TURN_BYTES_MAX {
            wasmtime::bail!("the answer has {length} bytes");
        }
        let answer = self.memory.data(&self.store).get(pointer..pointer.saturating_add(length));
        let answer = answer.ok_or_else(|| wasmtime::format_err!("the answer lies outside of memory"))?;
        let is_last = message::is_last(answer);
        if is_last {
            before_end();
        }
        let turn: Turn =
            message::decode(answer).map_err(|error| wasmtime::format_err!("the answer is no turn: {error}"))?;
        if matches!(turn.state, State::Done { .. }) != is_last {
            wasmtime::bail!("the answer does not begin as it goes on");
        }
        self.assert_stack_empty()?;
        Ok(turn)
    }

    /// Checks that the guest's stack is empty between turns; otherwise the guest could not be resumed on another
    /// thread.
    fn assert_stack_empty(&mut self) -> wasmtime::Result<()> {
        let Val::I32(pointer) = self.stack_pointer.get(&mut self.store) else {
            wasmtime::bail!("the stack pointer is no number");
        };
        if pointer as usize != GUEST_STACK_BYTES {
            wasmtime::bail!("the stack pointer is not at rest: {pointer}");
        }
        Ok(())
    }

    fn classify_trap(&self, error: &wasmtime::Error, cpu_max: Duration) -> Stop {
        if let Some(stop) = error.downcast_ref::<Stop>() {
            return match stop {
                Stop::Cpu(_) => Stop::Cpu(cpu_max),
                other => other.clone(),
            };
        }
        if self.store.data().memory_exhausted {
            return Stop::Memory;
        }
        match error.downcast_ref::<Trap>() {
            // The guest's stack is at the bottom of memory, so that overflowing it leaves the memory's bounds.
            Some(Trap::StackOverflow | Trap::MemoryOutOfBounds) => Stop::Stack,
            Some(Trap::UnreachableCodeReached) => Stop::Panicked(self.store.data().panic_message()),
            _ => fault(error),
        }
    }
}

fn fault(error: &wasmtime::Error) -> Stop {
    Stop::Fault(format!("{error:#}"))
}

fn thread_cpu() -> Duration {
    let time = clock_gettime(ClockId::ThreadCPUTime);
    Duration::new(time.tv_sec.unsigned_abs(), time.tv_nsec.unsigned_abs() as u32)
}

fn check_deadlines(context: StoreContextMut<'_, StoreData>) -> wasmtime::Result<UpdateDeadline> {
    let Some(clock) = &context.data().turn else { return Ok(UpdateDeadline::Continue(1)) };
    if clock.allowance.cancel.is_cancelled() {
        return Err(Stop::Cancelled.into());
    }
    if Instant::now() >= clock.allowance.deadline {
        return Err(Stop::Time.into());
    }
    let turn_cpu = thread_cpu().saturating_sub(clock.cpu_before);
    if clock.allowance.cpu_used + turn_cpu >= clock.allowance.cpu {
        return Err(Stop::Cpu(clock.allowance.cpu).into());
    }
    Ok(UpdateDeadline::Continue(1))
}

pub(super) fn link(linker: &mut Linker<StoreData>) -> wasmtime::Result<()> {
    wasmtime_wasi::p1::add_to_linker_sync(linker, |data| &mut data.wasi)
}

impl StoreData {
    pub(super) fn new() -> Self {
        // Enough for a panic's message and location.
        let stderr = MemoryOutputPipe::new(4096);
        let wasi = WasiCtxBuilder::new()
            .stderr(stderr.clone())
            .secure_random(Zeros)
            .insecure_random(Zeros)
            .insecure_random_seed(0)
            .wall_clock(StoppedClock)
            .monotonic_clock(StoppedClock)
            .build_p1();
        Self { wasi, stderr, memory_exhausted: false, turn: None }
    }

    /// The message of the guest's panic; empty if it did not panic.
    pub(super) fn panic_message(&self) -> String {
        String::from_utf8_lossy(&self.stderr.contents()).trim().to_owned()
    }
}

impl ResourceLimiter for StoreData {
    fn memory_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        if desired > MEMORY_BYTES_MAX {
            self.memory_exhausted = true;
            // A trap instead of a failed growth, at which the guest would panic with a message of its own.
            return Err(Stop::Memory.into());
        }
        Ok(true)
    }

    fn table_growing(&mut self, _: usize, desired: usize, _: Option<usize>) -> wasmtime::Result<bool> {
        Ok(desired <= TABLE_ELEMENTS_MAX)
    }
}

/// The script's randomness arrives in its first message; the guest's libraries must draw the same numbers everywhere.
struct Zeros;

impl rand::TryRng for Zeros {
    type Error = std::convert::Infallible;

    fn try_next_u32(&mut self) -> Result<u32, Self::Error> {
        Ok(0)
    }

    fn try_next_u64(&mut self) -> Result<u64, Self::Error> {
        Ok(0)
    }

    fn try_fill_bytes(&mut self, bytes: &mut [u8]) -> Result<(), Self::Error> {
        bytes.fill(0);
        Ok(())
    }
}

struct StoppedClock;

impl HostWallClock for StoppedClock {
    fn resolution(&self) -> Duration {
        Duration::from_millis(1)
    }

    fn now(&self) -> Duration {
        Duration::ZERO
    }
}

impl HostMonotonicClock for StoppedClock {
    fn resolution(&self) -> u64 {
        1_000_000
    }

    fn now(&self) -> u64 {
        0
    }
}
