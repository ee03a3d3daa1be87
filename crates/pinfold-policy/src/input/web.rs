//! Input of the tool that fetches pages.

use pinfold_host::WebUrl;
use serde_json::{Value, json};

use crate::form::{BadField, Field, describe_value, input, words};

impl Field for WebUrl {
    fn read(value: &Value) -> Result<Self, BadField> {
        const EXPECTED: &str = "an address such as https://example.org/page";
        let text = value.as_str().ok_or_else(|| BadField::new("", EXPECTED, describe_value(value)))?;
        Self::parse(text).map_err(|what| BadField::new("", EXPECTED, what))
    }

    fn schema() -> Value {
        json!({"type": "string", "format": "uri", "minLength": 1})
    }
}

words! {
    /// The method of a page request.
    WebMethod {
        /// With its content.
        Get = "GET",
        /// The headers of the answer, without the content.
        Head = "HEAD",
    }
}

input! {
    /// Input of `WebFetch`.
    WebFetchInput {
        /// The address of the page: http or https, without a user, other letters than ASCII in a host as `xn--`.
        url = "url" | "uri": WebUrl,
        /// GET when absent; HEAD returns what the server says about the page, without its content.
        method = "method": Option<WebMethod>,
        /// Pass over this many characters of the content first, to read on in a long page.
        offset = "offset": Option<u64>,
        /// The subject that is sought on the page. It is not used: the content is returned as it is.
        prompt = "prompt": Option<String>,
    }
}
