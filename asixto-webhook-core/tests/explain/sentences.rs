//! What a person reads, word for word.

use insta::assert_snapshot;

use crate::{
    common::{FORGED_SECRET, NOW, SECRET},
    deliveries::{BODY, Broken, bodies, headers, layouts, secrets, suspects, times},
};

/// A sentence, after a look at its style: lower case at the start, no full stop at the end.
#[track_caller]
fn sentence(text: &str) -> String {
    assert!(text.starts_with(|first: char| first.is_lowercase() || first == '`'), "{text}");
    assert!(!text.ends_with(['.', '!', ' ']) && !text.contains("  ") && !text.contains('\n'), "{text}");
    text.to_owned()
}

// Every sentence: what is seen, in all its variants, and what to do.
#[test]
fn sentences() {
    let tables = [secrets(), bodies(), headers(), layouts(), times(), suspects()];
    let mut lines: Vec<String> = Vec::new();
    for broken in tables.iter().flatten() {
        for cause in broken.diagnose().causes() {
            let (seen, fix) = (sentence(cause.evidence()), format!("  fix: {}", sentence(cause.fix())));
            match lines.iter().position(|line| *line == cause.code()) {
                None => lines.extend([cause.code().to_owned(), format!("  {seen}"), fix]),
                Some(_) if lines.contains(&format!("  {seen}")) => {}
                Some(place) => lines.insert(place + 1, format!("  {seen}")),
            }
        }
    }
    assert_snapshot!(lines.join("\n"), @r#"
    secret_padded
      the signature matches under secret `new` without the white space at the ends of the secret's text
      the signature matches under secret `production` without the white space at the ends of the secret's text
      fix: trim the secret where it is read: files end with a line, and so does much that is pasted
    secret_quoted
      the signature matches under secret `production` without the quotes around the secret's text
      fix: remove the quotes: not everything that reads a variable or an `.env` file takes them away
    secret_with_its_name
      the signature matches under secret `production` without the name before the secret's text
      fix: use what stands behind the `=` or `:` alone
    secret_with_a_comment
      the signature matches under secret `production` without the comment behind the secret's text
      fix: take the comment away: not everything that reads an `.env` file does
    secret_encoded
      the signature matches under secret `production` with the secret's text decoded, which then has the prefix
      fix: decode the text where it is read: it is the secret in base64 or hexadecimal, as Kubernetes keeps it
    secret_decoded
      the signature matches under secret `production` with the secret's text put into base64
      fix: use the secret exactly as issued, in base64, if that is how it was issued; otherwise have the signer make the key as this sender's documentation says
    secret_with_bearer
      the signature matches under secret `production` without the word `Bearer` before the secret's text
      fix: use what stands behind `Bearer` alone: a signing secret is no access token
    secret_prefix_lost
      the signature matches under secret `production` with the prefix put before the secret's text
      fix: use the secret exactly as issued, prefix included
    secret_prefix_doubled
      the signature matches under secret `production` with the prefix of the secret's text once instead of twice
      fix: use the secret exactly as issued: it has its prefix already
    secret_several
      the signature matches under secret `production` with one of several secrets in the secret's text
      fix: give each secret by itself, under a label of its own
    signer_padded_secret
      the signature matches under secret `production` with a line end behind the secret's text
      fix: trim the secret at the signer: its key is the text with a line end
    signer_decoded_secret
      the signature matches under secret `production` with the secret's text behind the prefix decoded from base64
      fix: either the signer decodes the secret: have it use the whole text as the key, as this sender's are not decoded; or the text here is an encoding of the secret: use it exactly as issued
    signer_dropped_prefix
      the signature matches under secret `production` without the prefix of the secret's text
      fix: either the signer leaves the prefix out: have it use the secret's whole text as the key; or here one was put before the secret: use it exactly as issued
    signer_decoded_hex
      the signature matches under secret `production` with the secret's text behind the prefix decoded from hexadecimal
      fix: either the signer decodes the secret: have it use the whole text as the key, as this sender's are not decoded; or the text here is an encoding of the secret: use it exactly as issued
    signer_used_text
      the signature matches under secret `production` with the secret's whole text as the key
      fix: either the signer makes the key of the whole text: have it do as this sender's documentation says; or the text here is not the secret: use it exactly as issued
    signer_had_no_secret
      the signature matches under secret `production` with an empty key in the place of the secret
      fix: give the signer its secret: it signs with an empty one, which anyone can do
    secret_of_elsewhere
      the signature matches under secret `staging` from elsewhere, which this receiver does not take
      fix: give the receiver the secret of the endpoint and environment that it receives from
    body_newline_lost
      the signature matches under secret `production` with a CR LF added at the end of the body
      the signature matches under secret `production` with a line feed added at the end of the body
      fix: keep the last line end of the body: read the file or the request in binary, and do not trim it
    body_newline_added
      the signature matches under secret `production` without the line end at the end of the body
      fix: add nothing to the body: no `echo` without `-n`, no print function or editor that ends with a line
    body_white_space_added
      the signature matches under secret `production` without the white space around the body
      fix: hand over the body as it came: something put blanks or lines around it
    body_line_ends_changed
      the signature matches under secret `production` with CR LF between the lines of the body
      the signature matches under secret `production` with line feeds between the lines of the body
      fix: treat the body as bytes: a text mode, an editor or a version control system changed its line ends
    body_bom_added
      the signature matches under secret `production` without the byte order mark at the start of the body
      fix: store and read the body as bytes: a text writer put U+FEFF before it
    body_bom_lost
      the signature matches under secret `production` with a byte order mark added at the start of the body
      fix: read the body as bytes: a text reader took U+FEFF away from its start
    body_nul_padded
      the signature matches under secret `production` without the NUL bytes at the end of the body
      fix: verify as many bytes as were read, not the whole buffer
    body_chunked
      the signature matches under secret `production` with the chunk sizes taken out of the body
      fix: let the HTTP library undo `transfer-encoding: chunked` before the body is verified
    body_base64
      the signature matches under secret `production` with the body decoded from base64
      fix: decode the body before it is verified where the platform says that it is base64 (`isBase64Encoded`)
    body_reserialised
      the signature matches under secret `production` with the body written as JSON on one line without blanks, as `JSON.stringify` does, and with no escape that JSON does not need
      the signature matches under secret `production` with the body written as JSON on one line without blanks, as `JSON.stringify` does
      the signature matches under secret `production` with the body written as JSON on one line without blanks, as `JSON.stringify` does, and with a line feed at its end
      the signature matches under secret `production` with the body written as JSON on one line with blanks, as Python's `json.dumps` does, and with everything outside ASCII escaped, and with a line feed at its end
      the signature matches under secret `production` with the body written as JSON with two blanks a level, and with a line feed at its end
      the signature matches under secret `production` with the body written as JSON on one line without blanks, as `JSON.stringify` does, and with everything outside ASCII and all that HTML could take for markup escaped, as .NET does
      the signature matches under secret `production` with the body written as JSON with two blanks a level and lists on one line, as Jackson does
      the signature matches under secret `production` with the body written as JSON on one line without blanks, as `JSON.stringify` does, and with `<`, `>` and `&` escaped, as Go does
      the signature matches under secret `production` with the body written as JSON on one line without blanks, as `JSON.stringify` does, and with slashes and everything outside ASCII escaped, as PHP does
      the signature matches under secret `production` with the body written as JSON on one line without blanks, as `JSON.stringify` does, and with slashes escaped
      the signature matches under secret `production` with the body written as JSON on one line with blanks, as Python's `json.dumps` does
      the signature matches under secret `production` with the body written as JSON on one line with blanks, as Python's `json.dumps` does, and with everything outside ASCII escaped
      the signature matches under secret `production` with the body written as JSON with a tab a level
      the signature matches under secret `production` with the body written as JSON with four blanks a level
      the signature matches under secret `production` with the body written as JSON with two blanks a level
      fix: verify the raw bytes of the request, before a JSON parser or middleware reads and writes them anew
    body_form_encoded
      the signature matches under secret `production` with the body decoded from a form's encoding
      fix: have the sender post `application/json`, or undo the form's encoding before verification
    body_form_decoded
      the signature matches under secret `production` with the body encoded as a form's field `payload`
      the signature matches under secret `production` with the body encoded as a form
      fix: verify the raw bytes of the request, before the form in them is decoded
    body_in_a_json_string
      the signature matches under secret `production` with the body taken out of the JSON string that it stands in
      fix: hand over the bytes of the request: they were encoded as JSON once more on the way
    signer_encoded_twice
      the signature matches under secret `production` with the body put into a JSON string
      fix: have the signer sign the bytes that it sends: it encoded a text that was JSON already
    body_mistaken_charset
      the signature matches under secret `production` with the body read as Latin-1
      the signature matches under secret `production` with the body read as UTF-8 that was taken for Latin-1 or Windows-1252
      fix: treat the body as bytes: something decoded it with a charset that it is not in, and encoded it anew
    signer_signed_a_part
      the signature matches under secret `production` with one member of the body's JSON object in the place of the whole body
      fix: have the signer sign the whole body, byte for byte, and send the same bytes
    signer_signed_nothing
      the signature matches under secret `production` with an empty body
      fix: have the signer sign the bytes that it sends: it signed before it had a body, or after it was read
    body_read_otherwise
      the signature matches under secret `production` with the reading `inflated` of the body, as it was handed in
      fix: verify those bytes: look for what compresses, inflates or replaces the body between the signer and here
    header_repeated
      the signature matches under secret `production` with one of the repeated signature header lines taken by itself
      fix: send the header once: look for a proxy or client that adds a line of its own
    header_joined
      the signature matches under secret `production` with one of the header values taken that a proxy joined with a comma
      fix: send the header once: look for the proxy that joins repeated lines, and for what repeats them
    header_upper_case
      the signature matches under secret `production` with the signature header in lower case
      fix: have the signer write hexadecimal in lower case
    header_quoted
      the signature matches under secret `production` without the quotes in the signature header
      fix: send the header's value without quotes
    header_white_space
      the signature matches under secret `production` without the white space in the signature header
      fix: send the header's value on one line and without blanks
    header_percent_encoded
      the signature matches under secret `production` with the signature header's percent-encoding undone
      fix: send the header as it is: only addresses and forms are percent-encoded
    header_algorithm_named
      the signature matches under secret `production` without the name of an algorithm before the MAC
      fix: send the MAC alone: no `sha256=` before it
    header_renamed
      the signature matches under secret `production` with the header `asixto_signature` read as the signature header
      the signature matches under secret `production` with the header `http_asixto_signature` read as the signature header
      the signature matches under secret `production` with the header `x-asixto-signature` read as the signature header
      fix: look for the proxy or gateway that renames the header, and have it keep the name
    body_signed_alone
      the signature matches under secret `production` with the body signed alone, without the time
      fix: have the signer sign the time of signing with the body, as this sender's documentation says
    separator_left_out
      the signature matches under secret `production` with nothing between what is signed ahead of the body and the body
      fix: have the signer put the separator into the message, as this sender's documentation says
    signature_in_another_form
      the signature matches under secret `production` with a MAC that stands in the headers in another form than this sender's
      fix: have the signer write the signature header as this sender's documentation says
    other_sender
      the signature matches under secret `production` read as a delivery of `agent`, and over a body that does not begin with `{`, as every body of this sender does
      the signature matches under secret `production` read as a delivery of `agent`
      the signature matches under secret `production` read as a delivery of a sender whose header is `acme-signature`
      the signature matches under secret `production` read as a delivery of `standard`
      fix: receive this sender under its own provider and address
    body_begins_otherwise
      the signature matches under secret `production` over a body that does not begin with `{`, as every body of this sender does, and read as a delivery of `agent`
      fix: have the signer send, and sign, a body that begins so: no byte order mark or blank before it, and no other JSON
    timestamp_not_in_seconds
      the time of signing is in milliseconds
      fix: have the signer sign and send whole seconds since the Unix epoch
    signed_too_long_ago
      the signature was made 8100 s before the receiver's present time
      the signature was made 1800 s before the receiver's present time
      the signature was made 19550 s before the receiver's present time
      the signature was made 20720 s before the receiver's present time
      the signature was made 19800 s before the receiver's present time
      the signature was made 7203 s before the receiver's present time
      the signature was made 301 s before the receiver's present time
      the signature was made 1000 s before the receiver's present time
      fix: if this is a recording, verify it with the time of its arrival; otherwise look for a queue before the receiver, a repeated old delivery, or a clock that is wrong
    signed_in_the_future
      the signature was made 3600 s after the receiver's present time
      the signature was made 1500 s after the receiver's present time
      fix: set the clocks: the receiver's is behind, or the sender's is ahead
    time_zone
      the difference is 5 hours and 45 minutes, to within the tolerance
      the difference is 5 hours and 30 minutes, to within the tolerance
      the difference is one hour, to within the tolerance
      the difference is 2 whole hours, to within the tolerance
      fix: look for local time that is taken for UTC, where the time of signing or the receiver's clock comes from
    timestamp_in_two_units
      the signature matches under secret `production` with the time of signing in milliseconds under the MAC, and in seconds in the header
      the signature matches under secret `production` with the time of signing in seconds under the MAC, and in microseconds in the header
      the signature matches under secret `production` with the time of signing in seconds under the MAC, and in milliseconds in the header
      fix: have the signer sign and send the same time, in whole seconds since the Unix epoch
    header_missing
      expected one signature header, found none
      fix: check the address and the sender, and look for a proxy that passes on only the headers that it knows
    other_senders_headers
      the headers are those of `standard`
      fix: receive this sender under its own provider and address, and with its own secret
    header_lines_repeated
      expected one signature header, found several lines of that name
      fix: send the header once: look for a proxy or client that adds a line of its own
    header_malformed
      expected a timestamp in the signature header, found none
      fix: have the signer write the signature header as this sender's documentation says
    signature_cut
      the signature header holds a MAC of 40 hexadecimal digits instead of 64
      fix: send and store the whole header: something cuts its value, such as a column that is too short
    no_secret
      there is no secret to verify with
      fix: give the receiver the secret of the endpoint
    secret_empty
      secret `production` is refused: expected a secret after `whsec_`, found nothing behind the prefix
      secret `production` is refused: expected a secret, found an empty text: is the variable set?
      fix: set the variable or file that the secret is read from
    secret_refused
      secret `production` is refused: expected a secret that starts with `whsec_`, found another beginning: use it as issued, prefix included
      fix: use the secret exactly as issued
    body_empty
      the body is empty
      fix: verify before anything else reads the body: a stream can be read once only
    body_cut
      the body has 3 bytes, and `content-length` announced 12
      the body is JSON that breaks off
      fix: verify the whole body: wait for its last chunk, and look for a limit that cuts instead of refusing
    body_decoded_lossily
      the body contains U+FFFD, which decoders put in the place of bytes that they cannot read
      fix: treat the body as bytes: no text decoder before verification
    body_inflated
      `content-encoding` announces a compressed body, and the body is not compressed
      fix: verify the bytes that came over the wire: switch off the middleware that inflates bodies
    body_compressed
      the body is compressed
      fix: diagnose it once more with the inflated body as a reading: the signer may sign before it compresses
    body_keys_sorted
      the names in the body's JSON stand in alphabetical order at every level, as few senders write them
      fix: verify the raw bytes of the request: a map that sorts its keys lost the order that was signed
    "#);
}

// What a test prints when it fails.
#[test]
fn a_report() {
    let pair = Broken::by(&[]).has(format!("{SECRET}\n")).came(format!("{BODY}\n")).at(NOW + 301);
    assert_snapshot!(pair.diagnose(), @r#"
    explained: the signature does not match as the delivery is
    secret_padded (proven): the signature matches under secret `production` without the white space at the ends of the secret's text, and without the line end at the end of the body
      fix: trim the secret where it is read: files end with a line, and so does much that is pasted
    body_newline_added (proven): the signature matches under secret `production` without the line end at the end of the body, and without the white space at the ends of the secret's text
      fix: add nothing to the body: no `echo` without `-n`, no print function or editor that ends with a line
    signed_too_long_ago (proven): the signature was made 301 s before the receiver's present time
      fix: if this is a recording, verify it with the time of its arrival; otherwise look for a queue before the receiver, a repeated old delivery, or a clock that is wrong
    "#);
    let verdicts = [Broken::by(&[]), Broken::by(&[]).at(NOW + 301), Broken::by(&[]).keyed(FORGED_SECRET)];
    let verdicts: Vec<_> = verdicts.iter().map(|broken| broken.diagnose().verdict().to_string()).collect();
    assert_snapshot!(verdicts.join("\n"), @r#"
    healthy: the signature matches under secret `production`, and the clocks differ by 0 s
    stale: the signature matches under secret `production`, but its time lies outside the window
    unexplained: the signature matches under nothing that was tried; most often another secret signed it
    "#);
}
