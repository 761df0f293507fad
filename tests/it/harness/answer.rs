//! An answer, held against what may leave the daemon.

use serde_json::Value;

/// The headers that an answer may have. One that is not listed leaked.
const ALLOWED: &[&str] = &[
    "access-control-allow-headers",
    "access-control-allow-methods",
    "access-control-allow-origin",
    "access-control-allow-private-network",
    "access-control-expose-headers",
    "access-control-max-age",
    "allow",
    "cache-control",
    "connection",
    "content-length",
    "content-type",
    "date",
    "retry-after",
    "transfer-encoding",
    "vary",
    "www-authenticate",
    "x-accel-buffering",
];

/// The status and the headers of an answer.
#[derive(Debug, Clone)]
pub(crate) struct Head {
    pub(crate) status: u16,
    headers: Vec<(String, String)>,
}

/// How the end of a body is known.
pub(super) enum Framing {
    Length(usize),
    Chunked,
    Close,
}

impl Head {
    /// Reads a head, and fails on a header that should not be there.
    pub(super) fn parse(text: &str) -> Self {
        let mut lines = text.split("\r\n");
        let status = lines.next().unwrap().split(' ').nth(1).unwrap();
        let headers: Vec<_> = lines
            .map(|line| {
                let (name, value) = line.split_once(':').unwrap();
                (name.to_ascii_lowercase(), value.trim().to_owned())
            })
            .collect();
        for (name, _) in &headers {
            assert!(ALLOWED.contains(&name.as_str()), "{name} leaves the daemon");
        }
        Self {
            status: status.parse().unwrap(),
            headers,
        }
    }

    /// The one header of a name.
    pub(crate) fn header(&self, name: &str) -> Option<&str> {
        let mut values = self.headers.iter().filter(|(own, _)| own == name);
        let (_, value) = values.next()?;
        assert!(values.next().is_none(), "{name} is there twice");
        Some(value)
    }

    /// Whether there is any header of the CORS protocol.
    pub(crate) fn has_cors(&self) -> bool {
        let mut names = self.headers.iter().map(|(name, _)| name);
        names.any(|name| name.starts_with("access-control-"))
    }

    /// How the end of the body is known.
    pub(super) fn framing(&self, method: &str) -> Framing {
        if method == "HEAD" || matches!(self.status, 100..200 | 204 | 304) {
            Framing::Length(0)
        } else if self.header("transfer-encoding") == Some("chunked") {
            Framing::Chunked
        } else if let Some(length) = self.header("content-length") {
            Framing::Length(length.parse().unwrap())
        } else {
            Framing::Close
        }
    }
}

/// An answer with its whole body.
#[derive(Debug, Clone)]
pub(crate) struct Answer {
    pub(crate) head: Head,
    pub(crate) body: Vec<u8>,
}

/// What a refusal says.
#[derive(Debug, Clone, PartialEq, Eq)]
pub(crate) struct Refusal {
    pub(crate) status: u16,
    pub(crate) code: String,
    pub(crate) message: String,
}

impl Answer {
    pub(super) fn new(head: Head, body: Vec<u8>) -> Self {
        Self { head, body }
    }

    /// The body as JSON, which its type has to say.
    pub(crate) fn json(&self) -> Value {
        assert_eq!(self.head.header("content-type"), Some("application/json"));
        serde_json::from_slice(&self.body).unwrap()
    }

    /// What a refusal says; fails if it has not exactly the shape of one.
    pub(crate) fn refusal(&self) -> Refusal {
        assert!(self.head.status >= 400, "{self:?}");
        let body = self.json();
        let members = |value: &Value| -> Vec<String> {
            let mut names: Vec<_> = value.as_object().unwrap().keys().cloned().collect();
            names.sort();
            names
        };
        assert_eq!(members(&body), ["error"]);
        let error = &body["error"];
        assert_eq!(members(error), ["code", "message", "requestId"]);
        let text = |name: &str| error[name].as_str().unwrap().to_owned();
        assert!(text("requestId").starts_with("req-"), "{error}");
        Refusal {
            status: self.head.status,
            code: text("code"),
            message: text("message"),
        }
    }

    /// The status and the code of a refusal.
    pub(crate) fn code(&self) -> (u16, String) {
        let Refusal { status, code, .. } = self.refusal();
        (status, code)
    }
}
