//! Errors, as RFC 9457 describes them: `application/problem+json` with `title`, `status` and `detail`.

use axum::http::{HeaderValue, StatusCode, header};
use axum::response::{IntoResponse, Response};
use serde_json::json;
use trawl_questions::desk::Unanswered;
use trawl_questions::words::Refused;

/// The type of errors.
pub const MEDIA_TYPE: HeaderValue = HeaderValue::from_static("application/problem+json");

/// An error that a client is told.
#[derive(Clone, Debug, PartialEq, Eq)]
pub struct Problem {
    /// The status of HTTP.
    pub status: StatusCode,
    /// What is wrong, and what to do.
    pub detail: String,
    /// Seconds after which to ask again.
    pub wait: Option<u64>,
}

impl Problem {
    /// Makes an error.
    pub fn new(status: StatusCode, detail: impl Into<String>) -> Problem {
        Problem {
            status,
            detail: detail.into(),
            wait: None,
        }
    }
}

impl From<Unanswered> for Problem {
    fn from(why: Unanswered) -> Problem {
        let status = match &why {
            Unanswered::Refused(_) => StatusCode::BAD_REQUEST,
            Unanswered::Cursor => StatusCode::CONFLICT,
            Unanswered::Busy => StatusCode::SERVICE_UNAVAILABLE,
            Unanswered::Failed(_) | Unanswered::Range(_) => StatusCode::UNPROCESSABLE_ENTITY,
            _ => StatusCode::INTERNAL_SERVER_ERROR,
        };
        Problem::new(status, why.to_string())
    }
}

impl From<Refused> for Problem {
    fn from(why: Refused) -> Problem {
        Problem::from(Unanswered::from(why))
    }
}

impl IntoResponse for Problem {
    fn into_response(self) -> Response {
        let title = self.status.canonical_reason().unwrap_or("Error");
        let body = json!({
            "type": "about:blank",
            "title": title,
            "status": self.status.as_u16(),
            "detail": self.detail,
        });
        let mut response = (self.status, body.to_string()).into_response();
        response
            .headers_mut()
            .insert(header::CONTENT_TYPE, MEDIA_TYPE);
        if let Some(wait) = self.wait {
            let wait = HeaderValue::from(wait);
            response.headers_mut().insert(header::RETRY_AFTER, wait);
        }
        if self.status == StatusCode::UNAUTHORIZED {
            let bearer = HeaderValue::from_static("Bearer");
            response
                .headers_mut()
                .insert(header::WWW_AUTHENTICATE, bearer);
        }
        response
    }
}
