//! The encoding of Protocol Buffers, as far as spans need it.

/// A message that is being written: fields one after the other, each with its number.
#[derive(Default)]
pub(super) struct Message(Vec<u8>);

/// How the value of a field is written.
#[derive(Clone, Copy)]
enum Wire {
    Varint = 0,
    Fixed64 = 1,
    Length = 2,
    Fixed32 = 5,
}

impl Message {
    pub(super) fn number(mut self, field: u64, value: u64) -> Self {
        self.tag(field, Wire::Varint);
        self.varint(value);
        self
    }

    pub(super) fn fixed64(mut self, field: u64, value: u64) -> Self {
        self.tag(field, Wire::Fixed64);
        self.0.extend(value.to_le_bytes());
        self
    }

    pub(super) fn fixed32(mut self, field: u64, value: u32) -> Self {
        self.tag(field, Wire::Fixed32);
        self.0.extend(value.to_le_bytes());
        self
    }

    pub(super) fn bytes(mut self, field: u64, value: &[u8]) -> Self {
        self.tag(field, Wire::Length);
        self.varint(value.len() as u64);
        self.0.extend(value);
        self
    }

    pub(super) fn text(self, field: u64, value: &str) -> Self {
        self.bytes(field, value.as_bytes())
    }

    pub(super) fn message(self, field: u64, value: &Self) -> Self {
        self.bytes(field, &value.0)
    }

    /// The same field again and again.
    pub(super) fn messages(self, field: u64, values: impl IntoIterator<Item = Self>) -> Self {
        values.into_iter().fold(self, |message, value| message.message(field, &value))
    }

    pub(super) fn into_bytes(self) -> Vec<u8> {
        self.0
    }

    fn tag(&mut self, field: u64, wire: Wire) {
        self.varint(field << 3 | wire as u64);
    }

    /// Seven bits a byte, the lowest first.
    fn varint(&mut self, mut value: u64) {
        while value > 0x7f {
            self.0.push(value as u8 | 0x80);
            value >>= 7;
        }
        self.0.push(value as u8);
    }
}

#[cfg(test)]
mod tests {
    use super::*;

    #[test]
    fn fields_are_written_as_the_documentation_of_the_format_shows() {
        assert_eq!(Message::default().number(1, 150).into_bytes(), [0x08, 0x96, 0x01]);
        let text = Message::default().text(2, "testing").into_bytes();
        assert_eq!(text, *b"\x12\x07testing");
        let inner = Message::default().number(1, 150);
        assert_eq!(Message::default().message(3, &inner).into_bytes(), [0x1a, 0x03, 0x08, 0x96, 1]);
    }
}
