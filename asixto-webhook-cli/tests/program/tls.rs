//! `send` over https, to a server of this test.

use std::{
    io::Write,
    net::{SocketAddr, TcpListener},
    sync::Arc,
    thread,
};

use rcgen::{BasicConstraints, CertificateParams, DnType, IsCa, Issuer, KeyPair};
use rustls::{
    ServerConfig, ServerConnection, Stream,
    crypto::ring,
    pki_types::{CertificateDer, PrivateKeyDer},
};

use crate::harness::{Ended, file, program, request};

/// An authority, and what it vouches for.
struct Authority(Issuer<'static, KeyPair>, String);

impl Authority {
    fn new(name: &str) -> Self {
        let mut params = CertificateParams::default();
        params.distinguished_name.push(DnType::CommonName, name);
        params.is_ca = IsCa::Ca(BasicConstraints::Unconstrained);
        let key = KeyPair::generate().unwrap();
        let pem = params.self_signed(&key).unwrap().pem();
        Self(Issuer::new(params, key), pem)
    }

    /// A server with a certificate for these names, which acknowledges every delivery.
    fn server(&self, names: &[&str]) -> SocketAddr {
        let key = KeyPair::generate().unwrap();
        let names: Vec<_> = names.iter().map(|name| (*name).to_owned()).collect();
        let certificate = CertificateParams::new(names).unwrap().signed_by(&key, &self.0).unwrap();
        let chain = vec![CertificateDer::from(certificate.der().to_vec())];
        let key = PrivateKeyDer::try_from(key.serialize_der()).unwrap();
        let config = ServerConfig::builder_with_provider(Arc::new(ring::default_provider()))
            .with_safe_default_protocol_versions()
            .unwrap()
            .with_no_client_auth()
            .with_single_cert(chain, key)
            .unwrap();
        let config = Arc::new(config);
        let listener = TcpListener::bind("127.0.0.1:0").unwrap();
        let address = listener.local_addr().unwrap();
        thread::spawn(move || {
            for stream in listener.incoming() {
                let (mut stream, mut tls) = (stream.unwrap(), ServerConnection::new(config.clone()).unwrap());
                // A client that does not trust us goes away.
                if tls.complete_io(&mut stream).is_ok() {
                    let mut stream = Stream::new(&mut tls, &mut stream);
                    assert!(request(&mut stream).starts_with("POST /hook HTTP/1.1\r\n"));
                    stream.write_all(b"HTTP/1.1 200 OK\r\ncontent-length: 0\r\nconnection: close\r\n\r\n").unwrap();
                }
            }
        });
        address
    }
}

fn send(address: SocketAddr, more: &[&str]) -> Ended {
    let url = format!("https://{address}/hook");
    program(&[&["send", "--type", "job.failed", "--json", "--to", &url], more].concat()).run()
}

fn error(ended: Ended) -> String {
    ended.json(1)["deliveries"][0]["error"].as_str().unwrap().to_owned()
}

#[test]
fn an_authority_that_is_given() {
    let authority = Authority::new("ours");
    let ca = file("ca.pem", format!("# ours\n{}{}", Authority::new("other").1, authority.1));
    let report = send(authority.server(&["127.0.0.1"]), &["--ca", &ca]).json(0);
    assert_eq!(report["deliveries"][0]["status"].as_u64(), Some(200));
}

#[test]
fn who_is_not_trusted() {
    let authority = Authority::new("ours");
    let (ours, other) = (file("ours.pem", &authority.1), file("other.pem", Authority::new("other").1));
    let unknown = error(send(authority.server(&["127.0.0.1"]), &["--ca", &other]));
    assert!(unknown.contains("invalid peer certificate: UnknownIssuer") && unknown.contains("--ca FILE"), "{unknown}");
    let other_name = error(send(authority.server(&["receiver.example"]), &["--ca", &ours]));
    assert!(other_name.contains("not valid for"), "{other_name}");
    assert!(!other_name.contains("--ca"), "{other_name}");
    // The system's authorities do not know ours, where the system has any.
    let address = authority.server(&["127.0.0.1"]);
    let system = program(&["send", "--type", "job.failed", "--to", &format!("https://{address}/hook")]);
    let system = system.env("SSL_CERT_FILE", &other).run();
    assert!(system.code == Some(1) && system.out.contains("UnknownIssuer"), "{system:?}");
}
