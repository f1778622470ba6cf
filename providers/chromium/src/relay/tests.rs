use super::*;
use std::{
    os::fd::{AsFd as _, OwnedFd},
    sync::atomic::AtomicUsize,
};
use tokio::{
    io::{AsyncReadExt as _, AsyncWriteExt as _},
    net::unix::pipe,
};

/// The browser's ends of a relay's pipe. They replace a real browser, which cannot be made to stop reading in the
/// middle of a message.
struct Ends {
    from_relay: pipe::Receiver,
    to_relay: pipe::Sender,
    buffer: Vec<u8>,
}

fn relay() -> (Relay, Ends) {
    let (from_relay, to_browser) = io::pipe().unwrap();
    let (from_browser, to_relay) = io::pipe().unwrap();
    let ours = |end: OwnedFd| {
        rustix::io::ioctl_fionbio(end.as_fd(), true).unwrap();
        end
    };
    let relay = Relay::new(ours(to_browser.into()), ours(from_browser.into())).unwrap();
    let from_relay = pipe::Receiver::from_owned_fd(ours(from_relay.into())).unwrap();
    let to_relay = pipe::Sender::from_owned_fd(ours(to_relay.into())).unwrap();
    (relay, Ends { from_relay, to_relay, buffer: Vec::new() })
}

impl Ends {
    async fn next(&mut self) -> Json {
        loop {
            if let Some(end) = self.buffer.iter().position(|byte| *byte == 0) {
                let message = self.buffer.drain(..=end).collect::<Vec<_>>();
                return serde_json::from_slice(&message[..end]).unwrap();
            }
            assert_ne!(self.from_relay.read_buf(&mut self.buffer).await.unwrap(), 0, "the relay went away");
        }
    }

    async fn answer(&mut self, result: Json) {
        let id = self.next().await["id"].clone();
        let text = json!({"id": id, "result": result}).to_string() + "\0";
        self.to_relay.write_all(text.as_bytes()).await.unwrap();
    }
}

async fn attached(relay: &Relay, ends: &mut Ends, root: &str) -> Attached {
    let (attached, ()) = tokio::join!(relay.attach(), ends.answer(json!({"sessionId": root})));
    attached.unwrap()
}

fn message(session: &str, bytes: usize) -> Vec<u8> {
    let text =
        json!({"id": 1, "method": "A.b", "params": {"text": "x".repeat(bytes)}, "sessionId": session}).to_string();
    [text.as_bytes(), b"\0"].concat()
}

/// All tasks of these tests take turns on one thread: after this many yields, each has progressed as far as it can.
async fn wait_for_the_others() {
    for _ in 0..1_000 {
        tokio::task::yield_now().await;
    }
}

#[tokio::test]
async fn what_another_sender_left_goes_out_before_a_message_is_judged() {
    let (relay, mut ends) = relay();
    let client = attached(&relay, &mut ends, "A").await;
    {
        let long = json!({"text": "x".repeat(300_000)});
        let mut given_up = Box::pin(relay.call("Target.long", long, ASK_MAX));
        assert!(futures::poll!(&mut given_up).is_pending(), "the pipe is full in the middle of the message");
    }
    let asked = Arc::new(AtomicUsize::new(0));
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let counter = Arc::clone(&asked);
    tokio::spawn(client.serve(theirs, move || {
        counter.fetch_add(1, Ordering::Relaxed);
        std::future::ready(true)
    }));
    ours.write_all(&message("A", 10)).await.unwrap();
    wait_for_the_others().await;
    assert_eq!(asked.load(Ordering::Relaxed), 0, "much could change until the pipe takes it");
    assert_eq!(ends.next().await["method"], "Target.long", "whole");
    assert_eq!((&ends.next().await["sessionId"], asked.load(Ordering::Relaxed)), (&json!("A"), 1));
}

#[tokio::test]
async fn an_answer_to_the_relay_itself_that_is_too_long_fails_at_once() {
    let (relay, mut ends) = relay();
    let browser = async {
        let id = ends.next().await["id"].clone();
        let text = json!({"id": id, "result": {"text": "x".repeat(CDP_REPLY_BYTES_MAX)}}).to_string() + "\0";
        ends.to_relay.write_all(text.as_bytes()).await.unwrap();
        ends.answer(json!({"short": true})).await;
    };
    let calls = async {
        let long = relay.call("Target.getTargets", json!({}), ASK_MAX).await.unwrap_err();
        assert!(matches!(long, CdpError::TooLarge { bytes, .. } if bytes > CDP_REPLY_BYTES_MAX), "{long:?}");
        assert_eq!(relay.call("Target.getTargets", json!({}), ASK_MAX).await.unwrap()["short"], true);
    };
    tokio::join!(browser, calls);
}

#[tokio::test]
async fn a_client_speaks_below_its_own_session_only() {
    let (relay, mut ends) = relay();
    let first = attached(&relay, &mut ends, "A").await;
    let _second = attached(&relay, &mut ends, "B").await;
    let (mut ours, theirs) = UnixStream::pair().unwrap();
    let serve = first.serve(theirs, || std::future::ready(true));
    let client = async {
        ours.write_all(&message("B", 10)).await.unwrap();
        let mut answer = vec![0; 4096];
        let read = ours.read(&mut answer).await.unwrap();
        let answer: Json = serde_json::from_slice(&answer[..read - 1]).unwrap();
        assert_eq!((&answer["error"]["code"], &answer["id"]), (&json!(-32001), &json!(1)));
        // A message to the browser itself ends the service.
        let own = json!({"id": 2, "method": "Browser.close"}).to_string() + "\0";
        ours.write_all(own.as_bytes()).await.unwrap();
    };
    let browser = async {
        let message = ends.next().await;
        assert_eq!(message["method"], "Target.detachFromTarget", "and nothing before it: {message}");
        let answer = json!({"id": message["id"], "result": {}}).to_string() + "\0";
        ends.to_relay.write_all(answer.as_bytes()).await.unwrap();
    };
    tokio::join!(serve, client, browser);
}
