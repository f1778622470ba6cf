//! Tests with sockets whose other end is the test's own.

mod peer;

use super::*;
use crate::transport::Writer;
use futures::FutureExt as _;
use peer::{Peer, Transport};
use rustix::event::{PollFd, PollFlags, Timespec, poll};
use std::{
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
    peer: Peer,
    runtime: Runtime,
}

fn fixture(transport: Transport, permits: usize) -> Fixture {
    let runtime = Builder::new_multi_thread().worker_threads(1).enable_all().build().unwrap();
    let (writer, reader, peer) = peer::connect(transport, &runtime);
    let (room, (sender, handled)) = (Arc::new(Semaphore::new(permits)), channel());
    let handler = {
        let room = Arc::clone(&room);
        move |text| handle(text, Arc::clone(&room), sender.clone()).boxed()
    };
    let reading = Arc::new(Reading::new(reader, handler));
    let task = runtime.spawn({
        let reading = Arc::clone(&reading);
        async move { reading.run().await }
    });
    Fixture { reading, handled, room, task, writer, peer, runtime }
}

async fn handle(text: Text, room: Arc<Semaphore>, sender: Sender<Handled>) {
    let text = match text {
        Text::Relay(bytes) => String::from_utf8(bytes.to_vec()).unwrap(),
        Text::Web(text) => text.to_string(),
        Text::Passed { .. } => panic!("no message is too long"),
    };
    room.acquire().await.unwrap().forget();
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
    fn exchange(&self, text: &str) -> Handled {
        self.peer.write(&[text]);
        self.handled.recv_timeout(LONG).unwrap()
    }

    fn read_here(&self, is_done: &dyn Fn() -> bool) -> bool {
        let _entered = self.runtime.enter();
        self.reading.run_on_this_thread(is_done, &wait)
    }

    /// Reads on this thread until `is_done`, whose first call precedes the first read.
    fn read_here_for_sure(&self, is_done: &dyn Fn() -> bool) {
        let begun = AtomicBool::new(false);
        let is_done = || {
            begun.store(true, Ordering::SeqCst);
            is_done()
        };
        while !self.read_here(&is_done) {
            assert!(!begun.load(Ordering::SeqCst), "it has begun to read");
            thread::yield_now();
        }
    }
}

/// Whether this is the first call with this flag.
fn is_first(flag: &AtomicBool) -> bool {
    !flag.swap(true, Ordering::SeqCst)
}

#[test]
fn a_thread_reads_until_it_is_done_and_the_task_before_and_after() {
    for transport in Transport::ALL {
        let fixture = fixture(transport, Semaphore::MAX_PERMITS);
        let own = thread::current().id();
        let (first, by) = fixture.exchange("first");
        assert_eq!(first, "first");
        assert_ne!(by, own, "by the task");
        for round in 0..100 {
            let sent = [format!("a{round}"), format!("b{round}")];
            fixture.peer.write(&sent.each_ref().map(String::as_str));
            let seen = std::cell::RefCell::new(Vec::new());
            let is_done = || {
                seen.borrow_mut().extend(fixture.handled.try_iter().map(|(text, _)| text));
                seen.borrow().len() >= 2
            };
            // The task may have been faster, or be reading right now.
            while !is_done() {
                fixture.read_here(&is_done);
            }
            assert_eq!(seen.into_inner(), sent);
            let (next, by) = fixture.exchange("next");
            assert_eq!(next, "next");
            assert_ne!(by, own, "the task reads again");
        }
    }
}

#[test]
fn what_arrives_while_a_thread_reads_is_handled_by_that_thread() {
    for transport in Transport::ALL {
        let fixture = fixture(transport, Semaphore::MAX_PERMITS);
        let (written, seen) = (AtomicBool::new(false), AtomicUsize::new(0));
        let own = thread::current().id();
        fixture.read_here_for_sure(&|| {
            // From here on the thread reads, and nothing was written before.
            if is_first(&written) {
                fixture.peer.write(&["one", "two"]);
            }
            let handled = fixture.handled.try_iter().filter(|(_, by)| *by == own).count();
            seen.fetch_add(handled, Ordering::SeqCst) + handled >= 2
        });
        assert_eq!(seen.load(Ordering::SeqCst), 2);
    }
}

#[test]
fn what_a_thread_has_received_and_not_handled_is_handled_by_the_task() {
    for transport in Transport::ALL {
        let fixture = fixture(transport, Semaphore::MAX_PERMITS);
        let (written, seen) = (AtomicBool::new(false), AtomicUsize::new(0));
        let own = thread::current().id();
        fixture.read_here_for_sure(&|| {
            if is_first(&written) {
                // At once, so that the thread receives all with the first message.
                fixture.peer.write(&["one", "two", "three"]);
            }
            let handled = fixture.handled.try_iter().inspect(|(_, by)| assert_eq!(*by, own)).count();
            seen.fetch_add(handled, Ordering::SeqCst) + handled >= 1
        });
        let rest = [0; 2].map(|_| fixture.handled.recv_timeout(LONG).unwrap());
        assert_eq!(rest.each_ref().map(|(text, _)| text.as_str()), ["two", "three"]);
        assert!(rest.iter().all(|(_, by)| *by != own), "nothing more was written: the task was woken for these");
    }
}

#[test]
fn a_thread_is_asked_between_the_frames_whether_it_is_done() {
    for transport in [Transport::Web, Transport::Tls] {
        let fixture = fixture(transport, Semaphore::MAX_PERMITS);
        let (written, asked) = (AtomicBool::new(false), AtomicUsize::new(0));
        fixture.read_here_for_sure(&|| {
            if is_first(&written) {
                let pings = peer::PING.repeat(100);
                fixture.peer.write_bytes(&[pings, fixture.peer.framed("after")].concat());
            }
            assert!(fixture.handled.try_recv().is_err(), "the pings come first");
            asked.fetch_add(1, Ordering::SeqCst) == 50
        });
        assert_eq!(fixture.handled.recv_timeout(LONG).unwrap().0, "after", "by the task");
    }
}

#[test]
fn a_message_that_waits_for_memory_is_left_to_the_task() {
    for transport in Transport::ALL {
        let fixture = fixture(transport, 0);
        fixture.peer.write(&["one", "two"]);
        // Whether the thread or the task has begun with the first message, the thread does not wait for its memory.
        fixture.read_here(&|| false);
        assert!(!fixture.read_here(&|| false), "the message waits");
        assert!(fixture.handled.try_recv().is_err());
        fixture.room.add_permits(3);
        let handled = [0; 2].map(|_| fixture.handled.recv_timeout(LONG).unwrap().0);
        assert_eq!(handled, ["one", "two"]);
        assert_eq!(fixture.exchange("three").0, "three");
    }
}

#[test]
fn the_task_says_that_the_other_side_went_while_a_thread_read() {
    for transport in Transport::ALL {
        let Fixture { reading, runtime, task, peer, writer: _writer, .. } = fixture(transport, Semaphore::MAX_PERMITS);
        drop(peer);
        let entered = runtime.enter();
        reading.run_on_this_thread(&|| false, &wait);
        let broken = runtime.block_on(async { tokio::time::timeout(LONG, task).await });
        assert!(broken.unwrap().unwrap().is_some());
        assert!(!reading.run_on_this_thread(&|| false, &wait), "nothing is left to read");
        drop(entered);
    }
}

#[test]
fn the_socket_is_closed_when_reading_is_ended_while_a_thread_reads() {
    for transport in Transport::ALL {
        let fixture = fixture(transport, Semaphore::MAX_PERMITS);
        let ended = AtomicBool::new(false);
        fixture.read_here_for_sure(&|| {
            if is_first(&ended) {
                fixture.reading.end();
            }
            true
        });
        fixture.task.abort();
        drop(fixture.writer);
        fixture.peer.wait_until_nobody_reads();
    }
}

#[test]
fn nothing_is_lost_or_out_of_order_however_the_readers_alternate() {
    const MESSAGES: usize = 20_000;
    for transport in Transport::ALL {
        let fixture = fixture(transport, Semaphore::MAX_PERMITS);
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let Fixture { reading, runtime, peer, handled, .. } = &fixture;
            scope.spawn(move || {
                let mut piece = Vec::new();
                for number in 0..MESSAGES {
                    piece.extend(peer.framed(&number.to_string()));
                    // Whole messages, halves and several at once.
                    if number % 7 < 4 {
                        let (half, rest) = piece.split_at(piece.len() / 2);
                        peer.write_bytes(half);
                        peer.write_bytes(rest);
                        piece.clear();
                    }
                }
                peer.write_bytes(&piece);
            });
            read_in_turn(scope, reading, runtime, &stop);
            expect_numbers(handled, MESSAGES, &stop);
        });
    }
}

#[test]
fn what_is_written_while_others_read_arrives_whole_and_in_order() {
    const MESSAGES: usize = 5_000;
    for transport in Transport::ALL {
        let mut fixture = fixture(transport, Semaphore::MAX_PERMITS);
        let stop = AtomicBool::new(false);
        thread::scope(|scope| {
            let Fixture { reading, runtime, peer, handled, writer, .. } = &mut fixture;
            let (runtime, peer) = (&*runtime, &*peer);
            scope.spawn(move || peer.echo(MESSAGES));
            scope.spawn(move || {
                for number in 0..MESSAGES {
                    runtime.block_on(writer.send(number.to_string())).unwrap();
                }
            });
            read_in_turn(scope, reading, runtime, &stop);
            expect_numbers(handled, MESSAGES, &stop);
        });
    }
}

/// Reads on two threads, each for a moment, until told to stop.
fn read_in_turn<'scope>(
    scope: &'scope thread::Scope<'scope, '_>,
    reading: &'scope Reading,
    runtime: &'scope Runtime,
    stop: &'scope AtomicBool,
) {
    for every in [1, 3] {
        scope.spawn(move || {
            let _entered = runtime.enter();
            let polls = AtomicUsize::new(0);
            while !stop.load(Ordering::SeqCst) {
                let is_done = || polls.fetch_add(1, Ordering::SeqCst).is_multiple_of(every);
                reading.run_on_this_thread(&is_done, &wait);
            }
        });
    }
}

/// Receives the messages `0`, `1`, … and tells the readers to stop.
fn expect_numbers(handled: &Receiver<Handled>, count: usize, stop: &AtomicBool) {
    for number in 0..count {
        let handled = handled.recv_timeout(LONG);
        if handled.as_ref().map(|(text, _)| text.as_str()) != Ok(number.to_string().as_str()) {
            stop.store(true, Ordering::SeqCst);
            panic!("{number} was expected: {handled:?}");
        }
    }
    stop.store(true, Ordering::SeqCst);
}

#[test]
fn reading_ends_when_the_handling_of_a_message_panics() {
    for (transport, by_thread) in
        Transport::ALL.into_iter().flat_map(|transport| [(transport, false), (transport, true)])
    {
        let mut fixture = fixture(transport, Semaphore::MAX_PERMITS);
        fixture.exchange("first");
        fixture.peer.write(&[PANICS, "next"]);
        while by_thread && fixture.read_here(&|| false) {}
        let ended = fixture.runtime.block_on(async { tokio::time::timeout(LONG, &mut fixture.task).await });
        let broken = ended.expect("it ends").expect("the task does not panic").expect("it was not ended on this side");
        assert!(broken.reason.contains("panicked"), "{broken:?}");
        assert!(fixture.handled.try_recv().is_err(), "nothing is handled after it");
    }
}
