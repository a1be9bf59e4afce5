//! Deliveries that are broken in one way or two, and what is wrong with each.

use asixto_webhook_core::{
    Asixto, Provider, UnixTime,
    explain::{Case, Certainty, Diagnosis},
    provider::{Agent, CloudEvents, StandardWebhooks, Unidentified},
};
use base64::{
    Engine,
    engine::general_purpose::{STANDARD, STANDARD_NO_PAD, URL_SAFE, URL_SAFE_NO_PAD},
};
use hmac::{Hmac, KeyInit, Mac};
use sha2::Sha256;

use crate::common::{FORGED_SECRET, Lines, NEW_SECRET, NOW, SECRET, headers_at, secrets_of};

/// What a sender of this kind signs and sends: compact, with what serializers differ in.
pub(crate) const BODY: &str = concat!(
    r#"{"id":"evt_1","type":"job.succeeded","created":1787923100,"environment":"live","data":"#,
    r#"{"note":"customer-confidential-8c1f","url":"https://example.com/é?a=<1>","list":[1.50,[],{}]}}"#
);

/// Behind the prefix there is what reads as base64, in the alphabet of addresses.
pub(crate) const DECODABLE: &str = "whsec_c2VjcmV0LW9mLXRoZS1zZW5kZXI_-w";
/// What all forms of base64 write in ways of their own.
pub(crate) const TEXT: &str = "secret-of-the-sender?>?~";
pub(crate) const HEX: &str = "whsec_8c1f00aa8c1f00ab8c1f00ac8c1f00ad";

pub(crate) const PROVEN: Certainty = Certainty::Proven;
pub(crate) const SUSPECTED: Certainty = Certainty::Suspected;

/// A delivery, the secrets that its receiver has, and what is wrong with it.
pub(crate) struct Broken {
    pub(crate) lines: Lines,
    pub(crate) body: Vec<u8>,
    /// Label and text.
    pub(crate) secrets: Vec<(&'static str, String)>,
    pub(crate) elsewhere: Vec<(&'static str, String)>,
    pub(crate) readings: Vec<(&'static str, Vec<u8>)>,
    pub(crate) now: u64,
    pub(crate) wrong: Vec<(&'static str, Certainty)>,
}

impl Broken {
    /// A delivery that is in order; the next calls break it.
    pub(crate) fn by(wrong: &[&'static str]) -> Self {
        Self {
            lines: header(&mac(SECRET, &message(BODY))),
            body: BODY.into(),
            secrets: vec![("production", SECRET.into())],
            elsewhere: vec![],
            readings: vec![],
            now: NOW,
            wrong: wrong.iter().map(|code| (*code, PROVEN)).collect(),
        }
    }

    /// The signer signed this body.
    pub(crate) fn signed(self, body: impl AsRef<[u8]>) -> Self {
        self.with_mac(&mac(SECRET, &message(body)))
    }

    /// The signer had this key.
    pub(crate) fn keyed(self, key: impl AsRef<[u8]>) -> Self {
        self.with_mac(&mac(key, &message(BODY)))
    }

    pub(crate) fn with_mac(self, mac: &str) -> Self {
        self.value(format!("t={NOW},v1={mac}"))
    }

    pub(crate) fn value(self, value: impl Into<String>) -> Self {
        self.lines(vec![("Asixto-Signature".into(), value.into())])
    }

    pub(crate) fn lines(self, lines: Lines) -> Self {
        Self { lines, ..self }
    }

    pub(crate) fn line(mut self, name: &str, value: &str) -> Self {
        self.lines.push((name.into(), value.into()));
        self
    }

    /// This is the body that came.
    pub(crate) fn came(self, body: impl Into<Vec<u8>>) -> Self {
        Self { body: body.into(), ..self }
    }

    /// The receiver has this text.
    pub(crate) fn has(self, text: impl Into<String>) -> Self {
        Self { secrets: vec![("production", text.into())], ..self }
    }

    pub(crate) fn at(self, now: u64) -> Self {
        Self { now, ..self }
    }

    pub(crate) fn suspected(mut self) -> Self {
        for (_, certainty) in &mut self.wrong {
            *certainty = SUSPECTED;
        }
        self
    }

    pub(crate) fn diagnose_as<P: Provider>(&self, provider: P) -> Diagnosis {
        let mut case = Case::new(provider, UnixTime::from_secs(self.now))
            .headers(self.lines.iter().map(|(name, value)| (name.as_str(), value.as_bytes())))
            .body(&self.body);
        for (label, text) in &self.elsewhere {
            case = case.elsewhere(label, text);
        }
        for (label, text) in &self.secrets {
            case = case.secret(label, text);
        }
        for (name, body) in &self.readings {
            case = case.reading(name, body);
        }
        case.diagnose()
    }

    pub(crate) fn diagnose(&self) -> Diagnosis {
        self.diagnose_as(Asixto)
    }
}

pub(crate) fn message(body: impl AsRef<[u8]>) -> Vec<u8> {
    [format!("{NOW}.").as_bytes(), body.as_ref()].concat()
}

/// HMAC-SHA256 under any key.
pub(crate) fn tag(key: impl AsRef<[u8]>, message: &[u8]) -> Vec<u8> {
    let mut running = Hmac::<Sha256>::new_from_slice(key.as_ref()).unwrap();
    running.update(message);
    running.finalize().into_bytes().to_vec()
}

pub(crate) fn mac(key: impl AsRef<[u8]>, message: &[u8]) -> String {
    tag(key, message).iter().map(|byte| format!("{byte:02x}")).collect()
}

pub(crate) fn header(mac: &str) -> Lines {
    vec![("Asixto-Signature".into(), format!("t={NOW},v1={mac}"))]
}

pub(crate) fn known() -> String {
    mac(SECRET, &message(BODY))
}

pub(crate) fn form(text: &str) -> String {
    text.bytes()
        .map(|byte| match byte {
            b'a'..=b'z' | b'A'..=b'Z' | b'0'..=b'9' | b'-' | b'.' | b'_' | b'*' => char::from(byte).to_string(),
            b' ' => "+".into(),
            other => format!("%{other:02X}"),
        })
        .collect()
}

/// As another library writes it. `serde_json` keeps the text of no number, so there is none that it would change.
pub(crate) fn pretty() -> String {
    let mut out = String::new();
    out += "{\n  \"id\": \"evt_1\",\n  \"type\": \"job.succeeded\",\n  \"created\": 1787923100,\n";
    out += "  \"environment\": \"live\",\n  \"data\": {\n    \"note\": \"customer-confidential-8c1f\",\n";
    out += "    \"url\": \"https://example.com/é?a=<1>\",\n    \"list\": [\n      1.50,\n      [],\n      {}\n    ]\n  }\n}";
    out
}

/// As `json.dumps` writes it.
pub(crate) fn python() -> String {
    BODY.replace("\":", "\": ").replace(",\"", ", \"").replace(",[", ", [").replace(",{", ", {").replace('é', "\\u00e9")
}

/// As Jackson's default printer lays it out.
pub(crate) fn jackson() -> String {
    let mut out = String::new();
    out += "{\n  \"id\" : \"evt_1\",\n  \"type\" : \"job.succeeded\",\n  \"created\" : 1787923100,\n";
    out += "  \"environment\" : \"live\",\n  \"data\" : {\n    \"note\" : \"customer-confidential-8c1f\",\n";
    out += "    \"url\" : \"https://example.com/é?a=<1>\",\n    \"list\" : [ 1.50, [ ], { } ]\n  }\n}";
    out
}

/// Every way that is known, most with a MAC that proves it.
pub(crate) fn all() -> Vec<Broken> {
    let mut all = secrets();
    all.extend(bodies());
    all.extend(headers());
    all.extend(layouts());
    all.extend(times());
    all.extend(pairs());
    all.extend(suspects());
    all
}

pub(crate) fn secrets() -> Vec<Broken> {
    let rest = &SECRET["whsec_".len()..];
    let elsewhere = Broken { elsewhere: vec![("staging", NEW_SECRET.into())], ..Broken::by(&["secret_of_elsewhere"]) };
    let of_three = vec![("old", FORGED_SECRET.into()), ("current", SECRET.into()), ("new", format!("{NEW_SECRET}\n"))];
    vec![
        Broken::by(&["secret_padded"]).has(format!("{SECRET}\n")),
        Broken::by(&["secret_padded"]).has(format!("\u{feff} {SECRET}\r\n")),
        Broken { secrets: of_three, ..Broken::by(&["secret_padded"]).keyed(NEW_SECRET) },
        Broken::by(&["secret_quoted"]).has(format!("\"{SECRET}\"\n")),
        Broken::by(&["secret_with_its_name"]).has(format!("export ASIXTO_WEBHOOK_SECRET='{SECRET}'\n")),
        Broken::by(&["secret_with_its_name"]).has(format!("SECRET={SECRET}")),
        Broken::by(&["secret_with_its_name"]).has(format!("secret: {SECRET}")),
        Broken::by(&["secret_with_its_name"]).has(format!("\"webhook-secret\" : \"{SECRET}\"")),
        Broken::by(&["secret_with_a_comment"]).has(format!("{SECRET} # the live one")),
        Broken::by(&["secret_with_a_comment"]).has(format!("'{SECRET}'\t# live, until March\n")),
        Broken::by(&["secret_encoded"]).has(STANDARD.encode(SECRET)),
        Broken::by(&["secret_encoded"]).has(format!("{}\n", STANDARD.encode(format!("{SECRET}\n")))),
        Broken::by(&["secret_encoded"]).has(SECRET.bytes().map(|byte| format!("{byte:02x}")).collect::<String>()),
        Broken::by(&["secret_decoded"]).keyed(format!("whsec_{}", STANDARD.encode(TEXT))).has(TEXT),
        Broken::by(&["secret_decoded"])
            .keyed(format!("whsec_{}", STANDARD_NO_PAD.encode(TEXT)))
            .has(format!("whsec_{TEXT}\n")),
        Broken::by(&["secret_decoded"]).keyed(format!("whsec_{}", URL_SAFE_NO_PAD.encode(TEXT))).has(TEXT),
        Broken::by(&["secret_decoded"]).keyed(format!("whsec_{}", URL_SAFE.encode(TEXT))).has(TEXT),
        Broken::by(&["secret_with_bearer"]).has(format!("Bearer {SECRET}")),
        Broken::by(&["secret_prefix_lost"]).has(rest),
        Broken::by(&["secret_prefix_doubled"]).has(format!("whsec_{SECRET}")),
        Broken::by(&["secret_several"]).has(format!("{NEW_SECRET},{SECRET}")),
        Broken::by(&["secret_several"]).has(format!("{NEW_SECRET}\n{SECRET}\n")),
        Broken::by(&["signer_padded_secret"]).keyed(format!("{SECRET}\n")),
        Broken::by(&["signer_padded_secret"]).keyed(format!("{SECRET}\r\n")).has(format!("{SECRET}\r\n")),
        Broken::by(&["signer_decoded_secret"])
            .keyed(URL_SAFE_NO_PAD.decode(&DECODABLE["whsec_".len()..]).unwrap())
            .has(DECODABLE),
        Broken::by(&["signer_decoded_secret"])
            .keyed(b"secret of the sender")
            .has(format!("whsec_{}", STANDARD.encode("secret of the sender"))),
        Broken::by(&["signer_dropped_prefix"]).keyed(rest),
        Broken::by(&["signer_decoded_hex"])
            .keyed([0x8c, 0x1f, 0, 0xaa, 0x8c, 0x1f, 0, 0xab, 0x8c, 0x1f, 0, 0xac, 0x8c, 0x1f, 0, 0xad])
            .has(HEX),
        Broken::by(&["signer_used_text"]).keyed("no-secret-of-asixto").has("no-secret-of-asixto"),
        Broken::by(&["signer_had_no_secret"]).keyed(""),
        Broken::by(&["signer_had_no_secret"]).keyed("").has(""),
        elsewhere.keyed(NEW_SECRET),
    ]
}

pub(crate) fn bodies() -> Vec<Broken> {
    let reserialised = |signed: &str| Broken::by(&["body_reserialised"]).signed(signed);
    let lines = "first\nsecond\nthird";
    let quoted = serde_json::to_string(BODY).unwrap();
    let data = &BODY[BODY.find("{\"note").unwrap()..BODY.len() - 1];
    let latin_1: Vec<u8> = BODY.chars().map(|char| u8::try_from(char).unwrap()).collect();
    let mojibake: String = "{\"price\":\"€ 1\"}"
        .bytes()
        .map(|byte| match byte {
            0x82 => '‚',
            other => char::from(other),
        })
        .collect();
    vec![
        Broken::by(&["body_newline_lost"]).signed(format!("{BODY}\n")),
        Broken::by(&["body_newline_lost"]).signed(format!("{BODY}\r\n")),
        Broken::by(&["body_newline_added"]).came(format!("{BODY}\n")),
        Broken::by(&["body_newline_added"]).came(format!("{BODY}\r\n")),
        Broken::by(&["body_white_space_added"]).came(format!("\n  {BODY} \n")),
        Broken::by(&["body_line_ends_changed"]).signed(lines).came(lines.replace('\n', "\r\n")),
        Broken::by(&["body_line_ends_changed"]).signed(lines.replace('\n', "\r\n")).came(lines),
        Broken::by(&["body_bom_added"]).came(format!("\u{feff}{BODY}")),
        Broken::by(&["body_bom_lost"]).signed(format!("\u{feff}{BODY}")),
        Broken::by(&["body_nul_padded"]).came(format!("{BODY}\0\0\0")),
        Broken::by(&["body_chunked"]).came(format!("{:x}\r\n{BODY}\r\n0\r\n\r\n", BODY.len())),
        Broken::by(&["body_base64"]).came(STANDARD.encode(BODY)),
        Broken::by(&["body_base64"]).came(URL_SAFE_NO_PAD.encode(BODY)),
        // What signers write, when a receiver parses and writes anew.
        reserialised(&pretty()),
        reserialised(&pretty().replace("  ", "    ")),
        reserialised(&pretty().replace("  ", "\t")),
        reserialised(&python()),
        reserialised(&python().replace("\\u00e9", "é")),
        reserialised(&BODY.replace('/', "\\/")),
        reserialised(&BODY.replace('/', "\\/").replace('é', "\\u00e9")),
        reserialised(&BODY.replace('<', "\\u003c").replace('>', "\\u003e")),
        reserialised(&jackson()),
        reserialised(&BODY.replace('é', "\\u00E9").replace('<', "\\u003C").replace('>', "\\u003E")),
        reserialised(r#"{"a":"it\u0027s \u0022x\u0022 \u002B \u0060y\u0060 \u0026 \\ \u001F\n\u007F \uD83D\uDE00/"}"#)
            .came("{\"a\":\"it's \\\"x\\\" + `y` & \\\\ \\u001f\\n\u{7f} 😀/\"}"),
        // A file ends with a line.
        reserialised(&format!("{}\n", pretty())),
        reserialised(&format!("{}\n", python())),
        reserialised(&format!("{BODY}\n")).came(pretty()),
        // And the other way about.
        reserialised(BODY).came(jackson()),
        reserialised(BODY).came(pretty()),
        reserialised(BODY).came(python()),
        reserialised(BODY).came(BODY.replace('é', "\\u00E9")),
        reserialised(BODY).came(BODY.replace('/', "\\/")),
        Broken::by(&["body_form_encoded"]).came(format!("payload={}", form(BODY))),
        Broken::by(&["body_form_encoded"]).came(form(BODY)),
        Broken::by(&["body_form_decoded"]).signed(form(BODY)),
        Broken::by(&["body_form_decoded"]).signed(format!("payload={}", form(BODY))),
        Broken::by(&["body_in_a_json_string"]).came(quoted.clone()),
        Broken::by(&["signer_encoded_twice"]).signed(quoted),
        Broken::by(&["body_mistaken_charset"]).came(BODY.bytes().map(char::from).collect::<String>()),
        Broken::by(&["body_mistaken_charset"]).signed("{\"price\":\"€ 1\"}").came(mojibake),
        Broken::by(&["body_mistaken_charset"]).came(latin_1),
        Broken::by(&["signer_signed_a_part"]).signed(data),
        Broken::by(&["signer_signed_nothing"]).signed(""),
        Broken {
            readings: vec![("inflated", BODY.into())],
            ..Broken::by(&["body_read_otherwise"]).came(b"\x1f\x8b not really".to_vec())
        },
    ]
}

pub(crate) fn headers() -> Vec<Broken> {
    let value = format!("t={NOW},v1={}", known());
    let other = format!("t={},v1={}", NOW - 7, mac(FORGED_SECRET, b"other"));
    let old = NOW - 1000;
    let old = format!("t={old},v1={}", mac(SECRET, format!("{old}.{BODY}").as_bytes()));
    let named = |name: &str| vec![("Host".to_owned(), "example.com".to_owned()), (name.to_owned(), value.clone())];
    vec![
        Broken::by(&["header_repeated"]).value(&*other).line("asixto-signature", &value),
        Broken::by(&["header_repeated"]).line("asixto-signature", &value),
        Broken::by(&["header_repeated"]).line("asixto-signature", &"x".repeat(9000)),
        Broken::by(&["header_repeated"]).value("x".repeat(9000)).line("asixto-signature", &value),
        // A genuine one that is old is no harm: it is what comes with it.
        Broken::by(&["header_repeated"]).line("asixto-signature", &old),
        Broken::by(&["header_repeated"]).value(&*old).line("asixto-signature", &value),
        Broken::by(&["header_joined"]).value(format!("{old}, {value}")),
        Broken::by(&["header_joined"]).value(format!("{value}, {old}")),
        Broken::by(&["header_joined"]).value(format!("{other}, {value}")),
        Broken::by(&["header_joined"]).value(format!("{other},{value},{other}")),
        Broken::by(&["header_upper_case"]).value(format!("t={NOW},v1={}", known().to_ascii_uppercase())),
        Broken::by(&["header_quoted"]).value(format!("\"{value}\"")),
        Broken::by(&["header_quoted"]).value(format!("t=\"{NOW}\",v1=\"{}\"", known())),
        Broken::by(&["header_white_space"]).value(format!("t = {NOW}, v1 = {}", known())),
        Broken::by(&["header_white_space"]).value(value.replace(',', ",\r\n ")),
        Broken::by(&["header_percent_encoded"]).value(value.replace('=', "%3D").replace(',', "%2C")),
        Broken::by(&["header_algorithm_named"]).value(value.replace("v1=", "v1=sha256=")),
        Broken::by(&["header_renamed"]).lines(named("X-Asixto-Signature")),
        Broken::by(&["header_renamed"]).lines(named("HTTP_ASIXTO_SIGNATURE")),
        Broken::by(&["header_renamed"]).lines(named("asixto_signature")),
    ]
}

pub(crate) fn layouts() -> Vec<Broken> {
    let alone = mac(SECRET, BODY.as_bytes());
    let base64 = STANDARD.encode(tag(SECRET, &message(BODY)));
    let standard = secrets_of::<StandardWebhooks>("x", DECODABLE_STANDARD);
    let acme = CloudEvents::new("Acme-Signature").unwrap();
    let partner = secrets_of::<Agent>("x", SECRET);
    vec![
        Broken::by(&["body_signed_alone"]).with_mac(&alone),
        Broken::by(&["body_signed_alone"]).lines(vec![("X-Hub-Signature-256".into(), format!("sha256={alone}"))]),
        Broken::by(&["separator_left_out"]).with_mac(&mac(SECRET, format!("{NOW}{BODY}").as_bytes())),
        Broken::by(&["signature_in_another_form"]).value(format!("t={NOW},v1={base64}")),
        Broken::by(&["signature_in_another_form"]).value(format!("t={NOW},sha256={}", known())),
        Broken::by(&["other_sender"])
            .lines(headers_at(&StandardWebhooks, &standard, NOW, "msg_1", BODY))
            .has(DECODABLE_STANDARD),
        Broken::by(&["other_sender"]).lines(headers_at(&acme, &secrets_of("x", SECRET), NOW, "", BODY)),
        Broken::by(&["other_sender"]).lines(headers_at(&agent(), &partner, NOW, "nonce-1", BODY)),
        Broken::by(&["other_sender", "body_begins_otherwise"])
            .lines(headers_at(&agent(), &partner, NOW, "nonce-1", "[1]"))
            .came("[1]"),
    ]
}

pub(crate) const DECODABLE_STANDARD: &str = "whsec_MfKQ9r8GKYqrTwjUPD8ILPZIo2LaLaSw";

pub(crate) fn times() -> Vec<Broken> {
    let millis = format!("t={NOW}123,v1={}", mac(SECRET, format!("{NOW}123.{BODY}").as_bytes()));
    let old = format!("t={}000,v1={}", NOW - 1000, mac(SECRET, format!("{}000.{BODY}", NOW - 1000).as_bytes()));
    let both =
        |sent: String, signed: u64| format!("t={sent},v1={}", mac(SECRET, format!("{signed}.{BODY}").as_bytes()));
    let mut zone = Broken::by(&["signed_too_long_ago", "time_zone"]).at(NOW + 7200 + 3);
    zone.wrong[1].1 = SUSPECTED;
    let mut one = Broken::by(&["signed_in_the_future", "time_zone"]).at(NOW - 3600);
    one.wrong[1].1 = SUSPECTED;
    let zone_of = |distance: u64| {
        let mut zone = Broken::by(&["signed_too_long_ago", "time_zone"]).at(NOW + distance);
        zone.wrong[1].1 = SUSPECTED;
        zone
    };
    vec![
        Broken::by(&["timestamp_not_in_seconds"]).value(millis),
        Broken::by(&["timestamp_not_in_seconds", "signed_too_long_ago"]).value(old),
        Broken::by(&["signed_too_long_ago"]).at(NOW + 301),
        Broken::by(&["signed_in_the_future"]).at(NOW - 1500),
        zone,
        one,
        zone_of(5 * 3600 + 1800),
        zone_of(5 * 3600 + 2700 + 20),
        zone_of(5 * 3600 + 1800 - 250),
        // There is no such zone.
        Broken::by(&["signed_too_long_ago"]).at(NOW + 1800),
        Broken::by(&["signed_too_long_ago"]).at(NOW + 7200 + 900),
        Broken::by(&["timestamp_in_two_units"]).value(both(format!("{NOW}123"), NOW)),
        Broken::by(&["timestamp_in_two_units"]).value(both(format!("{NOW}123456"), NOW)),
        Broken::by(&["timestamp_in_two_units"]).value(both(NOW.to_string(), NOW * 1000)),
        Broken::by(&["timestamp_in_two_units", "signed_too_long_ago"])
            .value(both(format!("{}123", NOW - 1000), NOW - 1000)),
    ]
}

pub(crate) fn pairs() -> Vec<Broken> {
    let padded = || format!("{SECRET}\n");
    let upper = |mac: String| format!("t={NOW},v1={}", mac.to_ascii_uppercase());
    vec![
        Broken::by(&["secret_padded", "body_newline_added"]).has(padded()).came(format!("{BODY}\n")),
        Broken::by(&["signer_dropped_prefix", "body_reserialised"])
            .with_mac(&mac(&SECRET["whsec_".len()..], &message(pretty()))),
        Broken::by(&["secret_quoted", "header_upper_case"]).has(format!("'{SECRET}'")).value(upper(known())),
        Broken::by(&["header_upper_case", "body_bom_added"]).value(upper(known())).came(format!("\u{feff}{BODY}")),
        Broken::by(&["secret_padded", "body_signed_alone"]).has(padded()).with_mac(&mac(SECRET, BODY.as_bytes())),
        Broken::by(&["secret_padded", "signed_too_long_ago"]).has(padded()).at(NOW + 1000),
        // Known from elsewhere and right all the same.
        Broken { elsewhere: vec![("staging", SECRET.into())], ..Broken::by(&["body_newline_added"]) }
            .came(format!("{BODY}\n")),
    ]
}

pub(crate) fn suspects() -> Vec<Broken> {
    let stranger = secrets_of::<StandardWebhooks>("x", DECODABLE_STANDARD);
    let strange = || Broken::by(&[]).keyed(FORGED_SECRET);
    let because = |code: &'static str, broken: Broken| Broken { wrong: vec![(code, SUSPECTED)], ..broken };
    let sorted = r#"{"created":1,"data":{"a":1,"b":2},"id":"1","type":"x"}"#;
    vec![
        because("header_missing", strange().lines(vec![("Host".into(), "example.com".into())])),
        Broken::by(&["other_senders_headers", "header_missing"]).suspected().lines(headers_at(
            &StandardWebhooks,
            &stranger,
            NOW,
            "msg_1",
            BODY,
        )),
        because("header_lines_repeated", strange().line("asixto-signature", "t=1,v1=2")),
        because("header_malformed", strange().value("nothing of the kind")),
        Broken::by(&["signature_cut"]).suspected().with_mac(&known()[..40]),
        because("no_secret", Broken { secrets: vec![], ..Broken::by(&[]) }),
        because("secret_empty", strange().has("")),
        because("secret_empty", strange().has("whsec_")),
        because("secret_refused", strange().has("changeme")),
        because("body_empty", strange().came("")),
        because("body_cut", strange().came(&BODY[..BODY.len() - 10])),
        because("body_cut", strange().came("a=1").line("Content-Length", "12")),
        because("body_decoded_lossily", strange().came(BODY.replace('é', "\u{fffd}"))),
        because("body_inflated", strange().line("Content-Encoding", "gzip")),
        because("body_compressed", strange().came(b"\x1f\x8b not really".to_vec()).line("Content-Encoding", "gzip")),
        because("body_keys_sorted", strange().came(sorted)),
    ]
}

pub(crate) fn agent() -> Agent {
    Agent::new(|_| Err(Unidentified))
}
