//! QUIC through quinn: a stream of each connection, both ways.

use std::pin::pin;
use std::sync::Arc;
use std::task::{Context, Poll, Waker};

use quinn::crypto::rustls::QuicClientConfig;
use quinn::rustls::RootCertStore;
use quinn::rustls::pki_types::{CertificateDer, PrivatePkcs8KeyDer};
use quinn::{ClientConfig, Endpoint, ServerConfig};

use crate::answers::Answers;
use crate::probe::Probe;
use crate::sender::Sender;
use crate::{MESSAGE, Result};

/// Client endpoints at most: each has buffers of some megabytes.
const ENDPOINTS: usize = 64;

pub async fn serve(probe: Probe) -> Result<()> {
    let key = rcgen::generate_simple_self_signed(vec!["localhost".to_owned()])?;
    let private = PrivatePkcs8KeyDer::from(key.signing_key.serialize_der());
    let certificate = CertificateDer::from(key.cert);
    let config = ServerConfig::with_single_cert(vec![certificate.clone()], private.into())?;
    let endpoint = Endpoint::server(config, "127.0.0.1:0".parse()?)?;
    let hex: String = certificate.iter().map(|byte| format!("{byte:02x}")).collect();
    println!("{} {hex}", endpoint.local_addr()?);
    while let Some(incoming) = endpoint.accept().await {
        tokio::spawn(answer(incoming, probe.clone()));
    }
    Ok(())
}

async fn answer(incoming: quinn::Incoming, probe: Probe) -> Result<()> {
    let connection = incoming.await?;
    let (mut sending, mut receiving) = connection.accept_bi().await?;
    let mut message = [0; MESSAGE];
    loop {
        receiving.read_exact(&mut message).await?;
        probe.on_received(&message);
        sending.write_all(&message).await?;
    }
}

/// The endpoints of a client process.
pub struct Clients(Vec<Endpoint>);

impl Clients {
    pub fn new(connections: usize) -> Result<Clients> {
        let address = "127.0.0.1:0".parse()?;
        let endpoints = (0..connections.min(ENDPOINTS)).map(|_| Endpoint::client(address));
        Ok(Clients(endpoints.collect::<std::result::Result<_, _>>()?))
    }

    pub fn connect(
        &self,
        number: usize,
        server: String,
        mut answers: Answers,
    ) -> impl Future<Output = Result<Sender>> + use<> {
        let endpoint = self.0[number % self.0.len()].clone();
        async move {
            let (address, hex) = server.split_once(' ').ok_or("the server named no key")?;
            let certificate = (0..hex.len() / 2)
                .map(|index| u8::from_str_radix(&hex[2 * index..2 * index + 2], 16))
                .collect::<std::result::Result<Vec<u8>, _>>()?;
            let mut roots = RootCertStore::empty();
            roots.add(certificate.into())?;
            let provider = Arc::new(rustls::crypto::ring::default_provider());
            let tls = rustls::ClientConfig::builder_with_provider(provider)
                .with_protocol_versions(&[&rustls::version::TLS13])?
                .with_root_certificates(roots)
                .with_no_client_auth();
            let config = ClientConfig::new(Arc::new(QuicClientConfig::try_from(tls)?));
            let connection = endpoint.connect_with(config, address.parse()?, "localhost")?.await?;
            let (mut sending, mut receiving) = connection.open_bi().await?;
            tokio::spawn(async move {
                let mut buffer = [0; MESSAGE];
                while receiving.read_exact(&mut buffer).await.is_ok() {
                    answers.on_received(&buffer);
                }
            });
            Ok(Box::new(move |message: &[u8; MESSAGE]| {
                let _ = &connection;
                let mut context = Context::from_waker(Waker::noop());
                match pin!(sending.write_all(message)).poll(&mut context) {
                    Poll::Ready(written) => Ok(written?),
                    Poll::Pending => Err("the stream's window is full".into()),
                }
            }) as Sender)
        }
    }
}
