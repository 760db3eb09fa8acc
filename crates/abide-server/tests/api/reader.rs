//! Reads a response as it comes.

use reqwest::Response;
use serde_json::Value;

/// A response, read piece by piece.
pub(crate) struct Reader {
    response: Response,
    read: String,
}

/// One server-sent event.
#[derive(Clone, Debug, PartialEq)]
pub(crate) struct Seen {
    pub(crate) id: Option<String>,
    pub(crate) data: Value,
}

impl Reader {
    pub(crate) async fn of(request: reqwest::RequestBuilder) -> Self {
        let response = request.send().await.unwrap();
        assert_eq!(response.status(), 200);
        Self { response, read: String::new() }
    }

    pub(crate) fn header(&self, name: &str) -> &str {
        self.response.headers().get(name).map_or("", |value| value.to_str().unwrap())
    }

    /// Everything up to and with a mark; none when the response ends before.
    pub(crate) async fn up_to(&mut self, mark: &str) -> Option<String> {
        loop {
            if let Some(at) = self.read.find(mark) {
                let rest = self.read.split_off(at + mark.len());
                return Some(std::mem::replace(&mut self.read, rest));
            }
            let piece = self.response.chunk().await.ok()??;
            self.read.push_str(std::str::from_utf8(&piece).unwrap());
        }
    }

    /// The next event; comments are passed over.
    pub(crate) async fn event(&mut self) -> Option<Seen> {
        loop {
            let text = self.up_to("\n\n").await?;
            let field = |name: &str| text.lines().find_map(|line| line.strip_prefix(name));
            assert!(field("event:").is_none(), "{text}");
            if let Some(data) = field("data: ") {
                let data = serde_json::from_str(data).unwrap();
                return Some(Seen { id: field("id: ").map(str::to_owned), data });
            }
            assert!(text.starts_with(':'), "{text}");
        }
    }

    /// All events until the response ends.
    pub(crate) async fn events(mut self) -> Vec<Seen> {
        let mut events = Vec::new();
        while let Some(event) = self.event().await {
            events.push(event);
        }
        events
    }

    /// What is left, or that it ended badly.
    pub(crate) async fn rest(mut self) -> Result<String, reqwest::Error> {
        while let Some(piece) = self.response.chunk().await? {
            self.read.push_str(std::str::from_utf8(&piece).unwrap());
        }
        Ok(self.read)
    }
}
