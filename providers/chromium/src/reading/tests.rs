//! Tests with a socket whose other end is the test's own.

use super::*;
use crate::transport::{self, Writer};
use futures::FutureExt as _;
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::{
    io::Write as _,
    os::unix::net::UnixStream,
    sync::{
        Arc,
        atomic::AtomicUsize,
        mpsc::{Receiver, Sender, channel},
    },
    thread::{self, ThreadId},
    time::Duration,
};
use tokio::{
    runtime::{Builder, Runtime},
    sync::Semaphore,
    task::JoinHandle,
};

const LONG: Duration = Duration::from_secs(60);

/// The message whose handling panics.
const PANICS: &str = "panics";

/// A message, and the thread that handled it.
type Handled = (String, ThreadId);

struct Fixture {
    reading: Arc<Reading>,
    handled: Receiver<Handled>,
    /// The handling of each message takes a permit.
    room: Arc<Semaphore>,
    task: JoinHandle<Option<Broken>>,
    writer: Writer,
    theirs: UnixStream,
    runtime: Runtime,
}

fn fixture(permits: usize) -> Fixture {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let entered = runtime.enter();
    let (ours, theirs) = UnixStream::pair().unwrap();
    ours.set_nonblocking(true).unwrap();
    let (writer, reader) = transport::over(tokio::net::UnixStream::from_std(ours).unwrap()).unwrap();
    let (room, (sender, handled)) = (Arc::new(Semaphore::new(permits)), channel());
    let handler = {
        let room = Arc::clone(&room);
        move |text| handle(text, Arc::clone(&room), sender.clone()).boxed()
    };
    let reading = Arc::new(Reading::new(reader, handler));
    let task = tokio::spawn({
        let reading = Arc::clone(&reading);
        async move { reading.run().await }
    });
    drop(entered);
    Fixture { reading, handled, room, task, writer, theirs, runtime }
}

async fn handle(text: Text, room: Arc<Semaphore>, sender: Sender<Handled>) {
    let Text::Relay(bytes) = text else { panic!("the socket is a relay's") };
    room.acquire().await.unwrap().forget();
    let text = String::from_utf8(bytes.to_vec()).unwrap();
    assert_ne!(text, PANICS);
    let _ = sender.send((text, thread::current().id()));
}

/// Waits until the descriptor can be read, or for a moment.
fn wait(descriptor: BorrowedFd<'_>) -> io::Result<()> {
    let moment = Timespec { tv_sec: 0, tv_nsec: 2_000_000 };
    poll(&mut [PollFd::from_borrowed_fd(descriptor, PollFlags::IN)], Some(&moment))?;
    Ok(())
}

impl Fixture {
    /// Writes a message, and returns what was handled next.
    fn exchange(&mut self, text: &str) -> Handled {
        self.theirs.write_all(format!("{text}\0").as_bytes()).unwrap();
        self.handled.recv_timeout(LONG).unwrap()
    }

    fn read_here(&self, is_done: &dyn Fn() -> bool) -> bool {
        let _entered = self.runtime.enter();
        self.reading.run_on_this_thread(is_done, &wait)
    }
}

#[test]
fn a_thread_reads_until_it_is_done_and_the_task_before_and_after() {
    let mut fixture = fixture(Semaphore::MAX_PERMITS);
    let own = thread::current().id();
    let (first, by) = fixture.exchange("first");
    assert_eq!(first, "first");
    assert_ne!(by, own, "by the task");
    for round in 0..100 {
        fixture.theirs.write_all(format!("a{round}\0b{round}\0").as_bytes()).unwrap();
        let seen = std::cell::RefCell::new(Vec::new());
        let is_done = || {
            seen.borrow_mut().extend(fixture.handled.try_iter());
            seen.borrow().len() >= 2
        };
        // The task may have been faster, or be reading right now.
        while !is_done() {
            fixture.read_here(&is_done);
        }
        let texts: Vec<_> = seen.into_inner().into_iter().map(|(text, _)| text).collect();
        assert_eq!(texts, [format!("a{round}"), format!("b{round}")]);
        let (next, by) = fixture.exchange("next");
        assert_eq!(next, "next");
        assert_ne!(by, own, "the task reads again");
    }
}

#[test]
fn what_arrives_while_a_thread_reads_is_handled_by_that_thread() {
    let fixture = fixture(Semaphore::MAX_PERMITS);
    let (begun, seen) = (AtomicBool::new(false), AtomicUsize::new(0));
    let is_done = || {
        // From here on the thread reads, and nothing was written before.
        if !begun.swap(true, Ordering::SeqCst) {
            (&fixture.theirs).write_all(b"one\0two\0").unwrap();
        }
        let own = thread::current().id();
        seen.fetch_add(fixture.handled.try_iter().filter(|(_, by)| *by == own).count(), Ordering::SeqCst) >= 2
    };
    while !fixture.read_here(&is_done) {
        assert!(!begun.load(Ordering::SeqCst), "it has begun to read");
        thread::yield_now();
    }
    assert_eq!(seen.load(Ordering::SeqCst), 2);
}

#[test]
fn a_message_that_waits_for_memory_is_left_to_the_task() {
    let mut fixture = fixture(0);
    fixture.theirs.write_all(b"one\0two\0").unwrap();
    // Whether the thread or the task has begun with the first message, the thread does not wait for its memory.
    fixture.read_here(&|| false);
    assert!(!fixture.read_here(&|| false), "the message waits");
    assert!(fixture.handled.try_recv().is_err());
    fixture.room.add_permits(3);
    let handled = [0; 2].map(|_| fixture.handled.recv_timeout(LONG).unwrap().0);
    assert_eq!(handled, ["one", "two"]);
    assert_eq!(fixture.exchange("three").0, "three");
}

#[test]
fn the_end_is_noticed_by_the_task_and_by_a_thread() {
    // The other side goes while a thread reads: the task says so.
    let fixture = fixture(Semaphore::MAX_PERMITS);
    fixture.theirs.shutdown(std::net::Shutdown::Both).unwrap();
    fixture.read_here(&|| false);
    let broken = fixture.runtime.block_on(async { tokio::time::timeout(LONG, fixture.task).await });
    assert!(broken.unwrap().unwrap().is_some());
    assert!(!fixture.reading.run_on_this_thread(&|| false, &wait), "nothing is left to read");

    // It is ended on this side while a thread reads: the socket is closed when the thread is done.
    let mut fixture = self::fixture(Semaphore::MAX_PERMITS);
    let ended = AtomicBool::new(false);
    let end = || {
        if !ended.swap(true, Ordering::SeqCst) {
            fixture.reading.end();
        }
        true
    };
    while !fixture.read_here(&end) {
        assert!(!ended.load(Ordering::SeqCst), "it has begun to read");
        thread::yield_now();
    }
    fixture.task.abort();
    drop(fixture.writer);
    fixture.theirs.set_write_timeout(Some(LONG)).unwrap();
    let error = loop {
        if let Err(error) = fixture.theirs.write_all(b"lost\0") {
            break error;
        }
    };
    assert_eq!(error.kind(), io::ErrorKind::BrokenPipe, "both ends are closed");
}

#[test]
fn nothing_is_lost_or_out_of_order_however_the_readers_alternate() {
    const MESSAGES: usize = 20_000;
    let fixture = fixture(Semaphore::MAX_PERMITS);
    let mut theirs = fixture.theirs.try_clone().unwrap();
    let writer = thread::spawn(move || {
        let mut piece = Vec::new();
        for number in 0..MESSAGES {
            write!(piece, "{number}\0").unwrap();
            // Whole messages, halves and several at once.
            if number % 7 < 4 {
                let (half, rest) = piece.split_at(piece.len() / 2);
                theirs.write_all(half).unwrap();
                theirs.write_all(rest).unwrap();
                piece.clear();
            }
        }
        theirs.write_all(&piece).unwrap();
    });
    let stop = AtomicBool::new(false);
    thread::scope(|scope| {
        for every in [1, 3] {
            let (reading, runtime, stop) = (&fixture.reading, fixture.runtime.handle(), &stop);
            scope.spawn(move || {
                let _entered = runtime.enter();
                let polls = AtomicUsize::new(0);
                while !stop.load(Ordering::SeqCst) {
                    let is_done = || polls.fetch_add(1, Ordering::SeqCst).is_multiple_of(every);
                    reading.run_on_this_thread(&is_done, &wait);
                }
            });
        }
        for number in 0..MESSAGES {
            let handled = fixture.handled.recv_timeout(LONG);
            if handled.as_ref().map(|(text, _)| text.as_str()) != Ok(number.to_string().as_str()) {
                stop.store(true, Ordering::SeqCst);
                panic!("{number} was expected: {handled:?}");
            }
        }
        stop.store(true, Ordering::SeqCst);
    });
    writer.join().unwrap();
}

#[test]
fn reading_ends_when_the_handling_of_a_message_panics() {
    for by_thread in [false, true] {
        let mut fixture = fixture(Semaphore::MAX_PERMITS);
        fixture.exchange("first");
        fixture.theirs.write_all(format!("{PANICS}\0next\0").as_bytes()).unwrap();
        while by_thread && fixture.read_here(&|| false) {}
        let ended = fixture.runtime.block_on(async { tokio::time::timeout(LONG, &mut fixture.task).await });
        let broken = ended.expect("it ends").expect("the task does not panic").expect("it was not ended on this side");
        assert!(broken.reason.contains("panicked"), "{broken:?}");
        assert!(fixture.handled.try_recv().is_err(), "nothing is handled after it");
    }
}
