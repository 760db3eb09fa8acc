//! Server-sent events, read from bytes as they come.

/// One event.
#[derive(Clone, Debug, Default, PartialEq, Eq)]
pub(super) struct Frame {
    pub(super) id: Option<String>,
    pub(super) data: String,
}

/// What has come of the next event.
#[derive(Debug, Default)]
pub(super) struct Reader {
    bytes: Vec<u8>,
    next: Frame,
    has_data: bool,
}

impl Reader {
    /// Takes bytes, and answers the events that they complete.
    pub(super) fn take(&mut self, bytes: &[u8]) -> Vec<Frame> {
        self.bytes.extend_from_slice(bytes);
        let mut frames = Vec::new();
        while let Some(end) = self.bytes.iter().position(|byte| *byte == b'\n') {
            let line: Vec<u8> = self.bytes.drain(..=end).collect();
            let line = String::from_utf8_lossy(&line);
            frames.extend(self.line(line.trim_end_matches(['\r', '\n'])));
        }
        frames
    }

    fn line(&mut self, line: &str) -> Option<Frame> {
        if line.is_empty() {
            let frame = std::mem::take(&mut self.next);
            return std::mem::take(&mut self.has_data).then_some(frame);
        }
        let (field, value) = line.split_once(':').unwrap_or((line, ""));
        let value = value.strip_prefix(' ').unwrap_or(value);
        match field {
            "id" => self.next.id = Some(value.to_owned()),
            "data" => {
                if self.has_data {
                    self.next.data.push('\n');
                }
                self.next.data += value;
                self.has_data = true;
            }
            // A comment keeps the connection alive; other fields are not ours.
            _ => {}
        }
        None
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn events_are_read_however_their_bytes_come() {
        let text =
            ": hello\n\nid: 1\ndata: {\"a\":1}\n\nid: 2\r\ndata: x\r\ndata: y\r\n\r\nid: 3\n\n";
        let frame = |id: &str, data: &str| Frame { id: Some(id.into()), data: data.into() };
        let expect = vec![frame("1", "{\"a\":1}"), frame("2", "x\ny")];
        for size in [1, 2, 7, text.len()] {
            let mut reader = Reader::default();
            let read: Vec<_> =
                text.as_bytes().chunks(size).flat_map(|part| reader.take(part)).collect();
            assert_eq!(read, expect, "{size}");
        }
    }
}
