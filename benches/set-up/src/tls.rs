//! TLS 1.3 by rustls over our TCP.

use std::net::SocketAddr;
use std::sync::Arc;

use base::{Holder, Instant, Purpose, RandomStream};
use bytes::Bytes;
use netsim::topology::{Directions, Placed, pair};
use netsim::{Host, Simulation};
use recovery::RecoveryPolicy;
use rustls::client::danger::{HandshakeSignatureValid, ServerCertVerified, ServerCertVerifier};
use rustls::crypto::CryptoProvider;
use rustls::pki_types::{CertificateDer, PrivateKeyDer, PrivatePkcs8KeyDer, ServerName, UnixTime};
use rustls::{ClientConfig, Connection, DigitallySignedStruct, ServerConfig, SignatureScheme};
use secure::Identity;
use tcp::{
    ConnectionId, ConnectionOptions, Endpoint, EndpointOptions, Event, ListenOptions, Received,
    SendFlags,
};

use crate::run::until;
use crate::world::link;

/// Preset of our TCP below TLS: recovery as in Linux, or `latency`.
#[derive(Clone, Copy)]
pub(crate) enum Policy {
    Linux,
    Latency,
}

/// Believes any certificate, as a client with a pinned key would after a comparison.
#[derive(Debug)]
struct AnyKey(Arc<CryptoProvider>);

impl ServerCertVerifier for AnyKey {
    fn verify_server_cert(
        &self,
        _: &CertificateDer<'_>,
        _: &[CertificateDer<'_>],
        _: &ServerName<'_>,
        _: &[u8],
        _: UnixTime,
    ) -> Result<ServerCertVerified, rustls::Error> {
        Ok(ServerCertVerified::assertion())
    }

    fn verify_tls12_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls12_signature(message, certificate, signed, algorithms)
    }

    fn verify_tls13_signature(
        &self,
        message: &[u8],
        certificate: &CertificateDer<'_>,
        signed: &DigitallySignedStruct,
    ) -> Result<HandshakeSignatureValid, rustls::Error> {
        let algorithms = &self.0.signature_verification_algorithms;
        rustls::crypto::verify_tls13_signature(message, certificate, signed, algorithms)
    }

    fn supported_verify_schemes(&self) -> Vec<SignatureScheme> {
        self.0.signature_verification_algorithms.supported_schemes()
    }
}

fn provider() -> Arc<CryptoProvider> {
    Arc::new(rustls::crypto::ring::default_provider())
}

/// The key whose certificate all servers present.
fn identity() -> Identity {
    Identity::generate(&mut RandomStream::new(2, Purpose("identity", 0)))
}

/// A client of TLS 1.3.
pub(crate) fn client() -> ClientConfig {
    let versions = &[&rustls::version::TLS13];
    let client = ClientConfig::builder_with_provider(provider());
    let client = client.with_protocol_versions(versions).expect("TLS 1.3");
    let verifier = Arc::new(AnyKey(provider()));
    client.dangerous().with_custom_certificate_verifier(verifier).with_no_client_auth()
}

/// A server of TLS 1.3 with the certificate of all servers here.
pub(crate) fn server() -> ServerConfig {
    let identity = identity();
    let certificate = CertificateDer::from(identity.certificate().to_vec());
    let versions = &[&rustls::version::TLS13];
    let server = ServerConfig::builder_with_provider(provider());
    let server = server.with_protocol_versions(versions).expect("TLS 1.3").with_no_client_auth();
    server.with_single_cert(vec![certificate], key(&identity)).expect("a key")
}

fn key(identity: &Identity) -> PrivateKeyDer<'static> {
    use rustls::pki_types::pem::PemObject;
    let text = identity.to_pem().expect("a key of its own");
    PrivatePkcs8KeyDer::from_pem_slice(text.as_bytes()).expect("PEM").into()
}

/// An end of a connection.
struct End {
    tcp: Endpoint,
    id: Option<ConnectionId>,
    tls: Connection,
    received: Option<Instant>,
}

impl Holder for End {
    type Held = Endpoint;

    fn held(&self) -> &Endpoint {
        &self.tcp
    }

    fn held_mut(&mut self) -> &mut Endpoint {
        &mut self.tcp
    }
}

impl Host for End {
    fn after_input(&mut self, now: Instant) {
        while let Some((id, event)) = self.tcp.poll_event() {
            if let Event::Incoming { listener } = event {
                self.id = self.tcp.accept(listener);
            } else {
                self.id = Some(id);
            }
        }
        self.carry(now);
    }
}

impl End {
    fn new(tls: Connection, seed: u64, index: u64) -> End {
        let random = RandomStream::new(seed, Purpose("endpoint", index));
        End {
            tcp: Endpoint::new(EndpointOptions::default(), random),
            id: None,
            tls,
            received: None,
        }
    }

    /// Takes what has arrived, and sends what TLS has to send.
    fn carry(&mut self, now: Instant) {
        let Some(mut connection) = self.id.and_then(|id| self.tcp.connection_mut(id)) else {
            return;
        };
        while let Ok(Received::Data(data)) = connection.receive(now, usize::MAX) {
            let mut rest = &data[..];
            while !rest.is_empty() {
                self.tls.read_tls(&mut rest).expect("a slice");
                let state = self.tls.process_new_packets().expect("a sound peer");
                if state.plaintext_bytes_to_read() > 0 {
                    self.received.get_or_insert(now);
                }
            }
        }
        let mut records = Vec::new();
        while self.tls.wants_write() {
            self.tls.write_tls(&mut records).expect("a vector");
        }
        if !records.is_empty() {
            let length = records.len();
            let taken = connection.send(now, Bytes::from(records), SendFlags::default());
            assert_eq!(taken, Ok(length));
        }
    }
}

/// One connection; when its message arrived.
pub(crate) fn run(loss: u64, seed: u64, policy: Policy) -> Option<Instant> {
    let policy = Arc::new(match policy {
        Policy::Linux => RecoveryPolicy::tcp_linux(),
        Policy::Latency => RecoveryPolicy::tcp_latency(),
    });
    let options = ConnectionOptions { policy, ..ConnectionOptions::default() };
    let [client_at, server_at]: [SocketAddr; 2] =
        [1, 2].map(|host| SocketAddr::from(([10, 0, 0, host], 443)));
    let name = ServerName::try_from("server").expect("a name");
    let mut tls = rustls::ClientConnection::new(Arc::new(client()), name).expect("a client");
    std::io::Write::write_all(&mut tls.writer(), &[0; 100]).expect("room");
    let mut first = End::new(tls.into(), seed, 0);
    let id = first.tcp.connect(
        Instant::ZERO,
        SocketAddr::new(client_at.ip(), 0),
        server_at,
        options.clone(),
    );
    first.id = Some(id.expect("a connection"));
    first.carry(Instant::ZERO);
    let tls = rustls::ServerConnection::new(Arc::new(server())).expect("a server");
    let mut second = End::new(tls.into(), seed, 1);
    let listen = ListenOptions { accepted: options, ..ListenOptions::default() };
    second.tcp.listen(server_at, listen).expect("a listener");
    let mut simulation = Simulation::new(seed);
    let places = pair(
        &mut simulation,
        Placed::at(first, SocketAddr::new(client_at.ip(), 0)),
        Placed::at(second, SocketAddr::new(server_at.ip(), 0)),
        &[Directions::both(link(loss))],
    );
    let server = places.expect("a network").second;
    until(|| {
        let next = simulation.now() + base::Duration::from_secs(1);
        simulation.run_until(next).expect("a network that works");
        simulation.host(server).received
    })
}
