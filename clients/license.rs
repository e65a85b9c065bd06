// license.rs - checks a licence with a souk store: online, and offline for a while after the last good answer.
//
//     let license = License { base_url, token, public_key, state_file };
//     if license.check(license_key, product_id, &hardware_id(product_id)).state != State::Valid { … }
//
// The token has the scope `verify` and nothing else; the public key is what GET /api/v1/license/public-key says, built into your
// program. Needs no crates, but libcurl and libsodium, which are called as C: rustc license.rs -l curl -l sodium.
// How it works: docs/checking-a-licence.md.
use std::ffi::{c_char, c_int, c_long, c_uchar, c_ulonglong, c_void, CStr, CString};
use std::time::{SystemTime, UNIX_EPOCH};
use std::{env, fs, process, ptr};

const GRACE_S: i64 = 7 * 24 * 3600; // how long the last good answer counts while the store cannot be reached
const SKEW_S: i64 = 300; // clocks differ by as much
const TIMEOUT_S: c_long = 5;
const ANSWER_BYTES_MAX: usize = 64 * 1024;
const START: &str = r#"("@status" "content-digest" "content-digest";req);created="#;

const CURLOPT_WRITEDATA: c_int = 10001;
const CURLOPT_URL: c_int = 10002;
const CURLOPT_POSTFIELDS: c_int = 10015;
const CURLOPT_HTTPHEADER: c_int = 10023;
const CURLOPT_HEADERDATA: c_int = 10029;
const CURLOPT_WRITEFUNCTION: c_int = 20011;
const CURLOPT_HEADERFUNCTION: c_int = 20079;
const CURLOPT_TIMEOUT: c_int = 13;
const CURLOPT_NOSIGNAL: c_int = 99;
const CURLINFO_RESPONSE_CODE: c_int = 0x200002;
const BASE64_ORIGINAL: c_int = 1;

extern "C" {
    fn curl_easy_init() -> *mut c_void;
    fn curl_easy_setopt(curl: *mut c_void, option: c_int, ...) -> c_int;
    fn curl_easy_perform(curl: *mut c_void) -> c_int;
    fn curl_easy_getinfo(curl: *mut c_void, info: c_int, ...) -> c_int;
    fn curl_easy_cleanup(curl: *mut c_void);
    fn curl_slist_append(list: *mut c_void, text: *const c_char) -> *mut c_void;
    fn curl_slist_free_all(list: *mut c_void);
    fn sodium_init() -> c_int;
    fn randombytes_buf(to: *mut c_void, n: usize);
    fn crypto_hash_sha256(out: *mut c_uchar, data: *const c_uchar, n: c_ulonglong) -> c_int;
    fn crypto_sign_verify_detached(sig: *const c_uchar, text: *const c_uchar, n: c_ulonglong, key: *const c_uchar) -> c_int;
    fn sodium_bin2base64(to: *mut c_char, size: usize, data: *const c_uchar, n: usize, variant: c_int) -> *mut c_char;
    fn sodium_base642bin(
        to: *mut c_uchar, size: usize, text: *const c_char, n: usize, ignore: *const c_char, got: *mut usize,
        end: *mut *const c_char, variant: c_int,
    ) -> c_int;
}

/// Refused: the store says so; Unknown: nobody says anything that can be trusted.
#[derive(Clone, Copy, PartialEq)]
pub enum State {
    Valid,
    Refused,
    Unknown,
}

pub struct Verdict {
    pub state: State,
    pub reason: String,
}

pub struct License {
    pub base_url: String,
    pub token: String,
    pub public_key: String,
    pub state_file: String,
}

#[derive(Default)]
struct Answer {
    status: c_long,
    params: String,
    signature: String,
    body: Vec<u8>,
}

fn verdict(state: State, reason: &str) -> Verdict {
    Verdict { state, reason: reason.to_string() }
}

fn sha256(data: &[u8]) -> [u8; 32] {
    let mut sum = [0; 32];
    unsafe { crypto_hash_sha256(sum.as_mut_ptr(), data.as_ptr(), data.len() as c_ulonglong) };
    sum
}

fn hex(data: &[u8]) -> String {
    data.iter().map(|b| format!("{b:02x}")).collect()
}

fn digest(data: &[u8]) -> String {
    let sum = sha256(data);
    let mut text = [0 as c_char; 64];
    unsafe { sodium_bin2base64(text.as_mut_ptr(), text.len(), sum.as_ptr(), sum.len(), BASE64_ORIGINAL) };
    format!("sha-256=:{}:", unsafe { CStr::from_ptr(text.as_ptr()) }.to_string_lossy())
}

fn from_base64<const N: usize>(text: &str) -> Option<[u8; N]> {
    let (mut out, mut got) = ([0; N], 0);
    let (from, n) = (text.as_ptr() as *const c_char, text.len());
    let failed = unsafe { sodium_base642bin(out.as_mut_ptr(), N, from, n, ptr::null(), &mut got, ptr::null_mut(), BASE64_ORIGINAL) };
    (failed == 0 && got == N).then_some(out)
}

/// This machine, for this product: other vendors' programs see another id.
pub fn hardware_id(product_id: i64) -> String {
    let machine = fs::read_to_string("/etc/machine-id").or_else(|_| fs::read_to_string("/etc/hostname")).unwrap_or_default();
    hex(&sha256(format!("{}\n{product_id}", machine.trim()).as_bytes()))
}

fn json(text: &str) -> String {
    let escaped: String = text
        .chars()
        .map(|c| match c {
            '"' | '\\' => format!("\\{c}"),
            c if (c as u32) < 0x20 => format!("\\u{:04x}", c as u32),
            c => c.to_string(),
        })
        .collect();
    format!("\"{escaped}\"")
}

extern "C" fn on_body(data: *const u8, _: usize, n: usize, arg: *mut Answer) -> usize {
    let (bytes, answer) = unsafe { (std::slice::from_raw_parts(data, n), &mut *arg) };
    if answer.body.len() + n > ANSWER_BYTES_MAX {
        return 0;
    }
    answer.body.extend_from_slice(bytes);
    n
}

extern "C" fn on_header(data: *const u8, _: usize, n: usize, arg: *mut Answer) -> usize {
    let (bytes, answer) = unsafe { (std::slice::from_raw_parts(data, n), &mut *arg) };
    let line = String::from_utf8_lossy(bytes);
    if let Some((name, value)) = line.trim().split_once(": sig1=") {
        match name.to_ascii_lowercase().as_str() {
            "signature-input" => answer.params = value.to_string(),
            "signature" => answer.signature = value.trim_matches(':').to_string(),
            _ => {}
        }
    }
    n
}

impl Answer {
    fn created(&self) -> i64 {
        let digits: String = self.params[START.len()..].chars().take(12).take_while(char::is_ascii_digit).collect();
        digits.parse().unwrap_or(0)
    }

    /// A text member of a body that the store has signed. Quotes inside JSON strings are escaped, so `"key":` can only be a key.
    fn member(&self, key: &str) -> Option<String> {
        let body = String::from_utf8_lossy(&self.body).into_owned();
        let behind = body.split_once(&format!("\"{key}\":\""))?.1;
        Some(behind.split_once('"')?.0.to_string())
    }
}

/// Seconds since 1970 of `2026-11-15T01:23:45Z`.
fn seconds_of(time: &str) -> Option<i64> {
    let part = |from: usize, to: usize| time.get(from..to)?.parse::<i64>().ok();
    let (year, month, day) = (part(0, 4)?, part(5, 7)?, part(8, 10)?);
    let (y, m) = if month > 2 { (year, month - 3) } else { (year - 1, month + 9) };
    let days = 365 * y + y / 4 - y / 100 + y / 400 + (153 * m + 2) / 5 + day - 1 - 719_468;
    Some(days * 86400 + part(11, 13)? * 3600 + part(14, 16)? * 60 + part(17, 19)?)
}

impl License {
    pub fn check(&self, license_key: &str, product_id: i64, hardware: &str) -> Verdict {
        let (key, machine) = (json(license_key), json(hardware));
        let request = format!("{{\"license_key\":{key},\"product_id\":{product_id},\"hardware_id\":{machine}}}");
        let mut random = [0u8; 16];
        unsafe { randombytes_buf(random.as_mut_ptr() as *mut c_void, random.len()) };
        let nonce = hex(&random);
        let now = SystemTime::now().duration_since(UNIX_EPOCH).map_or(0, |d| d.as_secs() as i64);
        let answer = self.ask(&request, &nonce);
        let good = answer.filter(|a| a.params.contains(&format!(";nonce=\"{nonce}\"")) && self.is_signed(&request, a));
        let Some(answer) = good else { return self.check_offline(&request, now) };
        if answer.status == 200 {
            self.save(now.max(answer.created()), &request, &answer);
            return verdict(State::Valid, "online");
        }
        let _ = fs::remove_file(&self.state_file);
        verdict(State::Refused, &answer.member("code").unwrap_or_default())
    }

    /// The store's answer, signed or not; None when there is none.
    fn ask(&self, request: &str, nonce: &str) -> Option<Answer> {
        let url = CString::new(format!("{}/api/v1/license/verify", self.base_url)).ok()?;
        let body = CString::new(request).ok()?;
        let mut answer = Box::<Answer>::default();
        let to: *mut Answer = &mut *answer;
        unsafe {
            let curl = curl_easy_init();
            let mut headers = ptr::null_mut();
            for header in [
                format!("Authorization: Bearer {}", self.token),
                "Content-Type: application/json".to_string(),
                format!("Accept-Signature: sig1=();nonce=\"{nonce}\""),
            ] {
                headers = curl_slist_append(headers, CString::new(header).ok()?.as_ptr());
            }
            curl_easy_setopt(curl, CURLOPT_URL, url.as_ptr());
            curl_easy_setopt(curl, CURLOPT_HTTPHEADER, headers);
            curl_easy_setopt(curl, CURLOPT_POSTFIELDS, body.as_ptr());
            curl_easy_setopt(curl, CURLOPT_TIMEOUT, TIMEOUT_S);
            curl_easy_setopt(curl, CURLOPT_NOSIGNAL, 1 as c_long);
            curl_easy_setopt(curl, CURLOPT_WRITEFUNCTION, on_body as *const c_void);
            curl_easy_setopt(curl, CURLOPT_WRITEDATA, to);
            curl_easy_setopt(curl, CURLOPT_HEADERFUNCTION, on_header as *const c_void);
            curl_easy_setopt(curl, CURLOPT_HEADERDATA, to);
            let failed = curl_easy_perform(curl);
            curl_easy_getinfo(curl, CURLINFO_RESPONSE_CODE, &mut (*to).status as *mut c_long);
            curl_slist_free_all(headers);
            curl_easy_cleanup(curl);
            (failed == 0).then_some(*answer)
        }
    }

    /// Whether the store has signed this answer to this question (RFC 9421).
    fn is_signed(&self, request: &str, a: &Answer) -> bool {
        let (Some(key), Some(signature)) = (from_base64::<32>(&self.public_key), from_base64::<64>(&a.signature)) else {
            return false;
        };
        let text = format!(
            "\"@status\": {}\n\"content-digest\": {}\n\"content-digest\";req: {}\n\"@signature-params\": {}",
            a.status, digest(&a.body), digest(request.as_bytes()), a.params
        );
        let n = text.len() as c_ulonglong;
        a.params.starts_with(START)
            && unsafe { crypto_sign_verify_detached(signature.as_ptr(), text.as_ptr(), n, key.as_ptr()) == 0 }
    }

    /// The last good answer counts for a while, if it is about this question and the clock has not been turned back.
    fn check_offline(&self, request: &str, now: i64) -> Verdict {
        let Ok(text) = fs::read_to_string(&self.state_file) else { return verdict(State::Unknown, "unreachable") };
        let lines: Vec<&str> = text.splitn(6, '\n').collect();
        let &[seen, question, status, params, signature, body] = lines.as_slice() else {
            return verdict(State::Unknown, "bad_state");
        };
        let (Ok(seen), Ok(status)) = (seen.parse::<i64>(), status.parse()) else { return verdict(State::Unknown, "bad_state") };
        if question != request {
            return verdict(State::Unknown, "other_licence");
        }
        let a = Answer { status, params: params.to_string(), signature: signature.to_string(), body: body.as_bytes().to_vec() };
        if status != 200 || !self.is_signed(request, &a) {
            return verdict(State::Unknown, "bad_state");
        }
        if now + SKEW_S < seen.max(a.created()) {
            return verdict(State::Unknown, "clock");
        }
        if now > a.created() + GRACE_S {
            return verdict(State::Unknown, "grace_over");
        }
        if let Some(expires) = a.member("expires_at") {
            if seconds_of(&expires).map_or(true, |at| now >= at) {
                return verdict(State::Refused, "license_expired");
            }
        }
        self.save(seen.max(now), request, &a);
        verdict(State::Valid, "offline")
    }

    /// The kept answer: the latest time seen, the question, status, signature parameters, signature, a line each; then the body.
    /// Without it there is no grace; the verdict stands.
    fn save(&self, seen: i64, request: &str, a: &Answer) {
        let head = format!("{seen}\n{request}\n{}\n{}\n{}\n", a.status, a.params, a.signature);
        let fresh = format!("{}.new", self.state_file);
        if fs::write(&fresh, [head.as_bytes(), &a.body].concat()).is_ok() {
            let _ = fs::rename(&fresh, &self.state_file);
        }
    }
}

fn main() {
    let args: Vec<String> = env::args().skip(1).collect();
    if args.is_empty() || args.len() % 7 != 0 {
        eprintln!("usage: license (URL TOKEN PUBLIC_KEY LICENSE_KEY PRODUCT_ID HARDWARE_ID|auto STATE_FILE)...");
        process::exit(64);
    }
    unsafe { sodium_init() };
    let mut last = State::Unknown;
    for arg in args.chunks(7) {
        let product: i64 = arg[4].parse().unwrap_or(0);
        let machine = if arg[5] == "auto" { hardware_id(product) } else { arg[5].clone() };
        let [base_url, token, public_key, state_file] = [0, 1, 2, 6].map(|i| arg[i].clone());
        let v = License { base_url, token, public_key, state_file }.check(&arg[3], product, &machine);
        println!("{} {}", ["valid", "refused", "unknown"][v.state as usize], v.reason);
        last = v.state;
    }
    process::exit(last as i32);
}
