//! D3: no command but `secret new` prints a secret, and none but `sign` a MAC.

use crate::harness::{Canned, Ended, PROVIDERS, Server, VARIABLE, file, program};

/// Secrets, and the MACs in these texts: what stands behind `v1=` or `v1,`, or alone as 64 digits.
fn secrets_and_macs<'t>(secrets: &[&'t str], texts: &[&'t str]) -> Vec<&'t str> {
    let word = |char: char| char.is_ascii_alphanumeric() || "+/=".contains(char);
    let macs = texts.iter().flat_map(|text| text.split(|char| !word(char))).map(|word| word.trim_start_matches("v1="));
    let macs: Vec<_> = macs.filter(|word| [44, 64].contains(&word.len())).collect();
    assert!(!macs.is_empty(), "no MAC in {texts:?}");
    secrets.iter().copied().chain(macs).collect()
}

#[track_caller]
fn is_clean(ended: &Ended, forbidden: &[&str]) {
    for text in forbidden {
        // The half of one is worth guessing the rest.
        let half = text.get(text.len() / 2..).unwrap();
        assert!(!ended.out.contains(half) && !ended.told.contains(half), "{ended:?}");
    }
}

#[test]
fn of_every_provider() {
    const BODY: &str = r#"{"id":"1","event_id":"1","note":"customer-confidential-8c1f"}"#;
    const MARKER: &str = "customer-confidential-8c1f";
    for provider in PROVIDERS {
        let (name, secrets) = provider;
        // What is on the wire, of which nothing is shown.
        let answer = "HTTP/1.1 400 No\r\ncontent-length: 0\r\nconnection: close\r\n\r\n";
        let wire = Canned::start(answer);
        let url = format!("http://{}/", wire.address);
        for more in [&["--type", "all"][..], &["--type", "job.failed", "--json", "--duplicate", "2"]] {
            let ended = program(&[&["send", "--to", &url], more].concat()).of(provider).run();
            assert_eq!(ended.code, Some(1));
            let requests = wire.requests();
            let texts: Vec<_> = requests.iter().map(String::as_str).collect();
            is_clean(&ended, &secrets_and_macs(&secrets, &texts));
        }
        let server = Server::start(provider);
        let ended = program(&["send", "--to", &server.url, "--type", "all"]).of(provider).run();
        assert_eq!(ended.code, Some(0));
        is_clean(&ended, &secrets);

        let id: &[&str] = if ["standard", "agent"].contains(&name) { &["--id", "1"] } else { &[] };
        let signed = program(&[&["sign"], id].concat()).of(provider).input(BODY).run();
        assert_eq!(signed.code, Some(0));
        is_clean(&signed, &secrets);
        let forbidden = secrets_and_macs(&secrets, &[&signed.out]);
        let headers = file(&format!("leaks-{}.txt", name.replace(':', "-")), &signed.out);
        for (body, code) in [(BODY, 0), ("{}", 1)] {
            for more in [&[][..], &["--json"]] {
                let verify = [&["verify", "--headers-file", &headers], more].concat();
                let ended = program(&verify).of(provider).input(body).run();
                assert_eq!(ended.code, Some(code), "{ended:?}");
                is_clean(&ended, &forbidden);
            }
        }
        let forbidden = [&forbidden[..], &[MARKER]].concat();
        let blanks = BODY.replace(',', ", ");
        for body in [BODY, "{}", &blanks, &BODY[..20]] {
            for list in [secrets.join(","), format!("\"{}\"", secrets.join(" ,")), secrets[1].to_owned()] {
                for more in [&[][..], &["--json"], &["--elsewhere-env", VARIABLE]] {
                    let doctor = [&["doctor", "--headers-file", &headers], more].concat();
                    let ended = program(&doctor).of(provider).env(VARIABLE, &list).input(body).run();
                    assert!([Some(0), Some(1)].contains(&ended.code), "{ended:?}");
                    is_clean(&ended, &forbidden);
                }
            }
        }
        // A header line that is none, and a value that no header can have.
        let torn = file(&format!("torn-{}.txt", name.replace(':', "-")), signed.out.replace(": ", " "));
        let ended = program(&["verify", "--headers-file", &torn]).of(provider).input(BODY).run();
        assert_eq!(ended.code, Some(2));
        is_clean(&ended, &forbidden);
    }
}

/// A secret where something else belongs.
#[test]
fn of_a_slip() {
    const SECRET: &str = "whsec_aHVudGVyMmh1bnRlcjI";
    for arguments in [
        &["sign", "body.json", SECRET][..],
        &["sign", SECRET],
        &["sign", "--secret-file", SECRET],
        &["sign", "--secret-env", SECRET],
        &["sign", "--at", SECRET],
        &["sign", "--provider", SECRET],
        &["verify", "--header", SECRET],
        &["verify", "--headers-file", SECRET],
        &["doctor", "--header", SECRET],
        &["doctor", "--header", "a: b", "--body", SECRET],
        &["doctor", "--elsewhere-env", SECRET],
        &["doctor", "--elsewhere-file", SECRET],
        &["doctor", "--tolerance", SECRET],
        &["send", "--to", SECRET, "--type", "job.failed"],
        &["send", "--to", "http://127.0.0.1:1", "--type", SECRET],
        &["send", "--to", "http://127.0.0.1:1", "--type", "job.failed", "--data", SECRET],
        &["send", "--to", "http://127.0.0.1:1", "--type", "job.failed", "--set", SECRET],
        &["secret", SECRET],
        &["man", SECRET],
        &[SECRET],
    ] {
        let ended = program(arguments).run();
        assert_eq!((ended.code, ended.out.as_str()), (Some(2), ""), "{arguments:?}");
        is_clean(&ended, &[SECRET]);
    }
    // A file that is called like the secret in it.
    let path = file(&format!("named/{SECRET}"), SECRET);
    let signed = program(&["sign", "--secret-file", &path]).input("{}").run().out(0);
    let body = file("slip.json", "{}");
    let with =
        |command| program(&[command, &body, "--secret-file", &path, "--headers-file", "-"]).input(&*signed).run();
    assert_eq!(with("verify").out, "verified: signed with secret 1, 0 s ago\n");
    let healthy = with("doctor").out;
    assert!(healthy.starts_with("healthy: the signature matches under secret `1`, "), "{healthy}");
    is_clean(&with("doctor"), &[SECRET]);
}
