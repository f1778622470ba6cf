//! A connection over each transport, and the other end of it.

use crate::{
    descriptor::Socket,
    stream::Stream,
    transport::{self, Reader, Writer},
    web_socket::WebSocket,
};
use rustls::{ClientConfig, RootCertStore, ServerConfig, ServerConnection, StreamOwned, crypto::ring};
use std::{
    io::{self, BufRead as _, BufReader, Read, Write},
    net::{TcpListener, TcpStream},
    os::unix::net::UnixStream,
    sync::{Arc, Mutex},
    thread,
};
use tokio::runtime::Runtime;
use tokio_rustls::TlsConnector;
use tokio_tungstenite::tungstenite::{self, client::IntoClientRequest as _};

/// A frame of a WebSocket's server: a ping without data.
pub(super) const PING: &[u8] = &[0x89, 0];

#[derive(Clone, Copy, PartialEq, Eq)]
pub(super) enum Transport {
    Relay,
    Web,
    /// A WebSocket over TLS.
    Tls,
}

/// The other end. It can be written to while another thread reads.
pub(super) struct Peer(Mutex<End>);

enum End {
    Relay(BufReader<UnixStream>),
    Web(Box<tungstenite::WebSocket<Box<dyn Both>>>),
}

trait Both: Read + Write + Send {}
impl<T: Read + Write + Send> Both for T {}

impl Transport {
    pub(super) const ALL: [Self; 3] = [Self::Relay, Self::Web, Self::Tls];
}

pub(super) fn connect(transport: Transport, runtime: &Runtime) -> (Writer, Reader, Peer) {
    if transport == Transport::Relay {
        let _entered = runtime.enter();
        let (ours, theirs) = UnixStream::pair().unwrap();
        ours.set_nonblocking(true).unwrap();
        theirs.set_write_timeout(Some(super::LONG)).unwrap();
        let (writer, reader) = transport::over(tokio::net::UnixStream::from_std(ours).unwrap()).unwrap();
        return (writer, reader, Peer(Mutex::new(End::Relay(BufReader::new(theirs)))));
    }
    let (client, server) = tls();
    let listener = TcpListener::bind("127.0.0.1:0").unwrap();
    let address = listener.local_addr().unwrap();
    let accepting = thread::spawn(move || {
        let (socket, _) = listener.accept().unwrap();
        socket.set_write_timeout(Some(super::LONG)).unwrap();
        socket.set_nodelay(true).unwrap();
        let stream: Box<dyn Both> = match transport {
            Transport::Tls => Box::new(StreamOwned::new(ServerConnection::new(server).unwrap(), socket)),
            _ => Box::new(socket),
        };
        let Ok(socket) = tungstenite::accept(stream) else { panic!("the client's handshake is valid") };
        socket
    });
    let socket = runtime.block_on(async {
        let socket = TcpStream::connect(address).unwrap();
        socket.set_nonblocking(true).unwrap();
        let socket = Socket::new(socket).unwrap();
        let stream = match transport {
            Transport::Tls => {
                let connected = TlsConnector::from(client).connect("localhost".try_into().unwrap(), socket).await;
                Stream::Tls(Box::new(connected.unwrap()))
            }
            _ => Stream::Plain(socket),
        };
        WebSocket::over(stream, "ws://localhost/".into_client_request().unwrap()).await.unwrap()
    });
    let theirs = accepting.join().unwrap();
    (Writer::Web(socket.clone()), Reader::Web(socket), Peer(Mutex::new(End::Web(Box::new(theirs)))))
}

/// The two sides' configurations; the client trusts the server's certificate.
fn tls() -> (Arc<ClientConfig>, Arc<ServerConfig>) {
    let certified = rcgen::generate_simple_self_signed(["localhost".to_owned()]).unwrap();
    let certificate = certified.cert.der().clone();
    let key = certified.signing_key.serialize_der().try_into().unwrap();
    let mut roots = RootCertStore::empty();
    roots.add(certificate.clone()).unwrap();
    let provider = Arc::new(ring::default_provider());
    let client = ClientConfig::builder_with_provider(Arc::clone(&provider)).with_safe_default_protocol_versions();
    let server = ServerConfig::builder_with_provider(provider).with_safe_default_protocol_versions();
    (
        Arc::new(client.unwrap().with_root_certificates(roots).with_no_client_auth()),
        Arc::new(server.unwrap().with_no_client_auth().with_single_cert(vec![certificate], key).unwrap()),
    )
}

impl Peer {
    /// The bytes of a message: for a WebSocket, those of a server's frame.
    pub(super) fn framed(&self, text: &str) -> Vec<u8> {
        match &*self.0.lock().unwrap() {
            End::Relay(_) => [text.as_bytes(), b"\0"].concat(),
            End::Web(_) => {
                let length = u8::try_from(text.len()).ok().filter(|length| *length < 126).expect("a short message");
                [&[0x81, length], text.as_bytes()].concat()
            }
        }
    }

    /// Writes messages with one call of the system.
    pub(super) fn write(&self, texts: &[&str]) {
        self.write_bytes(&texts.iter().flat_map(|text| self.framed(text)).collect::<Vec<_>>());
    }

    pub(super) fn write_bytes(&self, bytes: &[u8]) {
        self.try_write(bytes).unwrap();
    }

    fn try_write(&self, bytes: &[u8]) -> io::Result<()> {
        match &mut *self.0.lock().unwrap() {
            End::Relay(socket) => socket.get_mut().write_all(bytes),
            End::Web(socket) => {
                socket.get_mut().write_all(bytes)?;
                socket.get_mut().flush()
            }
        }
    }

    /// Reads messages, and writes each back.
    pub(super) fn echo(&self, messages: usize) {
        for _ in 0..messages {
            match &mut *self.0.lock().unwrap() {
                End::Relay(socket) => {
                    let mut message = Vec::new();
                    socket.read_until(0, &mut message).unwrap();
                    socket.get_mut().write_all(&message).unwrap();
                }
                End::Web(socket) => {
                    let message = socket.read().unwrap();
                    socket.send(message).unwrap();
                }
            }
        }
    }

    /// Writes until an error tells that the socket's other end is closed.
    pub(super) fn wait_until_nobody_reads(&self) {
        let error = loop {
            if let Err(error) = self.try_write(&self.framed("lost")) {
                break error;
            }
        };
        let closed = [io::ErrorKind::BrokenPipe, io::ErrorKind::ConnectionReset];
        assert!(closed.contains(&error.kind()), "{error}");
    }
}
